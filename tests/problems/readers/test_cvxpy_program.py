from __future__ import annotations

import cvxpy as cp
import numpy as np
import pytest
import scipy.sparse
from hypothesis import given, settings
from hypothesis import strategies as st

from foresolve.problems.readers.cvxpy_canonical import entry_names
from foresolve.problems.readers.cvxpy_program import read_cvxpy
from problems.readers.cvxpy_models import Investor, optimum_as_read

INF = float("inf")


def test_names_of_entries() -> None:
    assert entry_names("x", ()) == ["x"]
    assert entry_names("x", (2,)) == ["x[0]", "x[1]"]
    assert entry_names("x", (2, 2)) == ["x[0,0]", "x[0,1]", "x[1,0]", "x[1,1]"]


def test_reads_every_part() -> None:
    flow = cp.Variable((2, 2), nonneg=True, name="flow")
    on = cp.Variable(boolean=True, name="on")
    units = cp.Variable(integer=True, name="units", bounds=[-2, 5])
    cost = cp.Parameter((2, 2), name="cost", value=np.array([[1.0, 2.0], [3.0, 4.0]]))
    load = cp.Parameter(2, name="load", value=np.array([5.0, 6.0]))
    objective = cp.Maximize(10 - cp.sum(cp.multiply(cost, flow)) + 3 * units - load[1])
    rows = [cp.sum(flow, axis=0) == 2 * load - 1, flow <= 4 * on, 2 * units <= 6]
    read = read_cvxpy(cp.Problem(objective, rows), None)
    assert read.maximize
    assert read.names == ("flow[0,0]", "flow[0,1]", "flow[1,0]", "flow[1,1]", "units", "on")
    assert read.shapes == {"flow": (2, 2), "units": (), "on": ()}
    assert read.parameters == ("cost[0,0]", "cost[0,1]", "cost[1,0]", "cost[1,1]", "load[0]", "load[1]")
    assert read.nominal is not None
    assert read.nominal.tolist() == [1, 2, 3, 4, 5, 6]
    # The row `2 units <= 6` is a bound.
    assert read.lower.tolist() == [0, 0, 0, 0, -2, 0]
    assert read.upper.tolist() == [INF, INF, INF, INF, 3, 1]
    assert read.integrality.tolist() == [0, 0, 0, 0, 1, 1]
    assert read.coefficients.known.tolist() == [0, 0, 0, 0, 3, 0]
    assert read.coefficients.matrix.toarray()[:4, :4].tolist() == (-np.eye(4)).tolist()
    assert (read.constant.known.tolist(), read.constant.matrix.toarray().tolist()) == ([10.0], [[0, 0, 0, 0, 0, -1]])
    equal = read.equality
    assert read.matrix.toarray()[equal].tolist() == [[1, 0, 1, 0, 0, 0], [0, 1, 0, 1, 0, 0]]
    assert read.rhs[equal].known.tolist() == [-1, -1]
    assert read.rhs[equal].matrix.toarray().tolist() == [[0, 0, 0, 0, 2, 0], [0, 0, 0, 0, 0, 2]]
    assert read.matrix.toarray()[~equal][:, 5].tolist() == [-4] * 4
    assert not read.rhs[~equal].moves


def test_the_parameter_is_taken_exactly() -> None:
    """Columns are not differences: nothing is lost beside what is large."""
    x, price = cp.Variable(2, name="x"), cp.Parameter(2, name="price")
    read = read_cvxpy(cp.Problem(cp.Minimize((0.1 * price + 1e15) @ x), [x >= 0]), price)
    assert read.coefficients.matrix.toarray().tolist() == [[0.1, 0.0], [0.0, 0.1]]


def test_rows_that_contradict_each_other_stay_rows() -> None:
    x, price = cp.Variable(2, name="x"), cp.Parameter(2, name="price")
    read = read_cvxpy(cp.Problem(cp.Minimize(price @ x), [x >= 1, x <= 0]), price)
    assert (read.lower.tolist(), read.upper.tolist()) == ([-INF, -INF], [INF, INF])
    assert read.matrix.shape == (4, 2)


