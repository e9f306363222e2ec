"""Rows stored by their entries: flows, knapsacks with few items a row, models from files."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import torch
from scipy.linalg import get_lapack_funcs
from torch import Tensor

from foresolve.solvers.arrays import Array, namespace, to_array
from foresolve.solvers.projection.cholesky import Solve, cholesky_solver, rescued
from foresolve.solvers.projection.rows import DenseRows, Rows
from foresolve.solvers.projection.sparse_pattern import Pattern

pbtrf, pbtrs = get_lapack_funcs(("pbtrf", "pbtrs"), dtype=np.float64)

# Up to this many entries, zeros included, a matrix is filled in.
FILLED_SIZE = 5_000


class SparseRows(Rows):
    """Rows given by `index` (2, nnz) and `values`, `(nnz,)` shared or `(B, nnz)`."""

    def __init__(self, m: int, n: int, index: Tensor, values: Any, pattern: Pattern | None = None) -> None:
        self.m, self.n, self.values = m, n, values
        self.batched = values.ndim == 2
        self.pattern = pattern or Pattern(m, n, index)

    @property
    def side(self) -> int:
        return self.m if self.pattern.kind == "dense" else 0

    def with_values(self, values: Any) -> SparseRows:
        return SparseRows(self.m, self.n, self.pattern.index, values, self.pattern)

    @cached_property
    def numeric(self) -> Rows:
        """The rows as numbers, see `Rows`; a small matrix is filled in, for then the calls cost more than the zeros."""
        if self.batched or self.values.device.type != "cpu" or self.m * self.n > FILLED_SIZE:
            return self.with_values(to_array(self.values))
        return _FilledRows(self.scipy().toarray(), self.pattern)

    def scipy(self, i: int = 0) -> scipy.sparse.csr_array:
        values = self.values[i] if self.batched else self.values
        if isinstance(values, Tensor):
            values = values.detach().cpu().numpy()
        return scipy.sparse.csr_array((values, (self.pattern.row, self.pattern.column)), (self.m, self.n))

    @cached_property
    def filled(self) -> Array:
        shape = (*self.values.shape[:-1], self.m * self.n)
        zeros = self.values.new_zeros(shape) if isinstance(self.values, Tensor) else np.zeros(shape)
        zeros[..., self._index("row") * self.n + self._index("column")] = self.values
        return zeros.reshape(*shape[:-1], self.m, self.n)

    @cached_property
    def _pair(self) -> tuple[scipy.sparse.csr_array, scipy.sparse.csr_array]:
        matrix = self.scipy()
        return matrix, scipy.sparse.csr_array(matrix.T)

    def _index(self, name: str) -> Array:
        """An index array of the pattern, where `values` lives."""
        return (
            self.pattern.on(name, self.values.device)
            if isinstance(self.values, Tensor)
            else getattr(self.pattern, name)
        )

    def _spread(self, vector: Array, source: str, target: str, size: int) -> Array:
        terms = vector[:, self._index(source)] * self.values
        return scattered(terms, self._index(target), size)

    def _multiply(self, matrix: scipy.sparse.csr_array, vector: np.ndarray) -> np.ndarray:
        return (matrix @ vector[0])[None] if len(vector) == 1 else np.ascontiguousarray((matrix @ vector.T).T)

    def apply(self, x: Array) -> Array:
        if isinstance(x, np.ndarray) and not self.batched:
            return self._multiply(self._pair[0], x)
        return self._spread(x, "column", "row", self.m)

    def adjoint(self, y: Array) -> Array:
        if isinstance(y, np.ndarray) and not self.batched:
            return self._multiply(self._pair[1], y)
        return self._spread(y, "row", "column", self.n)

    def squared_norms(self) -> Array:
        squares = self.values**2
        return scattered(squares if self.batched else squares[None], self._index("row"), self.m)

    def outer(self, y: Array, x: Array) -> Array:
        row, column = self._index("row"), self._index("column")
        if self.batched:
            return y[:, row] * x[:, column]
        out = namespace(self.values).zeros_like(self.values)
        for y_b, x_b in zip(y, x, strict=True):  # never a (B, nnz) intermediate
            out += y_b[row] * x_b[column]
        return out

    # -- the normal matrix -------------------------------------------------------------------------------------------

    def factor(self, d: Array, e: Array, mask: Array | None = None, lift: float = 0.0) -> Solve:
        if isinstance(d, Tensor):
            if self.pattern.fits_dense and self.pattern.few_pairs:
                return self._dense(d, e, mask, lift)
            # Beyond that a GPU has nothing to offer to a sparse factorization.
            cpu = self.with_values(self.values.cpu().numpy())
            solve_cpu = cpu.factor(d.cpu().numpy(), e.cpu().numpy(), None if mask is None else mask.cpu().numpy(), lift)
            return lambda v: torch.from_numpy(solve_cpu(v.cpu().numpy())).to(v)
        if self.pattern.kind == "dense":
            return self._dense(d, e, mask, lift)
        solvers = self._band(d, e, mask, lift) if self.pattern.kind == "band" else self._sparse(d, e, mask, lift)
        return lambda v: np.reshape([solve(v_b) for solve, v_b in zip(solvers, v, strict=True)], v.shape)

    def _lower_triangle(self, d: Array, e: Array, mask: Array | None, lift: float) -> Array:
        """The entries of `M` at `(below, above)`, `(B, entries)`."""
        if not self.pattern.few_pairs:
            entries = np.stack([self._multiplied_out(i, d_i) for i, d_i in enumerate(d)])
        elif isinstance(d, np.ndarray) and not self.batched:
            entries = self._multiply(self._assembly, d)
        else:
            first, second = self._index("first"), self._index("second")
            products = self.values[..., first] * self.values[..., second] * d[:, self._index("variable")]
            entries = scattered(products, self._index("target"), len(self.pattern.below))
        inverse, position = self._index("inverse_order"), self._index("on_diagonal")
        if mask is not None:
            ordered = mask[:, inverse]
            entries = entries * ordered[:, self._index("below")] * ordered[:, self._index("above")]
        entries[:, position] = (1 + lift) * entries[:, position] + e[:, inverse]
        return entries

    @cached_property
    def _assembly(self) -> scipy.sparse.csr_array:
        """The linear map from `d` to the lower triangle of `C D C'`."""
        pattern = self.pattern
        products = self.values[pattern.first] * self.values[pattern.second]
        shape = (len(pattern.below), self.n)
        return scipy.sparse.csr_array((products, (pattern.target, pattern.variable)), shape)

    def _multiplied_out(self, i: int, d: np.ndarray) -> np.ndarray:
        """The lower triangle of `C D C'` of one instance, where the list of all products would be too long."""
        pattern, matrix = self.pattern, self.scipy(i)
        product = ((matrix @ scipy.sparse.diags_array(d)) @ matrix.T).tocoo()
        first, second = product.coords
        lower = pattern.order[first] >= pattern.order[second]
        entries = np.zeros(len(pattern.position))
        entries[np.searchsorted(pattern.position, pattern.places(first[lower], second[lower]))] = product.data[lower]
        return entries

    def _dense(self, d: Array, e: Array, mask: Array | None, lift: float) -> Solve:
        if not self.pattern.few_pairs:
            matrices = [self.scipy(i).toarray() for i in range(len(self.values) if self.batched else 1)]
            return DenseRows(np.stack(matrices) if self.batched else matrices[0]).factor(d, e, mask, lift)
        matrix = _zeros(d, self.m * self.m)
        matrix[:, self._index("position")] = self._lower_triangle(d, e, mask, lift)
        solve_ordered = cholesky_solver(matrix.reshape(-1, self.m, self.m))
        order, inverse = self._index("order"), self._index("inverse_order")
        return lambda v: solve_ordered(v[:, inverse])[:, order]

    def _band(self, d: np.ndarray, e: np.ndarray, mask: np.ndarray | None, lift: float) -> list[Solve]:
        """LAPACK's banded Cholesky: on a grid of side k, `k^4` operations and `k^3` numbers."""
        pattern = self.pattern
        order, inverse = pattern.order, pattern.inverse_order

        def solver(entries: np.ndarray) -> Solve:
            band = np.zeros((pattern.m, pattern.bandwidth + 1)).T  # column-major, as LAPACK wants it
            band[pattern.below - pattern.above, pattern.above] = entries
            factor, info = pbtrf(band, lower=1)
            lifts = rescued(band[0])
            while info > 0 and (diagonal := next(lifts, None)) is not None:
                lifted = band.copy(order="F")
                lifted[0] = diagonal
                factor, info = pbtrf(lifted, lower=1)
            if info > 0:
                return lambda v: np.full_like(v, np.nan)
            return lambda v: pbtrs(factor, v[inverse], lower=1)[0][order]

        return [solver(entries) for entries in self._lower_triangle(d, e, mask, lift)]

    def _sparse(self, d: np.ndarray, e: np.ndarray, mask: np.ndarray | None, lift: float) -> list[Solve]:
        """Sparse LU, with long columns as unknowns of their own."""
        pattern, short = self.pattern, self._short
        row, column = pattern.row[pattern.long], pattern.column[pattern.long]
        edge = self.values[..., pattern.long] * d[:, column] ** 0.5
        if mask is not None:
            edge = edge * mask[:, row]
        lower = short._lower_triangle(d, e + lift * scattered(edge**2, row, self.m), mask, lift)
        return [pattern.elimination.solver(*parts) for parts in zip(lower, edge, strict=True)]

    @cached_property
    def _short(self) -> SparseRows:
        """The rows without their long columns."""
        pattern = self.pattern
        if pattern.rest is pattern:
            return self
        return SparseRows(self.m, self.n, pattern.rest.index, self.values[..., pattern.short], pattern.rest)


class _FilledRows(DenseRows):
    """The dense numbers of shared sparse rows; gradients are still those of the entries."""

    def __init__(self, values: np.ndarray, pattern: Pattern) -> None:
        super().__init__(values)
        self._pattern = pattern

    def outer(self, y: np.ndarray, x: np.ndarray) -> np.ndarray:
        return super().outer(y, x)[self._pattern.row, self._pattern.column]


def _zeros(like: Array, size: int) -> Array:
    shape = (like.shape[0], size)
    return like.new_zeros(shape) if isinstance(like, Tensor) else np.zeros(shape)


def scattered(terms: Array, target: Array, size: int) -> Array:
    """Sums of the columns of `terms` that share a `target`."""
    out = _zeros(terms, size)
    if isinstance(terms, Tensor):
        return out.index_add_(-1, target, terms)
    for row, values in zip(out, terms, strict=True):
        row += np.bincount(target, values, minlength=size)
    return out
