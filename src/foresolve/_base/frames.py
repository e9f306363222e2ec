"""Frames as users have them: pandas, polars, Arrow, a file; and their columns, by name."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from typing import Any

from foresolve._base import checks
from foresolve._base.container import shown
from foresolve._base.extras import need
from foresolve._base.table_files import read_table

JOINT = " | "  # between the names of a pair, where one column names both


def as_frame(name: str, table: Any) -> Any:
    """A pandas DataFrame of a frame, an Arrow table, a dict of columns, or the path of a file (`read_table`).

    The names of columns become text: those of a CSV file are, those of a frame may be numbers.
    """
    pandas = need("pandas", "a frame", "learn")
    if isinstance(table, str | os.PathLike):
        frame = read_table(table)  # type: ignore[arg-type]
    elif isinstance(table, pandas.DataFrame):
        frame = table
    elif isinstance(table, Mapping):
        frame = pandas.DataFrame(dict(table))
    elif hasattr(table, "to_dict") and hasattr(table, "schema") and hasattr(table, "columns"):  # polars
        frame = pandas.DataFrame({column: table[column].to_list() for column in table.columns})
    elif hasattr(table, "to_pandas"):  # Arrow
        frame = table.to_pandas()
    else:
        raise checks.fail(name, "a frame, or the path of a file that holds one", type(table).__name__)
    titles = [str(column) for column in frame.columns]
    if titles != list(frame.columns):
        frame = frame.set_axis(titles, axis=1)
    twice = (
        next((title for title in titles if titles.count(title) > 1), None) if len(set(titles)) < len(titles) else None
    )
    if twice is not None:
        raise checks.fail(name, "a frame with different names of its columns", f"{twice!r} more than once")
    return frame


def has(frame: Any, title: str) -> bool:
    """Whether a frame has a column; its index counts, where pandas users keep keys."""
    return title in frame.columns or title in frame.index.names


def column(name: str, frame: Any, title: str, argument: str) -> Any:
    """One column of `frame`, also of its index; `name` is its argument, `argument` the one that says which column."""
    if not isinstance(title, str):
        raise checks.fail(argument, f"the name of a column of `{name}`", repr(title))
    if title not in frame.columns and has(frame, title):
        return frame.index.get_level_values(title).to_series(index=frame.index)
    if title not in frame.columns:
        guess = checks.did_you_mean(title, frame.columns) or f"It has {listed(frame.columns)}"
        raise checks.fail(argument, f"the name of a column of `{name}`", repr(title), guess)
    return frame[title]


def complete(name: str, frame: Any, title: str, argument: str) -> Any:
    """A column without missing entries."""
    series = column(name, frame, title, argument)
    missing = series.isna().to_numpy()
    if missing.any():
        where = f"a missing entry in {title!r}, row {int(missing.argmax())}"
        raise checks.fail(name, f"complete in its column {title!r}", where, "Drop or mend such rows first")
    return series


def numbers(name: str, frame: Any, title: str, argument: str) -> Any:
    """A complete column of numbers, as a NumPy array of float64."""
    series = complete(name, frame, title, argument)
    try:
        return series.astype(float).to_numpy()
    except (TypeError, ValueError) as error:
        raise checks.fail(name, f"numbers in its column {title!r}", str(error)) from error


def texts(name: str, frame: Any, title: str, argument: str) -> list[str]:
    """A complete column of names, as text; whole numbers without a decimal point, whatever pandas made of them.

    >>> import pandas
    >>> texts("roads", pandas.DataFrame({"id": [7.0, 12.0]}), "id", "name")
    ['7', '12']
    """
    return as_texts(complete(name, frame, title, argument).to_list())


def as_texts(values: Sequence[Any]) -> list[str]:
    """Names as text."""
    return [str(int(value)) if isinstance(value, float) and value.is_integer() else str(value) for value in values]


def listed(titles: Any, most: int = 8) -> str:
    """The first few names, for a message; the beginning of a long one: an entry may be a text of pages.

    >>> listed(["a", "b" * 1000, "c"], 2)
    "'a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb... and 1 more"
    """
    titles = list(titles)
    rest = f" and {len(titles) - most} more" if len(titles) > most else ""
    return ", ".join(shown(str(title)) for title in titles[:most]) + rest
