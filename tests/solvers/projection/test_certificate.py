"""What is said of a decision: rows in their own terms, x in units of x, and what rounding leaves uncertain."""

from __future__ import annotations

import numpy as np
import pytest

from foresolve.solvers.projection.certificate import TRUSTED, certify, size_of
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import project
from foresolve.solvers.projection.rows import DenseRows
from foresolve.solvers.status import Status


def polytope(rows: list[list[float]], rhs: list[float], equality: list[bool], lower=0.0, upper=np.inf) -> Polytope:
    values = np.array(rows)
    bounds = (np.broadcast_to(np.asarray(bound, float), (1, values.shape[1])) for bound in (lower, upper))
    return Polytope(DenseRows(values), np.array([rhs]), np.array(equality), *bounds)


@pytest.mark.parametrize("other", [1.0, 1e4, 1e10])
def test_no_other_row_loosens_a_row(other: float) -> None:
    """A right-hand side of 1e10 on a row that never binds, and one on a row without entries."""
    set_ = polytope([[1.0, 1.0, 1.0], [1.0, 0.0, 0.0], [0.0, 0.0, 0.0]], [1.0, other, other], [True, False, False])
    x, y = np.array([[0.9, 0.5, 0.2]]), np.zeros((1, 3))
    figures = certify(x, set_, y, x, x)
    np.testing.assert_allclose(figures.broken, [[0.6 / 2.6, 0.0, 0.0]])
    np.testing.assert_allclose(figures.residual, [0.6 / 2.6])


@pytest.mark.parametrize("unit", [1e-9, 1.0, 1e9])
def test_units_of_x_do_not_matter(unit: float) -> None:
    set_ = polytope([[1.0, 2.0]], [3.0 * unit], [False], -unit, unit)
    x, y = unit * np.array([[1.0, 1.01]]), unit * np.array([[0.01]])
    ones = certify(x / unit, polytope([[1.0, 2.0]], [3.0], [False], -1.0, 1.0), y / unit, x / unit, x / unit)
    figures = certify(x, set_, y, x, x)
    for name in ("broken", "astray", "rounding", "residual"):
        np.testing.assert_allclose(getattr(figures, name), getattr(ones, name), rtol=1e-12)


def test_multipliers_have_to_explain_x() -> None:
    """`|x - x*| <= |e|` where rows hold and bounds are met exactly: x is off by 0.1, and so is its explanation."""
    set_ = polytope([[1.0, 1.0]], [1.0], [True])
    point, x = np.array([[0.7, 0.3]]), np.array([[0.6, 0.4]])
    figures = certify(point, set_, np.zeros((1, 1)), point, x)
    np.testing.assert_allclose(figures.broken, [[0.0]])
    np.testing.assert_allclose(figures.astray * 0.6, [0.1])


def test_a_multiplier_that_pulls_is_counted() -> None:
    set_ = polytope([[3.0, 4.0]], [10.0], [False])
    x, y = np.array([[1.0, 1.0]]), np.array([[-0.2]])
    assert certify(x, set_, y, x, x).astray.tolist() == pytest.approx([0.8])  # 0.2 of the larger entry


def test_the_size_of_nothing_is_that_of_what_bounds_it() -> None:
    zero, point = np.zeros((1, 2)), np.array([[-1.0, -2.0]])
    assert size_of(zero, point, polytope([[1.0, 1.0]], [1e-7], [False])).tolist() == pytest.approx([1e-7 / 2**0.5])
    assert size_of(zero, point, polytope([[1.0, 1.0]], [0.0], [False], 0.0, 3.0)).tolist() == [3.0]
    assert size_of(zero, point, polytope([[1.0, 1.0]], [0.0], [False])).tolist() == [2.0]
    assert size_of(np.array([[1e-3, 0.0]]), point, polytope([[1.0, 1.0]], [5.0], [False])).tolist() == [1e-3]


@pytest.mark.parametrize("size", [1e3, 1e7, 1e10, 1e14, 1e17])
def test_rounding_of_the_input_is_told(size: float) -> None:
    """Two variables that share a budget: they move with the point, which is known to 1e-16 of its own size."""
    set_ = polytope([[1.0, 1.0]], [1.0], [True])
    result = project(np.array([[size, size + 0.25]]), set_, tol=1e-10, max_iter=100)
    status = Status.CONVERGED if size <= 1e7 else Status.ILL_CONDITIONED
    assert result.status.tolist() == [int(status)]
    if status == Status.CONVERGED:
        np.testing.assert_allclose(result.face.x, [[0.375, 0.625]], atol=TRUSTED)
        assert result.residual[0] <= 1e-10
    else:
        assert result.residual[0] > TRUSTED


def test_a_vertex_with_large_multipliers_is_certain() -> None:
    """It stays where it is whatever rounding does, until the multipliers have no digit left to explain it."""
    set_ = polytope([[1.0, 1.0]], [1.0], [True])
    for size, status in ((1e10, Status.CONVERGED), (1e15, Status.ILL_CONDITIONED)):
        result = project(np.array([[3.0 * size, size]]), set_, tol=1e-10, max_iter=100)
        np.testing.assert_allclose(result.face.x, [[1.0, 0.0]], atol=1e-12)
        assert result.status.tolist() == [int(status)]
