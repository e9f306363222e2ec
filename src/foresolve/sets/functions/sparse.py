"""Parameters that are one sparse matrix, of SciPy or of torch."""

from __future__ import annotations

from typing import Any

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import InvalidInputError


def is_sparse(theta: Any) -> bool:
    """True if `theta` is a sparse matrix of SciPy or of torch."""
    return scipy.sparse.issparse(theta) or (isinstance(theta, Tensor) and theta.layout != torch.strided)


def refuse_sparse(theta: Any, what: str) -> None:
    """An error where `theta` is sparse."""
    if is_sparse(theta):
        raise dense_only(what)


def dense_only(what: str) -> InvalidInputError:
    """The error for a sparse `theta`; the caller raises it."""
    remedy = "Pass `theta.to_dense()` (torch) or `theta.toarray()` (SciPy)"
    return checks.fail("theta", f"dense for {what}", "a sparse matrix", remedy)


def as_coordinates(theta: Any, device: torch.device) -> Tensor:
    """A sparse matrix as torch's COO tensor, floating, each pair of indices once; torch's entries keep their graph."""
    if isinstance(theta, Tensor):
        theta = theta.to_sparse_coo().coalesce()
        return theta if theta.is_floating_point() else theta.double().coalesce()
    matrix = scipy.sparse.csr_array(theta)  # adds up duplicates
    matrix.sum_duplicates()
    coo = matrix.tocoo()
    entries = coo.data if coo.data.dtype == np.float32 else coo.data.astype(np.float64)
    index = torch.from_numpy(np.stack([coo.row, coo.col]).astype(np.int64))
    entries = torch.from_numpy(entries)
    tensor = torch.sparse_coo_tensor(index, entries, coo.shape, is_coalesced=True, check_invariants=False)
    return tensor.to(device)


def as_rows(theta: Tensor) -> scipy.sparse.csr_array:
    """The numbers of a COO tensor in float64, by rows, on the CPU."""
    rows, columns = theta.indices().cpu().numpy()
    entries = theta.values().detach().double().cpu().numpy()
    return scipy.sparse.csr_array((entries, (rows, columns)), shape=tuple(theta.shape))
