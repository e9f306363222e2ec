"""Batched Cholesky solves. Batched LU is unreliable in some builds of torch; Cholesky is sound and half the work."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from scipy.linalg import get_lapack_funcs
from torch import Tensor

from foresolve.solvers.arrays import Array

Solve = Callable[[Array], Array]

potrf, potrs = get_lapack_funcs(("potrf", "potrs"), dtype=np.float64)

# Up to this many matrices, a loop over LAPACK costs less than one batched call of torch.
LOOP = 128


def cholesky_solver(matrix: Array) -> Solve:
    """`v -> matrix^{-1} v` for a batch of symmetric positive definite matrices, of which the lower triangle is read.

    A matrix that rounding made indefinite gets a larger shift; non-finite input gives a non-finite answer, which the
    callers look for.
    """
    if 0 in matrix.shape:
        return lambda v: v
    if isinstance(matrix, np.ndarray) and matrix.shape[0] <= LOOP:
        factors = [_factor(a) for a in matrix]
        if len(factors) == 1:
            return lambda v: potrs(factors[0], v[0], lower=0)[0][None]

        def solve(v: np.ndarray) -> np.ndarray:
            out = np.empty_like(v)
            for i, c in enumerate(factors):
                out[i] = potrs(c, v[i], lower=0)[0]
            return out

        return solve
    factor = _factor_batch(matrix if isinstance(matrix, Tensor) else torch.from_numpy(matrix))
    if isinstance(matrix, Tensor):
        return lambda v: torch.cholesky_solve(v.unsqueeze(-1), factor).squeeze(-1)
    return lambda v: torch.cholesky_solve(torch.from_numpy(v).unsqueeze(-1), factor).squeeze(-1).numpy()


def _factor(matrix: np.ndarray) -> np.ndarray:
    # Row-major lower is column-major upper: the transpose saves LAPACK a copy.
    factor, info = potrf(matrix.T, lower=0, clean=0)
    shift = 1e-12
    while info > 0 and shift < 1e-2:
        lifted = matrix.T + shift * np.diag(matrix.diagonal())
        factor, info = potrf(lifted, lower=0, clean=0)
        shift *= 100
    return factor if info == 0 else np.full_like(factor, np.nan)


def _factor_batch(matrix: Tensor) -> Tensor:
    factor, info = torch.linalg.cholesky_ex(matrix)
    shift = 1e-12
    while shift < 1e-2 and bool((info > 0).any()):
        lift = torch.where(info > 0, shift, 0.0)[:, None] * matrix.diagonal(dim1=-2, dim2=-1)
        factor, info = torch.linalg.cholesky_ex(matrix + torch.diag_embed(lift))
        shift *= 100
    return factor
