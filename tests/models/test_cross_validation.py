"""What baselines choose for themselves, against loops that leave rows out, and scikit-learn."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from foresolve.data import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning import Policy
from foresolve.learning.registry import build
from foresolve.models import LinearRegression, NearestNeighbors, RandomForest, TableBaseline, cross_validation
from foresolve.models.cross_validation import (
    NEIGHBORS,
    RIDGES,
    leaf_sizes,
    neighbor_errors,
    out_of_bag_error,
    ridge_errors,
)
from foresolve.problems import TopK
from learning.instances import top_k_data
from mistakes import mistake
from models.instances import item_data, pair_data


def noisy(count: int, width: int, seed: int, outputs: int = 3) -> DecisionDataset:
    generator = torch.Generator().manual_seed(seed)
    x = 2 + torch.randn(count, width, generator=generator, dtype=torch.float64)
    truth = torch.randn(width, outputs, generator=generator, dtype=torch.float64) * (torch.arange(width) < 2)[:, None]
    theta = x @ truth + torch.randn(count, outputs, generator=generator, dtype=torch.float64)
    return DecisionDataset(x, theta, TopK(outputs, 1))


# -- ridge -----------------------------------------------------------------------------------------------------------


def by_hand(data: DecisionDataset, ridge: float) -> float:
    """The weighted sum of squared errors of rows, each predicted from all others."""
    total, everyone = 0.0, torch.arange(len(data))
    for i in range(len(data)):
        model = LinearRegression(ridge).fit(data.subset(everyone[everyone != i]))
        weight = 1.0 if data.weights is None else float(data.weights[i])
        total += weight * float((model(data.features[[i]]) - data.theta[i]).square().sum())
    return total


def by_formula(data: DecisionDataset, ridges: list[float]) -> Tensor:
    weights = torch.ones(len(data), dtype=torch.float64) if data.weights is None else data.weights.double()
    share, root = weights / weights.sum(), weights.sqrt()[:, None]
    rows, outputs = ((table - share @ table) * root for table in (data.features, data.theta))
    left, values, _ = torch.linalg.svd(rows, full_matrices=False)
    kept = values > 1e-9 * values.max()
    return ridge_errors(left[:, kept], values[kept], outputs, share, torch.tensor(ridges, dtype=torch.float64))


@given(st.integers(3, 12), st.integers(1, 15), st.booleans(), st.integers(0, 10**6))
def test_errors_of_ridges_are_those_of_a_loop(count: int, width: int, weighted: bool, seed: int) -> None:
    data = noisy(count, width, seed)
    if weighted:
        weights = torch.rand(count, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        weights[0] = 0.0
        data = DecisionDataset(data.features, data.theta, data.problem, weights=weights)
    ridges = [1e-3, 0.3, 10.0, 1e4]
    expected = [by_hand(data, ridge) for ridge in ridges]
    np.testing.assert_allclose(by_formula(data, ridges).numpy(), expected, rtol=1e-6)


@pytest.mark.parametrize("width", [3, 30, 60])
def test_the_ridge_is_that_of_scikit_learn(width: int) -> None:
    linear = pytest.importorskip("sklearn.linear_model")
    data = noisy(40, width, width)
    x, y = data.features.numpy(), data.theta.numpy()
    largest = np.linalg.svd(x - x.mean(0), compute_uv=False)[0]
    theirs = linear.RidgeCV(alphas=[largest**2 * ridge for ridge in RIDGES]).fit(x, y)
    model = LinearRegression("cv").fit(data)
    assert model.chosen is not None
    assert model.chosen == pytest.approx(theirs.alpha_)
    np.testing.assert_allclose(model(data.features).numpy(), theirs.predict(x), atol=1e-8)
    assert torch.equal(LinearRegression(model.chosen).fit(data)(data.features), model(data.features))
    error = float(by_formula(data, [model.chosen])[0]) / y.size
    assert error == pytest.approx(-theirs.best_score_)


def test_a_chosen_ridge_predicts_better_where_features_are_many() -> None:
    train, test = (noisy(400, 30, 5).subset(part) for part in (slice(35), slice(35, None)))

    def error(model: LinearRegression) -> float:
        return float((model.fit(train)(test.features) - test.theta).square().mean())

    assert error(LinearRegression("cv")) < 0.7 * error(LinearRegression())


def test_features_that_say_nothing() -> None:
    data = noisy(10, 2, 0)
    for count, features in ((10, torch.ones(10, 2)), (1, torch.ones(1, 2))):
        model = LinearRegression("cv").fit(DecisionDataset(features, data.theta[:count], data.problem))
        assert model.chosen == 0
        torch.testing.assert_close(model(features.double())[0], data.theta[:count].mean(0))


# -- neighbors -------------------------------------------------------------------------------------------------------


@given(st.integers(2, 30), st.integers(0, 10**6))
def test_errors_of_neighbors_are_those_of_a_loop(count: int, seed: int) -> None:
    data, everyone = noisy(count, 2, seed), torch.arange(count)
    counts = [k for k in NEIGHBORS if k < count]
    expected = []
    for k in counts:
        models = [NearestNeighbors(k).fit(data.subset(everyone[everyone != i])) for i in range(count)]
        predicted = torch.cat([model(data.features[[i]]) for i, model in enumerate(models)])
        expected.append(float((predicted - data.theta).square().mean()))
    errors = neighbor_errors(data.features, data.theta, counts)
    np.testing.assert_allclose(errors.numpy(), expected, rtol=1e-9)
    assert NearestNeighbors("cv").fit(data).chosen == counts[int(np.argmin(expected))]


def test_blocks_change_nothing(monkeypatch: pytest.MonkeyPatch) -> None:
    data = noisy(25, 2, 0)
    expected = neighbor_errors(data.features, data.theta, [1, 5])
    monkeypatch.setattr(cross_validation, "CHUNK", 1)
    torch.testing.assert_close(neighbor_errors(data.features, data.theta, [1, 5]), expected)


def test_of_many_rows_some_are_left_out(monkeypatch: pytest.MonkeyPatch) -> None:
    data = noisy(200, 2, 0)
    expected = neighbor_errors(data.features, data.theta, [5])
    monkeypatch.setattr(cross_validation, "LEFT_OUT", 100)
    some = neighbor_errors(data.features, data.theta, [5])
    assert some != expected
    torch.testing.assert_close(some, expected, rtol=0.3, atol=0.0)


def test_one_row_has_no_neighbor_to_lose() -> None:
    data = noisy(1, 2, 0)
    model = NearestNeighbors("cv").fit(data)
    assert model.chosen == 1
    torch.testing.assert_close(model(data.features), data.theta)


def test_noise_wants_more_neighbors() -> None:
    noise, smooth = top_k_data(200, noise=3.0), top_k_data(200, noise=0.0)
    many, few = (NearestNeighbors("cv").fit(data).chosen or 0 for data in (noise, smooth))
    assert many > few >= 1


# -- forests ---------------------------------------------------------------------------------------------------------


def test_errors_out_of_bag_are_those_of_scikit_learn() -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    data = noisy(60, 4, 0)
    x, y = data.features.float().numpy(), data.theta.numpy()
    for target in (y, y[:, :1]):
        forest = ensemble.RandomForestRegressor(50, random_state=0, oob_score=True)
        forest.fit(x, target.ravel() if target.shape[1] == 1 else target)
        expected = np.square(forest.oob_prediction_.reshape(target.shape) - target).sum()
        assert out_of_bag_error(forest, x, target) == pytest.approx(expected)


@pytest.mark.parametrize("multi_output", [True, False])
def test_the_leaf_is_the_best_out_of_bag(multi_output: bool) -> None:
    ensemble = pytest.importorskip("sklearn.ensemble")
    data = noisy(60, 4, 0)
    model = RandomForest(15, multi_output, leaf="cv", seed=3).fit(data)
    x, y = data.features.float().numpy(), data.theta.numpy()

    def error(leaf: int) -> float:
        parts = [y] if multi_output else [y[:, [i]] for i in range(y.shape[1])]
        total = 0.0
        for part in parts:
            forest = ensemble.RandomForestRegressor(15, random_state=3, min_samples_leaf=leaf, oob_score=True)
            forest.fit(x, part.ravel() if part.shape[1] == 1 else part)
            total += np.square(forest.oob_prediction_.reshape(part.shape) - part).sum()
        return total

    assert leaf_sizes(60) == [1, 2, 3, 5, 10, 20]
    assert model.chosen is not None
    assert model.chosen == min(leaf_sizes(60), key=error) > 1
    again = RandomForest(15, multi_output, leaf=int(model.chosen), seed=3).fit(data)
    assert torch.equal(again(data.features), model(data.features))
    assert again.chosen is None


def test_leaves_of_forests_on_projections_and_of_one_row() -> None:
    pytest.importorskip("sklearn")
    data = noisy(60, 4, 0, outputs=8)
    assert RandomForest(5, projections=2, leaf="cv").fit(data).chosen in leaf_sizes(60)
    assert RandomForest(5, leaf="cv").fit(data.subset([0])).chosen == 1


def test_settings_of_leaves() -> None:
    pytest.importorskip("sklearn")
    data = noisy(60, 4, 0)
    by_option = RandomForest(5, options={"min_samples_leaf": 10}).fit(data)
    assert torch.equal(by_option(data.features), RandomForest(5, leaf=10).fit(data)(data.features))
    with mistake("options", "min_samples_leaf", "leaf"):
        RandomForest(leaf=2, options={"min_samples_leaf": 10})
    with mistake("options", "bootstrap"):
        RandomForest(leaf="cv", options={"bootstrap": False})


# -- all of them -----------------------------------------------------------------------------------------------------


CHOOSERS: list[TableBaseline] = [LinearRegression("cv"), NearestNeighbors("cv"), RandomForest(5, leaf="cv")]
every_chooser = pytest.mark.parametrize("model", CHOOSERS, ids=lambda model: type(model).__name__)


@every_chooser
def test_what_was_chosen_is_saved(model: TableBaseline, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    pytest.importorskip("safetensors")
    data = top_k_data(40)
    model.fit(data)
    Policy(model, data.problem).save(tmp_path)
    again: Any = Policy.load(tmp_path).model
    assert again.chosen == model.chosen
    assert type(again.chosen) is type(model.chosen)
    assert again.config() == model.config()
    assert torch.equal(again(data.features), model(data.features))
    model.fit(top_k_data(3))
    assert model.config()["fitted"]["chosen"] == model.chosen


@every_chooser
@pytest.mark.parametrize("data", [item_data(), pair_data()], ids=["item", "pair"])
def test_rows_of_instances(model: TableBaseline, data: DecisionDataset) -> None:
    pytest.importorskip("sklearn")
    assert model.fit(data)(data.features).shape == data.theta.shape
    assert model.chosen is not None


@every_chooser
def test_a_damaged_choice_is_refused(model: TableBaseline) -> None:
    pytest.importorskip("sklearn")
    config = json.loads(json.dumps(model.fit(top_k_data()).config()))
    for wrong in (-1, "five", True):
        config["fitted"]["chosen"] = wrong
        with mistake("", type(model).__name__, "`chosen`", kind=ForesolveError):
            build(type(model).__name__, config, device="meta")


def test_bad_input() -> None:
    with mistake("ridge", '"cv"', "'gcv'"):
        LinearRegression("gcv")  # type: ignore[arg-type]
    with mistake("k", '"cv"', "'all'"):
        NearestNeighbors("all")  # type: ignore[arg-type]
    with mistake("leaf", '"cv"', "'big'"):
        RandomForest(leaf="big")  # type: ignore[arg-type]
    config = NearestNeighbors("cv").fit(top_k_data()).config()
    del config["fitted"]["chosen"]
    with mistake("", "NearestNeighbors", "`chosen`", "None", kind=ForesolveError):
        build("NearestNeighbors", config)
