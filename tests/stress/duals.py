"""Multipliers of one quadratic program: what they say of themselves, and their derivatives where they are unique."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import torch

from foresolve.layers import Duals
from tests.stress.curved_exact import CurvedProjector
from tests.stress.curved_reference import CurvedTruth
from tests.stress.exact import FREE, fraction
from tests.stress.outcomes import TOLERANCE, Outcome, Verdict, judged
from tests.stress.reference import Truth
from tests.stress.watching import watch

NEARLY = 1e-3  # rows that are as near to depending on each other have duals that are not unique for all one can tell


def dual_verdict(
    i: int, x: np.ndarray, duals: dict[str, np.ndarray], truth: CurvedTruth, rounding: float, late: bool
) -> Verdict:
    """`g - H x = A_eq' eq + A_ub' ub - lower + upper`, no wrong sign, nothing that pushes without touching."""
    if not all(np.isfinite(part).all() for part in duals.values()):
        return Verdict("duals", Outcome.NAN, i)
    p, H, gain = truth.p, truth.H, truth.gain
    assert H is not None
    assert gain is not None
    y = np.concatenate([duals["eq"], duals["ub"]])
    parts = [gain, -(H @ x), -(p.C.T @ y), duals["lower"], -duals["upper"]]
    terms = np.abs(gain) + np.abs(H) @ np.maximum(np.abs(x), truth.size * TOLERANCE) + np.abs(p.C).T @ np.abs(y)
    terms = np.where(terms > 0, terms, 1.0) + duals["lower"] + duals["upper"]
    still = float((np.abs(sum(part.astype(np.longdouble) for part in parts)) / terms).max(initial=0.0))
    wrong = max(float(-part.min(initial=0.0)) for name, part in duals.items() if name != "eq")
    with np.errstate(invalid="ignore"):
        slack = np.where(p.equality, 0.0, p.rhs - p.C @ x) / np.maximum(p.terms(x), 1e-300)
        room = {"lower": (x - p.lower) / truth.size, "upper": (p.upper - x) / truth.size}
    pushing = (np.abs(y)[:, None] * np.abs(p.C) / terms).max(-1, initial=0.0)
    idle = float(np.minimum(slack, pushing).max(initial=0.0))
    idle = max(idle, *(float(np.minimum(room[name], duals[name] / terms).max(initial=0.0)) for name in room))
    note = f"stationarity is off by {still:.1e} of its terms, signs by {wrong:.1e}, complementarity by {idle:.1e}"
    return judged("duals", i, max(still, wrong, idle), rounding, late, note)


def dual_gradients(
    duals: Duals, theta: torch.Tensor, truths: list[Truth], minimizes: bool, rng: np.random.Generator
) -> list[Verdict]:
    """The gradient of a random sum of all duals by `theta`, of instances whose duals are unique and away from kinks."""
    count = len(truths)
    if theta.shape[:-1].numel() != count:
        return []
    weights = {name: rng.standard_normal((count, part.shape[-1])) for name, part in vars(duals).items()}
    total = sum(
        (torch.from_numpy(weights[name]).reshape(part.shape) * part).sum() for name, part in vars(duals).items()
    )
    done = watch(lambda: torch.autograd.grad(total, theta)[0])
    if done.crash or done.refusal is not None:
        return [Verdict("dual gradient", Outcome.CRASH, note=done.crash or str(done.refusal))]
    given = done.value.double().numpy().reshape(count, -1) * (-1 if minimizes else 1)
    verdicts = []
    for i, truth in enumerate(truths):
        own = {name: part[i] for name, part in weights.items()}
        expected = _expected(truth, own) if isinstance(truth, CurvedTruth) and truth.x is not None else None
        if expected is None:
            continue
        if not np.isfinite(given[i]).all():
            verdicts.append(Verdict("dual gradient", Outcome.NAN, i))
            continue
        size = max(float(np.abs(expected).max(initial=0.0)), 1e-2 * _reach(truth, own))
        off = float(np.abs(given[i] - expected).max(initial=0.0)) / (size or 1.0)
        verdicts.append(judged("dual gradient", i, off, TOLERANCE, done.warned, f"off by {off:.1e} of {size:.1e}"))
    return verdicts


def _reach(truth: CurvedTruth, weights: dict[str, np.ndarray]) -> float:
    """What came in, in units of a gradient: weights over rows, both in the metric of the free variables."""
    assert truth.H is not None
    assert truth.face is not None
    free = truth.face.bound == FREE
    roots = np.sqrt(np.maximum(truth.H.diagonal()[free], 1e-300))
    norms = np.linalg.norm(truth.p.C[:, free] / roots, axis=1)
    rows = np.concatenate([weights["eq"], weights["ub"]])[truth.face.rows] / np.maximum(norms[truth.face.rows], 1e-300)
    return float(np.abs(rows).max(initial=0.0) / roots.max(initial=1e-150))


def _expected(truth: CurvedTruth, weights: dict[str, np.ndarray]) -> np.ndarray | None:
    """With `[H C'; C 0] [u; q] = [0; k]` for what holds, `k'dy = u'dg`; `None` where `y` is not unique or smooth."""
    tie = truth.tie()
    if tie.strict.rows != tie.tight.rows or (tie.strict.bound != tie.tight.bound).any():
        return None
    if truth.weakest(tie.strict) < NEARLY:
        return None
    projector, optimum = truth.projector, truth.optimum
    assert isinstance(projector, CurvedProjector)
    assert optimum is not None
    rows = np.concatenate([weights["eq"], weights["ub"]])
    free = tie.strict.bound == FREE
    held = [
        Fraction(0) if free[j] else fraction(weights["upper"][j] if w > 0 else -weights["lower"][j] if w < 0 else 0.0)
        for j, w in enumerate(optimum.w)
    ]
    sides = [fraction(rows[i]) for i in tie.strict.rows]
    u, unique = projector.response(tie.strict, [Fraction(0)] * truth.p.n, sides, held)
    return u if unique else None
