"""One program in HiGHS, changed in place: the same answers as from programs made anew."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from foresolve.errors import SolverError
from foresolve.solvers.exact.highs_model import INFEASIBLE, INTERRUPTED, NODE_LIMIT, OPTIMAL, TIME_LIMIT, HighsModel
from mistakes import mistake


def loaded(rows: np.ndarray, upper: np.ndarray, *, integer: np.ndarray | None = None, maximize: bool) -> HighsModel:
    """`rows x <= upper, 0 <= x <= 1`."""
    n, model = rows.shape[1], HighsModel()
    row_bounds = (np.full(len(upper), -np.inf), upper)
    matrix = scipy.sparse.csr_array(rows)
    model.load(matrix, row_bounds, (np.zeros(n), np.ones(n)), maximize=maximize, integer=integer)
    return model


def optimum(costs: np.ndarray, rows: np.ndarray, upper: np.ndarray, bounds: tuple = (0, 1)) -> float:
    return scipy.optimize.linprog(costs, rows, upper, bounds=bounds, method="highs-ipm").fun


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("maximize", [True, False])
def test_changes_in_place_are_changes_of_the_program(seed: int, maximize: bool) -> None:
    rng = np.random.default_rng(seed)
    rows, upper, costs = rng.standard_normal((4, 7)), rng.random(4), rng.standard_normal(7)
    sign = -1.0 if maximize else 1.0
    model = loaded(rows, upper, maximize=maximize)
    model.set_costs(costs)
    assert model.run() == OPTIMAL
    assert sign * model.objective() == pytest.approx(optimum(sign * costs, rows, upper), abs=1e-7)
    more, side = rng.standard_normal((2, 7)), rng.random(2)
    model.add_rows(scipy.sparse.csr_array(more), side)
    assert model.row_count == 6
    rows, upper = np.concatenate([rows, more]), np.concatenate([upper, side])
    assert model.run() == OPTIMAL
    assert sign * model.objective() == pytest.approx(optimum(sign * costs, rows, upper), abs=1e-7)
    model.set_bounds(np.zeros(7), np.full(7, 0.5))
    model.set_row_bounds(np.full(6, -np.inf), 2 * upper)
    assert model.run() == OPTIMAL
    assert sign * model.objective() == pytest.approx(optimum(sign * costs, rows, 2 * upper, (0, 0.5)), abs=1e-7)
    assert costs @ model.decision() == pytest.approx(model.objective(), abs=1e-9)


def test_duals_price_what_they_belong_to() -> None:
    """At an optimum `costs = reduced + rows' multipliers`, and basic ones are zero."""
    rng = np.random.default_rng(1)
    rows, costs = rng.random((3, 6)), rng.standard_normal(6)
    model = loaded(rows, np.ones(3), maximize=False)
    model.set_costs(costs)
    model.run()
    duals = model.duals()
    np.testing.assert_allclose(costs, duals[:6] + rows.T @ duals[6:], atol=1e-9)
    assert (np.abs(duals) < 1e-12).sum() >= model.row_count


def test_integers_and_their_bound() -> None:
    model = loaded(np.array([[2.0, 2.0, 2.0]]), np.array([3.0]), integer=np.array([1, 1, 0]), maximize=True)
    model.set_costs(np.array([3.0, 2.0, 1.0]))
    assert model.run() == OPTIMAL
    np.testing.assert_allclose(model.decision(), [1.0, 0.0, 0.5], atol=1e-9)
    assert model.bound() == pytest.approx(3.5)


def test_endings_in_words() -> None:
    model = loaded(np.array([[1.0, 1.0]]), np.array([-1.0]), maximize=True)
    assert model.run() == INFEASIBLE
    rng = np.random.default_rng(0)
    hard = loaded(rng.random((20, 60)), np.full(20, 10.0), integer=np.ones(60), maximize=True)
    hard.set_costs(rng.random(60))
    assert hard.run(seconds=0.0) == TIME_LIMIT
    hard.limit(nodes=1, gap=0.0)
    assert hard.run(cold=True) == NODE_LIMIT
    assert hard.feasible()
    hard.limit(nodes=10**12, gap=1.0)
    assert hard.run(cold=True) == OPTIMAL


def test_a_cancelled_run_ends() -> None:
    """A dive without a floor: integer points on a plane with irrational slopes."""
    rows = np.random.default_rng(1).normal(size=(2, 5))
    side, model = rows @ np.full(5, 0.5), HighsModel()
    bounds = np.zeros(5), np.full(5, np.inf)
    model.load(scipy.sparse.csr_array(rows), (side, side), bounds, maximize=True, integer=np.ones(5))
    model.cancel()
    assert model.run() == INTERRUPTED
    assert not model.feasible()


def test_the_reason_for_infeasibility() -> None:
    model = loaded(np.array([[1.0, 1.0]]), np.array([-1.0]), maximize=True)
    model.run()
    ray = model.ray()
    assert ray is not None
    assert ray[0] < 0


def test_unknown_option() -> None:
    with mistake("", "HiGHS", "nonsense=1", kind=SolverError):
        HighsModel({"nonsense": 1})


def test_a_model_that_highs_refuses() -> None:
    with mistake("", "HiGHS", "1e15", kind=SolverError):
        loaded(np.array([[np.inf, 1.0]]), np.array([1.0]), maximize=True)
