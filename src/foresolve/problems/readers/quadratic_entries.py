"""Sparse matrices from entries by place, as files and tools write them."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

Entries = Mapping[tuple[int, int], float]


def sparse(entries: Entries, rows: int, columns: int) -> scipy.sparse.csr_array:
    """The matrix `(rows, columns)`, without entries that are 0."""
    index = np.array(list(entries), dtype=np.int64).reshape(-1, 2).T
    values = np.array(list(entries.values()), dtype=np.float64)
    matrix = scipy.sparse.csr_array((values, (index[0], index[1])), shape=(rows, columns))
    matrix.eliminate_zeros()
    return matrix


def mirrored(entries: Entries, n: int) -> scipy.sparse.csr_array | None:
    """The symmetric matrix `(n, n)` of one triangle, where no pair of variables comes in both orders."""
    triangle = sparse(entries, n, n)
    return kept(triangle + triangle.T - scipy.sparse.diags_array(triangle.diagonal()))


def kept(matrix: Any) -> scipy.sparse.csr_array | None:
    """A matrix without entries that are 0; `None` where nothing is left."""
    matrix = scipy.sparse.csr_array(matrix)
    matrix.eliminate_zeros()
    matrix.sort_indices()
    return matrix if matrix.nnz else None


def uneven(entries: Entries) -> tuple[int, int] | None:
    """The first entry of both triangles that is not the one across the diagonal."""
    return next(((i, j) for (i, j), value in entries.items() if entries.get((j, i), 0.0) != value), None)
