r"""Bounds that no decision can beat, from the multipliers of rows, and multipliers that make them tight.

For `max g'x` over `{C x = b on equality, C x <= b elsewhere, l <= x <= u}` and any `y`, `y >= 0` on inequalities,

    g'x = y'C x + (g - C'y)'x <= b'y + sum_j max(r_j l_j, r_j u_j),   r = g - C'y,

so that whoever has `y` knows a bound without solving anything. Rounding is on the safe side (Neumaier and Shcherbina,
*Safe bounds in linear and mixed-integer linear programming*, 2004): each term is raised by what rounding may have taken
from it, and bounds that are infinite are replaced by what the rows imply, where they imply any. For a variable that
stays unbounded, a reduced cost within rounding of zero counts as zero, that is, the bound is that of a program whose
coefficient differs by less than the rounding of its own terms; a larger one of the wrong sign makes the bound infinite.
"""

from __future__ import annotations

from dataclasses import replace
from typing import NamedTuple

import numpy as np

from foresolve.solvers.exact.highs import CHUNK, in_chunks
from foresolve.solvers.exact.model_pool import ModelPool
from foresolve.solvers.exact.outcome import Ending, Limits
from foresolve.solvers.exact.polytope_model import PolytopeModel
from foresolve.solvers.exact.scaling import cost_scale
from foresolve.solvers.exact.verification import Program
from foresolve.solvers.projection.polytope import Polytope

# How often bounds that were just implied may imply others.
PASSES = 3
# The tightest tolerance that HiGHS takes for reduced costs, and what costs are moved by, on HiGHS' scale, so that
# reduced costs of unbounded variables end on the right side of zero in spite of it.
OPTIONS = {"dual_feasibility_tolerance": 1e-10, "primal_feasibility_tolerance": 1e-9}
NUDGE = 1e-9
NO_LIMITS = Limits()


class DualBound(NamedTuple):
    """Bounds for some gains: what no decision beats, and the most that its terms can be where they are bounded."""

    bound: np.ndarray
    reach: np.ndarray


def rounding(program: Program) -> float:
    """The share of its terms by which any sum over rows or variables may be wrong in floating point, generously."""
    return float(np.finfo(np.float64).eps) * (len(program.rhs) + len(program.lower) + 8)


def implied_bounds(program: Program) -> tuple[np.ndarray, np.ndarray]:
    """The bounds of a program, infinite ones replaced by what its rows and other bounds imply, rounded outwards."""
    lower, upper = program.lower.copy(), program.upper.copy()
    m, matrix, share = len(program.rhs), program.matrix, rounding(program)
    row, column = np.repeat(np.arange(m), np.diff(matrix.indptr)), matrix.indices
    entry = np.asarray(matrix.data, dtype=np.float64)
    used = entry != 0
    row, column, entry = row[used], column[used], entry[used]
    equal = program.equality[row]
    # Equalities are two inequalities; each is a row `sum_j a_j x_j <= side`.
    row, column = np.concatenate([row, row[equal] + m]), np.concatenate([column, column[equal]])
    entry, side = np.concatenate([entry, -entry[equal]]), np.concatenate([program.rhs, -program.rhs])
    for _ in range(PASSES):
        if np.isfinite(lower).all() and np.isfinite(upper).all():
            break
        least = np.where(entry > 0, entry * lower[column], entry * upper[column])  # of each term; -inf where unbounded
        open_term = ~np.isfinite(least)
        finite = np.where(open_term, 0.0, least)
        total = np.bincount(row, finite, minlength=2 * m)
        terms = np.bincount(row, np.abs(finite), minlength=2 * m) + np.abs(side)
        open_terms = np.bincount(row, open_term, minlength=2 * m)
        alone = open_terms[row] == open_term  # all other terms of the row are bounded
        reach = (side[row] - (total[row] - finite)) / entry
        slack = 2 * share * terms[row] / np.abs(entry) + share * np.abs(reach)
        above, below = np.full(len(upper), np.inf), np.full(len(lower), -np.inf)
        rising, falling = alone & (entry > 0), alone & (entry < 0)
        np.minimum.at(above, column[rising], (reach + slack)[rising])
        np.maximum.at(below, column[falling], (reach - slack)[falling])
        lower, upper = np.where(np.isfinite(lower), lower, below), np.where(np.isfinite(upper), upper, above)
    return lower, upper


