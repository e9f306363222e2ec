"""Exact decisions of quadratic programs: proven, or an error that says which kind."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse

from foresolve.solvers.exact.outcome import Ending, Limits
from foresolve.solvers.exact.quadratic import DEFAULT, GAP, QuadraticPool
from foresolve.solvers.projection.matrix_metrics import DenseMetric
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.rows import DenseRows
from quadratic_programs import Program, by_clarabel, draw


def pool_of(program: Program, *, definite: bool) -> QuadraticPool:
    rows = DenseRows(np.concatenate([program.A_eq, program.A_ub]))
    equality = np.arange(rows.m) < len(program.b_eq)
    rhs = np.concatenate([program.b_eq, program.b_ub])
    polytope = Polytope(rows, rhs[None], equality, program.lower[None], program.upper[None])

    def metric(rho: float) -> DenseMetric:
        return DenseMetric(np.full((1, program.n), rho), program.Q[None])

    return QuadraticPool(polytope, lambda i: scipy.sparse.csc_array(program.Q), metric, definite=definite)


def search(program: Program, *, definite: bool, gains: np.ndarray | None = None, limits: Limits = DEFAULT) -> list:
    gains = program.theta[None] if gains is None else gains
    return pool_of(program, definite=definite).search(gains, np.zeros(len(gains), dtype=int), limits)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("rank", [None, 2, 0])
def test_decisions_are_proven_and_as_good_as_clarabels(seed: int, rank: int | None) -> None:
    program = draw(seed, 6, 1, 3, rank=rank, dependent=seed % 2 == 0, fixed=seed % 3 == 0)
    found = by_clarabel(program)
    assert found is not None
    (outcome,) = search(program, definite=rank is None)
    assert outcome.ending == Ending.OPTIMAL
    assert program.broken(outcome.x) <= 1e-9
    assert program.value(outcome.x) >= program.value(found[0]) - 1e-8 * (1 + abs(program.value(found[0])))


SLOW = {
    "bounds alone": lambda: draw(80, 8, 0, 0, rank=5, dependent=True, ties=True, spread=4.0),
    "rows and fixed variables": lambda: draw(390, 6, 0, 4, rank=3, fixed=True, ties=True, spread=4.0),
}


@pytest.mark.parametrize("kind", SLOW)
def test_semidefinite_programs_that_come_slowly(kind: str) -> None:
    """All bounds are finite and the data are moderate: there is a decision, and it is found."""
    (outcome,) = search(SLOW[kind](), definite=False)
    assert outcome.ending == Ending.OPTIMAL, outcome.reason


def test_a_bound_on_what_is_missing_is_one() -> None:
    """For any decision, `_gap` is at least what the best gains over it."""
    program = draw(2, 5, 1, 2)
    pool = pool_of(program, definite=True)
    (outcome,) = pool.search(program.theta[None], np.zeros(1, dtype=int))
    best, rng = program.value(outcome.x), np.random.default_rng(0)
    for _ in range(20):
        x = np.clip(outcome.x + 0.1 * rng.standard_normal(5), program.lower, program.upper)
        x -= np.linalg.pinv(program.A_eq) @ (program.A_eq @ x - program.b_eq)
        if program.broken(x) > 1e-9:
            continue
        y = rng.standard_normal(3)
        terms = np.abs(program.theta) + np.abs(program.Q) @ np.abs(x)
        rows = np.concatenate([program.A_eq, program.A_ub])
        size = (terms + np.abs(rows).T @ np.abs(np.where([True, False, False], y, np.maximum(y, 0)))) @ np.abs(x)
        assert pool._gap(x, y, program.theta, 0) * size >= best - program.value(x) - 1e-9
    assert pool._gap(outcome.x + 0.01, np.zeros(3), program.theta, 0) > GAP


def test_endings() -> None:
    empty = Program(np.eye(2), np.zeros((0, 2)), np.zeros(0), np.ones((1, 2)), np.array([-1.0]), np.zeros(2),
                    np.full(2, np.inf), np.ones(2))  # fmt: skip
    assert search(empty, definite=True)[0].ending == Ending.INFEASIBLE
    open_ = Program(np.diag([1.0, 0.0]), np.zeros((0, 2)), np.zeros(0), np.zeros((0, 2)), np.zeros(0), np.zeros(2),
                    np.full(2, np.inf), np.array([3.0, 1.0]))  # fmt: skip
    assert search(open_, definite=False)[0].ending == Ending.UNBOUNDED
    late = draw(0, 12, 2, 8)
    assert search(late, definite=True, limits=Limits(seconds=1e-9))[0].ending == Ending.TIME_LIMIT


def test_instances_do_not_disturb_each_other() -> None:
    program = draw(3, 6, 1, 3)
    gains = program.theta + np.random.default_rng(0).standard_normal((7, 6))
    together = search(program, definite=True, gains=gains)
    for row, outcome in zip(gains, together):
        (alone,) = search(program, definite=True, gains=row[None])
        np.testing.assert_allclose(outcome.x, alone.x, atol=1e-10)
    assert search(program, definite=True, gains=np.zeros((0, 6))) == []
