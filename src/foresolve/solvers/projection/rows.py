"""Constraint rows as linear operators, and the one kind of linear system that everything here solves.

For rows `C` (m x n), weights `d >= 0` on the variables, a 0/1 mask `w` on the rows and a diagonal `e > 0`, that
system is

    M = w (C diag(d) C') w + diag(e),

symmetric and positive definite. Bounds never become rows, so `M` stays as small as the number of rows.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from functools import cached_property
from typing import Any, Self

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve.solvers.arrays import Array, namespace, to_array
from foresolve.solvers.projection.cholesky import Solve, cholesky_solver


class Rows(ABC):
    """`m` rows over `n` variables, shared by a batch or one set per instance (`batched`).

    `values` is a tensor where a problem holds the rows, and an array of the solvers in `numeric`.
    """

    m: int
    n: int
    values: Any
    batched: bool
    # Whether every square submatrix has determinant 0 or +-1: then rows that are independent are well apart, too.
    unimodular: bool = False

    @abstractmethod
    def apply(self, x: Array) -> Array:
        """`C x`: `(B, n) -> (B, m)`."""

    @abstractmethod
    def adjoint(self, y: Array) -> Array:
        """`C' y`: `(B, m) -> (B, n)`."""

    @abstractmethod
    def squared_norms(self) -> Array:
        """Squared Euclidean norms of the rows, `(1 or B, m)`."""

    @abstractmethod
    def factor(self, d: Array, e: Array, mask: Array | None = None, lift: float = 0.0) -> Solve:
        """Factorize `M` and return its solver; `d` is `(B, n)`, `e` and `mask` are `(B, m)`.

        `lift` adds that share of the diagonal of `C d C'` to it, which lets dependent rows through.
        """

    @abstractmethod
    def outer(self, y: Array, x: Array) -> Array:
        """`sum_b y_b x_b'` at the entries of `C`, shaped like `values` (no sum where `batched`)."""

    @abstractmethod
    def with_values(self, values: Any) -> Self:
        """The same structure with other entries."""

    @abstractmethod
    def scipy(self, i: int = 0) -> scipy.sparse.csr_array:
        """The rows of instance `i` as SciPy sparse."""

    @property
    def side(self) -> int:
        """The side of the dense matrix that `factor` works on, 0 where it is sparse."""
        return min(self.m, self.n)

    @cached_property
    def numeric(self) -> Rows:
        """The rows as the solvers see them; kept, with all that they work out once."""
        return self.with_values(to_array(self.values))

    @cached_property
    def weights(self) -> Array:
        """Squared row norms, 1 for empty rows: what makes residuals and multipliers of a row comparable."""
        norms = self.squared_norms()
        return namespace(norms).where(norms > 0, norms, 1.0)

    @cached_property
    def norms(self) -> Array:
        """Row norms, 1 for empty rows."""
        return self.weights**0.5

    @cached_property
    def magnitudes(self) -> Self:
        """The rows with the sizes of their entries."""
        return self.with_values(abs(self.values))

    @cached_property
    def _squares(self) -> Self:
        return self.with_values(self.values**2)

    @cached_property
    def column_norms(self) -> Array:
        """Norms of the columns once every row has norm 1, `(1 or B, n)`; 1 for empty columns.

        Their inverses are the units in which the variables are comparable.
        """
        squares = self._squares.adjoint(1 / self.weights)
        return namespace(squares).where(squares > 0, squares, 1.0) ** 0.5

    @cached_property
    def filled(self) -> Array:
        """The rows with all their zeros, `(m, n)` or `(B, m, n)`."""
        dense = self.scipy().toarray()
        return torch.from_numpy(dense).to(self.values) if isinstance(self.values, Tensor) else dense

    def diagonal(self, d: Array) -> Array:
        """The diagonal of `C diag(d) C'`, `(B, m)`."""
        return self._squares.apply(d)

    def select(self, index: Array) -> Self:
        """The rows of a subset of the instances."""
        return self.with_values(self.values[index]) if self.batched else self

    def to(self, device: torch.device) -> Self:
        """The same rows on another device."""
        return self.with_values(self.values.to(device))

    def __getstate__(self) -> dict[str, Any]:
        state = dict(self.__dict__)
        state.pop("numeric", None)
        return state


def times(matrix: Array, vector: Array) -> Array:
    """Batched matrix-vector product."""
    return (matrix @ vector[..., None])[..., 0]


def diagonal(matrix: Array) -> Array:
    """A writable view of the diagonals."""
    if isinstance(matrix, Tensor):
        return matrix.diagonal(dim1=-2, dim2=-1)
    return np.einsum("bii->bi", matrix)


class DenseRows(Rows):
    """Rows held as a dense matrix, `(m, n)` shared or `(B, m, n)`."""

    def __init__(self, values: Any) -> None:
        self.values = values
        self.batched = values.ndim == 3
        self.m, self.n = values.shape[-2:]

    def with_values(self, values: Any) -> DenseRows:
        return DenseRows(values)

    @cached_property
    def filled(self) -> Array:
        return self.values

    def scipy(self, i: int = 0) -> scipy.sparse.csr_array:
        values = self.values[i] if self.batched else self.values
        return scipy.sparse.csr_array(values.detach().cpu().numpy() if isinstance(values, Tensor) else values)

    def apply(self, x: Array) -> Array:
        return times(self.values, x) if self.batched else x @ self.values.T

    def adjoint(self, y: Array) -> Array:
        return times(self.values.swapaxes(-1, -2), y) if self.batched else y @ self.values

    def squared_norms(self) -> Array:
        norms = (self.values**2).sum(-1)
        return norms if self.batched else norms[None]

    def outer(self, y: Array, x: Array) -> Array:
        return y[..., None] * x[:, None, :] if self.batched else y.T @ x

    def factor(self, d: Array, e: Array, mask: Array | None = None, lift: float = 0.0) -> Solve:
        rows = self.values if self.batched else self.values[None]
        if mask is not None:
            rows = rows * mask[..., None]
        return self._variable_space(rows, d, e, lift) if self.m > self.n else row_space_solver(rows, d, e, lift)

    def _variable_space(self, rows: Array, d: Array, e: Array, lift: float) -> Solve:
        """Solve by Woodbury, with more rows than variables and `B = e^{-1/2} C d^{1/2}`:

        `M^{-1} = e^{-1/2} (I - B (I + B'B)^{-1} B') e^{-1/2}`, one refinement for the digits that cancel.
        """
        shifted = e + lift * times(rows**2, d)
        root = shifted**-0.5
        scaled = root[..., None] * rows * (d**0.5)[:, None, :]
        inner = scaled.swapaxes(-1, -2) @ scaled
        on_diagonal = diagonal(inner)
        on_diagonal += 1.0
        solve_inner = cholesky_solver(inner)

        def once(v: Array) -> Array:
            v = root * v
            return root * (v - times(scaled, solve_inner(times(scaled.swapaxes(-1, -2), v))))

        def solve(v: Array) -> Array:
            first = once(v)
            return first + once(v - times(rows, d * times(rows.swapaxes(-1, -2), first)) - shifted * first)

        return solve


def row_space_solver(rows: Array, d: Array, e: Array, lift: float) -> Solve:
    """The solver of `rows diag(d) rows' + diag(e)`, for rows `(1 or B, m, n)`."""
    matrix = (rows * d[:, None, :]) @ rows.swapaxes(-1, -2)
    on_diagonal = diagonal(matrix)
    on_diagonal += lift * on_diagonal + e
    return cholesky_solver(matrix)


class BipartiteRows(Rows):
    """One row a left node, then one a right node, over the pairs `(i, j)` in row-major order; entries are ones.

    `C d C'` is `[[diag(p), D], [D', diag(q)]]` with `D` the `left x right` matrix of `d` and `p`, `q` its row and
    column sums, so eliminating one side leaves a system of the size of the other.
    """

    batched = False
    unimodular = True

    def __init__(self, left: int, right: int, values: Any = None) -> None:
        self.left, self.right = left, right
        self.m, self.n = left + right, left * right
        self.values = torch.ones((), dtype=torch.float64) if values is None else values  # carries the device only

    def with_values(self, values: Any) -> BipartiteRows:
        return BipartiteRows(self.left, self.right, values)

    def scipy(self, i: int = 0) -> scipy.sparse.csr_array:
        pairs = np.arange(self.n)
        rows = np.concatenate([pairs // self.right, self.left + pairs % self.right])
        return scipy.sparse.csr_array((np.ones(2 * self.n), (rows, np.tile(pairs, 2))), (self.m, self.n))

    def _grid(self, x: Array) -> Array:
        return x.reshape(-1, self.left, self.right)

    def apply(self, x: Array) -> Array:
        grid = self._grid(x)
        return namespace(x).cat([grid.sum(-1), grid.sum(-2)])

    def adjoint(self, y: Array) -> Array:
        return (y[:, : self.left, None] + y[:, None, self.left :]).reshape(-1, self.n)

    def squared_norms(self) -> Array:
        sizes = np.array([[float(self.right)] * self.left + [float(self.left)] * self.right])
        return torch.from_numpy(sizes).to(self.values) if isinstance(self.values, Tensor) else sizes

    def outer(self, y: Array, x: Array) -> Array:
        raise AssertionError("the entries of bipartite rows are constants")

    def factor(self, d: Array, e: Array, mask: Array | None = None, lift: float = 0.0) -> Solve:
        xp, left = namespace(d), self.left
        grid = self._grid(d)
        total = xp.cat([grid.sum(-1), grid.sum(-2)])
        if mask is not None:
            total = total * mask
            grid = grid * mask[:, :left, None] * mask[:, None, left:]
        total = total * (1 + lift) + e
        p, q = total[:, :left], total[:, left:]
        swap = left < self.right  # eliminate the larger side
        if swap:
            grid, p, q = grid.swapaxes(-1, -2), q, p
        scaled = grid / p[..., None]
        backward = scaled.swapaxes(-1, -2)
        schur = backward @ (-grid)
        on_diagonal = diagonal(schur)
        on_diagonal += q
        solve_schur = cholesky_solver(schur)

        def solve(v: Array) -> Array:
            a, b = (v[:, left:], v[:, :left]) if swap else (v[:, :left], v[:, left:])
            second = solve_schur(b - times(backward, a))
            first = a / p - times(scaled, second)
            return xp.cat([second, first] if swap else [first, second])

        return solve
