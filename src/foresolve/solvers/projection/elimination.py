"""Sparse elimination: LU factors of one pattern, in an order that keeps them sparse and is worked out once."""

from __future__ import annotations

from functools import cached_property

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import SuperLU, splu

from foresolve.solvers.projection.cholesky import Solve, rescued

# Pivots stay on the diagonal: the matrices are quasi-definite, and every symmetric order of those has a factorization.
OPTIONS = {"SymmetricMode": True, "DiagPivotThresh": 0.0}
# Long columns as unknowns lose digits where the other columns weigh next to nothing; refinement brings them back.
REFINEMENTS = 1
# What an entry of the factor and an operation with it cost, in operations of dense BLAS.
ENTRY_COST = 1_500
FLOP_COST = 4


class Elimination:
    """`C D C' + diag(e)` with `k` long columns (set `L`, the others `S`) kept as unknowns of their own:

        K = [ C_S D_S C_S' + diag(e)    C_L D_L^{1/2} ]
            [ D_L^{1/2} C_L'            -I            ]

    Eliminating the last `k` unknowns leaves that matrix, which one full column would fill.

    Parameters
    ----------
    m: number of rows.
    below, above: places of the lower triangle of `C_S D_S C_S'`, in row numbers, the diagonal included.
    long_row, long_number: places of the entries of `C_L`, its columns numbered `0 ... k - 1`.
    k: how many there are, where some may have no entries.
    """

    def __init__(
        self,
        m: int,
        below: np.ndarray,
        above: np.ndarray,
        long_row: np.ndarray,
        long_number: np.ndarray,
        k: int | None = None,
    ) -> None:
        self.m, self.k = m, int(long_number.max(initial=-1)) + 1 if k is None else k
        own = m + np.arange(self.k)
        i, j = np.concatenate([below, m + long_number, own]), np.concatenate([above, long_row, own])
        number, mirrored = np.arange(len(i)), i != j
        i, j = np.concatenate([i, j[mirrored]]), np.concatenate([j, i[mirrored]])
        self._lower = len(below)
        self._place = i, j
        self._number = np.concatenate([number, number[mirrored]])

    @property
    def _size(self) -> int:
        return self.m + self.k

    @cached_property
    def _analysis(self) -> tuple[np.ndarray, np.ndarray]:
        """The position of each unknown by minimum degree, and the number of entries in each column of `L`."""
        i, j = self._place
        degree = np.bincount(i, minlength=self._size) + 1.0
        dominant = np.where(i < self.m, degree[i], -degree[i])
        stand_in = scipy.sparse.csr_matrix((np.where(i == j, dominant, 1.0), (i, j)), (self._size, self._size))
        # Minimum degree breaks ties by position, and from some orders takes ages; from this one it has not.
        start = reverse_cuthill_mckee(stand_in, symmetric_mode=True)
        factors = splu(stand_in[start][:, start].tocsc(), permc_spec="MMD_AT_PLUS_A", options=OPTIONS)
        order = np.empty(self._size, dtype=np.int64)
        order[start] = factors.perm_c
        return order, np.diff(factors.L.indptr)

    @property
    def order(self) -> np.ndarray:
        """The position of each unknown in the elimination."""
        return self._analysis[0]

    @cached_property
    def _back(self) -> np.ndarray:
        return np.argsort(self.order)

    @property
    def cost(self) -> float:
        """The cost of one factorization, in operations of dense BLAS."""
        heights = self._analysis[1].astype(np.float64)
        return float(ENTRY_COST * heights.sum() + FLOP_COST * (heights**2).sum())

    @cached_property
    def _template(self) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """`K` in elimination order by columns: row indices, column starts, where each number comes from."""
        i, j = (self.order[place] for place in self._place)
        by_column = np.lexsort((i, j))
        starts = np.concatenate([[0], np.cumsum(np.bincount(j, minlength=self._size))])
        return i[by_column].astype(np.int32), starts.astype(np.int32), self._number[by_column]

    def solver(self, lower: np.ndarray, edge: np.ndarray) -> Solve:
        """`v -> M^{-1} v` from the lower triangle (at `below, above`) and `C_L D_L^{1/2}` (at `long_row, long_number`).

        A matrix that rounding made singular gets a larger diagonal; non-finite input gives a non-finite answer.
        """
        matrix = self.matrix(lower, edge, np.full(self.k, -1.0))
        factors = self.factors(matrix)
        if factors is None:
            return lambda v: np.full_like(v, np.nan)
        order, back = self.order, self._back
        if self.k == 0:
            return lambda v: factors.solve(v[back])[order]

        def solve(v: np.ndarray) -> np.ndarray:
            right = np.concatenate([v, np.zeros(self.k)])[back]
            solution = factors.solve(right)
            for _ in range(REFINEMENTS):
                solution = solution + factors.solve(right - matrix @ solution)
            return solution[order[: self.m]]

        return solve

    def matrix(
        self, lower: np.ndarray, edge: np.ndarray, corner: np.ndarray, keep: np.ndarray | None = None
    ) -> scipy.sparse.csc_matrix:
        """`K` in elimination order, with `corner` in place of the `-I`; of the unknowns to `keep` alone, if given.

        A part of `K` is eliminated in the same order, with no more fill than all of it.
        """
        indices, starts, number = self._template
        data = np.concatenate([lower, edge, corner])[number] if self.k else lower[number]
        if keep is None:
            return scipy.sparse.csc_matrix((data, indices, starts), (self._size, self._size))
        inside = keep[indices] & keep[self._columns]
        position = np.cumsum(keep, dtype=np.int32) - np.int32(1)
        size = int(keep.sum())
        counts = np.bincount(position[self._columns[inside]], minlength=size)
        starts = np.concatenate([[0], np.cumsum(counts)]).astype(np.int32)
        return scipy.sparse.csc_matrix((data[inside], position[indices[inside]], starts), (size, size))

    @cached_property
    def _columns(self) -> np.ndarray:
        """The column of each entry of the template."""
        return np.repeat(np.arange(self._size), np.diff(self._template[1]))

    def factors(self, matrix: scipy.sparse.csc_matrix) -> SuperLU | None:
        """Factors of `K`; of one with a larger diagonal where rounding made it singular, `None` where nothing helps."""
        factors = _factors(matrix)
        if factors is not None or matrix.nnz == 0:
            return factors
        entries = matrix.diagonal()
        for diagonal in rescued(abs(entries)):
            lifted = matrix.copy()
            lifted.setdiag(np.where(entries < 0, -diagonal, diagonal))
            factors = _factors(lifted)
            if factors is not None:
                break
        return factors

    def ordered(self, v: np.ndarray) -> np.ndarray:
        """All unknowns in elimination order."""
        return v[self._back]

    def restored(self, v: np.ndarray) -> np.ndarray:
        """All unknowns in their own order."""
        return v[self.order]


def _factors(matrix: scipy.sparse.csc_matrix) -> SuperLU | None:
    """The factors in the order given, None where a pivot vanishes."""
    if matrix.nnz == 0:
        return None
    try:
        return splu(matrix, permc_spec="NATURAL", panel_size=8, options=OPTIONS)
    except RuntimeError:
        return None
