from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning.registry import build
from foresolve.models import RandomForest
from foresolve.models import trees as trees_module
from foresolve.models.forest import _leaf_means
from foresolve.problems import TopK
from learning.instances import top_k_data
from mistakes import mistake
from models.instances import item_data, pair_data

pytest.importorskip("sklearn")


@pytest.mark.parametrize("multi_output", [True, False])
def test_forest_is_that_of_scikit_learn(multi_output: bool) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    data = top_k_data(60)
    forest = RandomForest(trees=7, multi_output=multi_output, options={"max_depth": 6}).fit(data)
    x, y = data.features.double().numpy(), data.theta.double().numpy()
    features = top_k_data(20, seed=1).features

    def scikit_learn(outputs: np.ndarray) -> np.ndarray:
        grown = ensemble.RandomForestRegressor(7, random_state=0, max_depth=6).fit(x, outputs)
        return grown.predict(features.double().numpy())

    expected = scikit_learn(y) if multi_output else np.stack([scikit_learn(y[:, i]) for i in range(y.shape[1])], -1)
    np.testing.assert_allclose(forest(features.double()).numpy(), expected, rtol=1e-12)


@pytest.mark.parametrize("multi_output", [True, False])
def test_blocks_change_nothing(multi_output: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    data = top_k_data(60)
    forest = RandomForest(trees=7, multi_output=multi_output).fit(data)
    expected = forest(data.features.double())
    for walkers in (1, 100):
        monkeypatch.setattr(trees_module, "WALKERS", walkers)
        torch.testing.assert_close(forest(data.features.double()), expected, rtol=1e-14, atol=0.0)
    assert forest(data.features[:0]).shape == (0, *data.theta.shape[1:])


def test_trees_without_a_split() -> None:
    data = top_k_data()
    forest = RandomForest(trees=3, options={"min_samples_split": 1000, "bootstrap": False}).fit(data)
    forest.validate()
    assert len(forest.left) == 0
    torch.testing.assert_close(forest(data.features), data.theta.mean(0).expand_as(data.theta))


def test_forest_on_items_and_pairs() -> None:
    for data in (item_data(), pair_data()):
        forest = RandomForest(trees=3, max_rows=20, projections=1).fit(data)
        assert forest(data.features).shape == data.theta.shape


def test_rows_are_drawn_by_the_seed() -> None:
    data = top_k_data(60)
    assert RandomForest(max_rows=60).sample(60) is None
    drawn = RandomForest(max_rows=20, seed=3).sample(60)
    assert drawn is not None
    assert len(drawn.unique()) == 20
    part = RandomForest(trees=3, seed=3).fit(data.subset(drawn))
    assert torch.equal(RandomForest(trees=3, max_rows=20, seed=3).fit(data)(data.features), part(data.features))


# -- trees grown on projections ------------------------------------------------------------------------------------


def many_outputs(seed: int, rows: int = 200, outputs: int = 40) -> DecisionDataset:
    """Outputs that go with the first two of six features."""
    generator = torch.Generator().manual_seed(seed)
    x = torch.rand(rows, 6, generator=generator)
    places = torch.linspace(0, 1, outputs)
    theta = torch.exp(-20 * (x[:, :1] - places) ** 2) + x[:, 1:2] * (places > 0.5)
    return DecisionDataset(x, theta + 0.1 * torch.rand(rows, outputs, generator=generator), TopK(outputs, 3))


@pytest.mark.parametrize("options", [{}, {"bootstrap": False, "max_depth": 4}, {"max_samples": 0.3}], ids=str)
def test_leaf_means_are_those_of_scikit_learn(options: dict[str, Any]) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    data = many_outputs(0)
    x, y = data.features.numpy(), data.theta.double().numpy()
    grown = ensemble.RandomForestRegressor(5, random_state=0, **options).fit(x, y)
    for estimator, places, rows in zip(grown.estimators_, grown.apply(x).T, grown.estimators_samples_, strict=True):
        tree = estimator.tree_
        expected = tree.value[tree.children_left < 0, :, 0]
        np.testing.assert_allclose(_leaf_means(tree, places, rows, y), expected, rtol=1e-10)


def test_trees_grown_on_projections_predict_about_as_well() -> None:
    train, test = many_outputs(0), many_outputs(1)

    def error(forest: RandomForest) -> float:
        return float((forest.fit(train)(test.features) - test.theta).square().mean())

    variance = float((test.theta - train.theta.mean(0)).square().mean())
    exact = error(RandomForest(30))
    assert error(RandomForest(30, projections=40)) == exact  # as many as outputs: not projected
    assert exact < error(RandomForest(30, projections=8)) + 0.05 * variance
    assert error(RandomForest(30, projections=8)) < exact + 0.05 * variance


def test_projections_are_drawn_by_the_seed() -> None:
    data = many_outputs(0)
    first, again, different = (RandomForest(3, projections=2, seed=seed).fit(data) for seed in (1, 1, 2))
    assert torch.equal(first(data.features), again(data.features))
    assert not torch.equal(first(data.features), different(data.features))
    rebuilt = build("RandomForest", json.loads(json.dumps(first.config())), device="meta")
    rebuilt.load_state_dict(first.state_dict(), assign=True)
    assert torch.equal(rebuilt(data.features), first(data.features))


def test_rebuilt_from_config_and_state() -> None:
    data = item_data()
    forest = RandomForest(trees=3, seed=2).fit(data)
    again = build("RandomForest", json.loads(json.dumps(forest.config())), device="meta")
    again.load_state_dict(forest.state_dict(), assign=True)
    assert torch.equal(again(data.features), forest(data.features))


def test_the_seed_may_be_drawn() -> None:
    """By a generator or the global one; what was drawn is in `config()`, so that the same forest grows again."""
    data = top_k_data()
    drawn = RandomForest(3, seed=torch.Generator().manual_seed(5))
    with torch.random.fork_rng(devices=[]):
        torch.manual_seed(5)
        assert RandomForest(3, seed=None).config() == drawn.config()
    again = build("RandomForest", json.loads(json.dumps(drawn.config())))
    assert torch.equal(again.fit(data)(data.features), drawn.fit(data)(data.features))  # type: ignore[operator]


def test_nodes_that_go_round_in_circles_are_refused() -> None:
    forest = RandomForest(trees=2).fit(top_k_data())
    forest.validate()
    forest.left[-1] = 0
    with mistake("", "RandomForest", kind=ForesolveError):
        forest.validate()


def test_bad_input() -> None:
    with mistake("", "RandomForest", "fit(train)", kind=ForesolveError):
        RandomForest()(torch.zeros(2, 3))
    with mistake("seed", "got -1"):
        RandomForest(seed=-1)
    with mistake("projections", "got 0"):
        RandomForest(projections=0)
    with mistake("options", '"squared_error"', "'poisson'"):
        RandomForest(projections=3, options={"criterion": "poisson"})
    forest = RandomForest(3).fit(top_k_data())
    with mistake("features", "got 2"):
        forest(top_k_data().features[:, :2])
