"""Robust targets, against what one computes by hand."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from scipy.spatial.distance import cdist

from foresolve.data import neighbors
from foresolve.data.dataset import DecisionDataset
from foresolve.data.neighbors import nearest
from foresolve.errors import SolverError
from foresolve.layers.perturbed import PerturbedAdditive
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.spo import SPOPlus
from foresolve.problems.base import Problem
from foresolve.problems.black_box import OracleProblem
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.sets import ProbabilisticCoverage, UniformMatroid
from mistakes import mistake


def data_of(problem: Problem, n: int, count: int, seed: int) -> DecisionDataset:
    generator = torch.Generator().manual_seed(seed)
    theta = 0.1 + torch.rand(count, n, generator=generator, dtype=torch.float64)
    return DecisionDataset(torch.randn(count, 3, generator=generator, dtype=torch.float64), theta, problem)


def by_hand(data: DecisionDataset, k: int, weight: float) -> tuple[np.ndarray, ...]:
    """One instance and one neighbor at a time."""
    thetas, decisions, values = [], [], []
    features, theta = data.features.numpy(), data.theta.numpy()
    for i in range(len(data)):
        order = np.argsort([np.inf if j == i else np.linalg.norm(features[i] - features[j]) for j in range(len(data))])
        mixed = [weight * theta[i] + (1 - weight) * theta[j] for j in order[:k]]
        problem = data.problem.select(torch.tensor(i)) if data.problem.batch_shape else data.problem
        solved = [problem.solve(torch.from_numpy(c)) for c in mixed]
        objectives = [float(problem.objective(x, torch.from_numpy(c))) for x, c in zip(solved, mixed)]
        thetas.append(np.mean(mixed, 0))
        decisions.append(np.mean([x.numpy() for x in solved], 0))
        values.append(np.mean(objectives))
    return np.array(thetas), np.array(decisions), np.array(values)


@given(st.integers(3, 12), st.integers(1, 8), st.floats(0, 1), st.integers(0, 10**6))
def test_they_are_the_means_over_neighbors(count: int, k: int, weight: float, seed: int) -> None:
    k = min(k, count - 1)
    problems = [(TopK(5, 2), 5), (ShortestPath.grid(3, 3), 12)]
    capacities = 3 + torch.arange(float(count)).unsqueeze(-1)
    for problem, n in [*problems, (Knapsack([2.0, 3.0, 4.0, 5.0], capacities), 4)]:
        data = data_of(problem, n, count, seed)
        robust = data.robust(k, weight)
        for ours, expected in zip((robust.theta, robust.decisions, robust.values), by_hand(data, k, weight)):
            np.testing.assert_allclose(ours.numpy(), expected, atol=1e-9)


def test_chunks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = data_of(TopK(5, 2), 5, 30, 0)
    whole = data.robust(4, 0.3)
    monkeypatch.setattr(neighbors, "MOST_NUMBERS", 90)
    parts = data.robust(4, 0.3)
    for first, second in ((whole.theta, parts.theta), (whole.decisions, parts.decisions), (whole.values, parts.values)):
        torch.testing.assert_close(first, second)


def test_an_instance_of_full_weight_is_left_alone() -> None:
    data = data_of(TopK(5, 2), 5, 20, 0)
    robust = data.robust(3, weight=1.0)
    torch.testing.assert_close(robust.theta, data.theta)
    torch.testing.assert_close(robust.decisions, data.decisions)
    torch.testing.assert_close(robust.values, data.values)
    assert data.theta is not robust.theta
    assert robust.solved


def test_the_mean_regret_over_neighbors() -> None:
    """For a linear objective, of any decision: what makes the targets right."""
    data = data_of(TopK(5, 2), 5, 12, 3)
    k, weight = 4, 0.4
    robust = data.robust(k, weight)
    x = TopK(5, 2).solve(torch.rand(12, 5, generator=torch.Generator().manual_seed(9), dtype=torch.float64))
    mixed = weight * data.theta[:, None] + (1 - weight) * data.theta[nearest(data.features, k)]
    problem = data.problem
    regrets = problem.objective(problem.solve(mixed), mixed) - problem.objective(x[:, None].expand(-1, k, -1), mixed)
    torch.testing.assert_close(robust.values - problem.objective(x, robust.theta), regrets.mean(1))


def test_losses_take_them() -> None:
    data = data_of(TopK(5, 2), 5, 12, 3)
    robust = data.robust(4, 0.2)
    theta_hat = torch.rand(12, 5, generator=torch.Generator().manual_seed(9), dtype=torch.float64).requires_grad_()
    batch = robust[:]
    loss = SPOPlus()(theta_hat, batch)
    assert bool((loss >= -1e-12).all())
    (gradient,) = torch.autograd.grad(loss.sum(), theta_hat)
    beyond = robust.problem.solve(2 * theta_hat.detach() - robust.theta)
    torch.testing.assert_close(gradient, 2 * (beyond - robust.decisions))
    assert bool((FenchelYoung(PerturbedAdditive(4))(theta_hat, batch) >= -1e-12).all())


def test_features_in_parts_and_what_stays() -> None:
    data = data_of(TopK(5, 2), 5, 12, 3)
    twin = DecisionDataset(
        {"a": data.features[:, :1], "b": (data.features[:, 1:].reshape(12, 2, 1),)}, data.theta, data.problem,
        weights=torch.ones(12), labels={"row": torch.arange(12)},
    )  # fmt: skip
    assert torch.equal(twin.robust(3).theta, data.robust(3).theta)
    assert torch.equal(twin.robust(3).labels["row"], torch.arange(12))
    assert twin.robust(3).weights is not None


def test_progress_and_failures() -> None:
    seen: list[tuple[int, int]] = []
    data_of(TopK(5, 2), 5, 12, 3).robust(3, progress=lambda done, total: seen.append((done, total)))
    assert seen == [(12, 12)]

    def refuses(theta: np.ndarray) -> np.ndarray:
        if theta[0] > 5:
            raise RuntimeError("too large")
        return np.eye(3)[theta.argmax()]

    theta = torch.tensor([[0.0, 1.0, 2.0], [20.0, 1.0, 0.0], [1.0, 2.0, 0.0], [1.0, 1.5, 0.0]])
    data = DecisionDataset(torch.tensor([0.0, 1.0, 5.0, 6.0]), theta, OracleProblem(refuses, n=3))
    with mistake("", "0", "1", kind=SolverError):
        data.robust(1)


def test_bad_arguments() -> None:
    data = data_of(TopK(5, 2), 5, 12, 3)
    with mistake("k", "(12)"):
        data.robust(12)
    with mistake("weight", "[0, 1]", "1.5"):
        data.robust(3, weight=1.5)
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(4, 2))
    covering = DecisionDataset(torch.zeros(3, 1), torch.rand(3, 4, 2), problem)
    with mistake("problem"):
        covering.robust(1)


@pytest.mark.parametrize("large", ["outlier", "clusters", "years"])
def test_neighbors_are_the_nearest_whatever_the_spread(large: str) -> None:
    """Squares of large features would drown the differences of small ones."""
    features = torch.rand(100, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    if large == "outlier":
        features[0, 0] = 1e9
    elif large == "clusters":
        features = 1e-2 * features
        features[50:] += 1e6
    else:
        features[:, 0] = (5 * features[:, 0]).floor() * 86400 * 365
    distances = cdist(features.numpy(), features.numpy())
    np.fill_diagonal(distances, np.inf)
    expected = np.sort(np.argsort(distances, 1, kind="stable")[:, :5], 1)
    np.testing.assert_array_equal(np.sort(nearest(features, 5).numpy(), 1), expected)
