from __future__ import annotations

import itertools

import numpy as np
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import foresolve
from foresolve.data import Batch
from foresolve.losses import SPOPlus
from foresolve.problems import OracleProblem
from losses.conformance import Case, LossConformance, instance


def coverage(size: int = 4) -> Case:
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(4, 2))
    return instance(problem, 4, 3, positive=True, size=size)


def heuristic(theta: np.ndarray) -> np.ndarray:
    x = np.zeros(len(theta))
    x[theta.argmax()] = 1.0
    return x


class TestSPOPlus(LossConformance):
    bounds_regret = True

    def loss(self) -> SPOPlus:
        return SPOPlus()

    def cases(self) -> list[Case]:
        capacities = torch.tensor([[4.0], [5.0], [7.0], [9.0]])
        return [
            instance(foresolve.ShortestPath.grid(3, 3), 12, positive=True),
            instance(foresolve.Knapsack([2, 3, 4, 5], 8), 4, seed=1, positive=True),
            instance(foresolve.Knapsack([2, 3, 4, 5], capacities), 4, seed=2, positive=True),
            instance(OracleProblem(heuristic, n=5), 5, seed=3),
        ]


def decisions(problem: foresolve.Problem) -> Tensor:
    """All feasible 0/1 decisions of a small problem."""
    choices = torch.tensor(list(itertools.product([0.0, 1.0], repeat=problem.n)), dtype=torch.float64)  # type: ignore[attr-defined]
    return choices[problem.check(choices).feasible]  # type: ignore[attr-defined]


PROBLEMS = [
    foresolve.ShortestPath.grid(3, 3),
    foresolve.ShortestPath([(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0), (2, 3), (3, 2), (1, 3)], 0, 3),
    foresolve.Knapsack([2, 3, 4, 5], 8),
    foresolve.Knapsack([[2, 3, 4, 5], [5, 1, 1, 3]], [8, 7]),
    foresolve.BipartiteMatching(2, 3),
    foresolve.problems.Assignment(3),
    foresolve.TopK(5, 2),
]


@st.composite
def drawn(draw) -> tuple[foresolve.LinearProgram, Tensor, Tensor, Tensor]:
    """A problem, the truth and two predictions `(3, n)`; often with ties, at times badly scaled."""
    problem = draw(st.sampled_from(PROBLEMS))
    generator = torch.Generator().manual_seed(draw(st.integers(0, 10_000)))
    tensors = [torch.randn(3, problem.n, generator=generator, dtype=torch.float64) for _ in range(3)]
    if draw(st.booleans()):
        tensors = [tensor.round() for tensor in tensors]
    truth, left, right = tensors
    if isinstance(problem, foresolve.ShortestPath):  # in truth no cycle pays; predictions are of any sign
        truth = truth.abs()
    return problem, truth, left, 10.0 ** draw(st.integers(-4, 4)) * right


@given(drawn())
def test_it_bounds_the_regret(case) -> None:
    problem, truth, theta_hat, _ = case
    batch = Batch(None, truth, problem)
    regret = batch.best()[1] - problem.objective(problem.decide(theta_hat)[0], truth)
    loss = SPOPlus()(theta_hat, batch)
    assert bool((regret >= -1e-9).all())
    assert bool((loss >= regret - 1e-9 * (1 + loss.abs())).all())


@given(drawn(), st.floats(0, 1))
def test_it_is_convex(case, weight: float) -> None:
    problem, truth, left, right = case
    loss, batch = SPOPlus(), Batch(None, truth, problem)
    between = loss(weight * left + (1 - weight) * right, batch)
    bound = weight * loss(left, batch) + (1 - weight) * loss(right, batch)
    assert bool((between <= bound + 1e-9 * (1 + bound.abs())).all())


@given(drawn())
def test_it_is_the_formula_over_all_decisions(case) -> None:
    problem, truth, theta_hat, _ = case
    c, c_hat = problem.gain(truth), problem.gain(theta_hat)
    every = decisions(problem)
    best = every[(c @ every.T).argmax(-1)]
    expected = ((2 * c_hat - c) @ every.T).amax(-1) - (2 * c_hat * best).sum(-1) + (c * best).sum(-1)
    batch = Batch(None, truth, problem, decision=best)
    torch.testing.assert_close(SPOPlus()(theta_hat, batch), expected, atol=1e-9, rtol=1e-9)


def test_gradient_is_twice_the_difference_of_decisions() -> None:
    problem = foresolve.ShortestPath.grid(3, 3)
    theta_hat, batch = instance(problem, 12, positive=True)
    leaf = theta_hat.clone().requires_grad_()
    SPOPlus()(leaf, batch).sum().backward()
    beyond = problem.solve(2 * theta_hat - batch.theta)
    assert leaf.grad is not None
    torch.testing.assert_close(leaf.grad, -2 * (beyond - batch.best()[0]))  # minus: costs


def test_the_truth_costs_nothing() -> None:
    _, batch = instance(foresolve.TopK(5, 2), 5)
    assert SPOPlus()(batch.theta, batch).tolist() == [0.0] * 4
