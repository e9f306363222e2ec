"""A metric given by the entries of a sparse matrix, and its saddle point system by sparse elimination."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.linalg import SuperLU
from torch import Tensor

from foresolve.solvers.arrays import Array, to_array
from foresolve.solvers.projection.elimination import Elimination
from foresolve.solvers.projection.metric import Metric, chosen, summed
from foresolve.solvers.projection.rows import Rows
from foresolve.solvers.projection.saddle import Saddle, SaddleTerms, filled
from foresolve.solvers.projection.sparse_rows import SparseRows, scattered
from foresolve.solvers.threads import in_threads

# On the diagonal of variables (which is 1) and of rows (in units of `C D C'`) while factors are made: any order of
# elimination is stable then. Refinement takes it out again.
SHIFT, ROW_SHIFT = 1e-11, 1e-9
REFINEMENTS = 10
ROUNDING = 1e-15


class SymmetricPattern:
    """The places of the entries of a symmetric matrix, both triangles; made once and shared by all who have the same.

    Parameters
    ----------
    index: `(2, nnz)`, no place twice.
    """

    def __init__(self, n: int, index: Tensor) -> None:
        self.n, self.index = n, index
        self.row, self.column = index.cpu().numpy()
        self._last: tuple[Any, SaddlePattern] | None = None

    @cached_property
    def lower(self) -> np.ndarray:
        """A mask of the entries below the diagonal."""
        return np.flatnonzero(self.row > self.column)

    def with_rows(self, rows: Rows) -> SaddlePattern:
        """Together with the rows; kept, for all that is worked out from places alone."""
        key = rows.pattern if isinstance(rows, SparseRows) else rows
        if self._last is None or self._last[0] is not key:
            self._last = key, SaddlePattern(self, rows)
        return self._last[1]


class SaddlePattern:
    """The places of the entries of the saddle point matrix: variables first, then rows."""

    def __init__(self, form: SymmetricPattern, rows: Rows) -> None:
        if isinstance(rows, SparseRows):
            self.row, self.column = rows.pattern.row, rows.pattern.column
        else:
            self.row, self.column = np.nonzero((abs(filled(rows)) > 0).any(0))
        variables = np.arange(form.n)
        below, above = form.row[form.lower], form.column[form.lower]
        self.elimination = Elimination(
            form.n,
            np.concatenate([below, variables]),
            np.concatenate([above, variables]),
            self.column,
            self.row,
            rows.m,
        )

    def entries(self, rows: Rows) -> np.ndarray:
        """Entries of the rows, `(1 or B, nnz)`."""
        if isinstance(rows, SparseRows):
            return rows.values if rows.batched else rows.values[None]
        return filled(rows)[:, self.row, self.column]


class SparseMetric(Metric):
    """`H = diag(shift) + Q` with the entries `values` `(1 or B, nnz)` of a symmetric sparse `Q`."""

    correctors = 1

    def __init__(self, shift: Any, values: Any, pattern: SymmetricPattern) -> None:
        self.shift, self.values, self.pattern = shift, values, pattern

    @cached_property
    def h(self) -> Array:
        pattern = self.pattern
        own = np.flatnonzero(pattern.row == pattern.column)
        places = torch.from_numpy(pattern.row[own]).to(self.values.device) if self._on_gpu else pattern.row[own]
        return self.shift + scattered(self.values[:, own], places, pattern.n)

    @property
    def _on_gpu(self) -> bool:
        return isinstance(self.values, Tensor)

    @cached_property
    def _rows(self) -> SparseRows:
        """`Q` as an operator."""
        n, shared = self.pattern.n, len(self.values) == 1
        return SparseRows(n, n, self.pattern.index, self.values[0] if shared else self.values)

    def apply(self, x: Array) -> Array:
        return self.shift * x + self._rows.apply(x)

    def reach(self, x: Array) -> Array:
        return self.shift * abs(x) + self._rows.magnitudes.apply(abs(x))

    def select(self, index: Array) -> Metric:
        return SparseMetric(chosen(self.shift, index), chosen(self.values, index), self.pattern)

    def system(self, terms: SaddleTerms) -> Saddle:
        return SparseSaddle(terms, self)

    def numeric(self) -> Metric:
        return SparseMetric(to_array(self.shift), to_array(self.values), self.pattern)

    def tensors(self) -> tuple[Tensor, ...]:
        return self.shift, self.values

    def gradients(self, u: Array, x: Array) -> tuple[Array, ...]:
        outer = self._rows.outer(u, x) + self._rows.outer(x, u)
        outer = outer if self._rows.batched else outer[None]
        return summed(-u * x, self.shift), outer / -2


class SparseSaddle(Saddle):
    """The quasi-definite matrix, with `s = (h + w)^{-1/2}` and `dx = s v`,

        [ s (H + w) s    s C' ] [ v  ]   [ s r ]
        [ C s           -e    ] [ dy ] = [ p   ],

    whose first diagonal is 1; one sparse elimination for each instance, in an order that is worked out once. What a GPU
    holds is worked on by the CPU: a sparse factorization has nothing to gain there.
    """

    def __init__(self, terms: SaddleTerms, metric: SparseMetric) -> None:
        super().__init__(terms)
        if isinstance(terms.free, Tensor):
            on_cpu = terms.on_cpu()
            cpu_metric = SparseMetric(metric.shift.cpu().numpy(), metric.values.cpu().numpy(), metric.pattern)
            self._on_cpu: SparseSaddle | None = SparseSaddle(on_cpu, cpu_metric)
            return
        self._on_cpu = None
        form, pattern = metric.pattern, metric.pattern.with_rows(terms.rows)
        self._elimination, self._s = pattern.elimination, terms.inverse(metric.h) ** 0.5
        s, batch = self._s, len(self._s)
        below, above = form.row[form.lower], form.column[form.lower]
        lower = metric.values[:, form.lower] * s[:, below] * s[:, above]
        edge = pattern.entries(terms.rows) * s[:, pattern.column]
        if terms.mask is not None:
            edge = edge * terms.mask[:, pattern.row]
        weights = scattered(edge**2, pattern.row, terms.rows.m)
        e = np.broadcast_to(terms.e + terms.lift * weights, (batch, terms.rows.m))
        shift = ROW_SHIFT * np.where(weights > 0, weights, 1.0)
        self._e = e
        self._keep = self._kept()
        self._systems = in_threads(self._factorized, list(zip(lower, edge, e, shift, self._keep, strict=True)))

    def _kept(self) -> list[np.ndarray | None]:
        """The unknowns of each instance, in elimination order: on a face only those that belong to it."""
        terms = self.terms
        if terms.weight is not None:
            return [None] * len(self._s)
        rows = np.ones_like(self._e, dtype=bool) if terms.mask is None else terms.mask > 0
        keep = np.concatenate([self._s > 0, np.broadcast_to(rows, self._e.shape)], axis=-1)
        return [self._elimination.ordered(row) for row in keep]

    def _factorized(
        self, lower: np.ndarray, edge: np.ndarray, e: np.ndarray, shift: np.ndarray, keep: np.ndarray | None
    ) -> tuple[scipy.sparse.csc_matrix, SuperLU | None]:
        elimination, ones = self._elimination, np.ones(self._elimination.m)
        matrix = elimination.matrix(np.concatenate([lower, ones]), edge, -e, keep)
        shifted = np.concatenate([lower, (1 + SHIFT) * ones])
        return matrix, elimination.factors(elimination.matrix(shifted, edge, -(e + shift), keep))

    def step(self, r: Array, p: Array) -> tuple[Array, Array]:
        if self._on_cpu is not None:
            dx, dy = self._on_cpu.step(r.cpu().numpy(), p.cpu().numpy())
            return torch.from_numpy(dx).to(r), torch.from_numpy(dy).to(r)
        right, n = np.concatenate([self._s * r, p], axis=-1), r.shape[-1]
        solved = in_threads(self._solve, list(zip(self._systems, self._keep, right, strict=True)))
        unknowns = np.reshape(solved, right.shape)
        if self.terms.mask is None:
            return self._s * unknowns[:, :n], unknowns[:, n:]
        # Rows that do not count keep to themselves.
        return self._s * unknowns[:, :n], np.where(self.terms.mask > 0, unknowns[:, n:], -p / self._e)

    def _solve(
        self, system: tuple[scipy.sparse.csc_matrix, SuperLU | None], keep: np.ndarray | None, right: np.ndarray
    ) -> np.ndarray:
        """All unknowns, zero for those that are not kept."""
        ordered = self._elimination.ordered(right)
        if keep is None:
            return self._elimination.restored(_refined(*system, ordered))
        ordered[~keep] = 0.0
        ordered[keep] = _refined(*system, ordered[keep])
        return self._elimination.restored(ordered)


def _refined(matrix: scipy.sparse.csc_matrix, factors: SuperLU | None, right: np.ndarray) -> np.ndarray:
    """Until nothing is left, or nothing helps."""
    if factors is None:
        return np.full_like(right, np.nan)
    best = solution = factors.solve(right)
    least, enough = np.inf, ROUNDING * abs(right).max(initial=0.0)
    for _ in range(REFINEMENTS):
        left = right - matrix @ solution
        size = abs(left).max(initial=0.0)
        if not size < 0.5 * least:
            break
        best, least = solution, size
        if size <= enough:
            break
        solution = solution + factors.solve(left)
    return best
