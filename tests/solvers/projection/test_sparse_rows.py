"""Rows by their entries do what the full matrix does."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.solvers.projection.rows import DenseRows
from foresolve.solvers.projection.sparse_rows import SparseRows


def draw(seed: int, batch: int | None) -> tuple[SparseRows, np.ndarray]:
    rng = np.random.default_rng(seed)
    present = rng.random((70, 90)) < 0.04
    dense = rng.standard_normal((*(() if batch is None else (batch,)), 70, 90)) * present
    index = torch.from_numpy(np.stack(np.nonzero(present)))
    values = torch.from_numpy(dense[..., present])
    return SparseRows(70, 90, index, values), dense


@pytest.mark.parametrize("batch", [None, 3])
@pytest.mark.parametrize("seed", range(3))
def test_products_norms_and_matrices(seed: int, batch: int | None) -> None:
    rows, dense = draw(seed, batch)
    rng = np.random.default_rng(seed + 9)
    x, y = torch.from_numpy(rng.standard_normal((3, 90))), torch.from_numpy(rng.standard_normal((3, 70)))
    matrix = torch.from_numpy(np.broadcast_to(dense, (3, 70, 90)).copy())
    torch.testing.assert_close(rows.apply(x), (matrix @ x[..., None])[..., 0])
    torch.testing.assert_close(rows.adjoint(y), (y[:, None] @ matrix)[:, 0])
    squares = rows.squared_norms().expand(3, -1)
    torch.testing.assert_close(squares, matrix.square().sum(-1))
    for i in range(1 if batch is None else batch):
        np.testing.assert_array_equal(rows.scipy(i).toarray(), matrix[i].numpy())


@pytest.mark.parametrize("seed", range(3))
def test_products_of_vectors_are_taken_where_there_are_entries(seed: int) -> None:
    rows, _ = draw(seed, 3)
    rng = np.random.default_rng(seed)
    x, y = torch.from_numpy(rng.standard_normal((3, 90))), torch.from_numpy(rng.standard_normal((3, 70)))
    row, column = rows.pattern.index
    torch.testing.assert_close(rows.outer(y, x), y[:, row] * x[:, column])


@pytest.mark.parametrize("batch", [None, 2])
@pytest.mark.parametrize("numeric", [False, True])
def test_a_factored_system_is_that_of_the_full_matrix(batch: int | None, numeric: bool) -> None:
    rows, dense = draw(1, batch)
    rng = np.random.default_rng(2)
    d, e, v = (rng.random((2, size)) + 0.5 for size in (90, 70, 70))
    full = np.broadcast_to(dense, (2, 70, 90))
    matrix = np.einsum("bij,bj,bkj->bik", full, d, full) + e[:, :, None] * np.eye(70)
    expected = np.linalg.solve(matrix, v[..., None])[..., 0]
    solver = rows.numeric if numeric else rows
    arrays = (d, e) if numeric else (torch.from_numpy(d), torch.from_numpy(e))
    solve = solver.factor(*arrays)
    np.testing.assert_allclose(np.asarray(solve(v if numeric else torch.from_numpy(v))), expected, atol=1e-9)


def test_other_entries_keep_the_pattern() -> None:
    rows, _ = draw(0, None)
    twin = rows.with_values(2 * rows.values)
    assert twin.pattern is rows.pattern
    x = torch.ones(1, 90, dtype=torch.float64)
    torch.testing.assert_close(twin.apply(x), 2 * rows.apply(x))
    torch.testing.assert_close(DenseRows(torch.from_numpy(rows.scipy().toarray())).apply(x), rows.apply(x))
