"""Convexity of quadratic forms, and the spaces on which they are strictly convex."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.linalg
import scipy.sparse
import scipy.sparse.linalg
import torch
from torch import Tensor

from foresolve.solvers.projection.cholesky import potrf
from foresolve.solvers.threads import one_blas_thread

# In units of the diagonal: what rounding may have made of a zero eigenvalue.
ROUNDING = 1e-10
# In units of the diagonal: smaller eigenvalues leave fewer than four digits of `x`.
DEFINITE = 1e-11
# Up to this size a sparse matrix is looked at with all its zeros.
MOST_DENSE = 2_000


def semidefinite(matrix: Tensor) -> Tensor:
    """A mask of the symmetric matrices `(B, n, n)` without a negative eigenvalue, for all that rounding tells.

    Each variable is measured by its own diagonal entry, so that a large one hides nothing; one without a diagonal entry
    has no others.
    """
    diagonal = matrix.diagonal(dim1=-2, dim2=-1)
    alone = ((diagonal > 0).unsqueeze(-1) | (matrix == 0)).all(-1).all(-1)
    return _positive_pivots(matrix, 1.0 + ROUNDING * (diagonal > 0).to(diagonal)) & alone


def definite(matrix: Tensor) -> Tensor:
    """A mask of the symmetric matrices `(B, n, n)` that are positive definite, in units of their diagonal."""
    diagonal = matrix.diagonal(dim1=-2, dim2=-1)
    return _positive_pivots(matrix, torch.full_like(diagonal, 1.0 - DEFINITE)) & (diagonal > 0).all(-1)


def _positive_pivots(matrix: Tensor, ones: Tensor) -> Tensor:
    """A mask of matrices that have a factor, their diagonals scaled to 1 and `ones` `(B, n)` in place of these."""
    diagonal = matrix.diagonal(dim1=-2, dim2=-1)
    scale = torch.where(diagonal > 0, diagonal, 1.0).rsqrt()
    if matrix.is_cuda:
        scaled = matrix * scale.unsqueeze(-1) * scale.unsqueeze(-2)
        scaled.diagonal(dim1=-2, dim2=-1).copy_(ones)
        return torch.linalg.cholesky_ex(scaled)[1] == 0
    triples = zip(matrix.numpy(), scale.numpy(), ones.numpy(), strict=True)
    with one_blas_thread(matrix.shape[-1]):
        return torch.tensor([_has_factor(*triple) for triple in triples], dtype=torch.bool)


def _has_factor(matrix: np.ndarray, scale: np.ndarray, ones: np.ndarray) -> bool:
    scaled = matrix * scale
    scaled *= scale[:, None]
    np.fill_diagonal(scaled, ones)
    return potrf(scaled.T, lower=0, clean=0, overwrite_a=1)[1] == 0


def least_eigenvalue(matrix: Tensor) -> float:
    """The least eigenvalue of one symmetric matrix `(n, n)`."""
    return float(torch.linalg.eigvalsh(matrix.detach().cpu())[0])


def sparse_definite(matrix: scipy.sparse.csc_array, shift: float) -> bool:
    """True if a matrix is positive definite once `shift` times its diagonal is added: by the signs of its pivots.

    Where the shift is positive, variables without any entries do not count.
    """
    diagonal = matrix.diagonal()
    positive = diagonal > 0
    if not positive.all():
        if shift <= 0 or abs(matrix[~positive]).sum() > 0:
            return False
        matrix, diagonal = matrix[positive][:, positive], diagonal[positive]
    scale = scipy.sparse.diags_array(diagonal**-0.5)
    shifted = scipy.sparse.csc_matrix(scale @ matrix @ scale + shift * scipy.sparse.eye_array(len(diagonal)))
    options = {"SymmetricMode": True, "DiagPivotThresh": 0.0}
    try:
        factors = scipy.sparse.linalg.splu(shifted, permc_spec="MMD_AT_PLUS_A", options=options)
    except RuntimeError:  # a pivot vanished
        return False
    return bool((factors.U.diagonal() > 0).all()) and bool((factors.perm_r == factors.perm_c).all())


def sparse_least_eigenvalue(matrix: scipy.sparse.csc_array) -> float:
    """The least eigenvalue of one symmetric sparse matrix."""
    values: Any = scipy.sparse.linalg.eigsh(matrix, k=1, which="SA", return_eigenvectors=False)
    return float(values[0])


def definite_on_null_space(matrix: np.ndarray, rows: np.ndarray) -> bool:
    """True if `d'Qd > 0` for all `d != 0` with `rows d = 0`."""
    scale = np.abs(rows).max(-1, keepdims=True, initial=0.0)
    basis = scipy.linalg.null_space(rows / np.where(scale > 0, scale, 1.0))
    if basis.shape[1] == 0:
        return True
    values = np.linalg.eigvalsh(basis.T @ matrix @ basis)
    return bool(values[0] > ROUNDING * np.abs(matrix).max())
