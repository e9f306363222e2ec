"""Rows stored by their entries: flows, knapsacks with few items a row, models from files."""

from __future__ import annotations

from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse
import torch
from scipy.linalg import get_lapack_funcs
from scipy.sparse.csgraph import reverse_cuthill_mckee
from scipy.sparse.linalg import splu
from torch import Tensor

from foresolve.solvers.arrays import Array, namespace, to_array
from foresolve.solvers.projection.cholesky import Solve, cholesky_solver
from foresolve.solvers.projection.rows import DenseRows, Rows

pbtrf, pbtrs = get_lapack_funcs(("pbtrf", "pbtrs"), dtype=np.float64)

# Limits of the three ways to factorise C D C', by rows: a full matrix, a band, general sparse LU.
FILLED_SIZE = 5_000
SMALL_ROWS = 64
DENSE_ROWS = 3_000
BAND_BYTES = 1_000_000_000
BAND_FLOPS = 3e10
PAIR_LIMIT = 30_000_000


class Pattern:
    """Where the entries are, and what follows from that alone; made once and shared by all who have the same rows."""

    def __init__(self, m: int, n: int, index: Tensor) -> None:
        self.m, self.n = m, n
        self.index = index
        self.row, self.column = index.cpu().numpy()
        self._on_device: dict[tuple[str, torch.device], Tensor] = {}

    def on(self, name: str, device: torch.device) -> Tensor:
        """An index array of this pattern as a tensor on `device`."""
        key = (name, device)
        if key not in self._on_device:
            self._on_device[key] = torch.from_numpy(np.ascontiguousarray(getattr(self, name))).to(device)
        return self._on_device[key]

    @cached_property
    def _gram(self) -> scipy.sparse.csr_array:
        ones = scipy.sparse.csr_array((np.ones(len(self.row)), (self.row, self.column)), (self.m, self.n))
        return scipy.sparse.csr_array(ones @ ones.T)

    @cached_property
    def order(self) -> np.ndarray:
        """The position of each row in the reverse Cuthill-McKee order, which keeps `C D C'` near its diagonal."""
        permutation = reverse_cuthill_mckee(scipy.sparse.csr_matrix(self._gram), symmetric_mode=True)
        order = np.empty(self.m, dtype=np.int64)
        order[permutation] = np.arange(self.m)
        return order

    @cached_property
    def bandwidth(self) -> int:
        entries = self._gram.tocoo()
        first, second = entries.coords
        return int(np.abs(self.order[first] - self.order[second]).max(initial=0))

    @cached_property
    def pairs(self) -> int:
        """How many products of two entries make up `C D C'`."""
        counts = np.bincount(self.column, minlength=self.n).astype(np.int64)
        return int((counts * counts).sum())

    @cached_property
    def kind(self) -> str:
        if self.pairs > PAIR_LIMIT:
            return "lu" if self.m > DENSE_ROWS else "dense"
        width = self.bandwidth + 1
        if (
            self.m > SMALL_ROWS
            and 4 * width < self.m
            and width * self.m * 8 <= BAND_BYTES
            and self.m * width**2 <= BAND_FLOPS
        ):
            return "band"
        return "dense" if self.m <= DENSE_ROWS else "lu"

    @cached_property
    def _products(self) -> tuple[np.ndarray, np.ndarray]:
        """Pairs of entries in one column, the first at or below the second in `order`."""
        by_column = np.argsort(self.column, kind="stable")
        counts = np.bincount(self.column, minlength=self.n)
        start = np.cumsum(counts) - counts
        repeats = counts[self.column[by_column]]
        first = np.repeat(by_column, repeats)
        within = np.arange(len(first)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        second = by_column[np.repeat(start[self.column[by_column]], repeats) + within]
        keep = self.order[self.row[first]] >= self.order[self.row[second]]
        return first[keep], second[keep]

    @cached_property
    def first(self) -> np.ndarray:
        return self._products[0]

    @cached_property
    def second(self) -> np.ndarray:
        return self._products[1]

    @cached_property
    def variable(self) -> np.ndarray:
        return self.column[self.first]

    @cached_property
    def _targets(self) -> tuple[np.ndarray, np.ndarray]:
        keys = self.order[self.row[self.first]] * self.m + self.order[self.row[self.second]]
        on_diagonal = np.arange(self.m, dtype=np.int64) * (self.m + 1)  # present even for rows without entries
        unique, inverse = np.unique(np.concatenate([keys, on_diagonal]), return_inverse=True)
        return unique, inverse[: len(keys)]

    @cached_property
    def target(self) -> np.ndarray:
        """The entry of `C D C'` that each pair adds to."""
        return self._targets[1]

    @cached_property
    def below(self) -> np.ndarray:
        """Row (in `order`) of each entry of the lower triangle of `C D C'`."""
        return self._targets[0] // self.m

    @cached_property
    def above(self) -> np.ndarray:
        """Column (in `order`) of each entry of the lower triangle of `C D C'`."""
        return self._targets[0] % self.m

    @cached_property
    def on_diagonal(self) -> np.ndarray:
        """Where among these entries the diagonal is, in order."""
        return np.flatnonzero(self.below == self.above)

    @cached_property
    def position(self) -> np.ndarray:
        """Where these entries lie in a full matrix."""
        return self._targets[0]

    @cached_property
    def inverse_order(self) -> np.ndarray:
        return np.argsort(self.order)


class SparseRows(Rows):
    """Rows given by `index` (2, nnz) and `values`, `(nnz,)` shared or `(B, nnz)`."""

    def __init__(self, m: int, n: int, index: Tensor, values: Any, pattern: Pattern | None = None) -> None:
        self.m, self.n, self.values = m, n, values
        self.batched = values.ndim == 2
        self.pattern = pattern or Pattern(m, n, index)

    def with_values(self, values: Any) -> SparseRows:
        return SparseRows(self.m, self.n, self.pattern.index, values, self.pattern)

    @cached_property
    def numeric(self) -> Rows:
        """As in `Rows`; a small matrix is filled in, for then the calls cost more than the zeros."""
        if self.batched or self.values.device.type != "cpu" or self.m * self.n > FILLED_SIZE:
            return self.with_values(to_array(self.values))
        return _FilledRows(self.scipy().toarray(), self.pattern)

    def scipy(self, i: int = 0) -> scipy.sparse.csr_array:
        values = self.values[i] if self.batched else self.values
        if isinstance(values, Tensor):
            values = values.detach().cpu().numpy()
        return scipy.sparse.csr_array((values, (self.pattern.row, self.pattern.column)), (self.m, self.n))

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
        return _scatter(terms, self._index(target), size)

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
        squares = (self.values**2).reshape(-1, self.values.shape[-1])
        return _scatter(squares, self._index("row"), self.m)

    def outer(self, y: Array, x: Array) -> Array:
        row, column = self._index("row"), self._index("column")
        if self.batched:
            return y[:, row] * x[:, column]
        out = namespace(self.values).zeros_like(self.values)
        for one, other in zip(y, x, strict=True):  # never a (B, nnz) intermediate
            out += one[row] * other[column]
        return out

    # -- the normal matrix -------------------------------------------------------------------------------------------

    def factor(self, d: Array, e: Array, mask: Array | None = None, lift: float = 0.0) -> Solve:
        if isinstance(d, Tensor):
            if self.m <= DENSE_ROWS and self.pattern.pairs <= PAIR_LIMIT:
                return self._dense(d, e, mask, lift)
            # Beyond that a GPU has nothing to offer to a sparse factorisation.
            cpu = self.with_values(self.values.cpu().numpy())
            solve_cpu = cpu.factor(d.cpu().numpy(), e.cpu().numpy(), None if mask is None else mask.cpu().numpy(), lift)
            return lambda v: torch.from_numpy(solve_cpu(v.cpu().numpy())).to(v)
        if self.pattern.kind == "dense":
            return self._dense(d, e, mask, lift)
        solvers = self._band(d, e, mask, lift) if self.pattern.kind == "band" else self._lu(d, e, mask, lift)
        return lambda v: np.reshape([solve(one) for solve, one in zip(solvers, v, strict=True)], v.shape)

    def _lower_triangle(self, d: Array, e: Array, mask: Array | None, lift: float) -> Array:
        """The entries of `M` at `(below, above)`, `(B, entries)`."""
        if isinstance(d, np.ndarray) and not self.batched:
            entries = self._multiply(self._assembly, d)
        else:
            first, second = self._index("first"), self._index("second")
            products = self.values[..., first] * self.values[..., second] * d[:, self._index("variable")]
            entries = _scatter(products, self._index("target"), len(self.pattern.below))
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

    def _dense(self, d: Array, e: Array, mask: Array | None, lift: float) -> Solve:
        if self.pattern.pairs > PAIR_LIMIT:
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

        def one(entries: np.ndarray) -> Solve:
            band = np.zeros((pattern.m, pattern.bandwidth + 1)).T  # column-major, as LAPACK wants it
            band[pattern.below - pattern.above, pattern.above] = entries
            factor, info = pbtrf(band, lower=1)
            shift = 1e-12
            while info > 0 and shift < 1e-2:
                lifted = band.copy(order="F")
                lifted[0] += shift * band[0].max()
                factor, info = pbtrf(lifted, lower=1)
                shift *= 100
            return lambda v: pbtrs(factor, v[inverse], lower=1)[0][order]

        return [one(entries) for entries in self._lower_triangle(d, e, mask, lift)]

    def _lu(self, d: np.ndarray, e: np.ndarray, mask: np.ndarray | None, lift: float) -> list[Solve]:
        def one(i: int) -> Solve:
            matrix = self.scipy(i)
            if mask is not None:
                matrix = scipy.sparse.diags_array(mask[i]) @ matrix
            gram = scipy.sparse.csc_array((matrix @ scipy.sparse.diags_array(d[i])) @ matrix.T)
            gram = gram + scipy.sparse.diags_array(lift * gram.diagonal() + e[i])
            options = {"SymmetricMode": True, "DiagPivotThresh": 0.0}
            return splu(scipy.sparse.csc_matrix(gram), permc_spec="MMD_AT_PLUS_A", options=options).solve

        return [one(i) for i in range(len(d))]


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


def _scatter(terms: Array, target: Array, size: int) -> Array:
    """Sums of the columns of `terms` that share a `target`."""
    out = _zeros(terms, size)
    if isinstance(terms, Tensor):
        return out.index_add_(-1, target, terms)
    for row, values in zip(out, terms, strict=True):
        row += np.bincount(target, values, minlength=size)
    return out
