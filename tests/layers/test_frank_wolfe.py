"""Frank-Wolfe: against the quadratic relaxation, finite differences, and optimality itself."""

from __future__ import annotations

import itertools

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import foresolve
from foresolve import QuadraticRelaxation
from foresolve.layers import RegularizedFrankWolfe
from foresolve.problems import OracleProblem
from layers.conformance import LayerConformance
from layers.test_blackbox import draw, submodular
from mistakes import caution, mistake

INTEGRAL = [
    foresolve.TopK(6, 2),
    foresolve.BipartiteMatching(4, 5),
    foresolve.problems.Assignment(4),
    foresolve.ShortestPath.grid(4, 4),
]


def entropy(x: Tensor) -> Tensor:
    return ((x + 0.05) * (x + 0.05).log()).sum(-1)


def cases() -> list[tuple[foresolve.LinearProgram, Tensor]]:
    generator = torch.Generator().manual_seed(3)
    return [(p, torch.rand(3, p.n, generator=generator, dtype=torch.float64)) for p in INTEGRAL]


class TestConformance(LayerConformance):
    def layer(self) -> RegularizedFrankWolfe:
        return RegularizedFrankWolfe(0.4)

    def cases(self) -> list[tuple[foresolve.LinearProgram, Tensor]]:
        return [*cases(), (foresolve.Knapsack([1.0, 2.0, 3.0, 4.0], 5.0), cases()[0][1][:, :4])]


class TestConformanceOfRelativeSmoothing(TestConformance):
    def layer(self) -> RegularizedFrankWolfe:
        return RegularizedFrankWolfe()


class TestConformanceOfAGivenRegularizer(LayerConformance):
    gradient_tolerance, directions = 1e-5, 2

    def layer(self) -> RegularizedFrankWolfe:
        return RegularizedFrankWolfe(0.5, entropy)

    def cases(self) -> list[tuple[foresolve.LinearProgram, Tensor]]:
        return [cases()[0], cases()[2]]


@given(
    st.sampled_from(INTEGRAL),
    st.integers(0, 10_000),
    st.sampled_from([1e-3, 0.1, 0.4, 10.0]),
    st.sampled_from([1e-6, 1.0, 1e6]),
)
def test_agrees_with_the_quadratic_relaxation(problem, seed: int, gamma: float, scale: float) -> None:
    theta = scale * draw(3, problem.n, seed=seed)
    x = RegularizedFrankWolfe(gamma * scale)(theta, problem)
    torch.testing.assert_close(x, QuadraticRelaxation(gamma * scale)(theta, problem), atol=1e-8, rtol=0)


