"""Learning curves of one or several trainings: decisions beside predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping

from foresolve._base.numbers import rounded, significant
from foresolve._base.text import listed
from foresolve.learning.history import History
from foresolve.learning.pictures.curves import draw_history, plot_learning
from foresolve.report.pages.document import Block, Role
from foresolve.report.pages.pictures import picture

SHARES = {"valid_regret": "regret", "valid_distance": "distance to decisions on record"}  # the columns of validation
ERROR = "squared error of predictions"
LOSSES = {"train_loss": "training loss", "valid_loss": "validation loss"}


def history_curves(history: History) -> Block | None:
    """One training over epochs: its validation, the error of its predictions, and its losses."""
    told = in_words({"": history}, losses=True)
    caption = " ".join(filter(None, [directions({"": history}), _least(history)]))
    return picture(lambda: draw_history(history, None), "How it learned", caption, told) if told else None


def histories_curves(
    histories: Mapping[str, History], roles: Mapping[str, Role], caption: str = "", title: str = "How models learned"
) -> Block | None:
    """Several trainings that were validated on the same data, side by side."""
    told = in_words(histories) or in_words(histories, losses=True)
    caption = f"{directions(histories)} {caption}".strip()
    return picture(lambda: plot_learning(histories, roles), title, caption, told) if told else None


def in_words(histories: Mapping[str, History], *, losses: bool = False) -> str:
    """The first, the last and the least number of each curve; nothing where none is known."""
    columns = {**SHARES, "valid_mse": ERROR, **(LOSSES if losses else {})}
    told = []
    for name, history in histories.items():
        for column, what in columns.items():
            unit, factor = (" %", 100.0) if column in SHARES else ("", 1.0)
            numbers = [factor * number for number in history.curve(column)[1] if math.isfinite(number)]
            if numbers:
                first, last, least = (significant(v, 3) + unit for v in (numbers[0], numbers[-1], min(numbers)))
                told.append(f"{f'{name}, ' if name else ''}{what} from {first} to {last}, least {least}")
    return f"Over epochs: {'; '.join(told)}." if told else ""


def directions(histories: Mapping[str, History]) -> str:
    """Where regret and the error of predictions went, in a sentence; nothing where nobody knows."""
    groups: dict[str, list[str]] = {}
    for name, history in histories.items():
        column = _validated(history)
        moves = [None if column is None else _moved(history, column), _moved(history, "valid_mse")]
        groups.setdefault(_together("regret" if column is None else SHARES[column], *moves), []).append(name)
    told = [words + (f" in {listed(names)}" if any(names) else "") for words, names in groups.items() if words]
    return f"From the first epoch to the last, {'; '.join(told)}." if told else ""


def _validated(history: History) -> str | None:
    return next((column for column in SHARES if any(not math.isnan(v) for v in history.curve(column)[1])), None)


def _moved(history: History, column: str) -> str | None:
    """What a number did from the first epoch at which it is known to the last; `None` where there are no two."""
    known = [number for number in history.curve(column)[1] if math.isfinite(number)]
    if len(known) < 2:
        return None
    first, last = rounded(known[0], 3), rounded(known[-1], 3)
    return "rose" if last > first else "fell" if last < first else "did not change"


def _least(history: History) -> str:
    """When each was at its best: the error of predictions often long before decisions are."""
    column, epochs = _validated(history), {}
    columns = [] if column is None else [(column, SHARES[column]), ("valid_mse", f"the {ERROR}")]
    for name, what in columns:
        places, numbers = history.curve(name)
        known = [(number, place) for place, number in zip(places, numbers) if math.isfinite(number)]
        if len(known) > 1:
            epochs[what] = min(known)[1]
    told = ", ".join(f"{what} was least at epoch {epoch}" for what, epoch in epochs.items())
    return f"{told[0].upper()}{told[1:]}." if told else ""


def _together(what: str, first: str | None, second: str | None) -> str:
    """
    >>> _together("regret", "fell", "rose"), _together("regret", "fell", "fell")
    ('regret fell while the squared error of predictions rose', 'regret and the squared error of predictions fell')
    """
    if first is None or second is None:
        return f"{what} {first}" if first is not None else f"the {ERROR} {second}" if second is not None else ""
    return f"{what} and the {ERROR} {first}" if first == second else f"{what} {first} while the {ERROR} {second}"
