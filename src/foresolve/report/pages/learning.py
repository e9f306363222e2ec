"""Learning curves of one or several trainings: decisions beside predictions."""

from __future__ import annotations

import math
from collections.abc import Mapping

from foresolve._base.numbers import rounded
from foresolve._base.text import listed
from foresolve.learning.history import History
from foresolve.report.pages.curves import Curve, Curves, Panel, panel
from foresolve.report.pages.document import Role

# What validation was by: its column, the title of its panel, and what a sentence calls it.
SHARES = {
    "valid_regret": ("Regret in validation (%)", "regret"),
    "valid_distance": ("Distance to decisions on record (%)", "distance to decisions on record"),
}
ERROR = "squared error of predictions"


def history_curves(history: History) -> Curves | None:
    """Of one training: what was validated, the error of predictions, and losses, over epochs."""
    losses = [Curve("training loss", tuple(history.train_loss), 1, "reference"),
              Curve("validation loss", tuple(history.valid_loss), 1, "decision-focused")]  # fmt: skip
    best = history.best_epoch
    panels = [*_panels({"": history}, {}, best), panel("Loss", losses, best)]
    drawn = tuple(one for one in panels if one is not None)
    told = " ".join(filter(None, [directions({"": history}), _least(history)]))
    return Curves("How it learned", drawn, told) if drawn else None


def histories_curves(
    histories: Mapping[str, History],
    roles: Mapping[str, Role],
    caption: str = "",
    more: Panel | None = None,
    title: str = "How models learned",
) -> Curves | None:
    """Of several trainings that were validated on the same data, and a panel of something else."""
    drawn = (*_panels(histories, roles), *([] if more is None else [more]))
    return Curves(title, drawn, f"{directions(histories)} {caption}".strip()) if drawn else None


def directions(histories: Mapping[str, History]) -> str:
    """Where regret and the error of predictions went, in a sentence; nothing where nobody knows."""
    groups: dict[str, list[str]] = {}
    for name, history in histories.items():
        column = _validated(history)
        moves = [None if column is None else _moved(history, column), _moved(history, "valid_mse")]
        groups.setdefault(_together("regret" if column is None else SHARES[column][1], *moves), []).append(name)
    told = [words + (f" in {listed(names)}" if any(names) else "") for words, names in groups.items() if words]
    return f"From the first epoch to the last, {'; '.join(told)}." if told else ""


def _panels(histories: Mapping[str, History], roles: Mapping[str, Role], best: int | None = None) -> list[Panel]:
    panels = [panel(words, [_curve(name or what, history, column, roles.get(name), 100.0)
                            for name, history in histories.items()], best)
              for column, (words, what) in SHARES.items()]  # fmt: skip
    errors = [_curve(name or ERROR, history, "valid_mse", roles.get(name)) for name, history in histories.items()]
    panels.append(panel(f"{ERROR.capitalize()} in validation", errors, best))
    return [one for one in panels if one is not None]


def _curve(name: str, history: History, column: str, role: Role | None, scale: float = 1.0) -> Curve:
    epochs, numbers = history.curve(column)
    return Curve(name, tuple(None if math.isnan(v) else scale * v for v in numbers), epochs[0] if epochs else 1, role)


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
    columns = [] if column is None else [(column, SHARES[column][1]), ("valid_mse", f"the {ERROR}")]
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