@pytest.mark.parametrize("problem", INTEGRAL, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("gamma", [0.05, 0.4, 2.0])
def test_gradients_agree_with_the_quadratic_relaxation(problem, gamma: float) -> None:
    """Random points are smooth ones; the gradient for gamma too."""
    theta, v = draw(8, problem.n).requires_grad_(), draw(8, problem.n, seed=1)
    smoothing = torch.full((8,), gamma, dtype=torch.float64, requires_grad=True)
    outcome, expected = (
        torch.autograd.grad(layer(theta, problem), (theta, smoothing), v)
        for layer in (RegularizedFrankWolfe(smoothing), QuadraticRelaxation(smoothing))
    )
    for ours, reference in zip(outcome, expected):
        torch.testing.assert_close(ours, reference, atol=1e-7, rtol=1e-7)


@given(st.sampled_from(INTEGRAL), st.integers(0, 10_000), st.booleans())
def test_ties_do_no_harm(problem, seed: int, given_: bool) -> None:
    """Rounded parameters: many vertices are equally good. The gap proves the point, whatever the vertices."""
    theta, gamma = draw(3, problem.n, seed=seed).round(), 0.25
    layer = RegularizedFrankWolfe(gamma, entropy if given_ else "quadratic")
    solution = layer.solve(theta, problem)
    x = solution.x.clone().requires_grad_()
    (slope,) = torch.autograd.grad(layer.penalty(x).sum(), x)
    u = problem.gain(theta) - gamma * slope
    best = problem.solve(problem.gain(u))
    assert float((u * (best - solution.x)).sum(-1).max()) < 1e-10
    assert float(solution.weights.min()) >= 0
    torch.testing.assert_close(solution.weights.sum(-1), torch.ones(3, dtype=torch.float64))
    mean = torch.einsum("bk,bkn->bn", solution.weights, solution.vertices)
    torch.testing.assert_close(mean, solution.x)
    assert problem.check(solution.vertices[solution.weights > 0])


def test_the_hull_of_integer_decisions_not_the_relaxation() -> None:
    """A knapsack of two items that do not fit together: no convex combination takes more than one of them."""
    problem = foresolve.LinearProgram(A_ub=[[2.0, 2.0]], b_ub=[3.0], bounds=(0, 1), integrality=1)
    theta = torch.tensor([[1.0, 0.9]], dtype=torch.float64)
    x = RegularizedFrankWolfe(0.1)(theta, problem)
    # On the edge x1 + x2 = 1 the best point has x1 - x2 = (1 - 0.9) / (2 * 0.1).
    torch.testing.assert_close(x, torch.tensor([[0.75, 0.25]], dtype=torch.float64))
    assert float(QuadraticRelaxation(0.1)(theta, problem).sum()) > 1.2


def test_instances_with_problems_of_their_own_and_an_oracle() -> None:
    sizes = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    limited = foresolve.LinearProgram(A_eq=torch.ones(3, 1, 5, dtype=torch.float64), b_eq=sizes, bounds=(0, 1))
    theta = draw(3, 5)
    expected = torch.stack([QuadraticRelaxation(0.4)(t, foresolve.TopK(5, k)) for k, t in zip((1, 2, 3), theta)])
    torch.testing.assert_close(RegularizedFrankWolfe(0.4)(theta, limited), expected)
    cheapest = OracleProblem(lambda t: (t == t.min()).astype(float), n=5, sense="min")
    torch.testing.assert_close(
        RegularizedFrankWolfe(0.4)(theta, cheapest), QuadraticRelaxation(0.4)(-theta, foresolve.TopK(5, 1))
    )


def test_an_empty_batch() -> None:
    assert RegularizedFrankWolfe(0.4)(draw(0, 6), foresolve.TopK(6, 2)).shape == (0, 6)


def test_what_did_not_converge_is_named() -> None:
    with caution("instances 0, 1", "max_iter=1", kind=foresolve.ConvergenceWarning):
        RegularizedFrankWolfe(1.0, max_iter=1)(draw(2, 6), foresolve.TopK(6, 2))


@pytest.mark.parametrize(("name", "value"), [("gamma", 0.0), ("regularizer", "cubic"), ("max_iter", 0), ("tol", 0)])
def test_what_is_refused(name: str, value: object) -> None:
    with mistake(name, str(value)):
        RegularizedFrankWolfe(**{name: value})  # type: ignore[arg-type]


def test_problems_and_regularisers_it_cannot_serve() -> None:
    problem, theta = submodular()
    with mistake("problem", "SubmodularProblem"):
        RegularizedFrankWolfe()(theta, problem)
    with mistake("regularizer", "(2, 6)"):
        RegularizedFrankWolfe(1.0, torch.sum)(draw(2, 6), foresolve.TopK(6, 2))


def test_vertices_are_decisions() -> None:
    every = {x for x in itertools.product([0.0, 1.0], repeat=6) if sum(x) == 2}
    solution = RegularizedFrankWolfe(2.0).solve(draw(4, 6), foresolve.TopK(6, 2))
    assert {tuple(v) for v in solution.vertices[solution.weights > 0].tolist()} <= every
