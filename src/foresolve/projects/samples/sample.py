"""What `foresolve init` writes: the files of a project, as text."""

from __future__ import annotations

import datetime
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from foresolve.projects.settings import NAME
from foresolve.projects.template import template

DAYS = ("Mon", "Tue", "Wed", "Thu", "Fri", "Sat", "Sun")
# What every sample has besides the past: features to decide on, and what was later known to be true.
NEW, LATER, LATER_TRUTH = "tomorrow.csv", "later.csv", "later_actuals.csv"
TRAINING = {"budget": "1 min"}


@dataclass(frozen=True)
class Sample:
    """A project to begin with.

    Attributes
    ----------
    kind: of the problem.
    story: what it is about, in a sentence.
    files: their text by name, without the settings.
    values: of the settings, by section and key.
    """

    kind: str
    story: str
    files: Mapping[str, str]
    values: Mapping[str, Mapping[str, Any]]

    def documents(self) -> dict[str, str]:
        """Every file by name, the settings first."""
        values = {**self.values, "problem": {"kind": self.kind, **self.values["problem"]}}
        return {NAME: template(self.kind, values), **self.files}


def csv_text(header: Sequence[str], rows: Iterable[Sequence[Any]]) -> str:
    """Rows under a header; numbers to three digits, `None` empty."""
    lines = [",".join(header)]
    lines += [",".join(_cell(value) for value in row) for row in rows]
    return "\n".join(lines) + "\n"


def _cell(value: Any) -> str:
    if value is None or (isinstance(value, float) and np.isnan(value)):
        return ""
    return f"{value:.3g}" if isinstance(value, float) else str(value)


def calendar(count: int) -> list[datetime.date]:
    """So many days in a row."""
    first = datetime.date(2024, 1, 1)
    return [first + datetime.timedelta(days=number) for number in range(count)]


def weekday(date: datetime.date) -> str:
    """In three letters, whatever the language of the machine."""
    return DAYS[date.weekday()]


def showers(rng: np.random.Generator, count: int) -> np.ndarray:
    """Rain in millimeters: most days dry, some very wet."""
    return np.where(rng.random(count) < 0.45, rng.gamma(1.5, 5.0, count), 0.0).round(1)
