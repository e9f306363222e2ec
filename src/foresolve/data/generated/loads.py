"""Electric loads, hour by hour."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.weather import HOURS, Calendar, daily, hourly, temperature
from foresolve.problems.base import Problem
from foresolve.problems.top_k import TopK

WEEK = 7
MEAN = 1000.0  # MW
# Shares of the mean load from midnight on: working days, and Sundays with holidays; Saturdays are halfway.
WORKING = (
    0.78, 0.74, 0.72, 0.71, 0.73, 0.80, 0.93, 1.06, 1.12, 1.13, 1.13, 1.14,
    1.13, 1.12, 1.10, 1.09, 1.10, 1.15, 1.20, 1.19, 1.12, 1.03, 0.93, 0.84,
)  # fmt: skip
RESTING = (
    0.76, 0.72, 0.69, 0.67, 0.67, 0.68, 0.71, 0.77, 0.85, 0.92, 0.96, 0.99,
    1.00, 0.97, 0.93, 0.91, 0.92, 0.98, 1.05, 1.07, 1.03, 0.96, 0.88, 0.80,
)  # fmt: skip


def load_data(days: int, *, problem: Problem | None = None, seed: Seed = 0) -> DecisionDataset:
    r"""The load of a region in each hour of a day, to be predicted the day before: generated, in MW.

    With the shape :math:`s` of a working day, Saturday or Sunday, the temperature :math:`T` in degrees Celsius, and
    autoregressions :math:`u_d` from day to day and :math:`v_{dh}` from hour to hour,

    .. math::
        \text{load}_{dh} = 1000 \, s_{dh} \bigl(1 + 0.012 \, (15 - T_{dh})_+ + 0.02 \, (T_{dh} - 21)_+\bigr)
        \bigl(1 + \sigma_{dh} (u_d + v_{dh})\bigr), \qquad
        \sigma_{dh} = 0.015 + 0.0015 \, (T_{dh} - 21)_+ + 0.001 \, (5 - T_{dh})_+

    Days follow each other from a first of January: split them by time, `data.split(700, 100, 200, shuffle=False)`.

    Parameters
    ----------
    days: how many.
    problem: what is decided on 24 loads; by default `TopK(24, 4)`, the four peak hours.
    seed: of all randomness, a number or a generator on the CPU.

    Returns
    -------
    A data set of features `(days, 82)` and theta `(days, 24)`, in torch's default dtype, with the label `day`. The
    features, all known the day before: loads of the last day (24) and of the same day of the last week (24), forecast
    temperatures (24), weekday (7), holiday (1), season (2).

    Examples
    --------
    >>> from foresolve.data import load_data
    >>> data = load_data(30)
    >>> data.features.shape, data.theta.shape, data.labels["day"][:3]
    (torch.Size([30, 82]), torch.Size([30, 24]), tensor([7, 8, 9]))
    """
    days, generator = checks.positive_int("days", days), as_generator("seed", seed, cpu=True)
    calendar = Calendar.of(days + WEEK)
    loads, temperatures = simulated_loads(calendar, generator)
    return dated(calendar, loads, [temperatures], TopK(HOURS, 4) if problem is None else problem)


def simulated_loads(calendar: Calendar, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Loads in MW, and the temperatures that were forecast: `(days, 24)` each."""
    days = len(calendar.day)
    truth, forecast = temperature(calendar, generator)
    hot, cold, bitter = (truth - 21.0).clamp_min(0), (15.0 - truth).clamp_min(0), (5.0 - truth).clamp_min(0)
    spread = 0.015 + 0.0015 * hot + 0.001 * bitter
    noise = daily(generator, days, 0.7) + hourly(generator, days, 0.85)
    return MEAN * _shape(calendar) * (1.0 + 0.012 * cold + 0.02 * hot) * (1.0 + spread * noise), forecast


def dated(calendar: Calendar, theta: Tensor, forecasts: list[Tensor], problem: Problem) -> DecisionDataset:
    """All days but those of the first week, each with `theta` of the day before and of a week before."""
    dtype = torch.get_default_dtype()
    past = [theta[WEEK - 1 : -1], theta[:-WEEK]]
    features = torch.cat([*past, *(table[WEEK:] for table in (*forecasts, calendar.features()))], -1)
    return DecisionDataset(features.to(dtype), theta[WEEK:].to(dtype), problem, labels={"day": calendar.day[WEEK:]})


def _shape(calendar: Calendar) -> Tensor:
    """Shares of the mean load, `(days, 24)`."""
    working, resting = (torch.tensor(shape, dtype=torch.float64) for shape in (WORKING, RESTING))
    kinds = torch.stack([working, (working + resting) / 2, resting])
    kind = (calendar.weekday - 4).clamp_min(0)
    return kinds[torch.where(calendar.holiday, 2, kind)]
