"""Factors are powers of two, whole numbers stay whole multiples of a unit, and ordinary programs are left alone."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from foresolve.solvers.exact.scaling import COST_SCALE, cost_scale, equilibrate, power_of_two, scaled, units_of


def is_power_of_two(values: np.ndarray) -> bool:
    return bool((np.frexp(values)[0] == 0.5).all())


@pytest.mark.parametrize("size", [1e-320, 1e-300, 0.7, 1.0, 3.0, 1e300])
def test_powers_of_two(size: float) -> None:
    power = power_of_two(size)
    assert is_power_of_two(np.array(power))
    assert power <= size < 2 * power or size < 1e-300


def test_costs_are_brought_to_one_scale() -> None:
    costs = np.array([1e-9, -4e-9])
    assert COST_SCALE / 2 <= np.abs(scaled(costs)).max() <= COST_SCALE
    assert is_power_of_two(np.array(cost_scale(costs)))
    assert scaled(np.zeros(3)).tolist() == [0.0, 0.0, 0.0]
    assert scaled(np.zeros(0)).shape == (0,)


def test_whole_costs_keep_their_proportions() -> None:
    """A factor such as 8192 / 86 would make branch and bound forget that values are whole numbers."""
    costs = np.array([86.0, 17.0, -3.0])
    assert (scaled(costs) / cost_scale(costs) == costs).all()
    assert (scaled(costs) == np.round(scaled(costs))).all()


def test_ordinary_entries_are_left_alone() -> None:
    matrix = scipy.sparse.csr_array(np.array([[3.0, 0.0, -7.0], [1.0, 0.25, 500.0]]))
    scaling = equilibrate(matrix, 3)
    assert not scaling.needed
    assert scaling.matrix(matrix) is matrix
    assert (scaling.rows == 1).all()
    assert (scaling.columns == 1).all()


@pytest.mark.parametrize("seed", range(5))
def test_rows_and_columns_come_near_one(seed: int) -> None:
    rng = np.random.default_rng(seed)
    plain = rng.uniform(0.5, 2.0, (4, 6)) * (rng.random((4, 6)) < 0.8)
    matrix = scipy.sparse.csr_array(plain * 10.0 ** rng.uniform(-9, 9, (4, 1)) * 10.0 ** rng.uniform(-5, 5, 6))
    scaling = equilibrate(matrix, 6)
    entries = scaling.matrix(matrix).data
    assert np.abs(np.log2(entries)).max() < 20 < np.abs(np.log2(matrix.data)).max()
    assert is_power_of_two(scaling.rows)
    assert is_power_of_two(scaling.columns)
    whole = equilibrate(matrix, 6, np.arange(6) < 3)
    assert (whole.columns[:3] == 1).all()


def test_empty_rows_and_explicit_zeros() -> None:
    matrix = scipy.sparse.csr_array((np.array([0.0, 1e-12]), np.array([0, 1]), np.array([0, 0, 2])), (2, 3))
    scaling = equilibrate(matrix, 3)
    assert scaling.rows[0] == scaling.columns[0] == scaling.columns[2] == 1
    assert 0.5 <= scaling.matrix(matrix).data[1] <= 2.0


def test_units_are_those_of_the_bounds_or_else_of_the_rows() -> None:
    matrix = scipy.sparse.csr_array(np.array([[2.0, 1.0, 4.0, 0.0, 0.0]]))
    lower = np.array([-3e-9, 0.0, 0.0, 0.0, 0.0])
    upper = np.array([1e-9, np.inf, 1e12, np.inf, 7.0])
    units = units_of(matrix, np.array([8e-9]), lower, upper)
    np.testing.assert_allclose(units[[0, 1, 2, 4]], [3e-9, 8e-9, 2e-9, 7.0])
    assert np.isnan(units[3])


def test_a_right_hand_side_that_is_rounding_tells_no_unit() -> None:
    matrix = scipy.sparse.csr_array(np.array([[-0.0006, -0.0002], [0.0008, -0.0007]]))
    lower, upper = np.array([-0.001, -np.inf]), np.array([0.0013, 0.0021])
    units = units_of(matrix, np.array([5e-23, 6.4e-5]), lower, upper)
    np.testing.assert_allclose(units, [0.0013, 6.4e-5 / 0.0007])
    exact = units_of(matrix, np.array([0.0, 6.4e-5]), lower, upper)
    np.testing.assert_array_equal(exact, units)


def test_variables_in_small_units_come_near_one_and_ordinary_ones_stay() -> None:
    matrix = scipy.sparse.csr_array(np.array([[1.0, 2.0, 1.0]]))
    scaling = equilibrate(matrix, 3, units=np.array([1e-11, 5.0, np.nan]))
    assert scaling.needed
    assert is_power_of_two(scaling.columns)
    assert 0.5 < scaling.columns[0] / 1e-11 < 2.0
    assert scaling.columns[1] == 1.0
    assert (equilibrate(matrix, 3, np.ones(3), np.full(3, 1e-11)).columns == 1.0).all()
