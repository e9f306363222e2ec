from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch
from torch import Tensor, nn

from foresolve.data import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning import Policy, evaluate, fit
from foresolve.losses import MSE, SPOPlus
from foresolve.models import (
    MLP,
    ConstantMean,
    Correction,
    LastValue,
    LinearRegression,
    NearestNeighbors,
    RandomForest,
    Standardized,
)
from foresolve.problems import TopK
from learning.instances import same
from mistakes import caution, file_mistake, mistake
from models.instances import item_data, pair_data

pytestmark = pytest.mark.filterwarnings("ignore::foresolve.errors.NoImprovementWarning")


def bent_data(count: int = 80, seed: int = 0, dtype: torch.dtype = torch.float32) -> DecisionDataset:
    """Truth that a linear model misses."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(3, 4, generator=torch.Generator().manual_seed(9), dtype=torch.float64)
    features = torch.randn(count, 3, generator=generator, dtype=torch.float64)
    theta = 20 + 10 * (features @ weights).square() + features.sum(-1, keepdim=True)
    return DecisionDataset(features.to(dtype), theta.to(dtype), TopK(4, 2))


def network(seed: int = 0, **options: Any) -> MLP:
    return MLP(3, 4, hidden=(16,), seed=seed, **options)


def plain() -> nn.Sequential:
    return nn.Sequential(nn.Linear(3, 8), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.2), nn.Linear(8, 4))


FORECASTERS = {
    "linear": LinearRegression,
    "mean": ConstantMean,
    "neighbors": lambda: NearestNeighbors(3),
    "module": lambda: MLP(3, 4, seed=5),
    "fitted": lambda: LinearRegression(ridge=1.0).fit(bent_data(seed=3)),
}


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
@pytest.mark.parametrize("correcting", [network, plain, lambda: Standardized(plain())])
@pytest.mark.parametrize("name", FORECASTERS)
def test_the_start_is_the_forecast_to_the_bit(name: str, correcting: Any, dtype: torch.dtype) -> None:
    train, valid = bent_data(dtype=dtype), bent_data(40, seed=1, dtype=dtype)
    forecaster = FORECASTERS[name]()
    model = Correction(forecaster, correcting())
    history = fit(model, SPOPlus(), train, valid, epochs=0)
    alone = FORECASTERS[name]()
    if name in ("linear", "mean", "neighbors"):
        alone.fit(train)
    assert torch.equal(Policy(model, valid.problem)(valid.features).x, Policy(alone, valid.problem)(valid.features).x)
    assert history.start == pytest.approx(evaluate(alone, valid, bootstrap=0).normalized_regret, abs=1e-7)
    model.eval()
    with torch.no_grad():
        assert torch.equal(model(valid.features), alone(valid.features.float() if name == "module" else valid.features))


def test_what_a_linear_forecast_misses_is_learned() -> None:
    train = bent_data(200)
    model = Correction(LinearRegression(), network())
    fit(model, MSE(), train, epochs=60)
    before, after = (
        float((m(train.features).detach() - train.theta).square().mean()) for m in (model.forecaster, model)
    )
    assert after < 0.1 * before


def test_training_does_not_touch_the_forecaster() -> None:
    forecaster = nn.Sequential(nn.Linear(3, 4), nn.BatchNorm1d(4), nn.Dropout(0.5))
    weights = {name: value.clone() for name, value in forecaster.state_dict().items()}
    model = Correction(forecaster, plain())
    assert not any(p.requires_grad for p in forecaster.parameters())
    fit(model, MSE(), bent_data(), epochs=2)
    assert all(torch.equal(value, weights[name]) for name, value in forecaster.state_dict().items())
    model.train()
    assert not forecaster.training
    assert not model.origin.training
    assert model.network.training
    trained = {id(p) for p in model.parameters() if p.requires_grad}
    assert trained == {id(p) for p in model.network.parameters()}


def test_the_scale_is_that_of_the_residuals() -> None:
    train = bent_data()
    model = Correction(LinearRegression(), network())
    model.standardize(train)
    residuals = train.theta - LinearRegression().fit(train)(train.features)
    torch.testing.assert_close(model.units.scale, residuals.std(0, correction=0), rtol=1e-4, atol=0)
    before = model.units.scale.clone()
    model.standardize(bent_data(seed=4))
    assert torch.equal(model.units.scale, before)
    remembering = Correction(NearestNeighbors(1), network())
    remembering.standardize(train)
    torch.testing.assert_close(remembering.units.scale, 0.01 * train.theta.std(0, correction=0), rtol=1e-4, atol=0)


def test_the_start_is_that_of_the_first_training_alone() -> None:
    train, model = bent_data(), Correction(LinearRegression(), network())
    model.network.load_state_dict(network(seed=3).state_dict())  # after it was made
    fit(model, MSE(), train, epochs=0)
    forecast = model.forecaster(train.features)
    assert torch.equal(model(train.features), forecast)
    fit(model, MSE(), train, epochs=2)
    fit(model, SPOPlus(), train, epochs=1)
    assert float((model(train.features) - forecast).detach().abs().max()) > 0.1


def test_positive_forecasts_stay_positive() -> None:
    data = bent_data()
    train = DecisionDataset(data.features, data.theta.abs() + 1, data.problem)
    model = Correction(LinearRegression(transform="log"), network(), "positive")
    fit(model, MSE(), train, epochs=0)
    assert torch.equal(model(train.features), LinearRegression(transform="log").fit(train)(train.features))
    fit(model, MSE(), train, epochs=5)
    assert bool((model(train.features) > 0).all())
    ratio = train.theta.log() - model.forecaster(train.features).log()
    torch.testing.assert_close(model.units.scale, ratio.std(0, correction=0), rtol=1e-4, atol=0)
    with mistake("theta", "LinearRegression"):
        Correction(ConstantMean(), network(), "positive").standardize(
            DecisionDataset(train.features, -train.theta, train.problem)
        )
    with mistake("forecaster(features)", '"positive"'):
        Correction(MLP(3, 4, seed=0), network(), "positive").standardize(train)


def test_probabilities_stay_probabilities() -> None:
    data = bent_data()
    train = DecisionDataset(data.features, (data.theta / 30 - 1).sigmoid(), data.problem)
    model = Correction(LinearRegression(bounds=(0.01, 0.99)), network(), "probability")
    fit(model, MSE(), train, epochs=0)
    forecast = model.forecaster(train.features)
    assert torch.equal(model(train.features), forecast)
    fit(model, MSE(), train, epochs=5)
    change = (model.network(train.features) - model.origin(train.features)).detach()
    torch.testing.assert_close(model(train.features).detach(), (forecast.logit() + change).sigmoid())
    for size in (1e4, -1e4):
        nn.init.constant_(model.network.layers[-1].bias, size)  # type: ignore[union-attr, arg-type]
        theta = model(train.features)
        assert bool(((theta >= 0) & (theta <= 1)).all())


def test_items_and_pairs() -> None:
    items = item_data()
    model = Correction(LinearRegression(), MLP(3, 2, seed=0).double())
    fit(model, MSE(), items, epochs=1)
    assert model.units.scale.shape == (2,)
    pairs = pair_data()

    class Sum(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.weight = nn.Parameter(torch.ones(()))

        def forward(self, features: Any) -> Tensor:
            a, b = features
            return self.weight * (a.sum(-1)[:, :, None] + b.sum(-1)[:, None, :]).flatten(1)

    model = Correction(LinearRegression(), Sum())
    fit(model, MSE(), pairs, epochs=1)
    assert model.units.scale.shape == ()


def test_decisions_alone_leave_the_scale_at_one() -> None:
    data = bent_data()
    weights = torch.rand(len(data))
    alone = DecisionDataset(data.features, decisions=data.decisions, problem=data.problem, weights=weights)
    model = Correction(LinearRegression().fit(data), network())
    model.standardize(alone)
    assert bool(model.units.known)
    assert float(model.units.scale) == 1.0
    with mistake("train", "theta", "LinearRegression"):
        Correction(LinearRegression(), network()).standardize(alone)


@pytest.mark.parametrize(
    "make",
    [
        lambda: Correction(LinearRegression(), network()),
        lambda: Correction(LastValue(), Standardized(MLP(3, 3, seed=0, standardize=False)), "positive"),
        lambda: Correction(RandomForest(trees=4), network(standardize=False)),
        lambda: Correction(MLP(3, 4, seed=2), network()),
        lambda: Correction(Correction(ConstantMean(), network()), network(1)),
        lambda: Standardized(Correction(LinearRegression(), network())),
    ],
)
def test_policies_come_back(make: Any, tmp_path: Path) -> None:
    pytest.importorskip("sklearn")
    model, data = make(), bent_data()
    if isinstance(model, Correction) and isinstance(model.forecaster, LastValue):
        data = DecisionDataset(data.features.abs() + 1, data.features.abs() + 2, TopK(3, 1))
    if isinstance(model, Standardized):
        model.module.standardize(data)
    fit(model, MSE(), data, epochs=2)
    Policy(model, data.problem).save(tmp_path)
    again: Any = Policy.load(tmp_path).model
    assert type(again) is type(model)
    assert same(again, model)
    assert torch.equal(again(data.features), model(data.features))
    trains = {name for name, p in model.named_parameters() if p.requires_grad}
    assert {name for name, p in again.named_parameters() if p.requires_grad} == trains


@pytest.mark.parametrize("fitted", [False, True])
def test_a_regressor_of_scikit_learn_corrected_and_saved(fitted: bool, tmp_path: Path) -> None:
    pytest.importorskip("skops")
    linear = pytest.importorskip("sklearn.linear_model")
    data, ridge = bent_data(), linear.Ridge()
    if fitted:
        ridge.fit(data.features.double().numpy(), data.theta.double().numpy())
    model = Correction(ridge, network())
    fit(model, MSE(), data, epochs=0)
    expected = linear.Ridge().fit(data.features.double().numpy(), data.theta.double().numpy())
    numbers = torch.from_numpy(expected.predict(data.features.double().numpy())).float()
    torch.testing.assert_close(model(data.features), numbers, rtol=1e-4, atol=1e-3)
    fit(model, MSE(), data, epochs=1)
    Policy(model, data.problem).save(tmp_path)
    again: Any = Policy.load(tmp_path).model
    assert torch.equal(again(data.features), model(data.features))
    with mistake("", "Correction", "scikit-learn", kind=ForesolveError):
        Policy(Correction(model, Correction(expected, network())), data.problem).save(tmp_path)


def test_a_forecaster_of_the_users_is_wanted_again(tmp_path: Path) -> None:
    data, model = bent_data(), Correction(nn.Linear(3, 4), network())
    fit(model, MSE(), data, epochs=1)
    with caution("Correction", "Policy.load(folder, model=...)"):
        Policy(model, data.problem).save(tmp_path)
    with file_mistake("policy.json", "Correction", "Policy.load(..., model=...)"):
        Policy.load(tmp_path)
    again: Any = Policy.load(tmp_path, model=Correction(nn.Linear(3, 4), network(7))).model
    assert torch.equal(again(data.features), model(data.features))


def test_a_run_is_resumed(tmp_path: Path) -> None:
    data, file = bent_data(), tmp_path / "run"
    straight, resumed = (Correction(LinearRegression(), network()) for _ in range(2))
    options: dict[str, Any] = {"scheduler": None, "warm_start": "two-stage"}
    fit(straight, SPOPlus(), data, epochs=3, **options)

    def stop(history: Any) -> None:
        if history.warm_start is not None:
            raise KeyboardInterrupt

    fit(Correction(LinearRegression(), network()), SPOPlus(), data, epochs=3, checkpoint=file, progress=stop, **options)
    fit(resumed, SPOPlus(), data, epochs=3, checkpoint=file, resume=True, **options)
    assert same(straight, resumed)


@pytest.mark.parametrize(
    ("arguments", "name", "fact"),
    [
        ((LinearRegression, network()), "forecaster", "class LinearRegression"),
        ((lambda a: a, network()), "forecaster", "got function"),
        ((LinearRegression(), LinearRegression()), "network", "got LinearRegression"),
        ((LinearRegression(), MLP), "network", "class MLP"),
        ((LinearRegression(), network(), "non_negative"), "head", "'non_negative'"),
    ],
)
def test_what_is_refused(arguments: Any, name: str, fact: str) -> None:
    with mistake(name, fact):
        Correction(*arguments)


def test_shapes_that_differ_are_told() -> None:
    data = bent_data()
    model = Correction(LinearRegression().fit(data), MLP(3, 1, seed=0))
    with mistake("network(features)", "(80, 4)", "(80, 1)"):
        model(data.features)
    with mistake("forecaster(features)", "(80, 4)", "(80, 3)"):
        Correction(nn.Identity(), network()).standardize(data)
    with mistake("", "LinearRegression", "fit(train)", kind=ForesolveError):
        Correction(LinearRegression(), network())(data.features)
