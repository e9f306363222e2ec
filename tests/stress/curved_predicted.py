"""Gradients of quadratic programs by what is predicted: `Q` by its parts, rows, sides and bounds.

As in `predicted.py`, against central differences of exact decisions. Some draws give the library tensors that require
grad, others one `theta` that holds coefficients, parts of `Q` and right-hand sides.
"""

from __future__ import annotations

from dataclasses import replace
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
import torch
from torch import Tensor

import foresolve
from foresolve.problems import Affine
from tests.stress import draws, scaled_draws
from tests.stress.curved_draws import CurvedBuilder, any_form, of_form, on_set, per_instance
from tests.stress.curved_exact import CurvedProjector, fractions
from tests.stress.curved_models import CurvedDraw, made
from tests.stress.curved_reference import CurvedTruth, decide
from tests.stress.curved_scaled_draws import entries_wide, nearly_singular
from tests.stress.draws import Generator
from tests.stress.exact import FREE, Polytope, fraction
from tests.stress.models import NAMES, Model
from tests.stress.outcomes import Outcome, Verdict
from tests.stress.predicted import Direction, _directions, compared
from tests.stress.watching import watch

STEP = Fraction(1, 2**90)


def check(draw: CurvedDraw, rng: Generator) -> list[Verdict]:
    """One verdict for each predicted array: the derivative of `sum(v * x)` along random directions of it."""
    leaves = {name: torch.from_numpy(getattr(draw.model, name).copy()).requires_grad_() for name in NAMES}
    leaves |= {name: torch.from_numpy(part.copy()).requires_grad_() for name, part in draw.curve.parts.items()}
    in_theta = "Q" not in draw.curve.parts and draw.model.b_ub.ndim == 1 and rng.random() < 0.5
    done = watch(lambda: (_through_theta if in_theta else _gradients)(draw, leaves))
    if done.crash or done.refusal is not None:
        outcome = Outcome.CRASH if done.crash else Outcome.WRONG  # every draw has a decision
        return [Verdict("predicted", outcome, note=done.crash or str(done.refusal))]
    gradients, x = done.value
    truths = [_truth(draw, i, x[i]) for i in range(draw.count)]
    unique = all(truth.x is not None and truth.derivative(v) is not None for truth, v in zip(truths, draw.cotangents()))
    apart = unique and all(truth.weakest(truth.tie().tight) > 1e-9 for truth in truths)
    verdicts = []
    for name, directions in (_directions(draw.model, rng) | _of_curve(draw, rng)).items():
        if not all(part in gradients for part in directions[0]):
            continue
        if not all(np.isfinite(gradients[part]).all() for part in directions[0]):
            verdicts.append(Verdict("predicted", Outcome.NAN, note=name))
        elif not unique or not (apart or name in draw.curve.parts):  # rows that depend on each other part: a kink
            verdicts.append(Verdict("predicted", Outcome.KINK, note=name))
        else:
            verdicts.append(compared(partial(_slope, draw, truths), gradients, directions, name, done.warned))
    return verdicts


def _truth(draw: CurvedDraw, i: int, x: np.ndarray) -> CurvedTruth:
    H = draw.curve.exact(i, draw.batch, float(draw.gamma or 0.0))
    leaning = draw.curve.leaning and not draw.gamma
    return decide(draw.model.instance(i, draw.batch), draw.gains()[i], H, leaning=leaning, hint=x)


# -- the library's -----------------------------------------------------------------------------------------------------


def _gradients(draw: CurvedDraw, leaves: dict[str, Tensor]) -> tuple[Direction, np.ndarray]:
    """By all arrays, of `sum(v * x)`; and `x`."""
    given: dict[str, Any] = {name: leaves[name] for name in draw.curve.parts}
    if draw.curve.form == "sparse" and "Q" in given and given["Q"].ndim == 2:
        given["Q"] = given["Q"].to_sparse()
    for kind in ("ub", "eq"):
        if leaves[f"A_{kind}"].shape[-2]:
            given |= {name: leaves[name] for name in (f"A_{kind}", f"b_{kind}")}
    problem = foresolve.QuadraticProgram(**given, bounds=(leaves["lower"], leaves["upper"]))
    return _found(draw, problem, draw.theta, leaves)


def _through_theta(draw: CurvedDraw, leaves: dict[str, Tensor]) -> tuple[Direction, np.ndarray]:
    """By the coefficients, what `Q` has and `b_ub`, all from one prediction."""
    shapes = {"theta": (draw.model.n,)}
    shapes |= {name: leaf.shape[leaf.ndim - (2 if name == "factor" else 1) :] for name, leaf in leaves.items()
               if name in draw.curve.parts or (name == "b_ub" and leaf.shape[-1])}  # fmt: skip
    sizes = {name: int(np.prod(shape)) for name, shape in shapes.items()}
    ends = np.cumsum(list(sizes.values()))
    maps = {name: Affine.block(int(end) - sizes[name], sizes[name], size=int(ends[-1]))
            for name, end in zip(sizes, ends)}  # fmt: skip
    plain = replace(draw, curve=replace(draw.curve, parts=_first(draw))).build()
    problem = plain.parametrized(maps.pop("theta"), **maps)
    numbers = leaves | {"theta": draw.theta}
    batch = draw.batch
    theta = torch.cat([
        numbers[name].expand(*batch, *shapes[name]).reshape(*batch, sizes[name]) for name in sizes
    ], -1)  # fmt: skip
    return _found(draw, problem, theta, {name: leaf for name, leaf in leaves.items() if name in sizes})


