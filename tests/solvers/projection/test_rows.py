"""All kinds of rows are one linear map, and solve one system."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import given
from hypothesis import strategies as st

from foresolve.solvers.projection import sparse_pattern
from foresolve.solvers.projection.rows import BipartiteRows, DenseRows, Rows
from foresolve.solvers.projection.sparse_pattern import Pattern
from foresolve.solvers.projection.sparse_rows import SparseRows


def sparse(matrix: np.ndarray, kind: str | None = None) -> SparseRows:
    entries = scipy.sparse.coo_array(matrix)
    index = torch.from_numpy(np.stack(entries.coords).astype(np.int64))
    pattern = Pattern(*matrix.shape, index)
    if kind is not None:
        pattern.__dict__["kind"] = kind
    return SparseRows(*matrix.shape, index, entries.data.copy(), pattern)


def network(nodes: int, arcs: int, seed: int) -> np.ndarray:
    """Node-arc incidence: two entries a column, one dependent row."""
    rng = np.random.default_rng(seed)
    matrix = np.zeros((nodes, arcs))
    for arc in range(arcs):
        tail, head = rng.choice(nodes, 2, replace=False)
        matrix[tail, arc], matrix[head, arc] = 1.0, -1.0
    return matrix


KINDS: dict[str, Callable[[np.ndarray], Rows]] = {
    "dense": lambda matrix: DenseRows(matrix),
    "sparse, full": lambda matrix: sparse(matrix, "dense"),
    "sparse, band": lambda matrix: sparse(matrix, "band"),
    "sparse, sparse": lambda matrix: sparse(matrix, "sparse"),
    "sparse, per instance": lambda matrix: (lambda rows: rows.with_values(np.stack([rows.values] * 3)))(sparse(matrix)),
}


def check(rows: Rows, matrix: np.ndarray, seed: int, masked: bool) -> None:
    rng = np.random.default_rng(seed)
    m, n = matrix.shape
    x, y, v = rng.standard_normal((3, n)), rng.standard_normal((3, m)), rng.standard_normal((3, m))
    d, e = rng.random((3, n)), 0.01 + rng.random((3, m))
    np.testing.assert_allclose(rows.apply(x), x @ matrix.T, atol=1e-12)
    np.testing.assert_allclose(rows.adjoint(y), y @ matrix, atol=1e-12)
    np.testing.assert_allclose(np.broadcast_to(rows.squared_norms(), (3, m)), np.tile((matrix**2).sum(1), (3, 1)))
    mask = (rng.random((3, m)) < 0.6).astype(float) if masked else np.ones((3, m))
    solved = rows.factor(d, e, mask if masked else None)(v)
    for i in range(3):
        system = mask[i][:, None] * (matrix * d[i]) @ matrix.T * mask[i] + np.diag(e[i])
        np.testing.assert_allclose(solved[i], np.linalg.solve(system, v[i]), rtol=1e-8, atol=1e-10)
    for i in range(3):
        np.testing.assert_array_equal(rows.scipy(i if rows.batched else 0).toarray(), matrix)


@pytest.mark.parametrize("kind", KINDS)
@given(seed=st.integers(0, 1000), masked=st.booleans(), nodes=st.integers(2, 9), arcs=st.integers(1, 14))
def test_rows_of_networks(kind: str, seed: int, masked: bool, nodes: int, arcs: int) -> None:
    matrix = network(nodes, arcs, seed)
    check(KINDS[kind](matrix), matrix, seed, masked)


@pytest.mark.parametrize(("limit", "value"), [("LONG", 0.7), ("PAIR_LIMIT", 0)])
@pytest.mark.parametrize("masked", [False, True])
@pytest.mark.parametrize("seed", range(10))
def test_sparse_factors_with_long_columns_and_without_lists_of_products(
    seed: int, masked: bool, limit: str, value: float, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sparse_pattern, limit, value)
    rng = np.random.default_rng(seed)
    matrix = rng.standard_normal((9, 14)) * (rng.random((9, 14)) < 0.25)
    rows = sparse(matrix, "sparse")
    assert (len(rows.pattern.long) > 0) == (limit == "LONG")
    check(rows, matrix, seed, masked)
    check(rows.with_values(np.stack([rows.values] * 3)), matrix, seed, masked)


@pytest.mark.parametrize("kind", KINDS)
def test_the_lift_is_a_share_of_the_whole_diagonal(kind: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sparse_pattern, "LONG", 0.7)
    rng = np.random.default_rng(3)
    matrix = rng.standard_normal((9, 14)) * (rng.random((9, 14)) < 0.4)
    d, e, v = rng.random((3, 14)), 0.01 + rng.random((3, 9)), rng.standard_normal((3, 9))
    solved = KINDS[kind](matrix).factor(d, e, lift=0.5)(v)
    for i in range(3):
        gram = (matrix * d[i]) @ matrix.T
        system = gram + np.diag(0.5 * gram.diagonal() + e[i])
        np.testing.assert_allclose(solved[i], np.linalg.solve(system, v[i]), rtol=1e-8, atol=1e-10)


@pytest.mark.parametrize("kind", KINDS)
def test_column_norms_are_those_of_rows_of_norm_one(kind: str) -> None:
    matrix = np.random.default_rng(4).standard_normal((5, 7)) * np.geomspace(1e-6, 1e6, 5)[:, None]
    matrix[:, 3] = 0
    expected = np.linalg.norm(matrix / np.linalg.norm(matrix, axis=1, keepdims=True), axis=0)
    expected[3] = 1
    rows = KINDS[kind](matrix)
    np.testing.assert_allclose(rows.column_norms, np.broadcast_to(expected, rows.column_norms.shape))


def test_column_norms_of_matchings() -> None:
    rows = BipartiteRows(2, 3).numeric
    np.testing.assert_allclose(rows.column_norms, np.full((1, 6), (1 / 2 + 1 / 3) ** 0.5))


@given(seed=st.integers(0, 1000), masked=st.booleans(), left=st.integers(1, 6), right=st.integers(1, 6))
def test_rows_of_matchings(seed: int, masked: bool, left: int, right: int) -> None:
    rows = BipartiteRows(left, right)
    check(rows.numeric, rows.scipy().toarray(), seed, masked)


@given(seed=st.integers(0, 1000), m=st.integers(1, 30), n=st.integers(1, 6))
def test_more_rows_than_variables_are_solved_in_the_variables(seed: int, m: int, n: int) -> None:
    matrix = np.random.default_rng(seed).standard_normal((m, n))
    check(DenseRows(matrix), matrix, seed, masked=True)


@given(seed=st.integers(0, 1000))
def test_gradients_of_entries_are_those_of_the_pattern(seed: int) -> None:
    rng = np.random.default_rng(seed)
    matrix = network(6, 9, seed)
    rows = sparse(matrix)
    y, x = rng.standard_normal((4, 6)), rng.standard_normal((4, 9))
    full = y.T @ x
    expected = full[rows.pattern.row, rows.pattern.column]
    np.testing.assert_allclose(rows.outer(y, x), expected)
    filled = rows.with_values(torch.from_numpy(rows.values)).numeric
    assert isinstance(filled, DenseRows)
    np.testing.assert_allclose(filled.outer(y, x), expected)
    one_each = rows.with_values(np.stack([rows.values] * 4)).outer(y, x)
    np.testing.assert_allclose(one_each.sum(0), expected)


def test_grids_are_banded_and_long_ranges_are_not(monkeypatch: pytest.MonkeyPatch) -> None:
    from foresolve.problems import ShortestPath

    pattern = ShortestPath.grid(20, 20).constraints.rows.pattern  # type: ignore[attr-defined]
    assert pattern.kind == "band"
    assert pattern.bandwidth <= 21
    assert sparse(network(200, 2000, 0)).pattern.kind == "dense"
    monkeypatch.setattr(sparse_pattern, "DENSE_ROWS", 100)
    assert sparse(network(200, 2000, 1)).pattern.kind == "sparse"


def test_a_matrix_made_indefinite_by_rounding_still_factorizes() -> None:
    column = np.linspace(1, 2, 8)[:, None]
    rows = DenseRows(np.repeat(column, 9, axis=1))  # rank one
    v = rows.apply(np.ones((1, 9)))
    solved = rows.factor(np.ones((1, 9)), np.full((1, 8), 1e-18))(v)
    assert np.isfinite(solved).all()
    np.testing.assert_allclose(rows.apply(rows.adjoint(solved)), v, rtol=1e-6)
