"""Maximizers of the smoothed extension: stationary, locally best, and solved with the matrix that the name says."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.sets import PolyhedralMatroid, SetFunction
from foresolve.sets.ascent import Optimum, TangentSystem, maximize
from foresolve.sets.smoothed import SmoothedProgram
from submodular_instances import FUNCTIONS, MATROIDS, draw_theta, function, matroid

BATCH, N, TARGETS = 4, 8, 5


def case(kind: str, name: str, gamma: float) -> tuple[SetFunction, PolyhedralMatroid, Tensor, Tensor, Tensor]:
    constraint = matroid(name, N)
    assert isinstance(constraint, PolyhedralMatroid)
    start = torch.full((BATCH, N), constraint.rank / N, dtype=torch.float64)
    gammas = torch.full((BATCH,), gamma, dtype=torch.float64)
    return function(kind, TARGETS), constraint, draw_theta((BATCH,), N, TARGETS, 0), gammas, start


def height(objective: SetFunction, x: Tensor, theta: Tensor, gamma: Tensor) -> Tensor:
    return objective.multilinear(x, theta) - gamma * x.square().sum(-1)


def solve(*arguments) -> Optimum:
    return maximize(SmoothedProgram(*arguments[:-1]), arguments[-1], tol=1e-10)


@pytest.mark.parametrize("name", MATROIDS)
@pytest.mark.parametrize("kind", FUNCTIONS)
@pytest.mark.parametrize("gamma", [0.1, 2.0])
def test_no_feasible_direction_leads_uphill(kind: str, name: str, gamma: float) -> None:
    objective, constraint, theta, gammas, start = case(kind, name, gamma)
    optimum = solve(objective, constraint, theta, gammas, start)
    assert float(optimum.residual.max()) <= 1e-10
    x = optimum.x
    assert max(float(part.max()) for part in constraint.excess(x, base=True).values()) < 1e-8
    slope = objective.gradient(x, theta) - 2 * gamma * x
    gap = (slope * (constraint.maximize(slope) - x)).sum(-1)  # to the best base of the linearized objective
    assert float(gap.max()) < 1e-7
    generator = torch.Generator().manual_seed(0)
    for _ in range(20):
        step = 1e-3 * torch.randn(BATCH, N, generator=generator, dtype=torch.float64)
        near = constraint.project(x + step).x
        assert bool((height(objective, near, theta, gammas) <= height(objective, x, theta, gammas) + 1e-9).all())


@pytest.mark.parametrize("name", MATROIDS)
def test_the_system_is_the_hessian_along_the_face(name: str) -> None:
    """`solve` gives the symmetric inverse on the tangent space: along it, `(2 gamma I - H) solve(v)` and `v` agree."""
    objective, constraint, theta, gammas, start = case("coverage", name, 2.0)
    optimum = solve(objective, constraint, theta, gammas, start)
    system: TangentSystem = optimum.system
    assert bool(system.definite.all())
    generator = torch.Generator().manual_seed(1)
    v, w = torch.randn(2, BATCH, N, generator=generator, dtype=torch.float64)
    u, t = system.solve(v), system.solve(w)
    torch.testing.assert_close((u * w).sum(-1), (v * t).sum(-1))  # symmetric
    residual = 2 * gammas[:, None] * u - optimum.local.product(u) - v
    torch.testing.assert_close((residual * t).sum(-1), torch.zeros(BATCH, dtype=torch.float64), atol=1e-9, rtol=0)
    assert bool((u[~optimum.projection.free] == 0).all())
    assert float(u.abs().max()) > 1e-3


def test_few_steps_leave_a_residual_that_is_told() -> None:
    objective, constraint, theta, gammas, start = case("coverage", "uniform", 0.1)
    optimum = maximize(SmoothedProgram(objective, constraint, theta, gammas), start, tol=1e-14, max_iter=1)
    assert float(optimum.residual.max()) > 1e-14
    assert optimum.iterations.max() == 1
