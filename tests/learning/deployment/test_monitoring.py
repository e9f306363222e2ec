from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest
import torch

from foresolve.errors import InvalidInputError
from foresolve.learning.policy import Policy
from foresolve.models.mlp import MLP
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.top_k import TopK

pandas = pytest.importorskip("pandas")
from learning.deployment.tables import made, tables  # noqa: E402


def test_nothing_has_changed() -> None:
    policy, now = made(), tables(200, seed=7)
    monitoring = policy.monitor(*now)
    assert len(monitoring) == 200
    assert not monitoring.retrain
    assert monitoring.sentence == "no need to train again: nothing has drifted beyond chance"
    assert monitoring.interval is not None
    assert monitoring.interval[0] < monitoring.regret < monitoring.interval[1]
    assert monitoring.recorded is not None
    kinds = [shift.kind for shift in monitoring.shifts]
    assert [kinds.count(kind) for kind in ("feature", "prediction", "error", "regret")] == [5, 4, 4, 1]
    assert {shift.name for shift in monitoring.shifts} >= {"rain", "wind", "weekday = tue", "tea", "rum"}


def test_the_regret_is_that_of_the_decisions() -> None:
    policy, now = made(), tables(50, seed=7)
    monitoring, problem = policy.monitor(*now), policy.problem
    theta = torch.tensor(now.theta.drop(columns="day").to_numpy())
    best = problem.objective(problem.solve(theta), theta)
    own = problem.objective(policy(now.features).x.double(), theta)
    assert monitoring.regret == pytest.approx(float((best - own).mean()), rel=1e-5)
    assert monitoring.normalized_regret == pytest.approx(float((best - own).sum() / best.abs().sum()), rel=1e-5)


def test_false_alarms_are_rare() -> None:
    """Over policies as well as over what comes after: a held-out part unlike the rest is part of the chance."""
    alarms = drifts = 0
    for seed in range(100):
        monitoring = made(seed).monitor(*tables(100, seed=1000 + seed))
        alarms += monitoring.retrain
        drifts += bool(monitoring.drifted)
    assert alarms <= 5
    assert drifts <= 10


def test_features_that_moved_without_harm_are_told() -> None:
    monitoring = made(1).monitor(*tables(200, seed=3, shift=0.8))
    assert "rain" in {shift.name for shift in monitoring.drifted if shift.kind == "feature"}
    assert not monitoring.retrain
    assert "('rain')" in monitoring.sentence
    assert "decisions are as good as before" in monitoring.sentence
    assert "feature 'rain'" in str(monitoring)


def test_a_world_that_moved_is_a_reason_to_train_again() -> None:
    policy = made(1)
    worse = policy.monitor(*tables(200, seed=3, trend=3.0))
    assert worse.retrain
    assert worse.sentence.startswith("train again: the regret is")
    assert worse.recorded is not None
    assert worse.regret > worse.recorded
    subtle = policy.monitor(*tables(200, seed=3, trend=0.4))
    assert subtle.retrain
    errors = {shift.name for shift in subtle.drifted if shift.kind == "error"}
    assert errors & {"tea", "milk"}
    assert not errors & {"rum", "salt"}


def test_without_a_record_of_regret_drift_is_reason_enough() -> None:
    policy = made(held_out=False)
    monitoring = policy.monitor(*tables(200, seed=3, shift=2.0))
    assert monitoring.retrain
    assert "no regret of training is known" in monitoring.sentence
    assert monitoring.recorded is None
    bare = Policy(policy.model, policy.problem)
    features = torch.rand(40, 5)
    monitoring = bare.monitor(features, torch.rand(40, 4))
    assert "nothing to compare with" in monitoring.sentence
    assert not monitoring.retrain
    assert monitoring.shifts == ()


def test_too_few() -> None:
    monitoring = made().monitor(*tables(12, seed=3, trend=3.0))
    assert not monitoring.retrain
    assert monitoring.sentence.startswith("12 instances are too few to tell")
    assert any(shift.drifted for shift in monitoring.shifts)
    assert monitoring.drifted == ()
    assert "drifted" not in str(monitoring)


def test_what_is_written(tmp_path: Path) -> None:
    policy, now = made(), tables(60, seed=3, trend=3.0)
    monitoring = policy.monitor(*now)
    document = json.loads(json.dumps(monitoring.to_dict()))
    assert document["retrain"] is True
    assert document["instances"] == 60
    frame = monitoring.to_frame()
    assert len(frame) == len(monitoring.shifts)
    assert frame["drifted"].tolist() == [shift.drifted for shift in monitoring.shifts]
    assert str(monitoring).startswith("60 decisions: train again")
    policy.save(tmp_path)
    assert Policy.load(tmp_path).monitor(*now).to_dict() == monitoring.to_dict()


def test_a_feasible_set_for_each_instance() -> None:
    problem = Knapsack([1, 2, 3], torch.tensor([[1.0], [3.0]] * 20))
    policy = Policy(MLP(2, 3), problem)
    features, theta = torch.rand(40, 2), torch.rand(40, 3)
    with pytest.raises(
        InvalidInputError, match=r"`problem` must be given.*policy.monitor\(features, actuals, problem\)"
    ):
        policy.monitor(features, theta)
    assert len(policy.monitor(features, theta, problem)) == 40


def test_arrays_go_by_position() -> None:
    problem = TopK(3, 1)
    policy, features = Policy(lambda features: features, problem), torch.rand(40, 3)
    assert policy.monitor(features, features).regret == pytest.approx(0.0, abs=1e-7)
    assert policy.monitor(features.numpy(), np.asarray(features)).regret == pytest.approx(0.0, abs=1e-7)
