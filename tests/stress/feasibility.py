"""Claims that an instance has no decision, judged by exact arithmetic."""

from __future__ import annotations

import numpy as np

from tests.stress.exact import Polytope, Projector, ProvenInfeasible, fraction
from tests.stress.outcomes import Outcome, Verdict
from tests.stress.reference import Truth


def said_infeasible(part: str, i: int, truth: Truth) -> Verdict:
    if not truth.feasible:
        return Verdict(part, Outcome.REFUSED, i)
    if truth.projector is not None and barely(truth.p, 1e-8):
        return Verdict(part, Outcome.UNVERIFIED, i, note="feasible by less than 1e-8")
    return Verdict(part, Outcome.WRONG, i, note="said to be infeasible, but is not")


def barely(p: Polytope, margin: float) -> bool:
    """Whether tightening the inequalities by `margin` of their terms (loosening: negative) turns the answer round."""
    width = np.where(np.isfinite(p.upper), np.abs(p.upper), 0.0)
    width = np.maximum(width, np.where(np.isfinite(p.lower), np.abs(p.lower), 0.0))
    amount = margin * (np.abs(p.C) @ width + np.abs(p.rhs))
    C, rhs, equality = p.C, p.rhs - amount, p.equality
    if margin < 0:  # equalities become two inequalities that leave room
        C, rhs = np.concatenate([C, -C[p.equality]]), np.concatenate([rhs, -p.rhs[p.equality] - amount[p.equality]])
        equality = np.zeros(len(C), dtype=bool)
    else:
        rhs = np.where(p.equality, p.rhs, rhs)
    moved = Polytope(C, rhs, equality, p.lower, p.upper)
    try:
        Projector(moved, [fraction(0.0)] * p.n).solve()
    except ProvenInfeasible:
        return margin > 0
    return margin < 0
