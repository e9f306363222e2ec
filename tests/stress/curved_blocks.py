"""Large sparse quadratic programs made of many small ones, each of which exact arithmetic solves."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
import torch

import foresolve
from tests.stress.curved_models import CurvedDraw
from tests.stress.curved_reference import CurvedTruth, decide
from tests.stress.exact import Polytope
from tests.stress.outcomes import TOLERANCE, Outcome, Verdict, judged
from tests.stress.watching import watch


def check(draw: CurvedDraw, rng: np.random.Generator) -> list[Verdict]:
    """Decisions and gradients of each block, in units of its own."""
    theta = draw.theta.detach().clone().requires_grad_()
    layer = foresolve.QuadraticRelaxation(draw.gamma)
    solved = watch(lambda: layer.solve(theta, draw.build()))
    if solved.value is None:
        return [Verdict("forward", Outcome.CRASH, note=solved.crash or str(solved.refusal))]
    x = solved.value.x
    done = watch(lambda: torch.autograd.grad((x * draw.cotangent).sum(), theta)[0])
    if done.value is None:
        return [Verdict("gradient", Outcome.CRASH, note=done.crash or str(done.refusal))]
    decisions, gradients = (part.detach().numpy().reshape(draw.count, -1) for part in (x, done.value))
    gradients = -gradients if draw.minimizes else gradients
    verdicts = []
    for i in range(draw.count):
        far = [0.0]
        off = [0.0]
        for block, truth in _blocks(draw, i, decisions[i]):
            assert truth.x is not None
            far.append(float(np.abs(decisions[i][block] - truth.x).max()) / truth.size)
            v = draw.cotangents()[i][block]
            u = truth.derivative(v)
            if u is not None:
                size = max(float(np.abs(u).max()), 1e-2 * truth.reach(v))
                off.append(float(np.abs(gradients[i][block] - u).max()) / (size or 1.0))
        worst = [float(np.max(errors)) for errors in (far, off)]  # NaN stays NaN
        verdicts.append(judged("forward", i, worst[0], TOLERANCE, solved.warned, f"x of a block off by {worst[0]:.1e}"))
        verdicts.append(judged("gradient", i, worst[1], TOLERANCE, done.warned, f"that of a block by {worst[1]:.1e}"))
    return verdicts


def _blocks(draw: CurvedDraw, i: int, hint: np.ndarray) -> Iterator[tuple[slice, CurvedTruth]]:
    """The variables of each block, and the truth about it."""
    whole, gain = draw.model.instance(i, draw.batch), draw.gains()[i]
    H = draw.curve.exact(i, draw.batch, float(draw.gamma or 0.0))
    size = whole.n // draw.facts["blocks"]
    for start in range(0, whole.n, size):
        block = slice(start, start + size)
        rows = (whole.C[:, block] != 0).any(-1)
        p = Polytope(
            whole.C[rows, block], whole.rhs[rows], whole.equality[rows], whole.lower[block], whole.upper[block]
        )
        yield block, decide(p, gain[block], H[block, block], leaning=False, hint=hint[block])
