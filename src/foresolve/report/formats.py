"""How numbers, budgets and lists of them are written, the same in tables, sentences and pages."""

from __future__ import annotations

from collections.abc import Sequence

from foresolve.report.records import Measure
from foresolve.report.view import RunView

PLUS_MINUS = "±"
MEASURE_NAMES: dict[Measure, str] = {"mse": "MSE (x 1e-2)", "cross_entropy": "CE", "auc": "AUC"}
MEASURE_SCALES: dict[Measure, float] = {"mse": 100.0, "cross_entropy": 1.0, "auc": 1.0}
MEASURE_DIGITS: dict[Measure, int] = {"mse": 4, "cross_entropy": 3, "auc": 3}


def number(value: float | None, half: float | None, digits: int = 2, scale: float = 1.0) -> str:
    """A mean with its half width, as the paper writes them.

    >>> number(6.149, 0.38)
    '6.15 ± 0.38'
    """
    if value is None:
        return ""
    mean = f"{scale * value:.{digits}f}"
    return mean if half is None else f"{mean} {PLUS_MINUS} {scale * half:.{digits}f}"


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


def listed(parts: Sequence[str]) -> str:
    """
    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


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
