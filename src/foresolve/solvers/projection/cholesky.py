"""Batched Cholesky solves. Batched LU is unreliable in some builds of torch; Cholesky is sound and half the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from scipy.linalg import get_lapack_funcs
from torch import Tensor

from foresolve.solvers.arrays import Array

Solve = Callable[[Array], Array]

potrf, potrs, trtri, trtrs = get_lapack_funcs(("potrf", "potrs", "trtri", "trtrs"), dtype=np.float64)

# What is added to the diagonal where rounding made a matrix indefinite, one after the other: a share of each entry,
# which leaves rows of every size their digits, then a share of the largest as well.
RESCUES = ((1e-13, 0.0), (1e-11, 0.0), *((1e-11, share) for share in (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)))
# With more matrices than this, smaller than that, a loop over LAPACK costs more than to invert their factors at once.
LOOP, LARGE = 128, 20
# Up to this size an inverse root is explicit, so that a batch is solved by one product.
EXPLICIT = 128


class CholeskyFactor:
    """`A = L L'` of a batch of symmetric positive definite matrices, of which the lower triangle is read.

    A matrix that rounding made indefinite gets a larger diagonal; non-finite input gives a non-finite answer, which the
    callers look for.
    """

    def __init__(self, matrix: Array) -> None:
        self._inverse = self._tensor = None
        if isinstance(matrix, Tensor):
            self._tensor = _factor_batch(matrix)
        elif len(matrix) > LOOP and matrix.shape[-1] < LARGE:
            self._inverse = _inverse_roots(matrix)
        if self._tensor is None and self._inverse is None:
            matrices: Any = matrix
            self._factors = [_factor(a) for a in matrices]

    def solve(self, v: Array) -> Array:
        """`A^{-1} v`, `(B, n)`; a single matrix serves every row of `v`."""
        if self._tensor is not None:
            if len(self._tensor) == 1:
                return torch.cholesky_solve(v.mT, self._tensor[0]).mT
            return torch.cholesky_solve(v.unsqueeze(-1), self._tensor).squeeze(-1)
        if self._inverse is not None:
            half = self._inverse @ v[..., None]
            return (self._inverse.swapaxes(-1, -2) @ half)[..., 0]
        if len(self._factors) == 1:
            return potrs(self._factors[0], v[0] if len(v) == 1 else v.T, lower=0)[0].T.reshape(v.shape)
        out = np.empty_like(v)
        for i, c in enumerate(self._factors):
            out[i] = potrs(c, v[i], lower=0)[0]
        return out


def cholesky_solver(matrix: Array) -> Solve:
    """`v -> matrix^{-1} v`, as `CholeskyFactor.solve`."""
    return (lambda v: v) if 0 in matrix.shape else CholeskyFactor(matrix).solve


def rescued(diagonal: np.ndarray) -> Iterator[np.ndarray]:
    """Larger and larger diagonals for a matrix that rounding made indefinite."""
    top = diagonal.max(initial=0.0)
    return (diagonal + own * abs(diagonal) + largest * top for own, largest in RESCUES)


def _factor(matrix: np.ndarray, clean: int = 0) -> np.ndarray:
    """`L'`; with zeros below it where they are to be `clean`."""
    # Row-major lower is column-major upper: the transpose saves LAPACK a copy.
    factor, info = potrf(matrix.T, lower=0, clean=clean)
    if info == 0:
        return factor
    lifted = matrix.copy()
    for diagonal in rescued(matrix.diagonal()):
        np.fill_diagonal(lifted, diagonal)
        factor, info = potrf(lifted.T, lower=0, clean=clean)
        if info == 0:
            return factor
    return np.full_like(factor, np.nan)


def _inverse_roots(matrix: np.ndarray) -> np.ndarray | None:
    """`L^{-1}` of each; `None` where one of them is not definite, or not finite."""
    try:
        with np.errstate(all="ignore"):
            inverse = np.linalg.inv(np.linalg.cholesky(matrix))
    except np.linalg.LinAlgError:
        return None
    return inverse if bool(np.isfinite(inverse).all()) else None


def _factor_batch(matrix: Tensor) -> Tensor:
    factor, info = torch.linalg.cholesky_ex(matrix)
    if not bool((info > 0).any()):
        return factor
    lifted, diagonal = matrix.clone(), matrix.diagonal(dim1=-2, dim2=-1)
    top = diagonal.amax(-1, keepdim=True)
    for own, largest in RESCUES:
        # Those that were rescued before keep what they were given.
        latest = lifted.diagonal(dim1=-2, dim2=-1)
        latest.copy_(torch.where(info[:, None] > 0, diagonal + own * diagonal.abs() + largest * top, latest))
        factor, info = torch.linalg.cholesky_ex(lifted)
        if not bool((info > 0).any()):
            break
    return factor


class InverseRoot:
    """`L^{-1}` of `A = L L'`, for a batch of matrices or (of length 1) one that all of a batch share.

    On the CPU the matrices may come one by one, so that a large batch need not be held as a whole.

    Parameters
    ----------
    matrices: `(B, n, n)`, as for `CholeskyFactor`.
    n: their size.
    """

    def __init__(self, matrices: Array | Iterable[np.ndarray], n: int) -> None:
        self._explicit = n <= EXPLICIT
        if isinstance(matrices, Tensor):
            self._set(_inverted_batch(_factor_batch(matrices)) if self._explicit else _factor_batch(matrices))
        elif self._explicit:
            inverses = [trtri(_factor(a, clean=1), lower=0)[0].T for a in matrices]
            self._set(np.array(inverses).reshape(-1, n, n))
        else:
            self._set([_factor(a) for a in matrices])

    def _set(self, parts: Array | Sequence[np.ndarray]) -> None:
        # `L^{-1}` `(B, n, n)`, or the factors: lower ones of torch, upper ones of LAPACK.
        self._parts: Array = parts

    def select(self, index: Array) -> InverseRoot:
        """The inverse root of some instances."""
        twin = object.__new__(InverseRoot)
        twin._explicit = self._explicit
        twin._set([self._parts[i] for i in index] if isinstance(self._parts, list) else self._parts[index])
        return twin

    def apply(self, v: Array) -> Array:
        """`L^{-1} v`, `(B, n)`."""
        if self._explicit:
            return v @ self._parts[0].T if len(self._parts) == 1 else (self._parts @ v[..., None])[..., 0]
        return self._substituted(v, transposed=False)

    def adjoint(self, v: Array) -> Array:
        """`L'^{-1} v`, `(B, n)`."""
        if self._explicit:
            return v @ self._parts[0] if len(self._parts) == 1 else (v[:, None, :] @ self._parts)[:, 0]
        return self._substituted(v, transposed=True)

    def rows(self, rows: Array) -> Array:
        """`rows L'^{-1}`, `(B, m, n)`, for rows `(1 or B, m, n)`."""
        if self._explicit:
            return rows @ self._parts.swapaxes(-1, -2)
        if isinstance(self._parts, Tensor):
            return torch.linalg.solve_triangular(self._parts, rows.mT, upper=False).mT.contiguous()
        out = np.empty((len(self._parts), *rows.shape[1:]))
        for i, c in enumerate(self._parts):
            out[i] = trtrs(c, rows[i if len(rows) > 1 else 0].T, lower=0, trans=1)[0].T
        return out

    def _substituted(self, v: Array, *, transposed: bool) -> Array:
        if isinstance(self._parts, Tensor):
            factor = self._parts.mT if transposed else self._parts
            if len(factor) == 1:
                return torch.linalg.solve_triangular(factor[0], v.mT, upper=transposed).mT
            return torch.linalg.solve_triangular(factor, v.unsqueeze(-1), upper=transposed).squeeze(-1)
        trans = 0 if transposed else 1  # the upper factor is L'
        if len(self._parts) == 1:
            return trtrs(self._parts[0], v.T, lower=0, trans=trans)[0].T
        out = np.empty_like(v)
        for i, c in enumerate(self._parts):
            out[i] = trtrs(c, v[i], lower=0, trans=trans)[0]
        return out


def _inverted_batch(factor: Tensor) -> Tensor:
    eye = torch.eye(factor.shape[-1], dtype=factor.dtype, device=factor.device)
    return torch.linalg.solve_triangular(factor, eye.expand_as(factor), upper=False)
