"""Policies whose predictions make constraints: what the `repair` makes of a decision is scored."""

from __future__ import annotations

import warnings
from pathlib import Path

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.errors import ForesolveWarning, InvalidInputError
from foresolve.learning import Policy
from foresolve.models import MLP
from foresolve.problems import Affine


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
    with pytest.warns(ForesolveWarning, match=r"infeasible under the truth.*`Policy\(\.\.\., repair=\.\.\.\)`"):
        Policy(policy.model, newsvendor(), train=data(80), valid=data(60, seed=1))


def test_it_is_passed_again_after_loading(policy: Policy, tmp_path: Path) -> None:
    now = data(40, seed=3)
    with pytest.warns(ForesolveWarning, match=r"nothing of its `repair`.*`Policy\.load\(folder, repair=\.\.\.\)`"):
        policy.save(tmp_path)
    loaded = Policy.load(tmp_path)
    assert torch.equal(loaded(now.features).x, policy(now.features).x)
    with pytest.raises(InvalidInputError, match=r"`repair` must be given.*`Policy\.load\(\.\.\., repair=\.\.\.\)`"):
        loaded.monitor(now.features, now.theta)
    again = Policy.load(tmp_path, repair=sold)
    assert again.monitor(now.features, now.theta).regret == policy.monitor(now.features, now.theta).regret


def test_it_is_a_function() -> None:
    with pytest.raises(InvalidInputError, match="`repair` must be"):
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
