"""Days and their weather: what hourly loads and prices are generated from."""

from __future__ import annotations

import itertools
import math
from dataclasses import dataclass

import torch
from torch import Tensor

HOURS = 24
# New Year, a spring week's two, May Day, two in early summer, one in autumn, and Christmas; days of a year of 365.
HOLIDAYS = (0, 94, 97, 120, 138, 149, 275, 358, 359)


def normal(generator: torch.Generator, *shape: int) -> Tensor:
    """Standard normal numbers."""
    return torch.randn(shape, generator=generator, dtype=torch.float64)


def persistent(shocks: Tensor, memory: float) -> Tensor:
    r"""A stationary autoregression of variance 1 from standard normal shocks `(T,)`.

    .. math:: z_0 = \varepsilon_0, \qquad z_t = \rho z_{t-1} + \sqrt{1 - \rho^2} \, \varepsilon_t
    """
    step = math.sqrt(1.0 - memory**2)
    path = itertools.accumulate(shocks.tolist(), lambda state, shock: memory * state + step * shock)
    return torch.tensor(list(path), dtype=torch.float64)


def hourly(generator: torch.Generator, days: int, memory: float) -> Tensor:
    """Such an autoregression from hour to hour, `(days, 24)`."""
    return persistent(normal(generator, days * HOURS), memory).reshape(days, HOURS)


def daily(generator: torch.Generator, days: int, memory: float) -> Tensor:
    """Such an autoregression from day to day, `(days, 1)`."""
    return persistent(normal(generator, days), memory).unsqueeze(-1)


@dataclass(frozen=True)
class Calendar:
    """Days from a first of January on, a Monday; years have 365.

    Attributes
    ----------
    day: `(days,)`, 0, 1, 2, ...
    """

    day: Tensor

    @classmethod
    def of(cls, days: int) -> Calendar:
        """The first `days` of them."""
        return cls(torch.arange(days))

    @property
    def weekday(self) -> Tensor:
        """0 for Monday."""
        return self.day % 7

    @property
    def holiday(self) -> Tensor:
        """Whether a day is one of nine holidays of the year."""
        return torch.isin(self.day % 365, torch.tensor(HOLIDAYS))

    @property
    def angle(self) -> Tensor:
        """Where in the year, from 0 to 2 pi, `(days, 1)`."""
        return 2.0 * math.pi * (self.day % 365).double().unsqueeze(-1) / 365.0

    def features(self) -> Tensor:
        """One of seven weekdays, holidays, and two waves of the year: `(days, 10)`."""
        weekdays = torch.nn.functional.one_hot(self.weekday, 7)
        return torch.cat([weekdays, self.holiday.unsqueeze(-1), self.angle.sin(), self.angle.cos()], -1)


def temperature(calendar: Calendar, generator: torch.Generator) -> tuple[Tensor, Tensor]:
    """Temperatures in degrees Celsius, and what was forecast the day before: `(days, 24)` each."""
    days, hour = len(calendar.day), torch.arange(HOURS).double()
    wave = 4.0 * torch.cos(2.0 * math.pi * (hour - 15.0) / HOURS)
    season = 11.0 - 10.0 * torch.cos(calendar.angle - 0.35)
    truth = season + wave + 3.5 * daily(generator, days, 0.8) + 0.8 * hourly(generator, days, 0.9)
    return truth, truth + 1.0 * normal(generator, days, 1) + 0.5 * hourly(generator, days, 0.9)
