"""Identity with projection: the Jacobian of the projection, and nothing that cannot change the decision."""

from __future__ import annotations

import itertools

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.layers import IdentityProjection, NegativeIdentity
from layers.conformance import LayerConformance
from layers.test_blackbox import PROBLEMS, draw, submodular
from mistakes import mistake


class TestConformance(LayerConformance):
    smooth = False

    def layer(self) -> foresolve.Layer:
        return IdentityProjection(center=True)

    def cases(self) -> list[tuple[foresolve.Problem, Tensor]]:
        return [(problem, draw(4, problem.n)) for problem in PROBLEMS]


class TestConformanceOfTheNegativeIdentity(TestConformance):
    def layer(self) -> foresolve.Layer:
        return NegativeIdentity()


def pulled_back(layer: foresolve.Layer, theta: Tensor, g: Tensor, problem: foresolve.LinearProgram) -> Tensor:
    leaf = theta.clone().requires_grad_()
    x = layer(leaf, problem)
    assert torch.equal(x, problem.solve(theta))
    return torch.autograd.grad(x, leaf, g)[0]


def test_costs_get_the_negative_identity_and_gains_the_identity() -> None:
    grid, top = foresolve.ShortestPath.grid(3, 3), foresolve.TopK(6, 2)
    for problem, sign in ((grid, -1), (top, 1)):
        theta, g = draw(4, problem.n), draw(4, problem.n, seed=1)
        torch.testing.assert_close(pulled_back(NegativeIdentity(), theta, g, problem), sign * g)


@pytest.mark.parametrize(("center", "normalize"), list(itertools.product([False, True], repeat=2)))
def test_the_gradient_is_that_of_the_projection(center: bool, normalize: bool) -> None:
    problem, theta, g = foresolve.ShortestPath.grid(3, 3), draw(4, 12), draw(4, 12, seed=1)

    def projected(c: Tensor) -> Tensor:
        c = c - c.mean() if center else c
        return c / c.norm() if normalize else c

    jacobian = torch.stack([torch.autograd.functional.jacobian(projected, c) for c in -theta])  # type: ignore[arg-type]
    gradient = pulled_back(IdentityProjection(center=center, normalize=normalize), theta, g, problem)
    torch.testing.assert_close(gradient, -torch.einsum("bij,bi->bj", jacobian, g))
    if center:
        assert float(gradient.sum(-1).abs().max()) < 1e-12
    if normalize:
        assert float((gradient * theta).sum(-1).abs().max()) < 1e-12


def test_flat_parameters_have_a_finite_gradient() -> None:
    problem, flat = foresolve.TopK(4, 2), torch.ones(2, 4, dtype=torch.float64)
    gradient = pulled_back(IdentityProjection(center=True), flat, draw(2, 4), problem)
    assert bool(torch.isfinite(gradient).all())


def test_what_it_refuses_and_keeps() -> None:
    problem, theta = submodular()
    with mistake("problem", "SubmodularProblem"):
        IdentityProjection()(theta, problem)
    theta = draw(2, 3, 6).float().requires_grad_()
    x = IdentityProjection()(theta, foresolve.TopK(6, 2))
    x.sum().backward()
    assert x.shape == theta.shape
    assert x.dtype == torch.float32
    assert theta.grad is not None
    assert "normalize=True" in repr(IdentityProjection())
