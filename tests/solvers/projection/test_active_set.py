"""The last digits: a Newton step on the right face is exact, and no step makes things worse."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st

from foresolve.solvers.projection.active_set import SNAPPED_STEPS, Face, face_at, newton_step, polish
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import project
from instances import Instance, draw
from oracles import instances, reference


def polytope(instance: Instance) -> Polytope:
    batch = len(instance.theta)
    return instance.problem().polytope(torch.Size([batch])).expand(batch).numeric()


def face_of(point: np.ndarray, set_: Polytope, y: np.ndarray) -> Face:
    return face_at(point, set_, y)


@pytest.mark.parametrize("seed", range(8))
def test_on_the_right_face_one_step_is_exact(seed: int) -> None:
    instance = draw(seed, n=10, m_ub=5, dependent=seed % 2 == 0, fixed=seed % 3 == 0)
    set_, point = polytope(instance), instance.theta
    right = project(point, set_, tol=1e-12, max_iter=100).face
    blurred = replace(right, y=1.001 * right.y)
    assert (newton_step(point, set_, blurred)[0].residual < 1e-10).all()


@pytest.mark.parametrize("seed", range(8))
def test_a_face_without_residual_is_the_projection(seed: int) -> None:
    instance = draw(seed, gamma=0.5)
    set_ = polytope(instance)
    face = project(instance.theta, set_, tol=1e-10, max_iter=100).face
    assert (face_of(instance.theta, set_, face.y).residual < 1e-9).all()
    expected = np.stack([reference(instance, theta) for theta in instance.theta])
    np.testing.assert_allclose(face.x, expected, atol=1e-6)


@given(instances(), st.integers(0, 1000), st.sampled_from([0.0, 1e-3, 1.0, 30.0]))
def test_polishing_never_makes_it_worse(instance: Instance, seed: int, size: float) -> None:
    set_, point = polytope(instance), instance.theta
    y = size * np.random.default_rng(seed).standard_normal(set_.rhs.shape)
    y = np.where(set_.equality, y, abs(y))
    start = face_of(point, set_, y)
    assume(bool(np.isfinite(start.residual).all()))
    polished = polish(point, set_, start, 1e-10, 6)
    best, spent = polished.face, polished.steps
    assert (best.residual <= start.residual + 1e-12).all()
    assert ((spent >= 1) & (spent <= 6 + SNAPPED_STEPS)).all()


@given(instances())
def test_residual_reports_what_is_broken(instance: Instance) -> None:
    """With multipliers 0 only the rows can be broken: the residual is the largest share of a row's own terms."""
    set_, point = polytope(instance), instance.theta
    face = face_of(point, set_, np.zeros_like(set_.rhs))
    clipped = np.clip(point, set_.lower, set_.upper)
    excess = set_.rows.apply(clipped) - set_.rhs
    terms = abs(set_.rows.scipy()) @ abs(clipped).T
    terms = terms.T + abs(set_.rhs)
    broken = np.where(set_.equality, abs(excess), np.maximum(excess, 0.0)) / np.where(terms > 0, terms, 1.0)
    np.testing.assert_array_equal(face.x, clipped)
    np.testing.assert_allclose(face.residual, broken.max(-1, initial=0.0), atol=1e-12)


def test_parts_of_a_batch_are_taken_out_and_put_back() -> None:
    instance = draw(2, batch=5)
    set_, point = polytope(instance), instance.theta
    face = face_of(point, set_, np.zeros_like(set_.rhs))
    solution = project(point, set_, tol=1e-10, max_iter=100).face
    index = np.array([3, 1])
    face.put(index, solution.select(index))
    np.testing.assert_array_equal(face.x[index], solution.x[index])
    np.testing.assert_array_equal(face.x[[0, 2, 4]], np.clip(point, set_.lower, set_.upper)[[0, 2, 4]])


def test_noise_in_a_row_without_size_is_put_to_zero() -> None:
    """Where rows and bounds are all zero, in their own terms rows hold by chance while variables are noise."""
    rows = np.array([[1.0, -1.0, 0.0, 0.0, 0.0], [0.0, 1.0, -1.0, 0.0, 0.0], [0.0, 0.0, 0.0, 1.0, 1.0]])
    infinite = np.full(5, np.inf)
    empty = (np.zeros((0, 5)), np.zeros(0))
    theta = np.array([[0.3, -0.1, -0.2, 2.0, 1.0]])
    instance = Instance(*empty, rows, np.array([0.0, 0.0, 1.0]), -infinite, infinite, theta, 0.5)
    set_ = polytope(instance)
    noisy = face_at(theta, set_, np.zeros((1, 3)), theta * [[1e-17, 1e-17, 1e-17, 1.0, 1.0]])
    snapped = face_at(theta, set_, np.zeros((1, 3)), theta * [[1e-17, 1e-17, 1e-17, 1.0, 1.0]], 1e-11)
    assert noisy.broken[0, :2].min() > 0.1
    assert snapped.broken[0, :2].tolist() == [0.0, 0.0]
    result = project(theta, set_, tol=1e-10, max_iter=100)
    assert result.status.tolist() == [0]
    np.testing.assert_allclose(result.face.x, [[0.0, 0.0, 0.0, 1.0, 0.0]], atol=1e-12)
