"""One model for the instances of a polytope: second tries, and integers whose continuous rest does not hold."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.solvers.exact.outcome import Ending, Limits, Outcome
from foresolve.solvers.exact.polytope_model import PolytopeModel
from foresolve.solvers.exact.verification import as_numpy
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.rows import DenseRows


def body(rows: list, rhs: list, upper: list) -> Polytope:
    matrix = DenseRows(torch.tensor(rows, dtype=torch.float64))
    ends = torch.tensor([upper], dtype=torch.float64)
    side = torch.tensor([rhs], dtype=torch.float64)
    return as_numpy(Polytope(matrix, side, torch.zeros(len(rhs), dtype=torch.bool), 0 * ends, ends))


@pytest.fixture
def switched() -> PolytopeModel:
    """`y <= 10^6 z` with a switch `z`: an integer that is 1e-6 off lets `y` through."""
    return PolytopeModel(body([[1.0, -1e6]], [0.0], [9.0, 1.0]), np.array([False, True]))


def test_continuous_variables_follow_the_integers(switched: PolytopeModel) -> None:
    gains = np.array([1.0, -100.0])
    first = Outcome(Ending.OPTIMAL, np.array([1e-10, 0.0]), 1e-10)
    repaired = switched.again(0, gains, Limits(), first)
    assert (repaired.ending, repaired.x.tolist()) == (Ending.OPTIMAL, [0.0, 0.0])  # type: ignore[union-attr]


def test_what_cannot_be_repaired_is_solved_again(switched: PolytopeModel) -> None:
    """Not at the price of the objective: with the integers of a wrong decision, the rest is worth nothing."""
    gains = np.array([1.0, -1.0])
    first = Outcome(Ending.OPTIMAL, np.array([9.0, 0.0]), 9.0)
    second = switched.again(0, gains, Limits(), first)
    assert (second.ending, second.x.tolist()) == (Ending.OPTIMAL, [9.0, 1.0])  # type: ignore[union-attr]


def test_a_stopped_search_is_not_started_again(switched: PolytopeModel) -> None:
    gains = np.array([1.0, -1.0])
    first = Outcome(Ending.NODE_LIMIT, np.array([9.0, 0.0]), 9.0)
    repaired = switched.again(0, gains, Limits(), first)
    assert (repaired.ending, repaired.bound) == (Ending.NODE_LIMIT, 9.0)
    assert repaired.x.tolist() == [0.0, 0.0]  # type: ignore[union-attr]
    integers = PolytopeModel(body([[1.0, 1.0]], [1.0], [1.0, 1.0]), np.array([True, True]))
    lost = integers.again(0, gains, Limits(), Outcome(Ending.NODE_LIMIT, np.array([1.0, 1.0]), 5.0))
    assert (lost.ending, lost.x, lost.bound) == (Ending.NODE_LIMIT, None, 5.0)


def test_what_is_refused_names_the_row() -> None:
    """HiGHS is asked again and finds nothing: what is known is the row that its decision broke."""
    model = PolytopeModel(body([[1.0, 1.0], [-1.0, -1.0]], [1.0, -1.5], [1.0, 1.0]), np.array([True, True]))
    outcome = model.again(0, np.ones(2), Limits(), Outcome(Ending.OPTIMAL, np.array([1.0, 1.0]), 2.0))
    assert outcome.ending == Ending.FAILED
    assert outcome.reason.startswith("A_ub row 0 is broken by 3.3e-01 of its terms, and with tighter tolerances")


def test_a_cancelled_model_does_no_more() -> None:
    model = PolytopeModel(body([[1.0, 1.0]], [1.0], [1.0, 1.0]), None)
    gains = np.ones((3, 2))
    assert len(model.run(0, gains, Limits())) == 3
    model.cancel()
    assert model.run(0, gains, Limits()) == []
