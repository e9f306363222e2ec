"""Sparse factors of the matrix of rows, long columns included, against the full matrix."""

from __future__ import annotations

import numpy as np
import pytest

from foresolve.solvers.projection import elimination
from foresolve.solvers.projection.elimination import Elimination


def draw(seed: int, m: int = 12, k: int = 2) -> tuple[Elimination, np.ndarray, np.ndarray, np.ndarray]:
    """A random pattern with its numbers: the lower triangle, the long columns, and the matrix that both make up."""
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((m, m)) * (rng.random((m, m)) < 0.2)
    matrix = root @ root.T + np.eye(m)
    below, above = np.nonzero(np.tril(matrix))
    long = rng.standard_normal((m, k)) * (rng.random((m, k)) < 0.8)
    row, number = np.nonzero(long)
    factors = Elimination(m, below, above, row, number)
    return factors, matrix[below, above], long[row, number], matrix + long @ long.T


@pytest.mark.parametrize("k", [0, 1, 3])
@pytest.mark.parametrize("seed", range(5))
def test_the_factors_solve_with_the_whole_matrix(seed: int, k: int) -> None:
    factors, lower, edge, matrix = draw(seed, k=k)
    v = np.random.default_rng(seed + 100).standard_normal(12)
    np.testing.assert_allclose(factors.solver(lower, edge)(v), np.linalg.solve(matrix, v), atol=1e-10)
    assert sorted(factors.order.tolist()) == list(range(12 + k))


def grid(side: int) -> tuple[np.ndarray, np.ndarray]:
    """The lower triangle of a grid's matrix: each node and its neighbors to the left and above."""
    node = np.arange(side * side).reshape(side, side)
    below = np.concatenate([node.ravel(), node[:, 1:].ravel(), node[1:].ravel()])
    above = np.concatenate([node.ravel(), node[:, :-1].ravel(), node[:-1].ravel()])
    return below, above


def test_the_order_keeps_the_factor_sparse_and_its_cost_low() -> None:
    side, none = 40, np.zeros(0, dtype=np.int64)
    factors = Elimination(side**2, *grid(side), none, none)
    band = side**3  # entries of the factor in the order given
    assert factors.cost < elimination.ENTRY_COST * band / 2


def test_rows_that_weigh_little_beside_long_columns_lose_no_more_digits_than_in_the_full_matrix() -> None:
    m, k = 60, 6
    rows, (row, number) = np.arange(m), np.nonzero(np.ones((m, k)))
    factors = Elimination(m, rows, rows, row, number)
    lost = []
    for seed in range(10):
        rng = np.random.default_rng(seed)
        weight, long, v = 10 ** rng.uniform(-9, 0, m), rng.standard_normal((m, k)), rng.standard_normal(m)
        matrix = np.diag(weight) + long @ long.T
        sparse, full = factors.solver(weight, long.ravel())(v), np.linalg.solve(matrix, v)
        lost.append(abs(matrix @ sparse - v).max() / abs(matrix @ full - v).max())
    assert np.median(lost) < 2


def test_a_singular_matrix_gets_a_shift_and_a_broken_one_gives_no_number() -> None:
    rows = np.array([0, 1, 1]), np.array([0, 0, 1])
    none = np.zeros(0, dtype=np.int64)
    factors = Elimination(2, *rows, none, none)
    solved = factors.solver(np.ones(3), np.zeros(0))(np.array([2.0, 2.0]))
    np.testing.assert_allclose(solved.sum(), 2, rtol=1e-6)
    assert np.isnan(factors.solver(np.full(3, np.nan), np.zeros(0))(np.ones(2))).all()
    assert np.isnan(factors.solver(np.zeros(3), np.zeros(0))(np.ones(2))).all()


@pytest.mark.parametrize("seed", range(3))
def test_a_part_of_the_matrix_is_that_of_the_unknowns_to_keep(seed: int) -> None:
    rng = np.random.default_rng(seed)
    below, above = np.tril_indices(6)
    keep_entry = (rng.random(len(below)) < 0.5) | (below == above)
    below, above = below[keep_entry], above[keep_entry]
    long_row, long_number = np.array([0, 3, 5, 2]), np.array([0, 0, 1, 1])
    elimination = Elimination(6, below, above, long_row, long_number)
    lower, edge, corner = rng.random(len(below)) + 2.0 * (below == above), rng.random(4), -np.ones(2)
    whole = elimination.matrix(lower, edge, corner).toarray()
    keep = rng.random(8) < 0.6
    part = elimination.matrix(lower, edge, corner, keep)
    np.testing.assert_array_equal(part.toarray(), whole[np.ix_(keep, keep)])
    assert elimination.factors(elimination.matrix(lower, edge, corner, np.zeros(8, dtype=bool))) is None
