"""What identifies an instance in the user's tables: a date, a number, a name, or several of them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
from torch import Tensor

from foresolve._base import checks, frames
from foresolve._base.extras import need

ROW = "row"  # what rows without a key are called by


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of instances, in their order.

    Attributes
    ----------
    names: of the columns that hold them.
    columns: for each of these, `(N,)`: dates (`datetime64`), whole numbers, or text.
    """

    names: tuple[str, ...]
    columns: tuple[np.ndarray, ...]

    @classmethod
    def of(cls, name: str, frame: Any, titles: Sequence[str]) -> Self:
        """From columns of `frame`, which is the argument `name`; none of them may have missing entries."""
        parts = tuple(_canonical(frames.complete(name, frame, title, "key")) for title in titles)
        return cls(tuple(titles), parts)

    @classmethod
    def of_index(cls, index: Any) -> Self:
        """From the index of a pandas frame."""
        levels = [index.get_level_values(level) for level in range(index.nlevels)]
        names = [str(level.name) if level.name is not None else ROW for level in levels]
        if len(set(names)) < len(names):
            names = [f"{name} {place}" for place, name in enumerate(names)]
        return cls(tuple(names), tuple(_canonical(level.to_series()) for level in levels))

    @classmethod
    def numbered(cls, count: int) -> Self:
        """Row numbers, where nothing else is known."""
        return cls((ROW,), (np.arange(count),))

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, place: int) -> str | tuple[str, ...]:
        """The key of one instance as text; a tuple where there are several columns."""
        parts = tuple(_text(column[place], column) for column in self.columns)
        return parts[0] if len(parts) == 1 else parts

    def select(self, index: Tensor | np.ndarray | slice) -> Keys:
        """Those of some instances."""
        places = index.detach().cpu().numpy() if isinstance(index, Tensor) else index
        return Keys(self.names, tuple(column[places] for column in self.columns))

    @property
    def times(self) -> np.ndarray | None:
        """The first column of dates, `datetime64[ns]`; `None` where there is none."""
        return next((column for column in self.columns if column.dtype.kind == "M"), None)

    def frame(self) -> Any:
        """A pandas DataFrame of the key columns."""
        pandas = need("pandas", "a frame of keys", "learn")
        return pandas.DataFrame(dict(zip(self.names, self.columns, strict=True)))

    def index(self, *, text: bool = False) -> Any:
        """A pandas Index, to look rows up in; with `text`, of text, whatever the columns hold."""
        pandas = need("pandas", "a frame of keys", "learn")
        columns = [np.array([_text(v, c) for v in c], dtype=object) if text else c for c in self.columns]
        if len(columns) == 1:
            return pandas.Index(columns[0], name=self.names[0])
        return pandas.MultiIndex.from_arrays(columns, names=self.names)

    def order(self) -> np.ndarray:
        """Positions in the order of keys: dates by time, numbers by size, text as text."""
        return np.lexsort(tuple(reversed([_sortable(column) for column in self.columns])))

    def order_in_time(self) -> np.ndarray:
        """Positions in the order of time, of keys at the same time; as they are where there are no dates."""
        if self.times is None:
            return np.arange(len(self))
        order = self.order()
        return order[np.argsort(self.times[order], kind="stable")]

    def places(self, other: Keys) -> np.ndarray:
        """Where each key of `other` stands among these; -1 where it does not."""
        same = [a.dtype.kind == b.dtype.kind for a, b in zip(self.columns, other.columns, strict=True)]
        return self.index(text=not all(same)).get_indexer(other.index(text=not all(same)))

    def check_different(self, name: str) -> None:
        """Refuse a key that stands twice, naming it."""
        twice = self.index().duplicated()
        if twice.any():
            first = self[int(twice.argmax())]
            got = f"{first!r} more than once ({int(twice.sum())} rows too many)"
            remedy = "Name all columns that identify an instance: `key=[...]`; or `variable=...` for the long form"
            raise checks.fail(name, f"one row for each {' and '.join(self.names)}", got, remedy)

    def config(self) -> list[str]:
        """The names of the columns, fit for JSON."""
        return list(self.names)


def keys_listed(keys: Keys, places: np.ndarray, most: int = 5) -> str:
    """Some keys by name, for a message."""
    shown = ", ".join(repr(keys[int(place)]) for place in places[:most])
    return shown + (f" and {len(places) - most} more" if len(places) > most else "")


def _canonical(series: Any) -> np.ndarray:
    """Dates as `datetime64[ns]`, whole numbers as `int64`, anything else as text: the same in every file."""
    pandas = need("pandas", "a frame of keys", "learn")
    dates = as_dates(series)
    if dates is not None:
        return dates
    array = series.to_numpy()
    if array.dtype.kind in "iu":
        return array.astype(np.int64)
    if array.dtype.kind == "f" and np.array_equal(array, np.round(array)) and np.abs(array).max(initial=0) < 2**53:
        return array.astype(np.int64)
    if pandas.api.types.is_integer_dtype(series.dtype):  # pandas' own integers, which may be missing
        return series.to_numpy(dtype=np.int64)
    return np.array([str(value) for value in series.to_list()], dtype=object)


def as_dates(series: Any) -> np.ndarray | None:
    """`datetime64[ns]` of a column of dates, or of text that is all ISO dates; in UTC where they have a zone.

    `None` for any other column. Entries that are missing are NaT.
    """
    pandas = need("pandas", "a column of dates", "learn")
    values = series.to_list() if series.dtype == object else None
    text = pandas.api.types.is_string_dtype(series.dtype) and not pandas.api.types.is_numeric_dtype(series.dtype)
    if pandas.api.types.is_datetime64_any_dtype(series.dtype):
        dates = series if series.dt.tz is None else series.dt.tz_convert(None)
    elif isinstance(series.dtype, pandas.PeriodDtype):
        dates = series.dt.to_timestamp()
    elif text or (values is not None and len(values) and all(_is_date(value) for value in values)):
        if text and not _looks_dated(series):
            return None
        try:
            dates = pandas.to_datetime(series, format="ISO8601", utc=True)
        except (ValueError, TypeError):
            return None
        dates = dates.dt.tz_convert(None)
    else:
        return None
    given = dates.to_numpy()
    # By the year, which each unit can tell: beyond these, some versions of NumPy wrap nanoseconds, others raise.
    far = ((given < np.datetime64("1678", "Y")) | (given >= np.datetime64("2262", "Y"))) & ~np.isnat(given)
    if far.any():
        got = f"{np.datetime_as_string(given[far][0], unit='D')} in the column {series.name!r}"
        raise checks.fail("dates", "from 1678 to 2261", got, "Leave such entries out, or the column")
    return np.asarray(given, dtype="datetime64[ns]")


def _is_date(value: Any) -> bool:
    return hasattr(value, "isoformat") or value is None or value != value


def _looks_dated(series: Any) -> bool:
    """Whether the text begins as ISO dates do: "2021-01-31"; "2021" and "0715" are names and numbers."""
    known = series.dropna().astype(str)
    return bool(len(known)) and bool(known.str.match(r"\d{4}-\d{2}-\d{2}([T ]|$)").all())


def _text(value: Any, column: np.ndarray) -> str:
    if column.dtype.kind != "M":
        return str(value)
    whole = np.array_equal(value.astype("datetime64[D]").astype(value.dtype), value)
    return str(value.astype("datetime64[D]" if whole else "datetime64[s]"))


def _sortable(column: np.ndarray) -> np.ndarray:
    """Ranks of text, which NumPy sorts slowly as objects of several columns."""
    return np.unique(column.astype(str), return_inverse=True)[1] if column.dtype == object else column
