"""Frames as users have them: pandas, polars, Arrow, a file; and their columns, by name."""

from __future__ import annotations

import os
import re
from collections.abc import Container, Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from foresolve._base import checks
from foresolve._base.container import shown
from foresolve._base.extras import need
from foresolve._base.table_files import WHERE, TableFile
from foresolve.errors import Phrase, Setting

JOINT = " | "  # between the names of a pair, where one column names both
# Numbers to their users, and text to us: 1,5 or 1.234,50 or 1 234 or 1'234.5 or 1,5e-3 or 12 %.
WRITTEN_OTHERWISE = re.compile(r"\s*[+-]?\d+([.,'\u2019\s]\d{3})*([.,]\d+)?([eE][+-]?\d+)?\s*%?\s*")
_WHOLE = re.compile(r"-?\d+", re.ASCII)


def as_frame(name: str, table: Any, text: Container[str] = ()) -> Any:
    """A pandas DataFrame of a frame, an Arrow table, a dict of columns, or a file (a path or a `TableFile`).

    The names of columns become text: those of a CSV file are, those of a frame may be numbers. The columns `text` of a
    file of text stay text.
    """
    pandas = need("pandas", "a frame", "learn")
    if isinstance(table, str | os.PathLike):
        frame = as_file(table).frame(text)
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


def as_file(path: Any, settings: Mapping[str, Any] | None = None) -> TableFile:
    """A `TableFile` as it is; a path with these settings."""
    return path if isinstance(path, TableFile) else TableFile(path, **(settings or {}))


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
    """True if a frame has a column; its index counts, where pandas users keep keys."""
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


def numbers(name: str, frame: Any, title: str, argument: str) -> np.ndarray:
    """A complete column of numbers, as a NumPy array of float64."""
    return as_numbers(name, complete(name, frame, title, argument))


def as_numbers(name: str, series: Any) -> np.ndarray:
    """A column as float64, NaN where it is missing; text that is no number, and what is not finite, is named."""
    numbers = _as_floats(name, plain(series))
    endless = np.isinf(numbers)
    if endless.any():
        got = f"{numbers[endless][0]:g} {_where(series, endless)}"
        raise checks.fail(name, f"finite numbers in the column {str(series.name)!r}", got)
    return numbers


def _as_floats(name: str, series: Any) -> np.ndarray:
    pandas = need("pandas", "a frame", "learn")
    expected = f"numbers in the column {str(series.name)!r}"
    if pandas.api.types.is_timedelta64_dtype(series.dtype):
        raise checks.fail(name, expected, "lengths of time", "Say in which unit: `.dt.total_seconds()`")
    dated = pandas.api.types.is_datetime64_any_dtype(series.dtype) or isinstance(series.dtype, pandas.PeriodDtype)
    if dated or pandas.api.types.is_complex_dtype(series.dtype):  # pandas would count nanoseconds, or months
        raise checks.fail(name, expected, repr(series.iloc[0]))
    try:
        return series.to_numpy(dtype=np.float64, na_value=np.nan)
    except (TypeError, ValueError):
        series = series.mask(series == "None")  # a word in other columns, and no number in this one
        values = pandas.to_numeric(series, errors="coerce")
    wrong = (values.isna() & series.notna()).to_numpy()
    if wrong.any():
        entry = series.to_list()[int(wrong.argmax())]
        remedy = numbers_remedy() if WRITTEN_OTHERWISE.fullmatch(str(entry)) else ""
        raise checks.fail(name, expected, f"{listed([entry])} {_where(series, wrong)}", remedy)
    return values.to_numpy(dtype=np.float64, na_value=np.nan)


def numbers_remedy(*more: str | Setting) -> Phrase:
    """The remedy for numbers that are written otherwise."""
    told = ("Numbers are written 1234.5. For a file, set ", Setting("decimal"), " and ", Setting("thousands"), " in ")
    return Phrase(*told, WHERE, *more)


def _where(series: Any, wrong: np.ndarray) -> str:
    """The first entry that is wrong, by what its row is called: of a file that is read in parts, its number there."""
    return f"in row {series.index[int(wrong.argmax())]} ({int(wrong.sum())} such entries)"


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


def by_size(names: Iterable[str]) -> list[str]:
    """Names in order: whole numbers by their size if all are, else text by its letters.

    >>> by_size(["10", "9"]), by_size(["10", "9", "a"])
    (['9', '10'], ['10', '9', 'a'])
    """
    names = list(names)
    whole = all(map(_WHOLE.fullmatch, names))
    return sorted(names, key=lambda name: (int(name) if whole else 0, name))


def listed(titles: Any, most: int = 8) -> str:
    """The first few names, for a message; the beginning of a long one: an entry may be a text of pages.

    >>> listed(["a", "b" * 1000, "c"], 2)
    "'a', 'bbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbbb... and 1 more"
    """
    titles = list(titles)
    rest = f" and {len(titles) - most} more" if len(titles) > most else ""
    return ", ".join(shown(str(title)) for title in titles[:most]) + rest
