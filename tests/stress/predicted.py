"""Gradients of predicted constraints, against differences of exact projections.

The projection is a smooth function of the data on each piece, and exact arithmetic has no cancellation: a central
difference with a step of 2^-40 is the derivative along a direction to some 20 digits.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from fractions import Fraction
from functools import partial

import numpy as np
import torch
from torch import Tensor

import foresolve
from tests.stress.draws import Builder, Generator, draw_of, fixed_variables, per_instance, set_of, sparse
from tests.stress.exact import Polytope, Projector, ProvenInfeasible, fraction
from tests.stress.models import DIMENSIONS, NAMES, Draw, Model
from tests.stress.outcomes import TOLERANCE, Outcome, Verdict, judged
from tests.stress.reference import Truth, project
from tests.stress.scaled_draws import big_m_fixed, row_scales
from tests.stress.watching import watch

STEP = Fraction(1, 2**40)
Direction = dict[str, np.ndarray]  # a change of some of the model's arrays


def check(draw: Draw, rng: Generator) -> list[Verdict]:
    """One verdict for each predicted array: the derivative of `sum(v * x)` along two random directions of it."""
    leaves = {name: torch.from_numpy(getattr(draw.model, name).copy()).requires_grad_() for name in NAMES}
    done = watch(lambda: _gradients(draw, leaves))
    if done.crash:
        return [Verdict("predicted", Outcome.CRASH, note=done.crash)]
    if done.refusal is not None:
        return [Verdict("predicted", Outcome.REFUSED, note=str(done.refusal))]
    gradients = done.value
    truths = [
        project(draw.model.instance(i, draw.batch), gain, float(draw.gamma or 0.0))
        for i, gain in enumerate(draw.gains())
    ]
    unique = all(truth.x is not None and truth.derivative(v) is not None for truth, v in zip(truths, draw.cotangents()))
    verdicts = []
    for name, directions in _directions(draw.model, rng).items():
        if not all(np.isfinite(gradients[part]).all() for part in directions[0]):
            verdicts.append(Verdict("predicted", Outcome.NAN, note=name))
        elif not unique:
            verdicts.append(Verdict("predicted", Outcome.KINK, note=name))
        else:
            verdicts.append(compared(partial(_slope, draw, truths), gradients, directions, name, done.warned))
    return verdicts


def _gradients(draw: Draw, leaves: dict[str, Tensor]) -> dict[str, np.ndarray]:
    """The library's gradients of `sum(v * x)` by all arrays."""
    given = {}
    for kind in ("ub", "eq"):
        matrix = leaves[f"A_{kind}"]
        if matrix.shape[-2]:
            shaped = matrix.to_sparse() if draw.form == "sparse" and matrix.ndim == 2 else matrix
            given |= {f"A_{kind}": shaped, f"b_{kind}": leaves[f"b_{kind}"]}
    problem = foresolve.LinearProgram(**given, bounds=(leaves["lower"], leaves["upper"]), n=draw.model.n)
    x = foresolve.QuadraticRelaxation(draw.gamma)(draw.theta, problem)
    found = torch.autograd.grad((x * draw.cotangent).sum(), list(leaves.values()), allow_unused=True)
    return {
        name: np.zeros(leaf.shape) if g is None else g.to_dense().numpy()
        for (name, leaf), g in zip(leaves.items(), found)
    }


def _directions(model: Model, rng: Generator) -> dict[str, list[Direction]]:
    """For each array, a change of all entries in proportion to them, and one of the same size for all of a row.

    Bounds of a fixed variable move together: each has half of the derivative.
    """
    directions: dict[str, list[Direction]] = {}
    fixed = model.lower == model.upper
    for name in NAMES:
        values = getattr(model, name)
        if values.size == 0:
            continue
        held = ~np.isfinite(values) if DIMENSIONS[name] == 1 else values == 0  # sparse rows keep their pattern
        if name in ("lower", "upper"):
            held = held | (fixed.reshape(-1, model.n).any(0) if fixed.ndim > values.ndim else fixed)
        noise = rng.standard_normal((2, *values.shape))
        proportional = np.where(held, 0.0, values) * noise[0]
        even = np.where(held, 0.0, _typical(model, name) * noise[1])
        directions[name] = [{name: proportional}, {name: even}]
    both = np.where(np.isfinite(model.lower + model.upper), rng.standard_normal((model.lower + model.upper).shape), 0.0)
    if both.shape == model.lower.shape == model.upper.shape:
        directions["lower and upper"] = [{"lower": both, "upper": both}]
    return directions


