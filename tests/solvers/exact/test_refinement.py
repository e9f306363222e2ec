"""Linear programs to each row's own precision, by zooming in."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse

from foresolve.solvers.exact.highs_model import HighsModel
from foresolve.solvers.exact.outcome import Ending
from foresolve.solvers.exact.refinement import TIGHT, complaint, refine
from foresolve.solvers.exact.verification import FEASIBLE, Program


def program(rows: list, rhs: list, equality: list[bool], lower: float = 0.0, upper: float = np.inf) -> Program:
    matrix = np.array(rows, dtype=float)
    n = matrix.shape[1]
    bounds = np.full(n, lower), np.full(n, upper)
    return Program(scipy.sparse.csr_array(matrix), np.array(rhs, dtype=float), np.array(equality), *bounds)


@pytest.mark.parametrize("seed", range(10))
@pytest.mark.parametrize("unit", [1e-11, 1.0, 1e11])
def test_the_best_decision_in_any_unit(seed: int, unit: float) -> None:
    rng = np.random.default_rng(seed)
    rows, gains = rng.normal(size=(4, 7)), rng.normal(size=7)
    equality = [True, False, False, False]
    rhs = rows @ rng.random(7) + np.where(equality, 0.0, 0.2)
    small = program(rows.tolist(), (unit * rhs).tolist(), equality, upper=unit)
    outcome = refine(HighsModel(TIGHT), small, gains, None)
    assert outcome.ending == Ending.OPTIMAL
    assert outcome.x is not None
    assert small.broken(outcome.x).max() <= FEASIBLE
    reference = scipy.optimize.linprog(-gains, rows[1:], rhs[1:], rows[:1], rhs[:1], (0, 1))
    assert gains @ outcome.x / unit == pytest.approx(-reference.fun, rel=1e-9)


def test_rows_of_very_different_size_each_hold() -> None:
    """At the scale of the first row the second one is below every tolerance, and is seen in a later round."""
    both = program([[1.0, 0.0, 0.0], [0.0, 1.0, 1.0]], [1e9, 1e-9], [True, True])
    outcome = refine(HighsModel(TIGHT), both, np.array([0.0, 1.0, 2.0]), None)
    assert outcome.x is not None
    np.testing.assert_allclose(outcome.x, [1e9, 0.0, 1e-9], rtol=1e-9, atol=0)


@pytest.mark.parametrize(
    "contradiction",
    [
        program([[1.0, 1.0]], [3e-9], [True], upper=1e-9),
        program([[0.0, 0.0], [1.0, 1.0]], [-1.0, 1.0], [False, False]),
        program([[0.0, 0.0]], [1e-8], [True]),
        program([[1.0, -1.0], [-1.0, 1.0]], [1.0, -2.0], [False, False]),
    ],
)
def test_infeasible_with_a_proof(contradiction: Program) -> None:
    assert refine(HighsModel(TIGHT), contradiction, np.ones(2), None).ending == Ending.INFEASIBLE


def test_other_endings() -> None:
    free = program([[1.0, -1.0]], [1.0], [False])
    assert refine(HighsModel(TIGHT), free, np.ones(2), None).ending == Ending.UNBOUNDED
    rng = np.random.default_rng(0)
    large = program(rng.random((80, 200)).tolist(), [1.0] * 80, [False] * 80)
    assert refine(HighsModel(TIGHT), large, np.ones(200), 1e-9).ending == Ending.TIME_LIMIT


def test_what_is_broken_in_words() -> None:
    both = program([[1.0, 0.0], [1.0, 1.0]], [1.0, 1.0], [False, True])
    assert complaint(both, np.array([0.0, 2e-5])) == "A_eq row 0 is broken by 2.0e-05 of its terms"
