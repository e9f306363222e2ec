"""The tangent of a projection is the orthogonal projector onto the space in which the solution can move."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.linalg
import torch
from hypothesis import given

from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import project
from foresolve.solvers.projection.tangent import Tangent
from instances import Instance, draw
from oracles import instances


def polytope(instance: Instance) -> Polytope:
    batch = len(instance.theta)
    return instance.problem().polytope(torch.Size([batch])).expand(batch).numeric()


def tangent_at(point: np.ndarray, set_: Polytope) -> Tangent:
    return project(point, set_, tol=1e-11, max_iter=100).tangent


def directions(like: np.ndarray, seed: int) -> np.ndarray:
    return np.random.default_rng(seed).standard_normal(like.shape)


@given(instances())
def test_the_parts_add_up(instance: Instance) -> None:
    set_ = polytope(instance)
    tangent, g = tangent_at(instance.theta, set_), directions(instance.theta, 0)
    u, z = tangent.split(g)
    along = set_.rows.apply(u) * tangent.active
    assert abs(along / set_.rows.norms).max(initial=0.0) < 1e-9
    assert (u[tangent.free == 0] == 0).all()
    np.testing.assert_allclose((u + set_.rows.adjoint(z)) * tangent.free, g * tangent.free, atol=1e-9)


@given(instances())
def test_it_is_an_orthogonal_projector(instance: Instance) -> None:
    set_ = polytope(instance)
    tangent = tangent_at(instance.theta, set_)
    g, h = directions(instance.theta, 1), directions(instance.theta, 2)
    (u, _), (v, _) = tangent.split(g), tangent.split(h)
    np.testing.assert_allclose(tangent.split(u)[0], u, atol=1e-8)
    np.testing.assert_allclose((u * h).sum(-1), (g * v).sum(-1), atol=1e-8)
    assert (np.linalg.norm(u, axis=1) <= np.linalg.norm(g, axis=1) + 1e-9).all()


@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_projector_onto_the_null_space_of_the_active_rows(seed: int) -> None:
    instance = draw(seed, n=9, m_ub=5, dependent=seed % 2 == 0, fixed=seed % 3 == 0)
    set_ = polytope(instance)
    tangent, g = tangent_at(instance.theta, set_), directions(instance.theta, seed)
    u, _ = tangent.split(g)
    matrix = set_.rows.scipy().toarray()
    for i in range(len(g)):
        free, active = tangent.free[i] > 0, tangent.active[i] > 0
        basis = scipy.linalg.null_space(matrix[active][:, free]) if active.any() else np.eye(free.sum())
        np.testing.assert_allclose(u[i, free], basis @ (basis.T @ g[i, free]), atol=1e-8)
        assert tangent.movable()[i] == (np.linalg.norm(basis, axis=1) > 1e-7).sum()


@pytest.mark.parametrize("seed", range(10))
def test_it_is_the_derivative_of_the_projection(seed: int) -> None:
    instance = draw(seed, n=9, m_ub=5, fixed=seed % 3 == 0, free=seed % 4 == 1)
    set_, point, step = polytope(instance), instance.theta, 1e-5
    g = directions(point, seed)
    ahead, behind = (project(point + sign * step * g, set_, tol=1e-12, max_iter=100).face for sign in (1, -1))
    same = (ahead.free == behind.free).all(-1) & (ahead.active == behind.active).all(-1)
    assert same.any()
    u, _ = tangent_at(point, set_).split(g)
    np.testing.assert_allclose(((ahead.x - behind.x) / (2 * step))[same], u[same], atol=1e-6)


def test_a_vertex_does_not_move() -> None:
    set_ = polytope(draw(0))
    point = 1e4 * directions(draw(0).theta, 5)
    tangent = tangent_at(point, set_)
    assert tangent.movable().tolist() == [0, 0, 0]
    assert abs(tangent.split(directions(point, 6))[0]).max() < 1e-8


def test_constraints_drawn_with_an_ordinary_seed_do_not_hide_the_face() -> None:
    rows = np.random.default_rng(0).standard_normal((2, 9))
    infinite = np.full(9, np.inf)
    empty = (np.zeros((0, 9)), np.zeros(0))
    instance = Instance(*empty, rows, np.zeros(2), -infinite, infinite, np.ones((2, 9)), 0.5)
    assert tangent_at(instance.theta, polytope(instance)).movable().tolist() == [9, 9]
