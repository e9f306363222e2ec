from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from foresolve.learning.metrics import auc, cross_entropy, distance, ranges, ratio, worst_decision
from foresolve.problems import Knapsack, ShortestPath, TopK


def test_auc_is_the_share_of_pairs_in_the_right_order() -> None:
    rng = np.random.default_rng(0)
    score, label = rng.integers(0, 8, 60).astype(float), (rng.random(60) < 0.3).astype(float)
    above = score[label == 1][:, None] - score[label == 0][None]
    assert auc(score, label) == pytest.approx(((above > 0) + 0.5 * (above == 0)).mean())


def test_auc_of_one_class_is_unknown() -> None:
    assert auc(np.array([1.0, 2.0]), np.zeros(2)) is None
    assert auc(np.array([1.0, 2.0]), np.ones(2)) is None


def test_auc_does_not_change_with_a_monotone_map() -> None:
    rng = np.random.default_rng(1)
    score, label = rng.normal(size=50), (rng.random(50) < 0.5).astype(float)
    assert auc(np.exp(score), label) == auc(score, label)


def test_cross_entropy_is_per_instance_and_finite() -> None:
    probability = torch.tensor([[[0.5, 0.5]], [[0.0, 1.0]]])
    label = torch.tensor([[[0.0, 1.0]], [[1.0, 1.0]]])
    entries = cross_entropy(probability, label)
    assert entries.tolist() == pytest.approx([np.log(2), 50.0])
    mean = functional.binary_cross_entropy(probability[:1].double(), label[:1].double())
    assert float(entries[0]) == pytest.approx(float(mean))


def test_ratio_is_of_sums_and_nan_over_zero() -> None:
    assert float(ratio(np.array([1.0, 2.0]), np.array([3.0, 3.0]))) == 0.5
    assert np.isnan(ratio(np.array([1.0]), np.array([0.0])))
    assert ratio(np.ones((2, 3)), np.ones((2, 3))).tolist() == [1.0, 1.0]


def test_among_ties_the_worst_under_the_truth_is_found() -> None:
    problem = TopK(3, 1)
    theta_hat, theta = torch.tensor([[1.0, 1.0, 0.0]]), torch.tensor([[5.0, 1.0, 0.0]])
    for x in ([[1.0, 0.0, 0.0]], [[0.0, 1.0, 0.0]]):
        assert worst_decision(problem, theta_hat, theta, torch.tensor(x)).tolist() == [[0.0, 1.0, 0.0]]


def test_without_ties_the_decision_stays() -> None:
    generator = torch.Generator().manual_seed(0)
    theta_hat, theta = torch.rand(20, 6, generator=generator), torch.rand(20, 6, generator=generator)
    problem = Knapsack(torch.arange(1.0, 7.0), 8.0)
    x = problem.solve(theta_hat)
    assert torch.equal(worst_decision(problem, theta_hat, theta, x), x.double())


def test_costs_are_on_the_right_side() -> None:
    problem = ShortestPath([(0, 1), (0, 1)], 0, 1)
    theta_hat, theta = torch.tensor([[1.0, 1.0]]), torch.tensor([[1.0, 9.0]])
    worst = worst_decision(problem, theta_hat, theta, problem.solve(theta_hat))
    assert worst.tolist() == [[0.0, 1.0]]


def test_the_distance_of_decisions_is_that_of_hamming_where_they_are_0_or_1() -> None:
    generator = torch.Generator().manual_seed(0)
    x, y = (torch.randint(0, 2, (6, 4), generator=generator).double() for _ in range(2))
    assert torch.equal(distance(x, y, ranges(y)), (x != y).double().mean(-1))
    assert ranges(torch.ones(3, 2)).tolist() == [1.0, 1.0]


def test_the_distance_of_decisions_is_in_units_of_their_entries() -> None:
    y = torch.tensor([[0.0, 1.0, 5.0], [100.0, 1.5, 5.0]])
    x = torch.tensor([[50.0, 1.25, 5.5], [100.0, 1.5, 5.0]])
    assert distance(x, y, ranges(y)).tolist() == [0.5, 0.0]
