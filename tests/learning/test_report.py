"""Weighted means."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.learning import Report, compare, evaluate
from foresolve.learning.report import mean, weighted
from foresolve.problems import TopK
from learning.instances import model, top_k_data

COLUMNS = {
    "value": np.array([3.0, 1.0, 2.0]),
    "optimum": np.array([4.0, 4.0, 0.0]),
    "regret": np.array([1.0, 3.0, -2.0]),
}


def report(**columns: np.ndarray) -> Report:
    return Report.of(COLUMNS | columns, None, {"decision": 1e-3, "prediction": 1e-3}, True, 500, 0.9, 0)


def test_weights_are_those_of_repeated_instances() -> None:
    data = top_k_data(6)
    counts = torch.tensor([1, 3, 0, 2, 1, 1])
    heavy = DecisionDataset(data.features, data.theta, data.problem, weights=counts)
    repeated = data.subset(torch.arange(6).repeat_interleave(counts))
    first, second = evaluate(model(), heavy), evaluate(model(), repeated)
    for name in ("value", "optimum", "regret", "normalized_regret", "relative_regret", "worst_case_regret", "mse"):
        assert getattr(first, name) == pytest.approx(getattr(second, name))
    assert "6 instances, weighted" in str(first)
    assert "weighted" not in str(second)
    assert first.instances["weight"].tolist() == counts.tolist()


def test_agreement_is_weighted_too() -> None:
    y = torch.tensor([[1.0, 0.0], [0.0, 1.0]])
    data = DecisionDataset(torch.zeros(2, 1), decisions=y, problem=TopK(2, 1), weights=[3.0, 1.0])
    first = torch.tensor([[1.0, 0.0]]).expand(2, -1)
    found = evaluate(lambda features: first, data, metric=lambda x, y: x[:, 0] * y[:, 0])
    assert found.identical == 0.75
    assert found.hamming == 0.25
    assert found.metrics["metric"] == 0.75


def test_means_and_intervals_by_hand() -> None:
    weight = np.array([1.0, 2.0, 5.0])
    found = report(weight=weight)
    assert found.value == pytest.approx((3 + 2 + 10) / 8)
    assert found.normalized_regret == pytest.approx((1 + 6 - 10) / (4 + 8))
    assert found.relative_regret == pytest.approx((0.25 + 2 * 0.75) / 3)  # one optimum is zero
    low, high = found.intervals["value"]
    assert 1.0 <= low < found.value < high <= 3.0
    assert report().value == 2.0
    assert "weight" not in found.intervals


def test_equal_weights_change_nothing() -> None:
    same, plain = report(weight=np.full(3, 2.0)), report()
    for name in ("value", "regret", "normalized_regret", "relative_regret"):
        assert getattr(same, name) == pytest.approx(getattr(plain, name))
        assert same.intervals[name] == pytest.approx(plain.intervals[name])


def test_comparisons_are_weighted() -> None:
    data = top_k_data(30)
    heavy = DecisionDataset(data.features, data.theta, data.problem, weights=torch.arange(30.0))
    reports = {name: evaluate(model(seed), heavy) for seed, name in enumerate("ab")}
    row = compare(reports)["b"]
    assert row.mean == pytest.approx(reports["b"].regret)
    assert row.gained == pytest.approx(reports["a"].regret - reports["b"].regret)
    assert row.normalized_interval is not None
    assert row.normalized_interval[0] < reports["b"].normalized_regret < row.normalized_interval[1]


def test_ratios() -> None:
    assert mean(*weighted(np.array([1.0, np.nan]), None, np.array([2.0, 1.0]))) == 1.0
    assert np.isnan(mean(np.array([np.nan]), None))
    assert np.isnan(mean(np.array([1.0]), np.array([0.0])))
