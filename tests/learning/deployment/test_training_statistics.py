from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.learning import evaluate
from foresolve.learning.deployment.training_statistics import Moments, TrainingStatistics, predictions, scored

pytest.importorskip("pandas")
from learning.deployment.tables import NAMES, PROBLEM, as_data, made, tables


def test_moments() -> None:
    table = torch.tensor([[1.0, 5.0], [3.0, 5.0], [5.0, 5.0]])
    moments = Moments.of(table)
    assert moments.mean.tolist() == [3.0, 5.0]
    assert moments.deviation.tolist() == [2.0, 0.0]
    assert Moments.of(table[:1]).deviation.tolist() == [0.0, 0.0]
    again = Moments.from_config(moments.config())
    assert (again.count, again.mean.tolist()) == (3, [3.0, 5.0])
    with pytest.raises(ValueError, match="the same size"):
        Moments.from_config(moments.config() | {"mean": torch.zeros(3)})


def test_what_depends_on_itself_counts_less() -> None:
    rng = np.random.default_rng(0)
    noise = rng.normal(size=400)
    moments = Moments.of(np.stack([noise, noise.cumsum()], 1))
    assert moments.independent[0] > 200 > 50 > moments.independent[1]


def test_errors_and_regret_are_those_of_the_data_held_out() -> None:
    policy = made()
    statistics = policy.statistics
    assert statistics is not None
    _, valid = as_data(tables()).split(0.6)
    assert statistics.held_out == len(valid)
    report = evaluate(policy, valid, metrics=False, bootstrap=0)
    assert statistics.regret is not None
    assert float(statistics.regret.mean) == pytest.approx(report.regret)
    assert statistics.normalized_regret == report.normalized_regret
    errors = predictions(policy, valid) - valid.theta.double()
    assert statistics.errors is not None
    assert statistics.errors.names == tuple(NAMES)
    torch.testing.assert_close(statistics.errors.low, errors.min(0).values)
    assert scored(policy, valid)[1] == report.normalized_regret


def test_features_are_those_of_training() -> None:
    statistics = made().statistics
    train, _ = as_data(tables()).split(0.6)
    assert statistics is not None
    torch.testing.assert_close(statistics.features.high, train.features.double().max(0).values)
    assert statistics.features.names == train.feature_names


def test_without_data_held_out_no_errors_are_claimed() -> None:
    statistics = made(held_out=False).statistics
    assert statistics is not None
    assert (statistics.errors, statistics.regret, statistics.normalized_regret) == (None, None, None)
    assert statistics.held_out == 0


def test_a_truth_that_a_rule_made_up_is_left_out() -> None:
    table = tables()
    gone = np.arange(300, 400, 4)
    table.theta.loc[gone, NAMES[0]] = np.nan
    data = DecisionDataset.from_frames(*table, PROBLEM, key="day", encode={"day": "ignore"}, missing="previous")
    train, valid = data.split(0.6)
    statistics = TrainingStatistics.of(made(), train, valid)
    assert statistics.held_out == len(valid) - len(gone)


def test_they_are_kept_in_files() -> None:
    for policy in (made(), made(held_out=False)):
        statistics = policy.statistics
        assert statistics is not None
        again = TrainingStatistics.from_config(statistics.config())
        assert again.normalized_regret == statistics.normalized_regret
        torch.testing.assert_close(again.predictions.low, statistics.predictions.low)
        assert (again.errors is None) == (statistics.errors is None)
