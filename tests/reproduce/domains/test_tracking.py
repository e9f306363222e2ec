from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve._base.randomness import generator
from foresolve.data import tracking_data
from foresolve.models import LinearRegression
from foresolve.reproduce import NetworkMethod, plan
from foresolve.reproduce.domains import tracking
from reproduce import tiny


def test_forecasts_are_of_size_one_and_nothing_is_lost() -> None:
    config = plan("tracking")
    data, raw = tracking.data(config), tracking_data(300, seed=generator(config.seed, 0))
    assert data.theta.shape == (300, 24)
    assert torch.equal(data.theta, raw.theta)
    weather = data.features[:, :72]
    assert weather.mean().abs() < 0.5
    assert 0.5 < weather.std() < 1.5
    torch.testing.assert_close(weather[:, :24] * 10 + 10, raw.features[:, :24])
    assert torch.equal(data.features[:, 72:], raw.features[:, 72:])


def test_one_seed_one_data_set() -> None:
    first, again, other = (tracking.data(plan("tracking", seed=seed)) for seed in (3, 3, 4))
    assert torch.equal(first.theta, again.theta)
    assert torch.equal(first.features, again.features)
    assert not torch.equal(first.theta, other.theta)
    assert tracking.data(plan("tracking", quick=True)).theta.shape == (100, 24)


def test_predictions_start_around_the_mean() -> None:
    data = tracking.data(plan("tracking"))
    method = tracking.methods(plan("tracking"))["NN1-2Stage"]
    assert isinstance(method, NetworkMethod)
    theta_hat = method.model(data, torch.Generator().manual_seed(0), 0.7)(data.features)
    assert abs(theta_hat.mean() - 0.7) < tracking.SPREAD
    assert theta_hat.std() < 2 * tracking.SPREAD
    assert 0.5 < data.theta.std() / tracking.SPREAD < 2


def test_decisions_depend_on_what_is_predicted(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.shrink(monkeypatch)
    records = tiny.done(tiny.config("tracking", methods=["Mean", "Random", "OPT"], splits=1))
    chance, mean, best = (records[0, name, None].value for name in ("Random", "Mean", "OPT"))
    assert chance < mean < best < 0
    assert best - mean > 0.5 * abs(best)


def test_plants_cannot_follow_everywhere_so_that_some_errors_matter_more_than_others() -> None:
    """The same error costs much in some hours and next to nothing in others."""
    data = tracking_data(30, seed=0)
    problem, theta = data.problem, data.theta
    best = problem.objective(problem.solve(theta), theta)
    costs = []
    for hour in range(0, 24, 4):
        moved = theta.clone()
        moved[:, hour] += 0.2
        costs.append(best - problem.objective(problem.solve(moved), theta))
    cost = torch.stack(costs)
    assert (cost > -1e-3).all()
    assert cost.quantile(0.9) > 5 * cost.quantile(0.25)


def test_a_line_does_not_explain_the_load() -> None:
    """Noise of forecasts and loads, and what is not linear, are left after least squares on very many days."""
    raw = tracking_data(3000, seed=1)
    data = foresolve.data.DecisionDataset(raw.features, raw.theta, raw.problem)
    missed = LinearRegression(1.0).fit(data)(data.features) - data.theta
    assert 0.05 < missed.std() < 0.8 * data.theta.std()
