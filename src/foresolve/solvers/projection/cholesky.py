"""Batched Cholesky solves. Batched LU is unreliable in some builds of torch; Cholesky is sound and half the work."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from typing import Any

import numpy as np
import torch
from scipy.linalg import get_lapack_funcs
from torch import Tensor

from foresolve.solvers.arrays import Array

Solve = Callable[[Array], Array]

potrf, potrs, trtrs = get_lapack_funcs(("potrf", "potrs", "trtrs"), dtype=np.float64)

# What is added to the diagonal where rounding made a matrix indefinite, one after the other: a share of each entry,
# which leaves rows of every size their digits, then a share of the largest as well.
RESCUES = ((1e-13, 0.0), (1e-11, 0.0), *((1e-11, share) for share in (1e-12, 1e-10, 1e-8, 1e-6, 1e-4)))
# Up to this many matrices, a loop over LAPACK costs less than one batched call of torch.
LOOP = 128


class CholeskyFactor:
    """`A = L L'` of a batch of symmetric positive definite matrices, of which the lower triangle is read.

    They may come one by one, so that a large batch need not be held as a whole.

    A matrix that rounding made indefinite gets a larger diagonal; non-finite input gives a non-finite answer, which the
    callers look for.
    """

    def __init__(self, matrix: Array | Iterable[np.ndarray]) -> None:
        self._loop = not isinstance(matrix, Tensor) and not (isinstance(matrix, np.ndarray) and len(matrix) > LOOP)
        if self._loop:
            matrices: Any = matrix
            self._factors = [_factor(a) for a in matrices]
        else:
            self._tensor = _factor_batch(matrix if isinstance(matrix, Tensor) else torch.from_numpy(matrix))

    def solve(self, v: Array) -> Array:
        """`A^{-1} v`, `(B, n)`; a single matrix serves every row of `v`."""
        if self._loop:
            if len(self._factors) == 1:
                return potrs(self._factors[0], v[0] if len(v) == 1 else v.T, lower=0)[0].T.reshape(v.shape)
            out = np.empty_like(v)
            for i, c in enumerate(self._factors):
                out[i] = potrs(c, v[i], lower=0)[0]
            return out
        right = v if isinstance(v, Tensor) else torch.from_numpy(v)
        if len(self._tensor) == 1:
            solution = torch.cholesky_solve(right.mT, self._tensor[0]).mT
        else:
            solution = torch.cholesky_solve(right.unsqueeze(-1), self._tensor).squeeze(-1)
        return solution if isinstance(v, Tensor) else solution.numpy()

    def whitened(self, rows: Array) -> Array:
        """`rows L'^{-1}`, `(B, m, n)`."""
        if self._loop:
            out = np.empty(rows.shape)
            for i, c in enumerate(self._factors):
                out[i] = trtrs(c, rows[i].T, lower=0, trans=1)[0].T
            return out
        right = rows if isinstance(rows, Tensor) else torch.from_numpy(rows)
        solution = torch.linalg.solve_triangular(self._tensor, right.mT, upper=False).mT.contiguous()
        return solution if isinstance(rows, Tensor) else solution.numpy()


def cholesky_solver(matrix: Array) -> Solve:
    """`v -> matrix^{-1} v`, as `CholeskyFactor.solve`."""
    return (lambda v: v) if 0 in matrix.shape else CholeskyFactor(matrix).solve


def rescued(diagonal: np.ndarray) -> Iterator[np.ndarray]:
    """Larger and larger diagonals for a matrix that rounding made indefinite."""
    top = diagonal.max(initial=0.0)
    return (diagonal + own * abs(diagonal) + largest * top for own, largest in RESCUES)


def _factor(matrix: np.ndarray) -> np.ndarray:
    # Row-major lower is column-major upper: the transpose saves LAPACK a copy.
    factor, info = potrf(matrix.T, lower=0, clean=0)
    if info == 0:
        return factor
    lifted = matrix.copy()
    for diagonal in rescued(matrix.diagonal()):
        np.fill_diagonal(lifted, diagonal)
        factor, info = potrf(lifted.T, lower=0, clean=0)
        if info == 0:
            return factor
    return np.full_like(factor, np.nan)


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