def _typical(model: Model, name: str) -> np.ndarray:
    """The size of an ordinary entry, in the units of each row: one large coefficient does not count."""
    if name in ("lower", "upper"):
        return np.ones(())
    rows = np.abs(getattr(model, "A" + name[1:]))
    sizes = np.ma.filled(np.ma.median(np.ma.masked_equal(rows, 0.0), axis=-1), 1.0)
    return sizes[..., None] if name.startswith("A") else sizes


def compared(
    slope: Callable[[Direction], tuple[float, float]], gradients: Direction, directions: list[Direction], name: str,
    warned: bool,
) -> Verdict:  # fmt: skip
    """Gradients along directions, beside the slopes of a reference and what these are measured by."""
    worst = 0.0
    for direction in directions:
        given = sum(float((gradients[part] * change).sum()) for part, change in direction.items())
        try:
            expected, scale = slope(direction)
        except ProvenInfeasible:
            return Verdict("predicted", Outcome.UNVERIFIED, note=f"{name}: the difference leaves the feasible set")
        worst = max(worst, abs(given - expected) / scale if scale else abs(given))
    return judged("predicted", 0, worst, TOLERANCE, warned, f"{name}: off by {worst:.1e}")


def _slope(draw: Draw, truths: list[Truth], direction: Direction) -> tuple[float, float]:
    """The derivative of `sum(v * x)` along a direction, and what it is measured by: `sum |v| |dx|`."""
    total, scale = 0.0, 0.0
    for i, (truth, v) in enumerate(zip(truths, draw.cotangents())):
        changes = {name: direction.get(name, np.zeros_like(getattr(draw.model, name))) for name in NAMES}
        change = Model(**changes).instance(i, draw.batch)
        ends = [_moved(truth, change, sign) for sign in (1, -1)]
        dx = np.array([float((a - b) / (2 * STEP)) for a, b in zip(*ends)])
        total += float(v @ dx)
        scale += float(np.linalg.norm(v)) * max(float(np.linalg.norm(dx)), 1e-3 * truth.size)
    return total, scale


def _moved(truth: Truth, change: Polytope, sign: int) -> list[Fraction]:
    """The projection after a step of the data."""
    assert truth.projector is not None
    assert truth.optimum is not None

    def step(values: np.ndarray, by: np.ndarray) -> np.ndarray:
        moved = values.astype(object)
        for index in zip(*np.nonzero(by)):
            moved[index] = fraction(values[index]) + sign * STEP * fraction(by[index])
        return moved

    p = truth.p
    names = ("C", "rhs", "lower", "upper")
    moved = replace(p, **{name: step(getattr(p, name), getattr(change, name)) for name in names})
    return Projector(moved, truth.projector.point).solve(truth.optimum.face).x


@dataclass(frozen=True)
class _Predicted:
    """A kind of draw, with float64 parameters and a batch that is not empty."""

    build: Builder

    def __call__(self, rng: Generator) -> Draw:
        draw = self.build(rng)
        while not draw.count:
            draw = self.build(rng)
        form = "sparse" if rng.random() < 0.4 else "dense"
        return replace(draw, theta=draw.theta.double(), cotangent=draw.cotangent.double(), form=form, sense="max")


def _plain(rng: Generator) -> Draw:
    return draw_of(rng, set_of(rng, m_ub=int(rng.integers(1, 5))))


PREDICTED: dict[str, Builder] = {
    "predicted: plain": _Predicted(_plain),
    "predicted: per instance": _Predicted(per_instance),
    "predicted: sparse": _Predicted(sparse),
    "predicted: fixed variables": _Predicted(fixed_variables),
    "predicted: big-M on a fixed variable": _Predicted(big_m_fixed),
    "predicted: row scales 1e-8..1e8": _Predicted(row_scales),
}
