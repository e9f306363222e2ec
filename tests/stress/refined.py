"""The same projection where exact arithmetic takes too long: a face that Clarabel suggests, certified afterwards.

On a face, `x_F` is the nearest point to `s_F` with `C_AF x_F = b`. It comes from the SVD of the equilibrated rows and
is refined with residuals in extended precision, so that its error is that of the data and not of the factorization.
Signs of all multipliers and slacks then prove that it is the projection: the objective is strongly convex, and where
the face came from does not matter.
"""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
import scipy.sparse

from tests.stress.exact import AT_LOWER, AT_UPPER, FIXED, FREE, Face, Polytope

RANK = 1e-12  # singular values below this share of the largest are zero
GAP = 1e-9  # multipliers and slacks beyond this share of their scale have the wrong sign


def clarabel_guess(p: Polytope, s: np.ndarray) -> tuple[Face, np.ndarray] | None:
    """The face at which Clarabel ends, and the multipliers of the rows; `None` where it gives up.

    It is given rows of norm 1, and `x` in units of the box.
    """
    unit = _size(p, s)
    norms = np.linalg.norm(p.C, axis=1)
    norms[norms == 0] = 1.0
    C, rhs = p.C / norms[:, None], p.rhs / norms / unit
    n, lower, upper = p.n, p.lower / unit, p.upper / unit
    fixed = p.lower == p.upper
    has_lower, has_upper = np.isfinite(lower) & ~fixed, np.isfinite(upper) & ~fixed
    eye = scipy.sparse.eye_array(n, format="csr")
    matrix = [C[p.equality], eye[fixed], C[~p.equality], -eye[has_lower], eye[has_upper]]
    sides = [rhs[p.equality], lower[fixed], rhs[~p.equality], -lower[has_lower], upper[has_upper]]
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = 1e-12
    equal = len(sides[0]) + len(sides[1])
    cones = [clarabel.ZeroConeT(equal), clarabel.NonnegativeConeT(sum(map(len, sides[2:])))]
    stacked = scipy.sparse.csc_matrix(scipy.sparse.vstack([scipy.sparse.csr_array(part) for part in matrix]))
    problem = (scipy.sparse.csc_matrix(eye), -s / unit, stacked, np.concatenate(sides))
    solution = clarabel.DefaultSolver(*problem, cones, settings).solve()
    if str(solution.status) not in {"Solved", "AlmostSolved", "InsufficientProgress", "MaxIterations"}:
        return None
    holds = np.array(solution.z)[equal:] > np.array(solution.s)[equal:]
    parts = np.split(holds, np.cumsum([len(side) for side in sides[2:]])[:-1])
    bound = np.where(fixed, FIXED, FREE)
    bound[np.flatnonzero(has_lower)[parts[1]]] = AT_LOWER
    bound[np.flatnonzero(has_upper)[parts[2]]] = AT_UPPER
    prices = np.zeros(len(p.rhs))
    prices[p.equality] = np.array(solution.z)[: len(sides[0])]
    prices[~p.equality] = np.array(solution.z)[equal : equal + len(sides[2])]
    return Face([int(i) for i in np.flatnonzero(~p.equality)[parts[0]]], bound), prices * unit / norms


def _size(p: Polytope, s: np.ndarray) -> float:
    """A length in units of `x`."""
    ends = np.concatenate([np.abs(p.lower[np.isfinite(p.lower)]), np.abs(p.upper[np.isfinite(p.upper)])])
    ends = ends[ends > 0]
    return float(np.median(ends)) if len(ends) else float(np.abs(s).max(initial=0.0)) or 1.0