def dual_bound(program: Program, gains: np.ndarray, y: np.ndarray) -> DualBound:
    """Bounds on `gains[i]'x` by the multipliers `y[i]`: `(k,)` for gains `(k, n)` and multipliers `(k, m)`.

    Negative multipliers of inequalities count as 0; the bound is then that of these, and holds.
    """
    share = rounding(program)
    lower, upper = implied_bounds(program)
    sound = np.asarray(np.isfinite(y).all(-1))
    y = np.where(program.equality, y, np.maximum(y, 0.0))
    y = np.where(sound[:, None], y, 0.0)
    transposed = program.matrix.T
    slope = gains - (transposed @ y.T).T
    noise = share * (np.abs(gains) + (abs(transposed) @ np.abs(y).T).T)
    floor, ceiling = np.where(np.isfinite(lower), lower, 0.0), np.where(np.isfinite(upper), upper, 0.0)
    unbounded_up, unbounded_down = ~np.isfinite(upper), ~np.isfinite(lower)
    size = np.maximum(np.abs(floor), np.abs(ceiling))
    at_floor, at_ceiling = slope * floor, slope * ceiling
    most = np.where(unbounded_up, at_floor, np.where(unbounded_down, at_ceiling, np.maximum(at_floor, at_ceiling)))
    endless = (unbounded_up & (slope > noise)) | (unbounded_down & (slope < -noise))
    total = y @ program.rhs + most.sum(-1)
    error = (noise * size).sum(-1) + share * (np.abs(y) @ np.abs(program.rhs) + np.abs(most).sum(-1))
    bound = np.where(endless.any(-1) | ~sound, np.inf, total + error)
    return DualBound(np.where(np.isnan(bound), np.inf, bound), np.abs(gains) @ size)


def find_duals(polytope: Polytope, gains: np.ndarray, model_of: np.ndarray) -> np.ndarray:
    """Multipliers `(B, m)` of the rows at an optimum of each linear program, by HiGHS; zeros where it finds none.

    Parameters
    ----------
    polytope: in NumPy; `rhs`, `lower`, `upper` and the rows may hold one set per instance.
    gains: `(B, n)`.
    model_of: `(B,)`, whose polytope each uses.
    """
    duals = np.zeros((len(gains), polytope.rows.m))
    jobs = in_chunks(model_of, CHUNK)
    pool = ModelPool(lambda: _DualModel(polytope, None, OPTIONS))

    def run(model: _DualModel, job: tuple[int, np.ndarray]) -> list[np.ndarray]:
        return model.multipliers(job[0], gains[job[1]])

    for (_, positions), found in zip(jobs, pool.map(run, jobs), strict=True):
        duals[positions] = found
    return duals


class _DualModel(PolytopeModel):
    """The multipliers at the optima that a `PolytopeModel` finds."""

    def multipliers(self, instance: int, gains: np.ndarray) -> list[np.ndarray]:
        """`(m,)` for each row of gains; the first starts cold."""
        self._become(instance)
        program = Program.of(self.polytope, instance)
        lower, upper = implied_bounds(program)
        program = replace(program, lower=lower, upper=upper)  # once for all of them
        return [self._tightest(program, row, cold=i == 0) for i, row in enumerate(gains)]

    def _tightest(self, program: Program, gains: np.ndarray, *, cold: bool) -> np.ndarray:
        y = self._optimal(gains, cold=cold)
        if np.isfinite(dual_bound(program, gains[None], y[None]).bound[0]):
            return y
        nudged = self._optimal(gains + self._nudge(program, gains), cold=False)
        return nudged if np.isfinite(dual_bound(program, gains[None], nudged[None]).bound[0]) else y

    def _optimal(self, gains: np.ndarray, *, cold: bool) -> np.ndarray:
        if self._maximize(gains, NO_LIMITS, cold=cold).ending != Ending.OPTIMAL:
            return np.zeros(self.polytope.rows.m)
        assert self.scaling is not None
        rows = self.highs.duals()[len(gains) :]
        y = rows * self.scaling.rows / cost_scale(gains * self.scaling.columns)
        return np.where(self.polytope.equality, y, np.maximum(y, 0.0)) + 0.0  # no negative zeros

    def _nudge(self, program: Program, gains: np.ndarray) -> np.ndarray:
        """Toward the sides on which variables are unbounded: their reduced costs at the optimum are then past zero."""
        assert self.scaling is not None
        direction = np.isinf(program.upper).astype(float) - np.isinf(program.lower)
        return direction * NUDGE / (cost_scale(gains * self.scaling.columns) * self.scaling.columns)
