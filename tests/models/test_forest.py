from __future__ import annotations

import json

import numpy as np
import pytest
import torch

from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.learning.registry import build
from foresolve.models.baselines import LinearRegression
from foresolve.models.forest import RandomForest, ScikitLearn
from learning.instances import top_k_data
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


def test_forest_on_items_and_pairs() -> None:
    for data in (item_data(), pair_data()):
        forest = RandomForest(trees=3, max_rows=20).fit(data)
        assert forest(data.features).shape == data.theta.shape


def test_any_regressor() -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    data = top_k_data()
    model = ScikitLearn(linear.LinearRegression()).fit(data)
    torch.testing.assert_close(model(data.features), LinearRegression().fit(data)(data.features))


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
    with pytest.raises(ForesolveError, match="do not make trees"):
        forest.validate()


def test_bad_input() -> None:
    with pytest.raises(ForesolveError, match="RandomForest has not been fitted"):
        RandomForest()(torch.zeros(2, 3))
    with pytest.raises(InvalidInputError, match="`seed` must be"):
        RandomForest(seed=-1)
    with pytest.raises(InvalidInputError, match="`estimator` must be a regressor"):
        ScikitLearn(3)
