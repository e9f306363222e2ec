"""SPO+ and Fenchel-Young losses, and smoothing by a linear oracle, against exact values and their differences."""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from typing import Any

import numpy as np
import torch

import foresolve
from tests.stress.catalogue_draws import assignment, knapsack, matching, path_grid, top_k
from tests.stress.decisions import integer_best
from tests.stress.draws import Builder, Generator, double, plain
from tests.stress.exact import Polytope, fraction
from tests.stress.linear import SmoothedCheck
from tests.stress.models import Draw
from tests.stress.outcomes import TOLERANCE, Outcome, Verdict, judged
from tests.stress.reference import best_fraction, project
from tests.stress.watching import Watched, watch

STEP = Fraction(1, 2**24)


class HullCheck(SmoothedCheck):
    """`RegularizedFrankWolfe`, which speaks through warnings alone."""

    def _layer(self) -> Any:
        return foresolve.layers.RegularizedFrankWolfe(self.draw.gamma)

    def _late(self, solved: Watched) -> list[bool]:
        return [solved.warned] * self.draw.count


def check_hull(draw: Draw, rng: Generator) -> list[Verdict]:
    return HullCheck(draw, draw.build(), rng).verdicts()


def check_spo(draw: Draw, rng: Generator) -> list[Verdict]:
    """The value from exact maxima, its gradient from one-sided differences of them: the loss is piecewise linear."""
    return _checked(draw, rng, foresolve.losses.SPOPlus(), _spo)


def check_fenchel_young(draw: Draw, rng: Generator) -> list[Verdict]:
    """The value and the gradient `x - y` from the exact projection `x`."""
    return _checked(draw, rng, foresolve.losses.FenchelYoung(foresolve.QuadraticRelaxation(draw.gamma)), _fenchel_young)


def _checked(draw: Draw, rng: Generator, loss: Any, judge: Any) -> list[Verdict]:
    problem = draw.build()
    noise = torch.from_numpy(rng.standard_normal(tuple(draw.theta.shape)))
    theta_hat = (draw.theta.double() + noise * draw.theta.double().abs().mean()).to(draw.theta.dtype)
    theta_hat.requires_grad_()
    best = watch(lambda: problem.solve(draw.theta))
    if best.value is None:
        return [Verdict("loss", Outcome.CRASH, note=best.crash or str(best.refusal))]
    batch = foresolve.Batch(None, draw.theta, problem, decision=best.value)
    done = watch(lambda: loss(theta_hat, batch))
    if done.value is None:
        return [Verdict("loss", Outcome.CRASH, note=done.crash or str(done.refusal))]
    gradient = torch.autograd.grad(done.value.sum(), theta_hat)[0].double().numpy()
    values = done.value.detach().double().numpy()
    verdicts = []
    for i in range(draw.count):
        if not np.isfinite(values[i]) or not np.isfinite(gradient[i]).all():
            verdicts.append(Verdict("loss", Outcome.NAN, i))
            continue
        instance = replace(draw, theta=theta_hat.detach()).gains()[i], draw.gains()[i], best.value[i].double().numpy()
        own = -gradient[i] if draw.minimizes else gradient[i]  # by the gains
        verdicts += judge(draw, i, instance, values[i], own, rng, done.warned)
    return verdicts


def _greatest(draw: Draw, p: Polytope, gain: list[Fraction], x: np.ndarray) -> Fraction | None:
    """`max gain'x`, exactly."""
    if draw.model.integrality is None:
        return best_fraction(p, gain, x)
    best = integer_best(draw, p, np.array([float(g) for g in gain]))
    return None if best is None else fraction(best)


