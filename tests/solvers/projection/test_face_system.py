"""Landing on a face: every active row holds to rounding, however its rows are scaled or depend on each other."""

from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foresolve.solvers.projection.face_system import ROUNDING, FaceSystem
from foresolve.solvers.projection.rows import DenseRows


def exact(rows: np.ndarray, v: np.ndarray) -> np.ndarray:
    """The projection of `v` onto the null space of `rows`, in rational arithmetic."""
    basis: list[list[Fraction]] = []

    def without(vector: list[Fraction]) -> list[Fraction]:
        for other in basis:
            share = sum(a * b for a, b in zip(vector, other)) / sum(a * a for a in other)
            vector = [a - share * b for a, b in zip(vector, other)]
        return vector

    for row in rows:
        rest = without([Fraction(float(a)) for a in row])
        if any(rest):
            basis.append(rest)
    return np.array([float(a) for a in without([Fraction(float(a)) for a in v])])


def system(rows: np.ndarray, free: np.ndarray | None = None, **options: bool) -> FaceSystem:
    ones = np.ones((1, rows.shape[1])) if free is None else free
    return FaceSystem(DenseRows(rows), ones, np.ones((1, rows.shape[0])), **options)


@given(st.integers(0, 10_000), st.sampled_from(["plain", "rows", "columns", "dependent", "near", "entry"]))
def test_landing_agrees_with_rational_arithmetic(seed: int, trouble: str) -> None:
    rng = np.random.default_rng(seed)
    rows, v = rng.standard_normal((3, 6)), rng.standard_normal(6)
    if trouble == "rows":
        rows = rows * 10.0 ** rng.uniform(-8, 8, (3, 1))
    if trouble == "columns":
        rows = rows * 10.0 ** rng.uniform(-3, 3, 6)
    if trouble == "dependent":
        rows = np.concatenate([rows, rows[:1], rows[1:2] * 4])
    if trouble == "near":
        rows = np.concatenate([rows, rows[:1] + 10.0 ** -rng.uniform(2, 7) * rng.standard_normal(6)])
    if trouble == "entry":
        rows[0, 0] *= 10.0 ** rng.uniform(3, 8)
    landing = system(rows).land(v[None])
    np.testing.assert_allclose(landing.w[0], exact(rows, v), atol=1e-7 * abs(v).max())
    assert landing.error[0] < (1e-4 if trouble == "near" else 1e-7)  # an estimate, and a cautious one


@pytest.mark.parametrize("size", [3e3, 1e4, 1e6, 1e9])
def test_an_entry_of_a_variable_that_is_not_free_has_no_say(size: float) -> None:
    free = np.array([[1.0, 1.0, 0.0]])
    landing = system(np.array([[1.0, 1.0, size]]), free).land(np.array([[1.0, 0.0, 0.0]]))
    np.testing.assert_allclose(landing.w, [[0.5, -0.5, 0.0]], rtol=1e-14)


@pytest.mark.parametrize("angle", [1e-2, 1e-4, 1e-6, 1e-8])
def test_the_weakest_direction_is_found(angle: float) -> None:
    rows = np.array([[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0, 0.0]])
    rows[1, 3] = angle
    landing = system(rows).land(np.random.default_rng(0).standard_normal((1, 4)))
    least = np.linalg.svd(rows / np.linalg.norm(rows, axis=1, keepdims=True))[1].min()
    assert landing.residual[0] <= ROUNDING
    if angle <= 1e-5:
        assert 0.1 * least < landing.weakest[0] < 10 * least
    else:
        assert landing.weakest[0] > 0.1 * least


def test_rows_that_repeat_each_other_are_not_weak() -> None:
    rng = np.random.default_rng(1)
    rows = rng.standard_normal((4, 9))
    rows = np.concatenate([rows, rows[:2], rows.sum(0, keepdims=True), 1e3 * rows[3:]])
    for seed in range(20):
        landing = system(rows).land(np.random.default_rng(seed).standard_normal((1, 9)))
        assert landing.weakest[0] > 1e-4
        assert landing.error[0] < 1e-10


def test_a_right_hand_side_is_met() -> None:
    rng = np.random.default_rng(2)
    rows, v = rng.standard_normal((3, 7)), rng.standard_normal((1, 7))
    right = rng.standard_normal((1, 3))
    landing = system(rows).land(v, right)
    np.testing.assert_allclose(landing.w @ rows.T, right, atol=1e-14)
    np.testing.assert_allclose(v - landing.w, landing.z @ rows, atol=1e-13)


def test_even_shifts_give_the_multipliers_of_least_norm() -> None:
    rows = np.array([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0], [0.0, 1.0, 1.0]])
    g = np.array([[1.0, 0.5, -0.3]])
    landing = system(rows, even=True).land(g)
    np.testing.assert_allclose(landing.z[0], np.linalg.pinv(rows.T) @ g[0], atol=1e-7)


def test_an_instance_does_not_depend_on_its_batch() -> None:
    """Not in a single bit: the others may need more refinement."""
    rng = np.random.default_rng(3)
    easy, hard = rng.standard_normal((2, 5)), np.array([[1.0, 1, 1, 0, 0], [1, 1, 1 + 1e-6, 1e-6, 0]])
    v = rng.standard_normal((2, 5))
    together = FaceSystem(DenseRows(np.stack([easy, hard])), np.ones((2, 5)), np.ones((2, 2))).land(v)
    alone = FaceSystem(DenseRows(easy[None]), np.ones((1, 5)), np.ones((1, 2))).land(v[:1])
    np.testing.assert_array_equal(together.w[0], alone.w[0])
    np.testing.assert_array_equal(together.z[0], alone.z[0])


def test_tensors_and_arrays_agree() -> None:
    rng = np.random.default_rng(4)
    rows, v = rng.standard_normal((3, 6)), rng.standard_normal((1, 6))
    ours = system(rows).land(v)
    ones = [torch.ones(1, size, dtype=torch.float64) for size in (6, 3)]
    theirs = FaceSystem(DenseRows(torch.from_numpy(rows)), *ones).land(torch.from_numpy(v))
    np.testing.assert_allclose(ours.w, theirs.w.numpy(), atol=1e-14)
