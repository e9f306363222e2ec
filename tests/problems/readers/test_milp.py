from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
from scipy.optimize import LinearConstraint

from foresolve.problems.readers.milp import read_constraints
from mistakes import mistake

ROWS = np.array([[1.0, 1.0], [1.0, -1.0], [2.0, 0.0]])
LOWER, UPPER = [-np.inf, 1.0, 0.0], [4.0, 1.0, 3.0]


@pytest.mark.parametrize(
    "constraints",
    [
        LinearConstraint(ROWS, LOWER, UPPER),
        (ROWS, LOWER, UPPER),
        [LinearConstraint(ROWS[:1], ub=4.0), (ROWS[1:], LOWER[1:], UPPER[1:])],
        (LinearConstraint(scipy.sparse.csc_array(ROWS[:1]), ub=4.0), LinearConstraint(ROWS[1:], LOWER[1:], UPPER[1:])),
    ],
)
def test_every_spelling_of_milp(constraints) -> None:
    rows = read_constraints(constraints)
    assert rows["A_eq"].toarray().tolist() == [[1.0, -1.0]]
    assert rows["b_eq"].tolist() == [1.0]
    assert rows["A_ub"].toarray().tolist() == [[1.0, 1.0], [2.0, 0.0], [-2.0, 0.0]]
    assert rows["b_ub"].tolist() == [4.0, 3.0, 0.0]


def test_one_row_of_one_dimension() -> None:
    assert read_constraints(LinearConstraint([1.0, 2.0], ub=3.0))["A_ub"].toarray().tolist() == [[1.0, 2.0]]


def test_no_rows() -> None:
    assert read_constraints(None) == read_constraints([]) == {}


@pytest.mark.parametrize("constraints", [5, [5], {"type": "ineq"}])
def test_what_is_no_row_is_refused(constraints) -> None:
    with mistake("constraints", "LinearConstraint"):
        read_constraints(constraints)


def test_rows_of_different_lengths_are_refused() -> None:
    with mistake("constraints", "(1, 2), (1, 3)"):
        read_constraints([LinearConstraint(np.ones((1, 2))), LinearConstraint(np.ones((1, 3)))])
