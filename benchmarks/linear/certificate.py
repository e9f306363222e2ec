"""Proof that a reference x is optimal, from a third solver (HiGHS, a simplex on the dual)."""

from __future__ import annotations

import numpy as np
import scipy.sparse as sp
from scipy.optimize import linprog

from benchmarks.linear.inputs import Case

TIGHT = 1e-9
# The LP solver's tolerances are absolute: stationarity is measured in these units.
UNIT = 1e-5


def distance_bound(case: Case, theta: np.ndarray, x: np.ndarray) -> float:
    """Upper bound of |x - x*| for a feasible x.

    Multipliers y of the tight rows (free for equalities, >= 0 for inequalities) are chosen to make the
    violation t of stationarity smallest: with r = c - 2 gamma x - C'y, r <= t where x can grow and r >= -t
    where it can shrink.
    The objective is strongly concave, so 2 gamma |x - x*|^2 <= t |x - x*|_1 <= t sqrt(n) |x - x*|.
    """
    A, _ = case.equalities()
    tight = case.b_ub - case.A_ub @ x < TIGHT
    C = sp.vstack([A, case.A_ub[tight]], format="csr")
    slope = (case.sign * theta - 2.0 * case.gamma * x) / UNIT
    grows, shrinks = x < case.upper - TIGHT, x > case.lower + TIGHT
    up, down = C.T.tocsr()[grows], C.T.tocsr()[shrinks]
    ones = [-np.ones((part.shape[0], 1)) for part in (up, down)]
    rows = sp.vstack([sp.hstack([-up, ones[0]]), sp.hstack([down, ones[1]])], format="csr")
    sides = np.concatenate([-slope[grows], slope[shrinks]])
    costs = np.zeros(C.shape[0] + 1)
    costs[-1] = 1.0
    bounds = [(None, None)] * A.shape[0] + [(0.0, None)] * (C.shape[0] - A.shape[0] + 1)
    options = {"primal_feasibility_tolerance": 1e-9, "dual_feasibility_tolerance": 1e-9}
    multipliers = linprog(costs, A_ub=rows, b_ub=sides, bounds=bounds, method="highs", options=options)
    if not multipliers.success:
        return float("inf")
    y = np.where(np.arange(C.shape[0]) < A.shape[0], multipliers.x[:-1], np.maximum(multipliers.x[:-1], 0.0))
    r = UNIT * (slope - C.T @ y)
    violation = max(float(r[grows].max(initial=0.0)), float((-r[shrinks]).max(initial=0.0)))
    return violation * float(np.sqrt(case.n)) / (2.0 * case.gamma)
