from __future__ import annotations

import json
from typing import Any, Self

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.data import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning import evaluate, fit
from foresolve.learning.registry import build
from foresolve.losses import MSE, SPOPlus
from foresolve.models import MLP, Baseline, ConstantMean, LinearRegression, NearestNeighbors, RandomDecision
from foresolve.problems import TopK
from learning.instances import top_k_data
from mistakes import mistake
from models.instances import item_data, pair_data

BASELINES = [
    ConstantMean(),
    LinearRegression(bounds=(0, 1)),
    LinearRegression(ridge=1e-3, bounds=(0, 1)),
    NearestNeighbors(k=3),
    RandomDecision(),
]


@pytest.mark.parametrize("data", [top_k_data(), item_data(), pair_data()], ids=["instance", "item", "pair"])
@pytest.mark.parametrize("baseline", BASELINES, ids=lambda b: type(b).__name__)
def test_every_layout(baseline: Baseline, data: DecisionDataset) -> None:
    history = fit(baseline, None, data, data)
    theta = baseline(data[:3].features)
    assert theta.shape == data.theta[:3].shape
    assert len(history) == 1
    assert history.valid_regret[0] is not None
    assert evaluate(baseline, data, bootstrap=0).regret >= -1e-6 or not data.problem.exact


def test_least_squares_finds_linear_truth() -> None:
    for data in (top_k_data(noise=0.0), pair_data()):
        model = LinearRegression().fit(data)
        torch.testing.assert_close(model(data.features), data.theta, atol=1e-5, rtol=1e-5)


def test_ridge_and_dependent_features() -> None:
    data = top_k_data()
    doubled = DecisionDataset(torch.cat([data.features, data.features], -1), data.theta, data.problem)
    torch.testing.assert_close(
        LinearRegression().fit(doubled)(doubled.features), LinearRegression().fit(data)(data.features)
    )
    x, y = data.features.double().numpy(), data.theta.double().numpy()
    x, mean = x - x.mean(0), y.mean(0)
    weight = np.linalg.solve(x.T @ x + 2.0 * np.eye(3), x.T @ (y - mean))
    predicted = LinearRegression(ridge=2.0).fit(data)(data.features)
    torch.testing.assert_close(predicted, torch.tensor(x @ weight + mean, dtype=torch.float32))


def test_nearest_neighbors_and_mean() -> None:
    data = top_k_data()
    assert torch.equal(NearestNeighbors(k=1).fit(data)(data.features), data.theta)
    far = NearestNeighbors(k=1000).fit(data)(data.features[:1])
    torch.testing.assert_close(far[0], data.theta.mean(0))
    torch.testing.assert_close(ConstantMean().fit(data)(data.features[:2])[1], data.theta.mean(0))


@pytest.mark.parametrize("baseline", [ConstantMean(), LinearRegression(), NearestNeighbors()])
def test_rebuilt_from_config_and_state(baseline: Baseline) -> None:
    data = item_data()
    baseline.fit(data)
    again = build(type(baseline).__name__, json.loads(json.dumps(baseline.config())), device="meta")
    again.load_state_dict(baseline.state_dict(), assign=True)
    assert torch.equal(again(data.features), baseline(data.features))


def test_random_decisions_are_feasible_and_reproducible() -> None:
    data = top_k_data()
    rule = RandomDecision(3).rule
    x = rule(data.theta, data.problem)
    assert bool((x.sum(-1) == 2).all())
    assert len({tuple(row) for row in x.tolist()}) > 3
    reports = [evaluate(MLP(3, 5), data, RandomDecision(3).rule, bootstrap=0) for _ in range(2)]
    assert reports[0].value == reports[1].value


def test_draws_from_a_seed_a_generator_or_the_global_one() -> None:
    data = top_k_data()
    draws = RandomDecision(3).fit(data)(data.features)
    assert torch.equal(RandomDecision(torch.Generator().manual_seed(3)).fit(data)(data.features), draws)
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(3)
        assert torch.equal(RandomDecision(None).fit(data)(data.features), draws)


class Largest(Baseline):
    """A baseline of your own: `fit` and `forward` are all that it gives."""

    def fit(self, train: Any) -> Self:
        self.largest = train.theta.amax(0)
        return self

    def forward(self, features: Any) -> Tensor:
        return self.largest.expand(len(features), -1)


def test_a_baseline_of_ones_own_gives_two_methods() -> None:
    data = top_k_data()
    history = fit(Largest(), None, data, data)
    assert history.valid_regret[0] is not None
    assert Largest().config() == {}


def test_bad_input() -> None:
    data = top_k_data()
    with mistake("", "LinearRegression", "fit(train)", kind=ForesolveError):
        LinearRegression()(data.features)
    with mistake("loss", "None", "SPOPlus"):
        fit(ConstantMean(), SPOPlus(), data)
    assert len(fit(ConstantMean(), MSE(), data)) == 1
    with mistake("features", "got 4"):
        LinearRegression().fit(data)(torch.zeros(2, 4))
    with mistake("ridge", "got -1"):
        LinearRegression(ridge=-1)
    with mistake("theta", "(4, 5)"):
        LinearRegression().fit(
            DecisionDataset((torch.zeros(4, 2, 2), torch.zeros(4, 2, 2)), data.theta[:4], data.problem)
        )


@pytest.mark.parametrize("baseline", [ConstantMean(), LinearRegression()])
def test_data_without_weight(baseline: Baseline) -> None:
    data = top_k_data(6)
    part = DecisionDataset(data.features, data.theta, data.problem, weights=[0.0] * 3 + [1.0] * 3).subset([0, 1])
    for train in (baseline.fit, lambda part: fit(baseline, None, part)):
        with mistake("train", "weights of 0"):
            train(part)


def test_neighbors_are_the_nearest_beside_an_outlier() -> None:
    features = torch.rand(100, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0))
    features[0, 0] = 1e9
    data = DecisionDataset(features, torch.arange(500.0).reshape(100, 5), TopK(5, 2))
    assert torch.equal(NearestNeighbors(1).fit(data)(features), data.theta.double())  # each is its own
