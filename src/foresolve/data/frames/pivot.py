"""The long form, one row per instance and variable, as arrays."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from foresolve._base import checks, frames
from foresolve.data.frames.keys import Keys, keys_listed

Axes = tuple[tuple[str, ...], ...]


class Pivot(NamedTuple):
    """Which row of a long frame is which instance and variable.

    Attributes
    ----------
    keys: of the instances, in the order in which they first appear.
    rows: `(N, *sizes of the axes)`, row numbers; -1 where there is no row.
    """

    keys: Keys
    rows: np.ndarray

    def table(self, column: np.ndarray) -> np.ndarray:
        """A column `(rows, ...)` as `(N, *sizes, ...)`; NaN where there is no row."""
        values = column[self.rows]
        values[self.rows < 0] = np.nan
        return values


def pivot(name: str, frame: Any, keys: Keys, variable: Sequence[str], axes: Axes) -> Pivot:
    """Rows by the key and the names in the columns `variable`, which `axes` has in their order.

    A name that is on no axis and a variable that an instance has twice are refused; one that it lacks is missing.
    """
    codes, first = _factorized(keys)
    places = [codes]
    for title, names in zip(variable, axes, strict=True):
        places.append(_positions(name, frame, title, names))
    shape = (len(first), *(len(names) for names in axes))
    flat = np.ravel_multi_index(tuple(places), shape)
    counts = np.bincount(flat, minlength=int(np.prod(shape)))
    if counts.max(initial=0) > 1:
        row = int(np.flatnonzero(counts[flat] > 1)[0])
        which = " and ".join(repr(str(frame[title].iloc[row])) for title in variable)
        got = f"{which} of {keys[row]!r} more than once ({int((counts > 1).sum())} such)"
        raise checks.fail(name, "one row for each instance and variable", got, "Drop or average such rows first")
    rows = np.full(int(np.prod(shape)), -1)
    rows[flat] = np.arange(len(flat))
    return Pivot(keys.select(first), rows.reshape(shape))


def _factorized(keys: Keys) -> tuple[np.ndarray, np.ndarray]:
    """The number of its instance for each row, by first appearance, and the first row of each."""
    codes, _ = keys.index().factorize()
    first = np.full(int(codes.max(initial=-1)) + 1, -1)
    order = np.arange(len(codes))[::-1]
    first[codes[order]] = order  # the earliest comes last, and stays
    return codes, first


def _positions(name: str, frame: Any, title: str, names: tuple[str, ...]) -> np.ndarray:
    texts = frames.texts(name, frame, title, "variable")
    place = {text: position for position, text in enumerate(names)}
    positions = np.array([place.get(text, -1) for text in texts])
    if (positions < 0).any():
        strange = list(dict.fromkeys(texts[row] for row in np.flatnonzero(positions < 0)))
        remedy = checks.did_you_mean(strange[0], names) or f"The problem has {frames.listed(names, 5)}"
        expected = f"names of the problem in its column {title!r}"
        raise checks.fail(name, expected, f"{frames.listed(strange, 5)}", remedy)
    return positions


def constant_in(name: str, table: np.ndarray, title: str, keys: Keys) -> np.ndarray:
    """`(N,)` of `(N, ...)` numbers that are the same for all variables of an instance; NaN is left aside."""
    flat = table.reshape(len(table), -1)
    with np.errstate(all="ignore"):
        low, high = np.nanmin(flat, 1), np.nanmax(flat, 1)
    differ = np.flatnonzero(low != high)
    if len(differ):
        got = f"several in {keys_listed(keys, differ, 3)}"
        raise checks.fail(name, f"one number per instance in its column {title!r}", got)
    return low
