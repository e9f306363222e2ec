"""Interpolation of a black-box solver: against the formula, both senses, and the function it is the gradient of."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.layers import BlackboxInterpolation
from foresolve.problems import OracleProblem
from instances import finite_differences
from layers.conformance import LayerConformance
from mistakes import mistake


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.randn(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


def submodular() -> tuple[foresolve.SubmodularProblem, Tensor]:
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
    return problem, torch.full((2, 3, 2), 0.5, dtype=torch.float64)


PROBLEMS = [foresolve.TopK(6, 2), foresolve.BipartiteMatching(3, 4), foresolve.ShortestPath.grid(3, 3)]


class TestConformance(LayerConformance):
    smooth = False

    def layer(self) -> foresolve.Layer:
        return BlackboxInterpolation(2.0)

    def cases(self) -> list[tuple[foresolve.Problem, Tensor]]:
        return [(problem, draw(4, problem.n)) for problem in PROBLEMS]


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
def test_forward_is_the_solver_and_backward_the_gradient_of_the_interpolation(problem) -> None:
    theta, g, lam = draw(4, problem.n), draw(4, problem.n, seed=1), 3.0
    leaf = theta.clone().requires_grad_()
    x = BlackboxInterpolation(lam)(leaf, problem)
    assert torch.equal(x, problem.solve(theta))
    x.backward(g)

    def interpolation(theta: Tensor) -> Tensor:
        def value(gains: Tensor) -> Tensor:
            return (gains * problem.solve(problem.gain(gains))).sum(-1)

        c = problem.gain(theta)
        return ((value(c) - value(c - lam * g)) / lam)[:, None]

    assert leaf.grad is not None
    expected = finite_differences(interpolation, theta, torch.ones(4, 1, dtype=torch.float64))
    torch.testing.assert_close(leaf.grad, expected, atol=1e-6, rtol=0)
    assert float(leaf.grad.abs().max()) > 0


def test_costs_have_the_formula_of_the_paper() -> None:
    problem, lam = foresolve.ShortestPath.grid(3, 3), 3.0
    w, g = draw(4, problem.n).requires_grad_(), draw(4, problem.n, seed=1)
    BlackboxInterpolation(lam)(w, problem).backward(g)
    assert w.grad is not None
    expected = -(problem.solve(w) - problem.solve(w.detach() + lam * g)) / lam
    torch.testing.assert_close(w.grad, expected)


def test_leading_dimensions_dtype_and_per_instance_problems() -> None:
    layer = BlackboxInterpolation(1.0)
    theta = draw(2, 3, 6).float().requires_grad_()
    x = layer(theta, PROBLEMS[0])
    assert x.shape == theta.shape
    x.sum().backward()
    assert x.dtype == torch.float32
    assert theta.grad is not None
    assert theta.grad.dtype == torch.float32
    limited = foresolve.LinearProgram(A_ub=torch.ones(3, 1, 4), b_ub=torch.tensor([[1.0], [2.0], [3.0]]), bounds=(0, 1))
    shared = draw(4).abs().requires_grad_()
    y = layer(shared, limited)
    assert y.sum(-1).tolist() == [1.0, 2.0, 3.0]
    (y * draw(3, 4, seed=2)).sum().backward()
    assert shared.grad is not None
    assert shared.grad.shape == (4,)


def test_an_oracle_is_enough() -> None:
    problem = OracleProblem(lambda t: (t == t.min()).astype(float), n=4, sense="min")
    theta = draw(3, 4).requires_grad_()
    BlackboxInterpolation(5.0)(theta, problem).backward(draw(3, 4, seed=1))
    assert theta.grad is not None
    assert float(theta.grad.abs().max()) > 0


def test_what_it_refuses() -> None:
    with mistake("lam", "got 0.0"):
        BlackboxInterpolation(0.0)
    problem, theta = submodular()
    with mistake("problem", "SubmodularProblem"):
        BlackboxInterpolation()(theta, problem)
    with mistake("theta", "(2, 5)"):
        BlackboxInterpolation()(draw(2, 5), foresolve.TopK(6, 2))
    with mistake("theta", "got ()"):
        BlackboxInterpolation()(torch.tensor(1.0), foresolve.TopK(6, 2))
