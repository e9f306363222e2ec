"""Transformed targets, in every baseline that learns from them."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foresolve.data import DecisionDataset
from foresolve.learning import Policy
from foresolve.models import Baseline, ConstantMean, LinearRegression, NearestNeighbors, RandomForest, ScikitLearn
from foresolve.models.targets import Transform, spread
from foresolve.problems import TopK
from mistakes import mistake
from models.instances import item_data, pair_data

neighbors = pytest.importorskip("sklearn.neighbors")
Ridge = pytest.importorskip("sklearn.linear_model").Ridge

Maker = Callable[[Transform | None], Baseline]
MAKERS: dict[str, Maker] = {
    "ConstantMean": lambda transform: ConstantMean(transform),
    "LinearRegression": lambda transform: LinearRegression(1e-3, transform=transform),
    "LinearRegression-cv": lambda transform: LinearRegression("cv", transform=transform),
    "NearestNeighbors": lambda transform: NearestNeighbors(3, transform),
    "NearestNeighbors-cv": lambda transform: NearestNeighbors("cv", transform),
    "RandomForest": lambda transform: RandomForest(5, transform=transform),
    "RandomForest-cv": lambda transform: RandomForest(5, leaf="cv", transform=transform),
    "ScikitLearn": lambda transform: ScikitLearn(
        neighbors.KNeighborsRegressor(3, algorithm="brute"), transform=transform
    ),
}
every_baseline = pytest.mark.parametrize("make", list(MAKERS.values()), ids=list(MAKERS))


def mixed_data(count: int = 40, seed: int = 0, dtype: torch.dtype = torch.float64) -> DecisionDataset:
    """Positive parameters in units that differ by a million."""
    generator = torch.Generator().manual_seed(seed)
    features = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    theta = (features @ torch.randn(3, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)).exp()
    theta = theta * torch.tensor([1.0, 1e3, 1e-3, 1.0])
    return DecisionDataset(features.to(dtype), theta.to(dtype), TopK(4, 2))


def other_targets(data: DecisionDataset, theta: torch.Tensor) -> DecisionDataset:
    return DecisionDataset(data.features, theta, data.problem, weights=data.weights)


@every_baseline
def test_log_is_a_fit_of_logarithms(make: Maker) -> None:
    data = mixed_data()
    plain = make(None).fit(other_targets(data, data.theta.log()))
    model = make("log").fit(data)
    torch.testing.assert_close(model(data.features), plain(data.features).exp())
    assert bool((model(data.features) > 0).all())


@every_baseline
def test_scale_is_a_fit_in_units_of_standard_deviations(make: Maker) -> None:
    data = mixed_data()
    unit = data.theta.std(0, correction=0)
    plain = make(None).fit(other_targets(data, data.theta / unit))
    torch.testing.assert_close(make("scale").fit(data)(data.features), plain(data.features) * unit)


@pytest.mark.parametrize("transform", ["log", "scale"])
@every_baseline
def test_a_policy_keeps_the_transform(make: Maker, transform: Transform, tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    data = mixed_data(dtype=torch.float32)
    model = make(transform).fit(data)
    Policy(model, data.problem).save(tmp_path)
    again: Any = Policy.load(tmp_path).model
    assert torch.equal(again(data.features), model(data.features))
    if not isinstance(model, ScikitLearn):
        assert again.config() == model.config()


@pytest.mark.parametrize("data", [item_data(), pair_data()], ids=["item", "pair"])
@pytest.mark.parametrize("transform", ["log", "scale"])
@every_baseline
def test_every_layout(make: Maker, transform: Transform, data: DecisionDataset) -> None:
    data = DecisionDataset(data.features, data.theta.sigmoid(), data.problem)
    model = make(transform).fit(data)
    assert model(data.features).shape == data.theta.shape
    assert model(data.features).dtype == data.theta.dtype


def test_the_median_of_a_lognormal_and_not_its_mean() -> None:
    theta = torch.randn(20000, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64).exp()
    data = DecisionDataset(torch.zeros(20000, 1), theta, TopK(2, 1))
    predicted = ConstantMean("log").fit(data)(data.features[:1].double())
    torch.testing.assert_close(predicted[0], torch.ones(2, dtype=torch.float64), atol=0.03, rtol=0)
    assert float(ConstantMean().fit(data)(data.features[:1]).min()) > 1.5  # about exp(1 / 2)


def test_scale_lets_every_output_of_a_forest_count() -> None:
    generator = torch.Generator().manual_seed(0)
    x = torch.rand(300, 2, generator=generator, dtype=torch.float64)
    theta = torch.stack([1e4 * x[:, 0], (x[:, 1] > 0.5).double()], 1)
    train, test = (DecisionDataset(x[part], theta[part], TopK(2, 1)) for part in (slice(200), slice(200, None)))

    def error(transform: Transform | None) -> float:
        model = RandomForest(20, transform=transform, options={"max_depth": 3}).fit(train)
        return float((model(test.features) - test.theta)[:, 1].square().mean())

    assert error("scale") < 0.05 < error(None)


def test_scale_changes_nothing_of_least_squares_with_a_given_ridge() -> None:
    data = mixed_data()
    for ridge in (0.0, 0.7):
        models = [LinearRegression(ridge, transform=transform).fit(data) for transform in (None, "scale")]
        torch.testing.assert_close(models[0](data.features), models[1](data.features))


def test_bounds_are_those_of_parameters() -> None:
    data = mixed_data()
    for transform in ("log", "scale"):
        predicted = LinearRegression(bounds=(0.5, 2.0), transform=transform).fit(data)(data.features)
        assert (float(predicted.min()), float(predicted.max())) == (0.5, 2.0)


def test_weights_count_with_a_transform() -> None:
    data = mixed_data(6)
    weights = torch.tensor([1.0, 2.0, 1.0, 3.0, 1.0, 1.0])
    weighted = DecisionDataset(data.features, data.theta, data.problem, weights=weights)
    repeated = data.subset(torch.arange(6).repeat_interleave(weights.long()))
    makers = [ConstantMean, lambda transform: LinearRegression(0.1, transform=transform)]
    for make in [*makers, lambda transform: ScikitLearn(Ridge(0.1), transform=transform)]:
        torch.testing.assert_close(
            make(transform="log").fit(weighted)(data.features), make(transform="log").fit(repeated)(data.features)
        )


@given(st.integers(1, 20), st.floats(-1e6, 1e6), st.integers(0, 1000))
def test_units_of_columns(count: int, constant: float, seed: int) -> None:
    values = torch.randn(count, 2, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
    values[:, 0, 0] = constant
    unit = spread(values)
    assert unit[0, 0] == 1
    if count > 1:
        np.testing.assert_allclose(unit[1].numpy(), values[:, 1].numpy().std(0))


@every_baseline
def test_parameters_without_a_logarithm_are_refused(make: Maker) -> None:
    data = mixed_data()
    theta = data.theta.clone()
    theta[3, 1], theta[5, 0] = 0.0, -2.0
    with mistake("theta", '`transform="log"`', "2 of 160", "-2"):
        make("log").fit(other_targets(data, theta))
    with mistake("transform", "'sqrt'"):
        make("sqrt")  # type: ignore[arg-type]


def test_an_estimator_itself_takes_no_transform() -> None:
    with mistake("copy", "transform"):
        ScikitLearn(Ridge(), copy=False, transform="log")


def test_the_transform_is_in_the_settings_only_where_there_is_one() -> None:
    assert "transform" not in LinearRegression().config()
    assert ConstantMean("log").config() == {"transform": "log"}
