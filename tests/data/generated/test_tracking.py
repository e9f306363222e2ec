from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve.data import tracking_data
from foresolve.data.generated.loads import simulated_loads
from foresolve.data.generated.tracking import (
    CALM,
    PLANTS,
    STORM,
    SUN,
    WIND,
    _clouds,
    _sun_power,
    _wind_power,
    _wind_speed,
)
from foresolve.data.generated.weather import HOURS, Calendar
from foresolve.problems import Tracking
from mistakes import mistake


def test_what_stands_in_the_features() -> None:
    data = tracking_data(400, seed=3)
    temperature, speed, clouds = data.features[:, :72].unflatten(1, (3, 24)).unbind(1)
    assert -40 < temperature.min() < temperature.max() < 50
    assert speed.min() > 0
    assert 4 < speed.mean() < 12
    assert 0 <= clouds.min() < clouds.max() <= 1
    assert torch.equal(data.features[:, 72:79].argmax(-1), data.labels["day"] % 7)
    assert torch.equal(data.labels["day"], torch.arange(400))


@pytest.mark.parametrize("seed", [0, 1])
def test_wind_and_clouds_explain_the_load(seed: int) -> None:
    data = tracking_data(730, seed=seed)
    noon = data.theta[:, 12].double()
    speed, clouds = data.features[:, 36].double(), data.features[:, 60].double()
    assert torch.corrcoef(torch.stack([noon, speed]))[0, 1] < -0.3
    assert torch.corrcoef(torch.stack([noon, clouds]))[0, 1] > 0.2
    assert data.theta.max() < 2.5
    assert data.theta.min() > 0.4 - WIND - SUN


def test_the_curve_of_a_turbine() -> None:
    power = _wind_power(torch.tensor([0.0, CALM, 7.5, 12.0, 20.0, STORM + 1]))
    assert power.tolist()[:2] == [0.0, 0.0]
    assert 0 < power[2] < WIND / 3
    torch.testing.assert_close(power[3:], torch.tensor([WIND, WIND, 0.0]))


def test_plants_keep_their_limits_and_meet_them() -> None:
    data = tracking_data(40, seed=0)
    problem = data.problem
    assert isinstance(problem, Tracking)
    x = data.decisions.unflatten(1, (len(PLANTS), HOURS))
    steps = x.diff(dim=-1)
    for plant, (least, most, rise, fall, _) in enumerate(PLANTS):
        assert x[:, plant].min() >= least - 1e-6
        assert x[:, plant].max() <= most + 1e-6
        assert -fall - 1e-6 <= steps[:, plant].min() < steps[:, plant].max() <= rise + 1e-6
        assert (steps[:, plant] > rise - 1e-6).float().mean() > 0.02
    torch.testing.assert_close(problem.follow(data.decisions), x.sum(1))
    miss = (x.sum(1) - data.theta).square().sum(-1) * 50
    effort = sum(plant[4] / 2 * x[:, i].square().sum(-1) for i, plant in enumerate(PLANTS))
    torch.testing.assert_close(data.values, -miss - effort, rtol=1e-4, atol=1e-4)


def test_one_seed_one_data_set() -> None:
    assert torch.equal(tracking_data(9, seed=5).features, tracking_data(9, seed=5).features)
    assert not torch.equal(tracking_data(9, seed=5).theta, tracking_data(9, seed=6).theta)


def test_another_problem() -> None:
    assert tracking_data(3, problem=foresolve.TopK(24, 4)).decisions.sum(-1).eq(4).all()


def test_bad_arguments() -> None:
    with mistake("days", ">= 1"):
        tracking_data(0)
    with mistake("theta", "(*batch, 5)", "(3, 24)"):
        tracking_data(3, problem=foresolve.TopK(5, 1))


def test_errors_of_the_forecasts_are_those_of_the_formula() -> None:
    calendar, source = Calendar.of(2000), torch.Generator().manual_seed(0)
    speed, forecast = _wind_speed(calendar, source)
    error = (forecast / speed).log()
    assert error.mean().abs() < 0.01
    assert error.std() == pytest.approx(0.06 * 2**0.5, rel=0.05)
    assert error.mean(1).std() > 0.06  # a part is shared by the hours of a day
    clouds, seen = _clouds(calendar, source)
    error = seen.logit() - clouds.logit()
    assert error.mean().abs() < 0.05
    assert error.std() == pytest.approx(0.3 * 2**0.5, rel=0.05)


def test_the_target_is_the_load_that_wind_and_sun_leave() -> None:
    data, source = tracking_data(50, seed=7), torch.Generator().manual_seed(7)
    calendar = Calendar.of(50)
    load, temperatures = simulated_loads(calendar, source)
    speed, _ = _wind_speed(calendar, source)
    clouds, _ = _clouds(calendar, source)
    left = load / 1000 - _wind_power(speed) - _sun_power(calendar, clouds)
    torch.testing.assert_close(data.theta.double(), left, rtol=1e-5, atol=1e-6)
    torch.testing.assert_close(data.features[:, :24].double(), temperatures, rtol=1e-5, atol=1e-5)
    night = _sun_power(calendar, clouds)[:, [0, 1, 2, 22, 23]]
    assert (night == 0).all()
