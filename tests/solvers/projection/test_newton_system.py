"""Steps of the interior point method, and steps that are corrected."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from foresolve.solvers.projection.interior import _residuals, initial_state, interior_point
from foresolve.solvers.projection.newton_system import InteriorState, NewtonSystem
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.sparse_metric import SparseMetric
from solvers.projection.saddles import metric_of, rows_of


def iterate(seed: int, steps: int) -> tuple[np.ndarray, Polytope, InteriorState]:
    """Three programs with bounds and inequalities in a sparse metric, some steps from their start."""
    rng = np.random.default_rng(seed)
    metric, _ = metric_of("sparse", seed, 12)
    rows, C = rows_of(seed, 5, 12, sparse=True)
    rhs = np.tile(C[0] @ np.full(12, 0.5) + 0.1, (3, 1))
    equality = np.array([True, False, False, False, False])
    polytope = Polytope(rows, rhs, equality, np.zeros((3, 12)), np.ones((3, 12)), metric)
    point = 4.0 * rng.standard_normal((3, 12))
    state = initial_state(point, polytope)
    interior_point(point, polytope, state, 1e-12, steps)
    return point, polytope, state


@pytest.mark.parametrize("seed", range(6))
def test_a_corrected_step_is_longer_or_the_same(seed: int) -> None:
    point, polytope, state = iterate(seed, steps=seed % 4)
    system = NewtonSystem(polytope, state, *_residuals(point, polytope, state), state.Z / state.S)
    mu = (state.S * state.Z).sum(-1, keepdims=True) / state.count
    aim = system.existing(0.1 * mu / state.S) - state.Z
    move = system.move(aim)
    other, other_aim, longer = system.corrected(move, aim, 0.1 * mu)
    before, after = (1 / np.maximum(step.blocking, 1.0) for step in (move, other))
    assert (after >= before).all()
    assert longer == bool((after > before).any())
    for b in np.flatnonzero(after[:, 0] == before[:, 0]):
        np.testing.assert_array_equal(other.dx[b], move.dx[b])
    # Whatever is aimed at, the linear conditions are met by a full step.
    primal = polytope.rhs - polytope.rows.apply(state.x + other.dx)
    slack = state.layout.slack(state.S + other.dS) * state.layout.slack(state.live)
    np.testing.assert_allclose(primal - slack, 0.0, atol=1e-8)
    np.testing.assert_array_equal(system.move(other_aim).dx, other.dx)


def test_corrections_lead_to_the_same_point_in_no_more_steps() -> None:
    total = {0: 0, 2: 0}
    for seed in range(8):
        ends = []
        for correctors in total:
            point, polytope, state = iterate(seed, steps=0)
            assert isinstance(polytope.metric, SparseMetric)
            polytope.metric.correctors = correctors
            total[correctors] += int(interior_point(point, replace(polytope), state, 1e-10, 60).sum())
            ends.append(state.x)
        np.testing.assert_allclose(*ends, atol=1e-4)  # as near as `accuracy` brings both
    assert total[2] < total[0]
