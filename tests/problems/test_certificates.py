from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foresolve.problems import (
    Affine,
    Assignment,
    BipartiteMatching,
    Knapsack,
    LinearProgram,
    MaxFlow,
    MinCostFlow,
    Portfolio,
    Problem,
    QuadraticProgram,
    ShortestPath,
    SubmodularProblem,
    TopK,
    TravellingSalesman,
)
from foresolve.problems.certificates import bounds_of, certifiable, row_duals
from foresolve.sets import ProbabilisticCoverage, UniformMatroid
from mistakes import mistake

ARCS = [(0, 1), (1, 3), (0, 2), (2, 3), (1, 2), (2, 1)]
PLANT = LinearProgram(A_eq=[[1.0, 1.0]], b_eq=[0.0], bounds=(0, 2), sense="min")
TIGHT: list[Problem] = [  # those whose vertices are whole numbers, or that have no integers
    TopK(6, 2),
    BipartiteMatching(3, 4),
    Assignment(3, 2),
    ShortestPath(ARCS, 0, 3),
    ShortestPath.grid(3, 3, moves="8", costs="cells"),
    MaxFlow(ARCS, 0, 3, [1.0, 2.0, 3.0, 4.0, 1.0, 1.0]),
    MinCostFlow(ARCS, [3.0, 0.0, -1.0, -2.0], 2.0),
    LinearProgram([[1.0] * 6], [2.5], [[1.0, -1.0, 0, 0, 0, 0]], [0.0]),
    LinearProgram(torch.rand(5, 2, 6, generator=torch.Generator().manual_seed(0)), [1.0, 2.0], bounds=(0, 3.0)),
    LinearProgram([[1.0] * 6], [2.0], bounds=(0, torch.rand(5, 6, generator=torch.Generator().manual_seed(0)))),
    PLANT.parametrized([1.0, 3.0], b_eq=Affine([[1.0]], 0.1), names=["load"]),
    TopK(6, 2).parametrized(Affine.tied([0, 1, 2, 0, 1, 2]), constant=Affine([[0.0, 1.0, 2.0]], 7.0)),
]
LOOSE: list[Problem] = [Knapsack([3, 4, 5, 6, 7, 8], 13), TravellingSalesman(8)]


def theta_for(problem: Problem, count: int = 5, seed: int = 0) -> torch.Tensor:
    (size,) = problem.theta_shape
    assert size is not None
    return torch.rand(count, size, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


@pytest.mark.parametrize("problem", TIGHT, ids=repr)
def test_multipliers_prove_the_optimum(problem: Problem) -> None:
    theta = theta_for(problem)
    value = problem.objective(problem.solve(theta), theta)
    bound = bounds_of(problem, theta, row_duals(problem, theta)).value
    torch.testing.assert_close(bound, value, rtol=1e-9, atol=1e-9)
    assert bool((bound >= value - 1e-12).all())


@pytest.mark.parametrize("problem", LOOSE, ids=repr)
def test_without_integrality_the_bound_holds_all_the_same(problem: Problem) -> None:
    theta = theta_for(problem, 20)
    value = problem.objective(problem.solve(theta), theta)
    bound = bounds_of(problem, theta, row_duals(problem, theta)).value
    assert bool((bound >= value - 1e-12).all())
    assert bool((bound > value + 1e-6).any())


@given(seed=st.integers(0, 2**31), noise=st.sampled_from([1e-12, 1e-3, 10.0]))
@settings(max_examples=60, deadline=None)
def test_any_multipliers_bound_any_decision(seed: int, noise: float) -> None:
    """Of the problem's own and of others' decisions, whatever was done to the multipliers."""
    problem = TIGHT[seed % len(TIGHT)]
    theta = theta_for(problem, seed=seed)
    duals = row_duals(problem, theta)
    duals = duals + noise * torch.randn(duals.shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    best = problem.objective(problem.solve(theta), theta)
    assert bool((bounds_of(problem, theta, duals).value >= best - 1e-9 * best.abs()).all())


def test_units_do_not_matter() -> None:
    """Coefficients and amounts of very different sizes, in single precision as models predict."""
    theta = torch.rand(4, 3, generator=torch.Generator().manual_seed(0)) * torch.tensor([1e6, 1.0, 1e-6])
    problem = LinearProgram([[1e-4, 1.0, 1e5]], [2.0], bounds=(0, None))
    value = problem.objective(problem.solve(theta.double()), theta.double())
    bound = bounds_of(problem, theta, row_duals(problem, theta)).value
    torch.testing.assert_close(bound, value, rtol=1e-9, atol=0.0)


def test_what_has_no_multipliers() -> None:
    others: list[Problem] = [
        QuadraticProgram(np.eye(3)),
        Portfolio(np.eye(3)),
        SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(3, 1)),
    ]
    for problem in others:
        assert not certifiable(problem)
        with mistake("problem", type(problem).__name__):
            row_duals(problem, torch.ones(1, 3, dtype=torch.float64))
    assert all(certifiable(problem) for problem in [*TIGHT, *LOOSE])
    with mistake("duals", "(2, 1)", "(2, 3)"):
        bounds_of(TopK(3, 1), torch.ones(2, 3), torch.ones(2, 3))
