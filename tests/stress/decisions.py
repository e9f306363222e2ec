"""Exact decisions of one draw: feasible in each row's own terms, and as good as the exact optimum."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.optimize
import torch

import foresolve
from foresolve.errors import InfeasibleError, UnboundedError
from tests.stress.exact import Polytope, ProvenInfeasible
from tests.stress.feasibility import said_infeasible
from tests.stress.models import Draw
from tests.stress.outcomes import TOLERANCE, Outcome, Verdict, judged
from tests.stress.reference import best_value, project
from tests.stress.watching import watch

MOST_CANDIDATES = 1 << 13


def exact_decisions(draw: Draw, problem: foresolve.LinearProgram) -> list[Verdict]:
    """`problem.solve`, one instance at a time where the batch is refused."""
    decided = watch(lambda: problem.solve(draw.theta))
    if decided.crash:
        return [Verdict("exact", Outcome.CRASH, i, note=decided.crash) for i in range(max(draw.count, 1))]
    polytopes = [draw.model.instance(i, draw.batch) for i in range(draw.count)]
    gains = draw.gains()
    if decided.refusal is not None:
        return _exact_refused(draw, decided.refusal, polytopes, gains)
    x = decided.value.detach().double().numpy().reshape(draw.count, draw.model.n)
    return [_exact_decision(draw, i, x[i], polytopes[i], gains[i], decided.warned) for i in range(draw.count)]


def _exact_refused(draw: Draw, refusal: Exception, polytopes: list[Polytope], gains: np.ndarray) -> list[Verdict]:
    named = [int(i) for i in getattr(refusal, "instances", ())]
    verdicts, rest = [], []
    for i, p in enumerate(polytopes):
        if i not in named and isinstance(refusal, InfeasibleError | UnboundedError):
            rest.append(i)
        elif isinstance(refusal, InfeasibleError) and draw.model.integrality is None:
            verdicts.append(said_infeasible("exact", i, project(p, gains[i], 0.5)))
        elif isinstance(refusal, InfeasibleError):
            best = integer_best(draw, p, gains[i])
            outcome = Outcome.UNVERIFIED if best is None else Outcome.WRONG if np.isfinite(best) else Outcome.REFUSED
            verdicts.append(Verdict("exact", outcome, i, note=str(refusal)))
        elif isinstance(refusal, UnboundedError) and draw.model.integrality is None:
            verdicts.append(_said_unbounded(i, p, gains[i]))
        else:
            verdicts.append(Verdict("exact", Outcome.REFUSED, i, note=str(refusal)))
    if rest and len(rest) < draw.count:
        others = draw.only(rest)
        verdicts += [Verdict(v.part, v.outcome, rest[v.instance], v.error, v.note)
                     for v in exact_decisions(others, others.build())]  # fmt: skip
    elif rest:
        verdicts += [Verdict("exact", Outcome.WRONG, i, note=f"names no instance: {refusal}") for i in rest]
    return verdicts


def _exact_decision(draw: Draw, i: int, x: np.ndarray, p: Polytope, gain: np.ndarray, warned: bool) -> Verdict:
    if not np.isfinite(x).all():
        return Verdict("exact", Outcome.NAN, i)
    rounding = TOLERANCE + 2 * torch.finfo(draw.theta.dtype).eps
    broken = p.broken(x)
    size = max(float(np.abs(x).max(initial=0.0)), 1e-300)
    outside = float(np.maximum(p.lower - x, x - p.upper).max(initial=0.0)) / size
    whole = 0.0
    if draw.model.integrality is not None:
        whole = float((np.abs(x - np.round(x)) * draw.model.integrality).max())
    if max(broken, outside, whole) > rounding:
        note = f"a row broken by {broken:.1e} of its terms, a bound by {outside:.1e}, integrality by {whole:.1e}"
        return judged("exact", i, max(broken, outside, whole), rounding, warned, note)
    try:
        best = best_value(p, gain, x) if draw.model.integrality is None else integer_best(draw, p, gain)
    except ProvenInfeasible:
        return Verdict("exact", Outcome.UNVERIFIED, i, broken, "infeasible by less than the tolerance")
    if best is None:
        return Verdict("exact", Outcome.UNVERIFIED, i, note="no reference")
    scale = max(float(np.abs(gain) @ np.abs(x)), abs(best) if np.isfinite(best) else 0.0, 1e-300)
    lacks = (best - float(gain @ x)) / scale
    return judged("exact", i, max(broken, lacks), rounding, warned, f"lacks {lacks:.1e} of the best value")


def integer_best(draw: Draw, p: Polytope, gain: np.ndarray) -> float | None:
    """The best value over integer points: by enumeration where there are few, else by SciPy on rows of norm 1.

    Minus infinity where there is none.
    """
    integer = np.asarray(draw.model.integrality, dtype=bool)
    if integer.all() and np.isfinite(p.lower).all() and np.isfinite(p.upper).all():
        ranges = [np.arange(np.ceil(low), np.floor(high) + 1) for low, high in zip(p.lower, p.upper)]
        if np.prod([float(len(r)) for r in ranges]) <= MOST_CANDIDATES:
            points = np.array(list(itertools.product(*ranges))).reshape(-1, p.n)
            products = points @ p.C.T
            excess = np.where(p.equality, np.abs(products - p.rhs), products - p.rhs)
            terms = np.abs(points) @ np.abs(p.C).T + np.abs(p.rhs)
            feasible = (excess <= 1e-12 * terms).all(-1)
            return float((points @ gain)[feasible].max(initial=-np.inf))
    norms = np.abs(p.C).max(-1, initial=0.0)
    norms[norms == 0] = 1.0
    rows = scipy.optimize.LinearConstraint(
        p.C / norms[:, None], np.where(p.equality, p.rhs / norms, -np.inf), p.rhs / norms
    )
    bounds = scipy.optimize.Bounds(p.lower, p.upper)
    options = {"mip_rel_gap": 0.0, "time_limit": 5.0}
    scale = float(np.abs(gain).max(initial=0.0)) or 1.0
    result = scipy.optimize.milp(
        -gain / scale, constraints=rows, bounds=bounds, integrality=integer.astype(int), options=options
    )
    if result.status == 0:
        return float(-result.fun * scale)
    return -np.inf if result.status == 2 else None


def _said_unbounded(i: int, p: Polytope, gain: np.ndarray) -> Verdict:
    try:
        best = best_value(p, gain, np.zeros(p.n))
    except ProvenInfeasible:
        return Verdict("exact", Outcome.REFUSED, i, note="infeasible, said to be unbounded")
    bounded = best is None or np.isfinite(best)
    return Verdict("exact", Outcome.WRONG if bounded else Outcome.REFUSED, i, note="said to be unbounded")
