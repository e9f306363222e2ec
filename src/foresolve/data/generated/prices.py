"""Day-ahead prices of electricity, hour by hour."""

from __future__ import annotations

import math

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.loads import WEEK, dated, simulated_loads
from foresolve.data.generated.weather import HOURS, Calendar, daily, hourly, normal
from foresolve.problems.base import Problem
from foresolve.problems.top_k import TopK

WIND, SUN = 450.0, 500.0  # MW that are installed, beside a mean load of about 1,000
MOST = 1500.0  # $/MWh, where the market's price is capped


def price_data(days: int, *, problem: Problem | None = None, seed: Seed = 0) -> DecisionDataset:
    r"""The day-ahead price of each hour, to be predicted before the market closes: generated, in $/MWh.

    Prices follow the merit order: the load (that of `load_data`) less wind and sun, over what power plants can
    deliver, :math:`u_{dh}`, sets the price through a convex curve that is steep where plants are scarce and falls below
    zero where they would have to be switched off,

    .. math::
        p_{dh} = f_d \, \bigl(5 + 50 \, u_{dh} + 8 e^{(u_{dh} - 0.8) / 0.09}\bigr) \, e^{0.05 \, v_{dh}}
            - 6 \, e^{(0.32 - u_{dh}) / 0.09}

    with the price of fuel :math:`f_d`, plants that break down for days, and noise :math:`v_{dh}`, all autoregressions,
    and limits of the market at -150 and 1,500. What comes out has a daily and weekly profile, a level that wanders,
    spikes upwards and a few negative hours. Real prices have all of these, but not these numbers.

    Days follow each other from a first of January: split them by time, `data.split(700, 100, 200, shuffle=False)`.

    Parameters
    ----------
    days: how many.
    problem: what is decided on 24 prices; by default `TopK(24, 4)`, the four dearest hours.
    seed: of all randomness, a number or a generator on the CPU.

    Returns
    -------
    A data set of features `(days, 130)` and theta `(days, 24)`, in torch's default dtype, with the label `day`. The
    features, all known the day before: prices of the last day (24) and of the same day of the last week (24), forecasts
    of load, wind and sun (24 each, in MW), weekday (7), holiday (1), season (2).

    Examples
    --------
    >>> from foresolve.data import price_data
    >>> data = price_data(30)
    >>> data.features.shape, data.theta.shape, data.labels["day"][:3]
    (torch.Size([30, 130]), torch.Size([30, 24]), tensor([7, 8, 9]))
    """
    days, generator = checks.positive_int("days", days), as_generator("seed", seed, cpu=True)
    calendar = Calendar.of(days + WEEK)
    load, _ = simulated_loads(calendar, generator)
    wind, sun = _wind(calendar, generator), _sun(calendar, generator)
    prices = _prices(load - wind - sun, generator)
    forecasts = [_misjudged(load, 0.015 * load, generator), _misjudged(wind, torch.tensor(0.05 * WIND), generator),
                 _misjudged(sun, 0.12 * sun, generator)]  # fmt: skip
    return dated(calendar, prices, forecasts, TopK(HOURS, 4) if problem is None else problem)


def _prices(residual: Tensor, generator: torch.Generator) -> Tensor:
    """From the load that wind and sun leave, `(days, 24)`."""
    days = len(residual)
    fuel = torch.exp(0.25 * daily(generator, days, 0.98))
    plants = 1430.0 - 90.0 * torch.exp(0.6 * daily(generator, days, 0.9))
    scarcity = residual / plants
    curve = 5.0 + 50.0 * scarcity + 8.0 * torch.exp((scarcity - 0.8) / 0.09)
    prices = fuel * curve * torch.exp(0.05 * hourly(generator, days, 0.7)) - 6.0 * torch.exp((0.32 - scarcity) / 0.09)
    return prices.clamp(-MOST / 10, MOST)


def _wind(calendar: Calendar, generator: torch.Generator) -> Tensor:
    state = 1.3 * hourly(generator, len(calendar.day), 0.97) - 0.9 + 0.3 * calendar.angle.cos()
    return WIND * state.sigmoid()


def _sun(calendar: Calendar, generator: torch.Generator) -> Tensor:
    hour = torch.arange(HOURS).double() + 0.5
    height = 0.55 - 0.35 * calendar.angle.cos() + 0.75 * torch.cos(2.0 * math.pi * (hour - 13.0) / HOURS) - 0.3
    clear = torch.sigmoid(0.8 + 1.2 * daily(generator, len(calendar.day), 0.5))
    return SUN * clear * height.clamp(0.0, 1.0)


def _misjudged(truth: Tensor, spread: Tensor, generator: torch.Generator) -> Tensor:
    """What was forecast the day before, not negative: half of the error is that of the day, half that of the hour."""
    days = len(truth)
    error = math.sqrt(0.5) * (normal(generator, days, 1) + hourly(generator, days, 0.8))
    return (truth + spread * error).clamp_min(0.0)