@dataclass(frozen=True)
class RefinedFace:
    """One face with the pseudo-inverse of its equilibrated rows."""

    p: Polytope
    face: Face

    def __post_init__(self) -> None:
        free = self.face.bound == FREE
        CF = self.p.C[self.face.rows][:, free]
        norms = np.linalg.norm(CF, axis=1)
        norms[norms == 0] = 1.0
        rows = CF / norms[:, None]
        u, sigma, vt = np.linalg.svd(rows, full_matrices=False) if rows.size else (rows, np.zeros(0), rows)
        kept = sigma > RANK * sigma.max(initial=0.0)
        between = sigma[kept & (sigma < 1e3 * RANK)]
        object.__setattr__(self, "sure", not len(between))
        object.__setattr__(self, "_free", free)
        object.__setattr__(self, "_norms", norms)
        object.__setattr__(self, "_rows", rows.astype(np.longdouble))
        inverse = (vt[kept].T / sigma[kept]) @ u[:, kept].T if rows.size else rows.T
        object.__setattr__(self, "_inverse", inverse)

    def tangent(self, direction: np.ndarray) -> np.ndarray:
        """The orthogonal projection of a direction on the face."""
        u = direction[self._free].astype(np.longdouble)
        for _ in range(4):
            u = u - self._inverse @ (self._rows @ u).astype(float)
        result = np.zeros_like(direction)
        result[self._free] = u.astype(float)
        return result

    def solve(self, s: np.ndarray, prices: np.ndarray) -> tuple[np.ndarray, np.ndarray, np.ndarray, float]:
        """`x`, multipliers `(m,)` of rows and `(n,)` of bounds, and what the refinement left over.

        Where multipliers are not unique, those nearest to `prices` are taken.
        """
        held = np.where(self.face.bound == AT_UPPER, self.p.upper, self.p.lower)
        x = np.where(self._free, s, held).astype(np.longdouble)
        C = self.p.C[self.face.rows].astype(np.longdouble)
        rhs = self.p.rhs[self.face.rows]
        left = 0.0
        for _ in range(8):
            residual = (rhs - C @ x) / self._norms
            x[self._free] += self._inverse @ residual.astype(float)
            left = float(np.abs(residual).max(initial=0.0))
        pull, y = (s - x)[self._free], (prices[self.face.rows] * self._norms).astype(np.longdouble)
        for _ in range(8):
            y += self._inverse.T @ (pull - self._rows.T @ y).astype(float)
        found = np.zeros(len(self.p.rhs))
        found[self.face.rows] = (y / self._norms).astype(float)
        w = (s - x - self.p.C.T.astype(np.longdouble) @ found).astype(float)
        off = float(np.abs(w[self._free]).max(initial=0.0))
        return x.astype(float), found, np.where(self._free, 0.0, w), max(left, off)


def certified(
    p: Polytope, s: np.ndarray, guess: Face, prices: np.ndarray, rounds: int = 30
) -> tuple[RefinedFace, tuple] | None:
    """The face of the projection, from a first guess by exchanging what has a wrong sign; `None` if none is proven."""
    face = Face(
        [*np.flatnonzero(p.equality).tolist(), *(i for i in guess.rows if not p.equality[i])], guess.bound.copy()
    )
    for _ in range(rounds):
        refined = RefinedFace(p, face)
        x, y, w, left = refined.solve(s, prices)
        size = max(np.abs(x).max(initial=0.0), 1e-300)
        norms = np.maximum(np.linalg.norm(p.C, axis=1), 1e-300)
        excess = (p.C.astype(np.longdouble) @ x - p.rhs).astype(float)
        broken = np.where(p.equality, np.abs(excess), excess) > GAP * p.terms(x)
        broken[face.rows] = False
        negative = (y * norms < -GAP * size) & ~p.equality
        low, high = x < p.lower - GAP * size, x > p.upper + GAP * size
        loose = ((face.bound == AT_LOWER) & (w > GAP * size)) | ((face.bound == AT_UPPER) & (w < -GAP * size))
        if not (broken.any() or negative.any() or low.any() or high.any() or loose.any()):
            return (refined, (x, y, w)) if left <= GAP * size and refined.sure else None
        face = Face([i for i in face.rows if not negative[i]] + np.flatnonzero(broken).tolist(), face.bound.copy())
        face.bound[loose], face.bound[low], face.bound[high] = FREE, AT_LOWER, AT_UPPER
    return None
