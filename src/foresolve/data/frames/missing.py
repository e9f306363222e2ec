"""Missing values, by a rule that the user chooses, counted."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, Literal, NamedTuple, get_args

import numpy as np

from foresolve._base import checks
from foresolve.data.frames.encoding import Encoding
from foresolve.data.frames.keys import Keys, keys_listed
from foresolve.errors import ForesolveWarning, Words

Rule = Literal["refuse", "drop", "mean", "median", "previous"]
STATISTICS = ("mean", "median")
RULES = (
    'Choose a rule for it in `missing`: "drop" leaves such instances out; '
    '"mean", "median" and "previous" fill the entries'
)


class Missing(NamedTuple):
    """What was missing, and what became of it.

    Attributes
    ----------
    features, theta: how many entries of the user's tables were missing.
    dropped: how many instances were left out for it.
    rules: of features and parameters.
    """

    features: int
    theta: int
    dropped: int
    rules: tuple[Rule, Rule]

    def __str__(self) -> str:
        if not (self.features or self.theta):
            return "nothing is missing"
        parts = [
            f"{count} entries of {name} ({rule})"
            for name, count, rule in zip(("features", "theta"), self[:2], self.rules)
            if count
        ]
        dropped = f"; {self.dropped} instances are left out" if self.dropped else ""
        return f"missing: {' and '.join(parts)}{dropped}"


def as_rules(missing: Any) -> tuple[Rule, Rule]:
    """The rules of features and parameters."""
    if isinstance(missing, Mapping):
        for name in missing:
            checks.one_of("missing", name, ("features", "theta"))
        given = (missing.get("features", "refuse"), missing.get("theta", "refuse"))
    else:
        given = (missing, missing)
    return tuple(checks.one_of("missing", rule, get_args(Rule)) for rule in given)  # type: ignore[return-value]


def refuse(
    name: str, holes: np.ndarray, keys: Keys, columns: tuple[str, ...], remedy: Words = RULES, what: str = "entries"
) -> None:
    """An error that names the columns and instances with missing entries `(N, ..., columns)`."""
    flat = holes.reshape(len(holes), -1, holes.shape[-1])
    rows, places = flat.any((1, 2)), flat.any((0, 1))
    which = ", ".join(repr(columns[place]) for place in np.flatnonzero(places)[:5])
    more = f" and {int(places.sum()) - 5} more" if places.sum() > 5 else ""
    got = f"{int(holes.sum())} missing {what} in {int(rows.sum())} instances: {which}{more} of "
    raise checks.fail(name, "complete", got + keys_listed(keys, np.flatnonzero(rows), 3), remedy)


def previous(table: np.ndarray, start: np.ndarray | None = None) -> np.ndarray:
    """Each missing entry as the last one before it in the same column; still NaN where there is none."""
    rows = np.where(np.isnan(table), -1, np.arange(len(table)).reshape(-1, *[1] * (table.ndim - 1)))
    last = np.maximum.accumulate(rows, axis=0)
    filled = np.take_along_axis(table, np.maximum(last, 0), axis=0)
    return filled if start is None else np.where(last < 0, start, filled)


def warn_of_same_times(table: np.ndarray, keys: Keys, times: np.ndarray | None) -> None:
    """Say so where "previous" goes through several instances of one time: a depot would have another one's stock.

    Rows `(N, ...)` are in the order in which they are filled; missing entries are NaN.
    """
    if times is None or len(np.unique(times)) == len(times):
        return
    flat = table.reshape(len(table), -1)
    known = np.where(np.isnan(flat), -1, np.arange(len(flat))[:, None])
    source = np.maximum.accumulate(known, axis=0)
    rows, places = np.nonzero(np.isnan(flat) & (source >= 0))
    if len(rows):
        into, taken = keys[int(rows[0])], keys[int(source[rows[0], places[0]])]
        checks.warn(
            f'several instances are of the same time, and "previous" takes the last one by time and key: what {into!r} '
            f"lacks is taken from {taken!r}, and so on. Where these are of different things, fill the tables before",
            ForesolveWarning,
        )


def statistic(table: np.ndarray, holes: np.ndarray, rule: Rule, encoding: Encoding | None = None) -> np.ndarray:
    """What a missing entry of each column becomes: `(columns,)` of what is known in `table` `(N, columns)`.

    Of categories, and of dates, the most frequent row, whatever the rule: a mean of indicators is no category.
    """
    known = np.where(holes, np.nan, table)
    with np.errstate(all="ignore"):
        average = np.nanmean if rule == "mean" else np.nanmedian
        empty = holes.all(0)
        values = np.zeros(table.shape[1:])
        values[~empty] = average(known[:, ~empty], axis=0)
    for part, column in () if encoding is None else encoding.groups():
        if column.kind in ("category", "date"):
            rows = known[:, part][~holes[:, part].any(1)]
            if len(rows):
                distinct, counts = np.unique(rows, axis=0, return_counts=True)
                values[part] = distinct[counts.argmax()]
    return values
