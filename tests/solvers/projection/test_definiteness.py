"""Whether forms are convex, and where strictly."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

from foresolve.solvers.projection.definiteness import (
    definite,
    definite_on_null_space,
    least_eigenvalue,
    semidefinite,
    sparse_definite,
    sparse_least_eigenvalue,
)


def form(eigenvalues: list[float], seed: int = 0) -> np.ndarray:
    """A symmetric matrix with these eigenvalues."""
    basis = np.linalg.qr(np.random.default_rng(seed).standard_normal((len(eigenvalues),) * 2))[0]
    return basis @ np.diag(eigenvalues) @ basis.T


@pytest.mark.parametrize(
    ("eigenvalues", "convex", "strict"),
    [([1.0, 2.0, 3.0], True, True), ([0.0, 2.0, 3.0], True, False), ([-0.1, 2.0, 3.0], False, False),
     ([0.0, 0.0, 0.0], True, False), ([1e-6, 1.0, 1.0], True, True), ([-1e-6, 1.0, 1.0], False, False)],
)  # fmt: skip
def test_signs_of_eigenvalues(eigenvalues: list[float], convex: bool, strict: bool) -> None:
    for size in (1e-8, 1.0, 1e8):
        matrix = torch.from_numpy(size * form(eigenvalues))[None]
        assert semidefinite(matrix).tolist() == [convex]
        assert definite(matrix).tolist() == [strict]
        assert least_eigenvalue(matrix[0]) == pytest.approx(size * min(eigenvalues), abs=1e-12 * size)


def test_each_of_a_batch_is_judged_alone() -> None:
    batch = torch.from_numpy(np.stack([form([1.0, 2.0]), form([-1.0, 1e6]), 1e-6 * form([-1.0, 1.0])]))
    assert semidefinite(batch).tolist() == [True, False, False]
    assert definite(batch).tolist() == [True, False, False]


def test_scales_of_variables_do_not_hide_a_negative_eigenvalue() -> None:
    """Whether `S Q S` is convex does not depend on the units `S` of the variables."""
    for units in ([1e4, 1.0, 1.0], [1.0, 1e-5, 1e-5], [1e6, 1e-3, 1e-3]):
        scale = np.diag(units)
        good, bad = np.eye(3), np.array([[1.0, 0.0, 0.0], [0.0, 1.0, 2.0], [0.0, 2.0, 1.0]])
        assert semidefinite(torch.from_numpy(scale @ good @ scale)[None]).tolist() == [True]
        assert definite(torch.from_numpy(scale @ good @ scale)[None]).tolist() == [True]
        assert definite(torch.from_numpy(scale @ bad @ scale)[None]).tolist() == [False]
        assert semidefinite(torch.from_numpy(scale @ bad @ scale)[None]).tolist() == [False]


@pytest.mark.parametrize("seed", range(4))
def test_sparse_pivots_tell_what_eigenvalues_do(seed: int) -> None:
    rng = np.random.default_rng(seed)
    root = rng.standard_normal((30, 30)) * (rng.random((30, 30)) < 0.1)
    matrix = scipy.sparse.csc_array(root @ root.T)
    least = float(np.linalg.eigvalsh(matrix.toarray())[0])
    for shift in (1e-3 - least, 1.0 - least):
        assert sparse_definite(matrix, shift)
    for shift in (-least - 1e-3, -least - 1.0):
        assert not sparse_definite(matrix, shift)
    lower = scipy.sparse.csc_array(matrix - 2.0 * scipy.sparse.eye_array(30))
    assert sparse_least_eigenvalue(lower) == pytest.approx(float(np.linalg.eigvalsh(lower.toarray())[0]), abs=1e-6)


def test_a_zero_diagonal_is_not_sparse_definite() -> None:
    swap = scipy.sparse.csc_array([[0.0, 1.0], [1.0, 0.0]])
    assert not sparse_definite(swap, 0.0)
    assert not sparse_definite(scipy.sparse.csc_array((2, 2)), 0.0)
    assert sparse_definite(scipy.sparse.csc_array((2, 2)), 1.0)


def test_definite_on_the_null_space() -> None:
    Q = np.diag([0.0, 1.0, 1.0])
    assert definite_on_null_space(Q, np.array([[1.0, 0.0, 0.0]]))
    assert definite_on_null_space(Q, np.array([[1e-9, 1e-9, 1e-9]]))
    assert not definite_on_null_space(Q, np.array([[0.0, 1.0, 0.0]]))
    assert not definite_on_null_space(Q, np.zeros((1, 3)))
    assert not definite_on_null_space(Q, np.zeros((0, 3)))
    assert definite_on_null_space(np.zeros((2, 2)), np.eye(2))  # nothing is left to move
    assert definite_on_null_space(np.eye(3), np.zeros((0, 3)))