def test_rows_that_a_parameter_moves_stay_rows() -> None:
    x, limit = cp.Variable(2, name="x"), cp.Parameter(2, name="limit")
    read = read_cvxpy(cp.Problem(cp.Minimize(cp.sum(x)), [x >= limit, x <= 9, cp.sum(limit) >= 0]), limit)
    assert read.upper.tolist() == [9, 9]
    assert read.matrix.toarray().tolist() == [[-1, 0], [0, -1], [0, 0]]
    assert read.rhs.matrix.toarray().tolist() == [[-1, 0], [0, -1], [1, 1]]


def test_variables_of_cvxpy_come_last() -> None:
    x, price = cp.Variable(2, name="x"), cp.Parameter(2, name="price")
    read = read_cvxpy(cp.Problem(cp.Minimize(price @ x + cp.norm1(x - 1)), [cp.max(x) <= 4, x >= 0]), price)
    assert read.names[:2] == ("x[0]", "x[1]")
    assert all(name.startswith("auxiliary[") for name in read.names[2:])
    assert read.shapes == {"x": (2,)}


def test_many_parameters_at_once() -> None:
    """A matrix of 300 x 300 costs, of which cvxpy's own way takes 60 GiB, in the forms that it may be written."""
    pytest.importorskip("cvxpy", "1.9")  # 1.7 takes as much for each of these forms
    flow, cost = cp.Variable((300, 300), nonneg=True, name="flow"), cp.Parameter((300, 300), name="cost")
    rows = [cp.sum(flow, axis=0) == 1, cp.sum(flow, axis=1) == 1]
    for objective in (cp.sum(cp.multiply(cost, flow)), cp.sum(cp.multiply(flow, 2 * cost)) / 2, cp.vdot(cost, flow)):
        read = read_cvxpy(cp.Problem(cp.Minimize(1 + objective), rows), cost)
        assert (read.coefficients.matrix != scipy.sparse.eye_array(300 * 300)).nnz == 0
        assert read.matrix.shape == (600, 300 * 300)


def test_sums_of_products_beside_other_parts() -> None:
    x, cost = cp.Variable((2, 3), name="x"), cp.Parameter((2, 3), name="cost", nonneg=True)
    rows = [x >= -1, x <= 1]
    objective = cp.sum(cp.multiply(cost, cp.abs(x))) - 3 * cp.sum(cp.multiply(cost, np.ones((2, 3)))) + cp.sum(x[0])
    read = read_cvxpy(cp.Problem(cp.Minimize(objective), rows), cost)
    assert read.constant.matrix.toarray().tolist() == [[-3.0] * 6]
    assert read.coefficients.known[:6].tolist() == [1, 1, 1, 0, 0, 0]
    columns = [read.names.index(f"auxiliary[{k}]") for k in range(6)]
    assert sorted(read.coefficients.matrix.toarray()[columns].argmax(1)) == list(range(6))


def test_shapes_are_plain_numbers() -> None:
    x, price = cp.Variable(tuple(np.array([2, 3])), name="x", nonneg=True), cp.Parameter(6, name="price")
    read = read_cvxpy(cp.Problem(cp.Minimize(price @ cp.vec(x, order="C")), [x <= 1]), price)
    assert all(type(size) is int for size in read.shapes["x"])


