"""Projection as the solvers see it: NumPy and torch arrays, certificates, faces."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given

from foresolve.solvers.projection.active_set import face_at
from foresolve.solvers.projection.cone import NormalCone
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import _farkas, project
from foresolve.solvers.projection.rows import DenseRows
from foresolve.solvers.status import Status
from instances import Instance, draw
from oracles import instances


def polytope(instance: Instance, batch: int = 3) -> Polytope:
    return instance.problem().polytope(torch.Size([batch])).expand(batch)


@given(instances())
def test_numpy_and_torch_arrays_give_the_same_projection(instance: Instance) -> None:
    """The code of the GPU, run on the CPU."""
    set_, point = polytope(instance), instance.theta / (2 * instance.gamma)
    numpy = project(point, set_.numeric(), tol=1e-10, max_iter=100)
    detached = set_.detach()
    dense = DenseRows(torch.from_numpy(np.stack([detached.rows.scipy(0).toarray()])[0]))
    tensors = Polytope(dense, detached.rhs, detached.equality, detached.lower, detached.upper)
    torch_ = project(torch.from_numpy(point), tensors, tol=1e-10, max_iter=100)
    assert (numpy.status == int(Status.CONVERGED)).all()
    assert bool((torch_.status == int(Status.CONVERGED)).all())
    np.testing.assert_allclose(numpy.face.x, torch_.face.x.numpy(), atol=1e-8 * (1 + abs(point).max()))


@given(instances())
def test_projecting_twice_changes_nothing(instance: Instance) -> None:
    set_ = polytope(instance).numeric()
    once = project(instance.theta, set_, tol=1e-10, max_iter=100).face.x
    twice = project(once, set_, tol=1e-10, max_iter=100).face.x
    np.testing.assert_allclose(once, twice, atol=1e-8)


@given(instances())
def test_projection_does_not_stretch_distances(instance: Instance) -> None:
    set_ = polytope(instance).numeric()
    reversed_ = instance.theta[::-1].copy()
    x, y = (project(p, set_, tol=1e-10, max_iter=100).face.x for p in (instance.theta, reversed_))
    assert (np.linalg.norm(x - y, axis=1) <= np.linalg.norm(instance.theta - reversed_, axis=1) + 1e-8).all()


def test_certificates_prove_infeasibility_and_nothing_else() -> None:
    box = (np.zeros((1, 2)), np.ones((1, 2)))
    rows, side = DenseRows(np.array([[1.0, 1.0]])), np.array([[-1.0]])
    impossible = Polytope(rows, side, np.array([False]), *box)
    assert _farkas(impossible, np.array([[1.0]])).tolist() == [True]
    assert _farkas(impossible, np.array([[0.0]])).tolist() == [False]
    possible = Polytope(rows, -side, np.array([False]), *box)
    assert _farkas(possible, np.array([[1.0]])).tolist() == [False]
    without_bounds = Polytope(rows, side, np.array([False]), np.full((1, 2), -np.inf), box[1])
    assert _farkas(without_bounds, np.array([[1.0]])).tolist() == [False]


def test_a_right_start_is_recognized_and_left_as_it_is() -> None:
    instance = draw(0)
    set_, point = polytope(instance).numeric(), instance.theta
    solved = project(point, set_, tol=1e-10, max_iter=100)
    start = solved.face.y.copy()
    again = project(point, set_, tol=1e-10, max_iter=100, start=start)
    assert again.iterations.tolist() == [0, 0, 0]
    far = project(-point, set_, tol=1e-10, max_iter=100, start=start)
    assert (far.status == int(Status.CONVERGED)).all()
    np.testing.assert_array_equal(start, solved.face.y)


def test_nan_counts_as_the_worst_residual() -> None:
    instance = draw(1)
    set_ = polytope(instance).numeric()
    y = np.full_like(set_.rhs, np.nan)
    assert face_at(instance.theta, set_, y).residual.tolist() == [np.inf] * 3


@pytest.mark.slow
def test_thousands_of_programs_converge() -> None:
    rng = np.random.default_rng(0)
    for _ in range(3000):
        instance = draw(
            int(rng.integers(1_000_000)),
            n=int(rng.integers(6, 40)),
            m_eq=int(rng.integers(0, 3)),
            m_ub=int(rng.integers(0, 50)),
            dependent=bool(rng.integers(2)),
            fixed=bool(rng.integers(2)),
            ties=bool(rng.integers(2)),
            spread=float(rng.choice([0.0, 2.0])),
            gamma=10.0 ** float(rng.integers(-4, 3)),
        )
        point = instance.theta / (2 * instance.gamma)
        result = project(point, polytope(instance).numeric(), tol=1e-10, max_iter=100)
        assert (result.status == int(Status.CONVERGED)).all(), instance


def test_an_instance_has_its_own_iterations_whatever_its_batch_needs() -> None:
    """Cones of which one takes a hundred iterations: the others once got none of what it had used up."""
    case = draw(140, n=7, m_eq=2, m_ub=6)
    theta = torch.from_numpy(case.theta)
    cone = NormalCone.at(case.problem().solve(theta), case.problem().polytope(torch.Size([3])))
    point = theta.numpy() / np.linalg.norm(case.theta, axis=1, keepdims=True)
    tangents = cone._tangents(torch.from_numpy(point))
    together = project(point, tangents, tol=1e-10, max_iter=100)
    for i in range(3):
        alone = project(point[i : i + 1], tangents.select(np.array([i])), tol=1e-10, max_iter=100)
        assert alone.status[0] == together.status[i] == int(Status.CONVERGED)
        np.testing.assert_allclose(alone.face.x[0], together.face.x[i], atol=1e-12)


def test_infeasibility_is_said_only_where_an_independent_solver_agrees() -> None:
    rows, box = DenseRows(np.array([[1.0, 1.0]])), (np.zeros((1, 2)), np.ones((1, 2)))
    empty = Polytope(rows, np.array([[-1.0]]), np.array([False]), *box)
    point = np.array([[0.5, 0.5]])
    for verdict, status in ((False, Status.INFEASIBLE), (True, None)):
        result = project(point, empty, tol=1e-10, max_iter=100, is_feasible=lambda *_, verdict=verdict: verdict)
        assert result.status[0] == int(status) if status is not None else result.status[0] != int(Status.INFEASIBLE)
        assert result.status[0] != int(Status.CONVERGED)
