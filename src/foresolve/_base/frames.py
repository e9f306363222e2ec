"""Frames as users have them: pandas, polars, Arrow, a file; and their columns, by name."""

from __future__ import annotations

import os
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from foresolve._base import checks
from foresolve._base.container import shown
from foresolve._base.extras import need
from foresolve._base.lookalikes import HOW, first_alike, spelled_out
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
        frame = _from_columns(name, table)
    elif hasattr(table, "to_dict") and hasattr(table, "schema") and hasattr(table, "columns"):  # polars
        frame = pandas.DataFrame({column: table[column].to_list() for column in table.columns})
    elif hasattr(table, "to_pandas"):  # Arrow
        frame = table.to_pandas()
    else:
        raise checks.fail(name, "a frame, or the path of a file that holds one", type(table).__name__)
    titles = label_texts(frame.columns)
    if list(titles) != list(frame.columns):
        frame = frame.set_axis(titles, axis=1)
    twice = (
        next((title for title in titles if titles.count(title) > 1), None) if len(set(titles)) < len(titles) else None
    )
    if twice is not None:
        raise checks.fail(name, "a frame with different names of its columns", f"{twice!r} more than once")
    if any(isinstance(dtype, pandas.ArrowDtype) for dtype in frame.dtypes):
        frame = frame.apply(_without_arrow)
    return frame


def _from_columns(name: str, table: Mapping[Any, Any]) -> Any:
    pandas = need("pandas", "a frame", "learn")
    try:
        return pandas.DataFrame(dict(table))
    except ValueError as error:
        raise checks.fail(name, "a dict of columns of one length", str(error)) from error


def label_texts(labels: Any) -> tuple[str, ...]:
    """Names of columns as text; of several levels, joined as the pairs of a matching are."""
    return tuple(
        JOINT.join(part for part in as_texts(label) if part) if isinstance(label, tuple) else as_texts([label])[0]
        for label in labels
    )


def plain(series: Any) -> Any:
    """A column as NumPy has it: without Arrow, and a categorical as its categories are."""
    pandas = need("pandas", "a frame", "learn")
    series = _without_arrow(series)
    if isinstance(series.dtype, pandas.CategoricalDtype):
        return pandas.Series(np.asarray(series), index=series.index, name=series.name)
    return series


def _without_arrow(series: Any) -> Any:
    """A column of pandas' Arrow types as one of an Arrow file: in the former NaN counts as known, and methods lack."""
    pandas = need("pandas", "a frame", "learn")
    if not isinstance(series.dtype, pandas.ArrowDtype):
        return series
    arrow = need("pyarrow", "a frame of Arrow columns", "parquet")
    column = arrow.chunked_array(series.array.__arrow_array__()).to_pandas()
    return column.set_axis(series.index).rename(series.name)


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
    if title in frame.index.names and list(frame.index.get_level_values(title)) != frame[title].to_list():
        got = "two, a column and the index, which differ"
        raise checks.fail(name, f"a frame with one {title!r}", got, "Drop one: `.reset_index(drop=True)`")
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


def check_looks(name: str, names: Iterable[Any]) -> None:
    """Refuse names of which two look the same: whoever reads a decision could not tell them apart."""
    alike = first_alike(names)
    if alike is not None:
        remedy = f"{HOW}: clean them first, `.str.strip()`, `.str.normalize('NFC')`"
        raise checks.fail(name, "names that do not look the same", spelled_out(*alike), remedy)


def listed(titles: Any, most: int = 8) -> str:
    """The first few names, for a message; the beginning of a long one: an entry may be a text of pages.

    >>> listed(["a", "b" * 1000, "c"], 2)
    "'a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb... and 1 more"
    """
    titles = list(titles)
    rest = f" and {len(titles) - most} more" if len(titles) > most else ""
    return ", ".join(shown(str(title)) for title in titles[:most]) + rest
