from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.learning.evaluation import evaluate
from foresolve.learning.fitting import fit
from foresolve.learning.registry import build
from foresolve.losses.prediction import MSE
from foresolve.losses.spo import SPOPlus
from foresolve.models.baselines import Baseline, ConstantMean, LinearRegression, NearestNeighbors, RandomDecision
from foresolve.models.forest import RandomForest, ScikitLearn
from foresolve.models.networks import MLP
from foresolve.problems.matching import BipartiteMatching
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.laminar import UniformMatroid
from learning.instances import top_k_data


def item_data(count: int = 12) -> DecisionDataset:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(count, 4, 3, generator=generator, dtype=torch.float64)
    theta = (features @ torch.randn(3, 2, generator=generator, dtype=torch.float64)).sigmoid()
    return DecisionDataset(features, theta, SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(4, 2)))


def pair_data(count: int = 6) -> DecisionDataset:
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(count, 3, 2, generator=generator), torch.randn(count, 2, 2, generator=generator)
    theta = (a.sum(-1)[:, :, None] - b.sum(-1)[:, None, :]).flatten(1)
    return DecisionDataset((a, b), theta, BipartiteMatching(3, 2))


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
    found = LinearRegression(ridge=2.0).fit(data)(data.features)
    torch.testing.assert_close(found, torch.tensor(x @ weight + mean, dtype=torch.float32))


def test_nearest_neighbours_and_mean() -> None:
    data = top_k_data()
    assert torch.equal(NearestNeighbors(k=1).fit(data)(data.features), data.theta)
    far = NearestNeighbors(k=1000).fit(data)(data.features[:1])
    torch.testing.assert_close(far[0], data.theta.mean(0))
    torch.testing.assert_close(ConstantMean().fit(data)(data.features[:2])[1], data.theta.mean(0))


@pytest.mark.parametrize("multi_output", [True, False])
def test_forest_is_that_of_scikit_learn(multi_output: bool) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    data = top_k_data(60)
    forest = RandomForest(trees=7, multi_output=multi_output, options={"max_depth": 6}).fit(data)
    x, y = data.features.double().numpy(), data.theta.double().numpy()
    other = top_k_data(20, seed=1).features

    def theirs(outputs: np.ndarray) -> np.ndarray:
        grown = ensemble.RandomForestRegressor(7, random_state=0, max_depth=6).fit(x, outputs)
        return grown.predict(other.double().numpy())

    expected = theirs(y) if multi_output else np.stack([theirs(y[:, i]) for i in range(y.shape[1])], -1)
    np.testing.assert_allclose(forest(other.double()).numpy(), expected, rtol=1e-12)


def test_forest_on_items_and_pairs() -> None:
    pytest.importorskip("sklearn")
    for data in (item_data(), pair_data()):
        forest = RandomForest(trees=3, max_rows=20).fit(data)
        assert forest(data.features).shape == data.theta.shape


def test_any_regressor() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    data = top_k_data()
    model = ScikitLearn(linear.LinearRegression()).fit(data)
    torch.testing.assert_close(model(data.features), LinearRegression().fit(data)(data.features))


@pytest.mark.parametrize("baseline", [ConstantMean(), LinearRegression(), NearestNeighbors()])
def test_rebuilt_from_config_and_state(baseline: Baseline) -> None:
    data = item_data()
    baseline.fit(data)
    again = build(type(baseline).__name__, json.loads(json.dumps(baseline.config())), device="meta")
    again.load_state_dict(baseline.state_dict(), assign=True)
    assert torch.equal(again(data.features), baseline(data.features))


def test_random_decisions_are_feasible_and_reproducible() -> None:
    data = top_k_data()
    rule = RandomDecision(3).decide
    x = rule(data.theta, data.problem)
    assert bool((x.sum(-1) == 2).all())
    assert len({tuple(row) for row in x.tolist()}) > 3
    reports = [evaluate(MLP(3, 5), data, RandomDecision(3).decide, bootstrap=0) for _ in range(2)]
    assert reports[0].value == reports[1].value


def test_bad_input() -> None:
    data = top_k_data()
    with pytest.raises(ForesolveError, match="has not been fitted"):
        LinearRegression()(data.features)
    with pytest.raises(InvalidInputError, match="`loss` must be None for a baseline; got SPOPlus"):
        fit(ConstantMean(), SPOPlus(), data)
    assert len(fit(ConstantMean(), MSE(), data)) == 1
    with pytest.raises(InvalidInputError, match="`features` must be of 3 numbers a row"):
        LinearRegression().fit(data)(torch.zeros(2, 4))
    with pytest.raises(InvalidInputError, match="`ridge` must be"):
        LinearRegression(ridge=-1)
    with pytest.raises(InvalidInputError, match="`theta` must be"):
        LinearRegression().fit(
            DecisionDataset((torch.zeros(4, 2, 2), torch.zeros(4, 2, 2)), data.theta[:4], data.problem)
        )
