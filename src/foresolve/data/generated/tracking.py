"""Power plants that follow the load which wind and sun leave them."""

from __future__ import annotations

import math

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.loads import simulated_loads
from foresolve.data.generated.weather import HOURS, Calendar, daily, hourly, normal
from foresolve.problems.base import Problem
from foresolve.problems.tracking import Tracking

WIND, SUN = 0.5, 0.6  # GW that are installed, beside a mean load of about 1
CALM, FULL, STORM = 3.0, 12.0, 25.0  # m/s: where a turbine starts, where it gives all it can, where it is stopped
# For each plant: GW at least and at most, by how much it can rise and fall in an hour, and its effort.
PLANTS = ((0.15, 0.6, 0.04, 0.06, 1.0), (0.0, 0.35, 0.12, 0.18, 3.0))
WEIGHT = 100.0  # of half a squared miss


def tracking_data(days: int, *, problem: Problem | None = None, seed: Seed = 0) -> DecisionDataset:
    r"""Two power plants that follow the load of a day within their ramps and capacities: generated, in GW.

    The target is the load (that of `load_data`) less what wind and sun give, with the speed of the wind :math:`s` in
    m/s and the share of the sky that clouds cover :math:`c`,

    .. math::
        \theta_{dh} = \text{load}_{dh}
        - 0.5 \left[ \frac{s_{dh}^3 - 3^3}{12^3 - 3^3} \right]_0^1 \mathbf{1}[s_{dh} < 25]
        - 0.6 \, \text{height}_{dh} \, (1 - 0.75 \, c_{dh}^{3.4})

    which is far from linear in what is forecast. A slow plant of 0.15 to 0.6 GW rises by 0.04 and falls by 0.06 in an
    hour, a fast one of up to 0.35 GW by 0.12 and 0.18: what the load is beyond their reach does not matter, how early
    it rises does. `problem` is a `Tracking` of 48 variables, the hours of the one and then of the other: a miss of `m`
    GW costs `50 m^2`, and an output of `g` GW `0.5 g^2` and `1.5 g^2`.

    Days follow each other from a first of January: split them by time, `data.split(700, 100, 200, shuffle=False)`.

    Parameters
    ----------
    days: how many.
    problem: what is decided on 24 loads, if not that.
    seed: of all randomness, a number or a generator on the CPU.

    Returns
    -------
    A data set of features `(days, 82)` and theta `(days, 24)`, in torch's default dtype, with the label `day`. The
    features, all known the day before: forecasts of temperature (degrees Celsius), of the speed of the wind and of
    clouds (24 each), weekday (7), holiday (1), season (2).

    Examples
    --------
    >>> from foresolve.data import tracking_data
    >>> data = tracking_data(30)
    >>> data.features.shape, data.theta.shape, data.problem.n
    (torch.Size([30, 82]), torch.Size([30, 24]), 48)
    """
    days, generator = checks.positive_int("days", days), as_generator("seed", seed, cpu=True)
    calendar = Calendar.of(days)
    load, temperatures = simulated_loads(calendar, generator)
    speed, speed_forecast = _wind_speed(calendar, generator)
    clouds, cloud_forecast = _clouds(calendar, generator)
    target = load / 1000.0 - _wind_power(speed) - _sun_power(calendar, clouds)
    features = torch.cat([temperatures, speed_forecast, cloud_forecast, calendar.features()], -1)
    dtype = torch.get_default_dtype()
    plan = _plants() if problem is None else problem
    return DecisionDataset(features.to(dtype), target.to(dtype), plan, labels={"day": calendar.day})


def _plants() -> Tracking:
    """The output of each plant in each hour; together they follow the target."""
    hours, count = np.arange(1, HOURS), len(PLANTS)
    least, most, rise, fall, effort = (np.repeat(column, HOURS) for column in zip(*PLANTS))
    places = (np.arange(count)[:, None] * HOURS + hours).ravel()  # all hours but the first
    step = np.zeros((len(places), count * HOURS))
    step[np.arange(len(places)), places], step[np.arange(len(places)), places - 1] = 1.0, -1.0
    names = [f"plant {i} {hour:02}:00" for i in range(count) for hour in range(HOURS)]
    return Tracking(
        np.concatenate([step, -step]), np.concatenate([rise[places], fall[places]]), bounds=(least, most),
        outputs=np.tile(np.eye(HOURS), count), weights=WEIGHT, effort=effort, names=names,
        theta_names=[f"load {hour:02}:00" for hour in range(HOURS)],
    )  # fmt: skip


def _wind_speed(calendar: Calendar, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """In m/s, and what was forecast the day before: `(days, 24)` each."""
    days = len(calendar.day)
    state = 0.25 * daily(generator, days, 0.5) + 0.35 * hourly(generator, days, 0.95) + 0.1 * calendar.angle.cos()
    speed = 7.5 * state.exp()
    error = 0.06 * normal(generator, days, 1) + 0.06 * hourly(generator, days, 0.8)
    return speed, speed * error.exp()


def _clouds(calendar: Calendar, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """The share of the sky that they cover, and what was forecast: `(days, 24)` each."""
    days = len(calendar.day)
    state = 1.2 * daily(generator, days, 0.6) + 0.8 * hourly(generator, days, 0.9) + 0.4 * calendar.angle.cos()
    error = 0.3 * normal(generator, days, 1) + 0.3 * hourly(generator, days, 0.8)
    return state.sigmoid(), (state + error).sigmoid()


def _wind_power(speed: Tensor) -> Tensor:
    share = ((speed**3 - CALM**3) / (FULL**3 - CALM**3)).clamp(0.0, 1.0)
    return WIND * torch.where(speed < STORM, share, 0.0)


def _sun_power(calendar: Calendar, clouds: Tensor) -> Tensor:
    hour = torch.arange(HOURS).double() + 0.5
    height = 0.25 - 0.35 * calendar.angle.cos() + 0.75 * torch.cos(2.0 * math.pi * (hour - 13.0) / HOURS)
    return SUN * height.clamp(0.0, 1.0) * (1.0 - 0.75 * clouds**3.4)
