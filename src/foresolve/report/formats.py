"""How numbers, budgets and lists of them are written, the same in tables, sentences and pages."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any

from foresolve._base.table import Cell
from foresolve.report.published import Published
from foresolve.report.records import Measure
from foresolve.report.summary import Estimate
from foresolve.report.view import RunView

PLUS_MINUS = "±"


@dataclass(frozen=True)
class MeasureFormat:
    """The format of a measure of predictions: its name, and how its numbers are written.

    Attributes
    ----------
    unit: of the numbers that are shown, which are `scale` times the measure; empty for none.
    """

    name: str
    digits: int
    scale: float = 1.0
    unit: str = ""

    @property
    def header(self) -> str:
        """The head of a column."""
        return f"{self.name} {self.unit}".rstrip()


MEASURE_FORMATS: dict[Measure, MeasureFormat] = {
    "mse": MeasureFormat("MSE", 4, 100.0, "(x 1e-2)"),
    "cross_entropy": MeasureFormat("CE", 3),
    "auc": MeasureFormat("AUC", 3),
}


def mean_cell(
    figure: Estimate | Published | None, digits: int = 2, scale: float = 1.0, *, note: str = "", bold: bool = False
) -> Cell:
    """A cell of a mean with its half width; empty without a figure."""
    if figure is None:
        return Cell(note=note)
    half = None if figure.half is None else scale * figure.half
    return Cell(scale * figure.mean, note=note, bold=bold, format=partial(_plus_minus, half=half, digits=digits))


def number(figure: Estimate | Published | None, digits: int = 2, scale: float = 1.0) -> str:
    """A mean with its half width, as the paper writes them; empty without a figure.

    >>> number(Published(6.149, 0.38))
    '6.15 ± 0.38'
    """
    return mean_cell(figure, digits, scale).figure


def _plus_minus(mean: float, half: float | None, digits: int) -> str:
    return f"{mean:.{digits}f}" if half is None else f"{mean:.{digits}f} {PLUS_MINUS} {half:.{digits}f}"


def share_cell(share: float | None) -> Cell:
    """A cell of a share in percent, empty where it is not known."""
    return Cell(share, format=lambda share: f"{100 * share:.1f} %")


def moment(text: Any) -> datetime | None:
    """The time that a session noted; `None` for what is none, and for what is no time.

    >>> moment("2026-11-16T10:00:00+00:00")
    datetime.datetime(2026, 11, 16, 10, 0, tzinfo=datetime.timezone.utc)
    """
    try:
        noted = datetime.fromisoformat(str(text))
    except ValueError:
        return None
    return noted if noted.tzinfo else noted.replace(tzinfo=UTC)


def percent(value: float) -> str:
    """With a sign, and one place behind the point where it is small.

    >>> percent(-3.94), percent(406.9)
    ('-3.9 %', '+407 %')
    """
    return f"{value:+.1f} %" if abs(value) < 9.95 else f"{value:+.0f} %"


def budget(k: int | None) -> str:
    """The head of a column."""
    return "value" if k is None else f"k = {k}"


def at(k: int | None) -> str:
    """A budget behind what is said of it."""
    return "" if k is None else f" at k = {k}"


def digits(run: RunView) -> int:
    """Two places behind the point as in the paper, four where all values are small."""
    return 4 if all(abs(row.value.mean) < 1 for row in run.rows) else 2


def title(run: RunView) -> str:
    """The head of a block: which run it is, on which data, and how large it is."""
    source = "generated data" if run.config.data is None else "real data"
    splits = max((row.value.splits for row in run.rows), default=0)
    size = "quick" if run.config.quick else ""
    parts = (run.protocol_words, source, size, f"{splits} {'split' if splits == 1 else 'splits'}")
    return f"{run.info.title} ({', '.join(filter(None, parts))})"


def best_words(by_steps: bool) -> str:
    """What a share is a share of."""
    return "the best by the same ten steps" if by_steps else "the best decisions known"