def _first(draw: CurvedDraw) -> dict[str, np.ndarray]:
    return {name: part[0] for name, part in draw.curve.flat(draw.batch).items()}


def _found(
    draw: CurvedDraw, problem: foresolve.QuadraticProgram, theta: Tensor, leaves: dict[str, Tensor]
) -> tuple[Direction, np.ndarray]:
    x = foresolve.QuadraticRelaxation(draw.gamma)(theta, problem)
    found = torch.autograd.grad((x * draw.cotangent).sum(), list(leaves.values()), allow_unused=True)
    gradients = {
        name: np.zeros(leaf.shape) if g is None else g.to_dense().numpy()
        for (name, leaf), g in zip(leaves.items(), found)
    }
    return gradients, x.detach().numpy().reshape(draw.count, -1)


# -- the reference's ---------------------------------------------------------------------------------------------------


def _of_curve(draw: CurvedDraw, rng: Generator) -> dict[str, list[Direction]]:
    """Changes of the parts of `Q`: in proportion to their entries, symmetric where it is a matrix."""
    directions: dict[str, list[Direction]] = {}
    for name, part in draw.curve.parts.items():
        noise = rng.standard_normal(part.shape)
        noise = noise + noise.swapaxes(-1, -2) if name == "Q" else noise
        directions[name] = [{name: part * noise}]
    return directions


def _slope(draw: CurvedDraw, truths: list[CurvedTruth], direction: Direction) -> tuple[float, float]:
    """The derivative of `sum(v * x)` along a direction, and what it is measured by: `sum |v| |dx|`."""
    total, scale = 0.0, 0.0
    changes = {name: direction.get(name, np.zeros_like(getattr(draw.model, name))) for name in NAMES}
    of_curve = replace(draw.curve, parts={
        name: direction.get(name, np.zeros_like(part)) for name, part in draw.curve.parts.items()
    })  # fmt: skip
    for i, (truth, v) in enumerate(zip(truths, draw.cotangents())):
        change = Model(**changes).instance(i, draw.batch)
        bend = {name: part[i] for name, part in of_curve.flat(draw.batch).items()}
        ends = [_moved(draw, i, truth, change, bend, sign) for sign in (1, -1)]
        dx = np.array([float((a - b) / (2 * STEP)) for a, b in zip(*ends)])
        total += float(v @ dx)
        assert truth.x is not None
        least = np.maximum(np.abs(truth.x), 1e-3 * truth.size)
        scale += max(_measure(truth, v, dx), 1e-3 * _measure(truth, v, least))
    return total, scale


def _measure(truth: CurvedTruth, v: np.ndarray, dx: np.ndarray) -> float:
    """`|v| |dx|`, of free variables each in the metric of its own: units cancel."""
    assert truth.H is not None
    assert truth.face is not None
    free = truth.face.bound == FREE
    roots = np.sqrt(np.maximum(truth.H.diagonal(), 1e-300))[free]
    moving = float(np.linalg.norm(v[free] / roots) * np.linalg.norm(dx[free] * roots))
    return moving + float(np.linalg.norm(v[~free]) * np.linalg.norm(dx[~free]))


def _moved(
    draw: CurvedDraw, i: int, truth: CurvedTruth, change: Polytope, bend: dict[str, np.ndarray], sign: int
) -> list[Fraction]:
    """The decision after a step of the data."""
    assert truth.optimum is not None
    assert isinstance(truth.projector, CurvedProjector)

    def step(values: np.ndarray, by: np.ndarray) -> np.ndarray:
        moved = values.astype(object)
        for index in zip(*np.nonzero(by)):
            moved[index] = fraction(values[index]) + sign * STEP * fraction(by[index])
        return moved

    p = truth.p
    moved = replace(
        p, **{name: step(getattr(p, name), getattr(change, name)) for name in ("C", "rhs", "lower", "upper")}
    )
    parts = {name: fractions(step(part[i], bend[name])) for name, part in draw.curve.flat(draw.batch).items()}
    H = made(parts, float(draw.gamma or 0.0))
    return CurvedProjector(moved, truth.projector.point, H, truth.projector.leaning).solve(truth.optimum.face).x


def predicted(build: CurvedBuilder) -> CurvedBuilder:
    """A kind of draw, with float64 parameters, a batch that is not empty, and a gamma that stays."""

    def drawn(rng: Generator) -> CurvedDraw:
        draw = build(rng)
        while not draw.count:
            draw = build(rng)
        changes = {"theta": draw.theta.double(), "cotangent": draw.cotangent.double()}
        return replace(draw, **changes, gamma=draw.gamma or 0.0, sense="max")

    return drawn


def _dependent(rng: Generator) -> CurvedDraw:
    return any_form(rng, draws.dependent(rng), "diagonal", "dense", "low rank")


PREDICTED: dict[str, CurvedBuilder] = {
    **{f"predicted quadratic: {form}": predicted(of_form(form))
       for form in ("diagonal", "dense", "sparse", "low rank", "factor", "leaning")},
    "predicted quadratic: per instance": predicted(per_instance),
    "predicted quadratic: dependent rows": predicted(_dependent),
    "predicted quadratic: fixed variables": predicted(on_set(draws.fixed_variables)),
    "predicted quadratic: nearly singular": predicted(nearly_singular),
    "predicted quadratic: entries 1e-6..1e6": predicted(entries_wide),
    "predicted quadratic: row scales 1e-8..1e8": predicted(on_set(scaled_draws.row_scales)),
}  # fmt: skip
