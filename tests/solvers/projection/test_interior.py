"""The interior point method: optimality conditions, and the shortcuts that its derivation promises."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given

from foresolve.solvers.projection.interior import _advance, _residuals, initial_state, interior_point
from foresolve.solvers.projection.newton_system import InteriorState
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import project
from instances import Instance, draw
from oracles import instances, reference

ACCURACY = 1e-9


def polytope(instance: Instance) -> Polytope:
    batch = len(instance.theta)
    return instance.problem().polytope(torch.Size([batch])).expand(batch).numeric()


def solved(point: np.ndarray, set_: Polytope, max_iter: int = 200) -> tuple[InteriorState, np.ndarray]:
    state = initial_state(point, set_)
    return state, interior_point(point, set_, state, ACCURACY, max_iter)


def bound_multipliers(state: InteriorState) -> np.ndarray:
    """`z_u - z_l`, what the bounds add to the gradient."""
    return -state.layout.signed_sum(state.Z, np.zeros_like(state.x))


@given(instances())
def test_it_starts_strictly_inside_the_bounds(instance: Instance) -> None:
    set_ = polytope(instance)
    state = initial_state(instance.theta, set_)
    movable = set_.lower < set_.upper
    assert (state.x[movable] > set_.lower[movable]).all()
    assert (state.x[movable] < set_.upper[movable]).all()
    assert (state.x[~movable] == set_.lower[~movable]).all()
    assert (state.S > 0).all()
    assert (state.Z >= 0).all()


@pytest.mark.parametrize("seed", range(12))
def test_the_optimality_conditions_hold(seed: int) -> None:
    instance = draw(seed, n=10, m_ub=6, dependent=seed % 2 == 0, fixed=seed % 3 == 0, free=seed % 4 == 0)
    set_, point = polytope(instance), instance.theta
    state, _ = solved(point, set_)
    y, movable = state.y, state.movable > 0
    slack = set_.rhs - set_.rows.apply(state.x)
    gradient = state.x - point + set_.rows.adjoint(y) + bound_multipliers(state)
    size = 1 + abs(point).max()
    assert abs(gradient[movable]).max(initial=0.0) < 1e-6 * size
    assert abs(slack[:, set_.equality]).max(initial=0.0) < 1e-6 * size
    assert slack[:, ~set_.equality].min(initial=0.0) > -1e-6 * size
    assert y[:, ~set_.equality].min(initial=0.0) >= 0.0
    assert abs(y * slack)[:, ~set_.equality].max(initial=0.0) < 1e-6 * size
    assert (state.S * state.Z).max(initial=0.0) < 1e-6 * size


@pytest.mark.parametrize("seed", range(6))
def test_it_agrees_with_clarabel(seed: int) -> None:
    instance = draw(seed, gamma=0.5)  # so that the point is theta itself
    state, _ = solved(instance.theta, polytope(instance))
    expected = np.stack([reference(instance, theta) for theta in instance.theta])
    np.testing.assert_allclose(state.x, expected, atol=1e-6)


def test_a_step_shrinks_both_residuals_by_its_length() -> None:
    instance = draw(3, n=9, m_ub=5)
    set_, point = polytope(instance), instance.theta
    state = initial_state(point, set_)
    for _ in range(4):
        dual, primal = _residuals(point, set_, state)
        product = state.S * state.Z
        mu = product.sum(-1, keepdims=True) / state.count
        step = _advance(set_, state, dual, primal, product, mu, np.ones(len(point), dtype=bool))
        after = _residuals(point, set_, state)
        assert ((step > 0) & (step < 1)).all()
        np.testing.assert_allclose(after[0], (1 - step) * dual, atol=1e-8)
        np.testing.assert_allclose(after[1], (1 - step) * primal, atol=1e-8)
        assert (state.S > 0).all()
        assert (state.Z[state.live > 0] > 0).all()


def test_one_hard_instance_costs_only_itself() -> None:
    easy, hard = draw(0, n=8), draw(0, n=8, batch=1)
    point = np.concatenate([easy.theta, 1e6 * hard.theta])
    set_ = easy.problem().polytope(torch.Size([4])).expand(4).numeric()
    together, spent = solved(point, set_)
    for i in range(4):
        alone, iterations = solved(point[i : i + 1], set_.select(np.array([i])))
        assert iterations.tolist() == [spent[i]]
        np.testing.assert_allclose(together.x[i], alone.x[0], atol=1e-9 * (1 + abs(point[i]).max()))


def test_it_stops_at_the_limit() -> None:
    instance = draw(1)
    state, spent = solved(instance.theta, polytope(instance), max_iter=2)
    assert spent.tolist() == [2, 2, 2]
    assert np.isfinite(state.x).all()


def test_without_any_pair_a_single_step_is_enough() -> None:
    """Equalities alone, no bounds: the projection is linear."""
    rng = np.random.default_rng(0)
    rows, rhs = rng.standard_normal((3, 7)), rng.standard_normal(3)
    infinite = np.full(7, np.inf)
    empty = (np.zeros((0, 7)), np.zeros(0))
    instance = Instance(*empty, rows, rhs, -infinite, infinite, rng.standard_normal((2, 7)), 0.5)
    x = project(instance.theta, polytope(instance), tol=1e-10, max_iter=100).face.x
    expected = instance.theta - (instance.theta @ rows.T - rhs) @ np.linalg.pinv(rows).T
    np.testing.assert_allclose(x, expected, atol=1e-9)