@settings(max_examples=30, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_quadratic_problems_are_those_of_cvxpy(seed: int) -> None:
    investor = Investor(seed)
    read = read_cvxpy(investor.problem, investor.parameters)
    assert read.maximize == investor.maximize
    for _ in range(2):
        theta = investor.draw()
        assert optimum_as_read(read, theta) == pytest.approx(investor.optimum(), abs=1e-6)


def test_a_quadratic_form_of_the_variables() -> None:
    x, price = cp.Variable((2, 2), name="x", nonneg=True), cp.Parameter((2, 2), name="price")
    matrix = np.array([[2.0, 1.0, 0.0, 0.0], [1.0, 3.0, 0.0, -1.0], [0.0, 0.0, 0.0, 0.0], [0.0, -1.0, 0.0, 5.0]])
    objective = cp.vdot(price, x) + cp.quad_form(cp.vec(x, order="C"), cp.psd_wrap(matrix)) + 7
    for sense, sign in ((cp.Minimize, 1.0), (cp.Maximize, -1.0)):
        read = read_cvxpy(cp.Problem(sense(sign * objective), [x <= 1]), price)
        assert read.maximize == (sign < 0)
        assert read.quadratic is not None
        assert read.quadratic.matrix is None
        inner = read.quadratic.known.toarray()
        place = [read.names.index(f"x[{i},{j}]") for i in range(2) for j in range(2)]
        own = [k for k in range(len(inner)) if k not in place] or place  # some versions make variables of `vec(x)`
        assert inner[np.ix_(own, own)].tolist() == (sign * 2 * matrix).tolist()
        assert read.coefficients.matrix.toarray()[place].tolist() == (sign * np.eye(4)).tolist()
        assert read.constant.known.tolist() == [sign * 7]


def test_the_form_of_a_variable_is_in_its_order() -> None:
    """Row-major, which cvxpy's own columns are not."""
    x, price = cp.Variable((2, 2), name="x", bounds=[0, 1]), cp.Parameter((2, 2), name="price")
    weights = np.array([[1.0, 2.0], [3.0, 4.0]])
    read = read_cvxpy(cp.Problem(cp.Minimize(cp.sum(cp.multiply(weights, cp.square(x))) + cp.vdot(price, x))), price)
    assert read.names == ("x[0,0]", "x[0,1]", "x[1,0]", "x[1,1]")
    assert read.quadratic is not None
    assert read.quadratic.known.toarray().tolist() == np.diag([2.0, 4.0, 6.0, 8.0]).tolist()
    assert (read.lower.tolist(), read.upper.tolist(), read.matrix.shape) == ([0.0] * 4, [1.0] * 4, (0, 4))


def test_parameters_before_squares() -> None:
    x, risk = cp.Variable((2, 2), name="x"), cp.Parameter((2, 2), name="risk", nonneg=True)
    objective = cp.sum(cp.multiply(risk, cp.square(x))) + 3 * cp.square(x[0, 1])
    read = read_cvxpy(cp.Problem(cp.Maximize(cp.sum(x) - objective), [x <= 1]), risk)
    form = read.quadratic
    assert form is not None
    assert form.matrix is not None
    n = len(read.names)
    theta = np.array([1.0, 2.0, 3.0, 4.0])
    moved = (form.matrix @ theta).reshape(n, n)
    assert moved[:4, :4].tolist() == np.diag([-2.0, -4.0, -6.0, -8.0]).tolist()
    assert form.known.toarray().sum() == -6.0


def test_squares_of_sums_are_those_of_other_variables() -> None:
    """What a parameter moves within a square is on a right-hand side then."""
    x, target = cp.Variable(2, name="x", nonneg=True), cp.Parameter(3, name="target")
    mix = np.array([[1.0, 2.0], [0.0, 1.0], [3.0, 0.0]])
    for square in (cp.sum_squares(mix @ x - target), cp.quad_form(mix @ x - target, np.eye(3))):
        read = read_cvxpy(cp.Problem(cp.Minimize(square)), target)
        assert read.names == ("x[0]", "x[1]", "auxiliary[0]", "auxiliary[1]", "auxiliary[2]")
        assert read.shapes == {"x": (2,)}
        assert read.quadratic is not None
        assert read.quadratic.known.toarray().tolist() == np.diag([0.0, 0.0, 2.0, 2.0, 2.0]).tolist()
        assert read.equality.all()
        sign = read.matrix.toarray()[0, 0]
        assert (sign * read.matrix.toarray()).tolist() == np.hstack([mix, -np.eye(3)]).tolist()
        assert (sign * read.rhs.matrix.toarray()).tolist() == np.eye(3).tolist()


def test_a_form_of_zeros_is_none() -> None:
    x, price = cp.Variable(2, name="x", nonneg=True), cp.Parameter(2, name="price")
    assert read_cvxpy(cp.Problem(cp.Minimize(price @ x + 0 * cp.sum_squares(x))), price).quadratic is None
    assert read_cvxpy(cp.Problem(cp.Minimize(price @ x)), price).quadratic is None
