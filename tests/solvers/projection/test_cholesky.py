"""Solves with symmetric positive definite matrices, whichever way the batch takes."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.solvers.projection import cholesky
from foresolve.solvers.projection.cholesky import InverseRoot, cholesky_solver


def draw(batch: int, n: int, seed: int = 0) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((batch, n, n))
    return root @ root.swapaxes(1, 2) + 0.1 * np.eye(n), rng.standard_normal((batch, n))


@pytest.mark.parametrize("batch", [1, 2, cholesky.LOOP, cholesky.LOOP + 1])
@pytest.mark.parametrize("n", [1, 6])
def test_the_product_with_the_matrix_gives_the_right_hand_side_back(batch: int, n: int) -> None:
    matrix, v = draw(batch, n)
    solution = cholesky_solver(matrix)(v)
    assert isinstance(solution, np.ndarray)
    np.testing.assert_allclose((matrix @ solution[..., None])[..., 0], v, atol=1e-9)
    tensors = cholesky_solver(torch.from_numpy(matrix))(torch.from_numpy(v))
    np.testing.assert_allclose(tensors.numpy(), solution, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("batch", [1, 3, cholesky.LOOP + 1])
def test_only_the_lower_triangle_is_read(batch: int) -> None:
    matrix, v = draw(batch, 5)
    expected = cholesky_solver(matrix)(v)
    spoiled = matrix + np.triu(np.full((5, 5), 7.0), 1)
    np.testing.assert_allclose(cholesky_solver(spoiled)(v), expected, rtol=1e-12)


@pytest.mark.parametrize("batch", [3, cholesky.LOOP + 2])
def test_a_broken_matrix_leaves_its_neighbors_alone(batch: int) -> None:
    matrix, v = draw(batch, 4)
    expected = cholesky_solver(matrix)(v)
    matrix[1] = np.outer(np.ones(4), np.ones(4)) - 1e-13 * np.eye(4)  # singular, and indefinite by rounding
    matrix[2] = np.nan
    solution = cholesky_solver(matrix)(v)
    np.testing.assert_allclose(solution[0], expected[0], rtol=1e-12)
    assert np.isfinite(solution[1]).all()
    assert not np.isfinite(solution[2]).all()


@pytest.mark.parametrize("batch", [2, cholesky.LOOP + 2])
def test_rows_of_every_size_keep_their_digits_where_a_matrix_is_lifted(batch: int) -> None:
    rows = np.geomspace(1e-6, 1e6, 4)  # two equal rows in four units, so that the matrix is singular
    direction = np.array([[1.0, 1, 0, 0], [0, 1, 1, 0], [1, 1, 0, 0], [0, 0, 1, 1]]) * rows[:, None]
    matrix = np.stack([direction @ direction.T - 1e-14 * np.diag(rows**2)] * batch)
    v = direction @ np.ones(4)
    solution = cholesky_solver(matrix)(np.stack([v] * batch))
    np.testing.assert_allclose((direction @ (direction.T @ solution[0])) / rows, v / rows, rtol=1e-6)
    np.testing.assert_allclose(solution, solution[:1].repeat(batch, 0), rtol=1e-3)


@pytest.mark.parametrize("batch", [3, cholesky.LOOP + 2])
def test_each_matrix_gets_the_lift_that_it_needs(batch: int) -> None:
    matrix, v = draw(batch, 4)
    expected = cholesky_solver(matrix)(v)
    for i, deficit in ((0, 1e-13), (1, 1e-5)):
        matrix[i] = np.outer(np.ones(4), np.ones(4)) - deficit * np.eye(4)
    solution = cholesky_solver(matrix)(v)
    assert np.isfinite(solution).all()
    np.testing.assert_allclose(solution[2:], expected[2:], rtol=1e-9)
    alone = cholesky_solver(matrix[:1])(v[:1])
    np.testing.assert_allclose(solution[0], alone[0], rtol=1e-6)


def test_no_rows_and_no_instances() -> None:
    assert cholesky_solver(np.zeros((3, 0, 0)))(np.zeros((3, 0))).shape == (3, 0)
    assert cholesky_solver(np.zeros((0, 4, 4)))(np.zeros((0, 4))).shape == (0, 4)


@pytest.mark.parametrize("explicit", [True, False])
@pytest.mark.parametrize("batch", [1, 4])
def test_inverse_roots_explicit_or_by_substitution(explicit: bool, batch: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cholesky, "EXPLICIT", 128 if explicit else 2)
    rng = np.random.default_rng(3)
    root = rng.standard_normal((batch, 6, 8))
    matrix, v, rows = root @ root.swapaxes(-1, -2), rng.standard_normal((4, 6)), rng.standard_normal((1, 3, 6))
    exact = np.linalg.inv(np.linalg.cholesky(matrix))
    for wrap, unwrap in ((lambda a: a, lambda a: a), (torch.from_numpy, lambda a: a.numpy())):
        inverse = InverseRoot(wrap(matrix), 6)
        np.testing.assert_allclose(unwrap(inverse.apply(wrap(v))), (exact @ v[..., None])[..., 0], rtol=1e-9)
        np.testing.assert_allclose(
            unwrap(inverse.adjoint(wrap(v))), (exact.swapaxes(-1, -2) @ v[..., None])[..., 0], rtol=1e-9
        )
        np.testing.assert_allclose(unwrap(inverse.rows(wrap(rows))), rows @ exact.swapaxes(-1, -2), rtol=1e-9)
        if batch > 1:
            part = inverse.select(wrap(np.array([2, 0])))
            expected = (exact[[2, 0]] @ v[:2, :, None])[..., 0]
            np.testing.assert_allclose(unwrap(part.apply(wrap(v[:2]))), expected, rtol=1e-9)


def test_inverse_roots_of_none() -> None:
    assert InverseRoot(iter([]), 3).rows(np.ones((1, 2, 3))).shape == (0, 2, 3)
