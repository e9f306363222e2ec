"""Normal cones, by what defines them: no feasible point lies further along a normal than the point it belongs to."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import torch
from torch import Tensor

from foresolve.problems import TopK
from foresolve.solvers.projection.cone import NormalCone
from foresolve.solvers.projection.polytope import Polytope
from instances import Instance, draw

SEEDS = range(8)


def vertices(seed: int, n: int = 8) -> tuple[Instance, Polytope, Tensor]:
    """A program with its polytopes and an optimal vertex for each of its costs."""
    instance = draw(seed, n=n, m_eq=seed % 3, m_ub=5, batch=4, dependent=seed % 2 == 1, fixed=seed % 4 == 2)
    problem = instance.problem()
    return instance, problem.polytope(torch.Size([4])), problem.solve(torch.from_numpy(instance.theta))


def excess(instance: Instance, x: Tensor, normal: Tensor) -> float:
    """How much further along the normals the polytopes reach than `x`, by SciPy."""
    bounds = np.stack([instance.lower, instance.upper], 1)
    rows = (instance.A_ub, instance.b_ub, instance.A_eq, instance.b_eq)
    worst = -np.inf
    for point, direction in zip(x.numpy(), normal.numpy(), strict=True):
        furthest = -scipy.optimize.linprog(-direction, *rows, bounds).fun
        worst = max(worst, furthest - direction @ point)
    return worst


def generators(cone: NormalCone, i: int, matrix: np.ndarray) -> np.ndarray:
    """The columns whose non-negative combinations are the `i`-th cone."""
    equal, eye = cone.polytope.equality.numpy(), np.eye(matrix.shape[1])
    tight, at_lower, at_upper = (mask[i].numpy() for mask in (cone.tight, cone.at_lower, cone.at_upper))
    return np.concatenate([matrix[equal], -matrix[equal], matrix[tight], -eye[at_lower], eye[at_upper]]).T


@pytest.mark.parametrize("seed", SEEDS)
def test_projections_are_normals_and_the_rest_is_orthogonal(seed: int) -> None:
    instance, set_, x = vertices(seed)
    cone = NormalCone.at(x, set_)
    point = torch.from_numpy(np.random.default_rng(seed).standard_normal(x.shape))
    normal, converged = cone.project(point)
    assert bool(converged.all())
    assert excess(instance, x, normal) < 1e-6
    assert float(((point - normal) * normal).sum(-1).abs().max()) < 1e-6  # Moreau's decomposition


def test_points_between_vertices() -> None:
    """Without an active bound the cone is what the equalities span; it has no pairs, and waits for the others."""
    problem = TopK(4, 2)
    x = torch.tensor([[0.5] * 4, [1.0, 1.0, 0.0, 0.0], [1.0, 0.5, 0.5, 0.0]], dtype=torch.float64)
    point = torch.tensor([[4.0, 1.0, -2.0, 3.0]] * 3, dtype=torch.float64)
    normal, converged = NormalCone.at(x, problem.polytope(torch.Size([3]))).project(point)
    assert bool(converged.all())
    expected = torch.tensor([[1.5] * 4, [4, 2, -2, 2], [4, 2 / 3, 2 / 3, 2 / 3]], dtype=torch.float64)
    torch.testing.assert_close(normal, expected, atol=1e-6, rtol=0)


@pytest.mark.parametrize("seed", SEEDS)
def test_they_agree_with_non_negative_least_squares(seed: int) -> None:
    _, set_, x = vertices(seed)
    cone = NormalCone.at(x, set_)
    point = torch.from_numpy(np.random.default_rng(seed + 50).standard_normal(x.shape))
    normal, _ = cone.project(point)
    for i in range(len(x)):
        columns = generators(cone, i, set_.rows.scipy().toarray())
        weights, _ = scipy.optimize.nnls(columns, point[i].numpy())
        np.testing.assert_allclose(normal[i], columns @ weights, atol=1e-6)


@pytest.mark.parametrize("seed", SEEDS)
def test_projecting_twice_and_scaling(seed: int) -> None:
    _, set_, x = vertices(seed)
    cone = NormalCone.at(x, set_)
    point = torch.from_numpy(np.random.default_rng(seed + 90).standard_normal(x.shape))
    normal, _ = cone.project(point)
    torch.testing.assert_close(cone.project(normal)[0], normal, atol=1e-6, rtol=0)
    torch.testing.assert_close(cone.project(1e3 * point)[0], 1e3 * normal, atol=1e-4, rtol=0)


@pytest.mark.parametrize("seed", SEEDS)
def test_costs_lie_in_the_cone_of_their_optimum(seed: int) -> None:
    instance, set_, x = vertices(seed)
    theta = torch.from_numpy(instance.theta)
    torch.testing.assert_close(NormalCone.at(x, set_).project(theta)[0], theta, atol=1e-6, rtol=0)


@pytest.mark.parametrize("seed", SEEDS)
def test_centers_and_early_iterates_are_normals(seed: int) -> None:
    instance, set_, x = vertices(seed)
    cone = NormalCone.at(x, set_)
    center = cone.center()
    assert excess(instance, x, center) < 1e-6
    length = center.norm(dim=-1)
    assert bool(((length - 1).abs() < 1e-9).logical_or(length == 0).all())
    inside = cone.inside(torch.from_numpy(instance.theta), 3)
    assert excess(instance, x, torch.nn.functional.normalize(inside, dim=-1)) < 1e-6


def test_inside_the_polytope_nothing_is_normal() -> None:
    box = draw(0, m_eq=0, m_ub=0).problem().polytope(torch.Size([3]))
    middle = ((box.lower + box.upper) / 2).expand(3, -1)
    cone = NormalCone.at(middle, box)
    assert bool((cone.project(torch.ones_like(middle))[0] == 0).all())
    assert bool((cone.center() == 0).all())