def _spo(draw: Draw, i: int, instance: tuple, value: float, gradient: np.ndarray, rng: Generator,
         warned: bool) -> list[Verdict]:  # fmt: skip
    predicted, truth, best = instance
    p = draw.model.instance(i, draw.batch)
    rounding = TOLERANCE + 8 * torch.finfo(draw.theta.dtype).eps

    def loss(gain: list[Fraction]) -> Fraction | None:
        beyond = [2 * g - fraction(c) for g, c in zip(gain, truth)]
        greatest = _greatest(draw, p, beyond, best)
        return None if greatest is None else greatest - sum(b * fraction(x) for b, x in zip(beyond, best))

    gain = [fraction(g) for g in predicted]
    here = loss(gain)
    if here is None:
        return [Verdict("loss", Outcome.UNVERIFIED, i)]
    scale = float(np.abs(2 * predicted - truth) @ np.maximum(np.abs(best), 1e-3)) + float(abs(here))
    verdicts = [judged("loss", i, abs(value - float(here)) / (scale or 1.0), rounding, warned)]
    direction = rng.standard_normal(len(predicted)) * np.abs(predicted).mean()
    moved = [loss([g + sign * STEP * fraction(d) for g, d in zip(gain, direction)]) for sign in (1, -1)]
    if None in moved:
        return verdicts
    slopes = [float((end - here) / (sign * STEP)) for end, sign in zip(moved, (1, -1))]
    size = float(np.abs(direction).sum()) * max(float(np.abs(best).max(initial=0.0)), 1e-3)
    if abs(slopes[0] - slopes[1]) > 1e-6 * size:
        return [*verdicts, Verdict("loss gradient", Outcome.KINK, i)]
    off = abs(float(gradient @ direction) - slopes[0]) / (size or 1.0)  # gains that are all zero have no direction
    return [*verdicts, judged("loss gradient", i, off, rounding, warned)]


def _fenchel_young(draw: Draw, i: int, instance: tuple, value: float, gradient: np.ndarray, rng: Generator,
                   warned: bool) -> list[Verdict]:  # fmt: skip
    predicted, _, y = instance
    rounding = TOLERANCE + 8 * torch.finfo(draw.theta.dtype).eps
    assert draw.gamma is not None
    truth = project(draw.model.instance(i, draw.batch), predicted, draw.gamma)
    if truth.x is None:
        return [Verdict("loss", Outcome.UNVERIFIED, i)]
    x = truth.x
    expected = float(predicted @ (x - y)) - draw.gamma * float(x @ x - y @ y)
    scale = float(np.abs(predicted) @ (np.abs(x) + np.abs(y))) + draw.gamma * float(x @ x + y @ y)
    size = max(float(np.abs(x).max(initial=0.0)), float(np.abs(y).max(initial=0.0))) or 1.0
    off = float(np.abs(gradient - (x - y)).max(initial=0.0)) / size
    return [
        judged("loss", i, abs(value - expected) / (scale or 1.0), rounding, warned),
        judged("loss gradient", i, off, rounding, warned),
    ]


def _batched(builders: tuple[Builder, ...]) -> Builder:
    """Any of these problems, with a batch of one dimension as losses take it, and a gamma that is given."""

    def build(rng: Generator) -> Draw:
        builder = builders[int(rng.integers(len(builders)))]
        while True:
            draw = builder(rng)
            usable = draw.count and draw.gamma is not None and draw.theta.dtype != torch.bfloat16
            if usable and draw.model.n <= 24:  # exact maxima take long beyond
                return draw.only(range(draw.count))

    return build


def _integral(rng: Generator) -> Draw:
    """Problems whose linear program has integral vertices: the hull of decisions is the polytope."""
    builder = (matching, assignment, top_k, path_grid)[int(rng.integers(4))]
    while True:
        draw = double(builder(rng))
        if draw.model.n <= 24:
            return draw


LOSSES: dict[str, tuple[Builder, Any]] = {
    "loss: SPO+": (_batched((plain, matching, top_k, path_grid, knapsack)), check_spo),
    "loss: Fenchel-Young": (_batched((plain, matching, top_k, path_grid)), check_fenchel_young),
    "layer: Frank-Wolfe": (_integral, check_hull),
}
