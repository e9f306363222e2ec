from __future__ import annotations

import json
import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.learning import Policy
from foresolve.models import MLP
from foresolve.problems import Affine, Knapsack, TopK

pandas = pytest.importorskip("pandas")
from learning.deployment.tables import made, tables  # noqa: E402
from mistakes import caution, mistake  # noqa: E402


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
    for seed in range(60):
        monitoring = made(seed).monitor(*tables(100, seed=1000 + seed))
        alarms += monitoring.retrain
        drifts += bool(monitoring.drifted)
    assert alarms <= 3
    assert drifts <= 6


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
    with mistake("problem", "policy.monitor", "(features, actuals, problem)"):
        policy.monitor(features, theta)
    assert len(policy.monitor(features, theta, problem)) == 40


def test_arrays_go_by_position() -> None:
    problem = TopK(3, 1)
    policy, features = Policy(lambda features: features, problem), torch.rand(40, 3)
    assert policy.monitor(features, features).regret == pytest.approx(0.0, abs=1e-7)
    assert policy.monitor(features.numpy(), np.asarray(features)).regret == pytest.approx(0.0, abs=1e-7)


# -- where predictions make constraints: what the `repair` makes of a decision is scored ------------------------------


def newsvendor() -> foresolve.LinearProgram:
    """Papers are bought at 1 and sold at 3, to at most as many readers as there are."""
    plain = foresolve.LinearProgram([[-1.0, 1.0], [0.0, 1.0]], [0.0, 0.0], bounds=(0, 50))
    return plain.parametrized([-1.0, 3.0], b_ub=Affine([[0.0], [1.0]]), names=["readers"])


def sold(x: Tensor, problem: foresolve.LinearProgram) -> Tensor:
    """What was bought is bought; of it, readers take what they want."""
    return torch.stack([x[..., 0], torch.minimum(x[..., 0], problem.b_ub[..., 1].to(x))], -1)


def data(count: int, seed: int = 0) -> foresolve.DecisionDataset:
    generator = torch.Generator().manual_seed(seed)
    features = torch.rand(count, 1, generator=generator)
    readers = 10 + 20 * features + 4 * torch.rand(count, 1, generator=generator)
    return foresolve.DecisionDataset(features, readers, newsvendor())


@pytest.fixture
def policy() -> Policy:
    train, valid = data(80), data(60, seed=1)
    model = MLP(1, 1, hidden=(), seed=0)
    foresolve.fit(model, "mse", train, epochs=40, lr=0.05)
    return Policy(model, newsvendor(), train=train, valid=valid, repair=sold)


def by_hand(policy: Policy, now: foresolve.DecisionDataset) -> Tensor:
    """Regret: 2 a reader who found no paper, 1 a paper that found no reader."""
    bought, readers = policy(now.features).x[:, 0], now.theta[:, 0]
    return 2 * (readers - bought).clamp(min=0) + (bought - readers).clamp(min=0)


def test_the_regret_is_that_of_what_is_carried_out(policy: Policy) -> None:
    now = data(60, seed=2)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        monitoring, report = policy.monitor(now.features, now.theta), foresolve.evaluate(policy, now)
    assert monitoring.regret == pytest.approx(float(by_hand(policy, now).mean()), rel=1e-5)
    assert monitoring.recorded == pytest.approx(float(by_hand(policy, data(60, seed=1)).mean()), rel=1e-5)
    assert report.regret == pytest.approx(monitoring.regret, rel=1e-6)
    assert not monitoring.retrain
    assert policy(now.features).x[:, 1] == pytest.approx(policy(now.features).x[:, 0])  # decisions stay as planned


def test_it_is_told_where_there_is_none(policy: Policy) -> None:
    with caution("23 of 60", "`Policy(..., repair=...)`"):
        Policy(policy.model, newsvendor(), train=data(80), valid=data(60, seed=1))


def test_it_is_passed_again_after_loading(policy: Policy, tmp_path: Path) -> None:
    now = data(40, seed=3)
    with caution(str(tmp_path), "`Policy.load(folder, repair=...)`"):
        policy.save(tmp_path)
    loaded = Policy.load(tmp_path)
    assert torch.equal(loaded(now.features).x, policy(now.features).x)
    with mistake("repair", "Policy.load(..., repair=...)"):
        loaded.monitor(now.features, now.theta)
    again = Policy.load(tmp_path, repair=sold)
    assert again.monitor(now.features, now.theta).regret == policy.monitor(now.features, now.theta).regret


def test_it_is_a_function() -> None:
    with mistake("repair", "'sold'"):
        Policy(MLP(1, 1), newsvendor(), repair="sold")  # type: ignore[arg-type]


def test_it_is_left_out_where_only_decisions_are_known(policy: Policy) -> None:
    now = data(20, seed=4)
    known = foresolve.DecisionDataset(now.features, None, newsvendor(), decisions=torch.full((20, 2), 15.0))
    assert foresolve.evaluate(policy, known, bootstrap=0).instances


def test_decisions_are_as_precise_as_the_truth() -> None:
    """A model in single precision, amounts of a hundred: rounded to that, they would break a row that they fill."""
    plain = foresolve.LinearProgram([[1.3, 0.7], [1.0, 0.0]], [100.0, 0.0], bounds=(0, 200))
    problem = plain.parametrized([3.0, 1.0], b_ub=Affine([[0.0], [1.0]], known=[100.0, 0.0]), names=["guests"])
    features = torch.linspace(20.1, 40.3, 50)[:, None]
    guests = features.double() - 0.5
    now = foresolve.DecisionDataset(features, guests, problem)

    def fewer(x: Tensor, problem: foresolve.LinearProgram) -> Tensor:
        return torch.stack([torch.minimum(x[..., 0], problem.b_ub[..., 1].to(x)), x[..., 1]], -1)

    report = foresolve.evaluate(lambda features: features, now, repair=fewer, bootstrap=0)
    assert report.regret == pytest.approx(0.5 * 1.3 / 0.7, rel=1e-4)  # what was set aside for half a guest
    assert report.feasible == 0.0
    exact = foresolve.evaluate(lambda features: features - 0.5, now, bootstrap=0)
    assert exact.feasible == pytest.approx(1.0)
