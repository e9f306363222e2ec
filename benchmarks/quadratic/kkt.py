"""The face of a solution: x, multipliers and derivatives on it by one linear system (numpy and scipy only)."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import scipy.linalg as la
import scipy.sparse as sp
from scipy.sparse.linalg import splu

from benchmarks._harness.layers.inputs import Matrix
from benchmarks.quadratic.inputs import Case


def solver(K: Matrix) -> Callable[[np.ndarray], np.ndarray]:
    """right -> K^-1 right."""
    if isinstance(K, np.ndarray):
        factors = la.lu_factor(K)
        return lambda right: la.lu_solve(factors, right)
    return splu(sp.csc_matrix(K)).solve


class Face:
    """Where the `active` rows of `case.inequalities()` hold with equality, for one Q: (Q C'; C 0) on the free part."""

    def __init__(self, case: Case, Q: Matrix, active: np.ndarray) -> None:
        self.case, self.Q, self.active = case, Q, active
        below, above = np.flatnonzero(np.isfinite(case.lower)), np.flatnonzero(np.isfinite(case.upper))
        rows, at_lower, at_upper = np.split(active, np.cumsum([len(case.b_ub), len(below)]))
        self.start = np.zeros(case.n)
        self.start[below[at_lower]] = case.lower[below[at_lower]]
        self.start[above[at_upper]] = case.upper[above[at_upper]]
        self.free = np.ones(case.n, dtype=bool)
        self.free[below[at_lower]] = self.free[above[at_upper]] = False
        A, b = case.equalities()
        self.equal = len(b)
        self.C = sp.vstack([A, case.A_ub[rows]], format="csr")
        self.sides = np.concatenate([b, case.b_ub[rows]])
        C = self.C[:, self.free]
        self.K = sp.bmat([[sp.csr_matrix(Q[np.ix_(self.free, self.free)]), C.T], [C, None]], format="csr")
        if isinstance(Q, np.ndarray):
            self.K = self.K.toarray()
        self.solve = solver(self.K)

    def _solve(self, top: np.ndarray, bottom: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Both parts of the solution, refined twice; the first with zeros where x is fixed."""
        right = np.concatenate([top[self.free], bottom])
        solution = self.solve(right)
        for _ in range(2):
            solution += self.solve(right - self.K @ solution)
        x = np.zeros(self.case.n)
        count = int(self.free.sum())
        x[self.free] = solution[:count]
        return x, solution[count:]

    def point(self, c: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """x, the multipliers of all inequalities (0 off the face), and what is left of stationarity."""
        free, y = self._solve(c - self.Q @ self.start, self.sides - self.C @ self.start)
        x = free + self.start
        slope = c - self.Q @ x - self.C.T @ y
        # What a bound has to hold against; on a fixed variable nothing is left by definition.
        below, above = np.isfinite(self.case.lower), np.isfinite(self.case.upper)
        multipliers = np.zeros(len(self.active))
        rows = len(self.case.b_ub)
        multipliers[:rows][self.active[:rows]] = y[self.equal :]
        bounds = np.concatenate([-slope[below], slope[above]])
        multipliers[rows:] = np.where(self.active[rows:], bounds, 0.0)
        return x, multipliers, np.where(self.free, slope, 0.0)

    def derivative(self, v: np.ndarray) -> np.ndarray:
        """d v'x / d c = K^-1 v, symmetric; the one for Q is then -(this x' + x this') / 2."""
        return self._solve(v, np.zeros(len(self.sides)))[0]
