"""Keys: the dates and names that identify instances in a user's tables."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Any, Self

import numpy as np
from torch import Tensor

from foresolve._base import checks, frames
from foresolve._base.extras import need
from foresolve.data.frames.dates import ONE_WAY, as_dates, date_text

ROW = "row"  # what rows without a key are called by


@dataclass(frozen=True, eq=False)
class Keys:
    """The keys of instances, in their order.

    A key is a date or text. The text of a whole number has no decimal point, whatever type pandas gave it: 7, 7.0 and
    "7" are one key, and "007" and "7.0" are others.

    Attributes
    ----------
    names: of the columns that hold them.
    columns: for each of these, `(N,)`: dates (`datetime64`) or text.
    zoned: which of these are dates with a time zone; their entries are in UTC.
    """

    names: tuple[str, ...]
    columns: tuple[np.ndarray, ...]
    zoned: frozenset[str] = frozenset()

    @classmethod
    def of(cls, name: str, frame: Any, titles: Sequence[str]) -> Self:
        """From columns of `frame`, which is the argument `name`; none of them may have missing entries."""
        return cls._of(titles, [frames.complete(name, frame, title, "key") for title in titles])

    @classmethod
    def of_index(cls, index: Any) -> Self:
        """From the index of a pandas frame."""
        levels = [index.get_level_values(level) for level in range(index.nlevels)]
        names = [str(level.name) if level.name is not None else ROW for level in levels]
        if len(set(names)) < len(names):
            names = [f"{name} {place}" for place, name in enumerate(names)]
        return cls._of(names, [level.to_series() for level in levels])

    @classmethod
    def _of(cls, names: Sequence[str], columns: Sequence[Any]) -> Self:
        parts = [_canonical(column) for column in columns]
        zoned = frozenset(name for name, (_, zoned) in zip(names, parts, strict=True) if zoned)
        return cls(tuple(names), tuple(part for part, _ in parts), zoned)

    @classmethod
    def numbered(cls, count: int) -> Self:
        """Row numbers, where nothing else is known."""
        return cls((ROW,), (np.arange(count).astype(str).astype(object),))

    def __len__(self) -> int:
        return len(self.columns[0])

    def __getitem__(self, place: int) -> str | tuple[str, ...]:
        """The key of one instance as text; a tuple where there are several columns."""
        parts = tuple(self._text(name, column[place]) for name, column in zip(self.names, self.columns, strict=True))
        return parts[0] if len(parts) == 1 else parts

    def _text(self, name: str, value: Any) -> str:
        return date_text(value, zoned=name in self.zoned) if isinstance(value, np.datetime64) else str(value)

    def select(self, index: Tensor | np.ndarray | slice) -> Keys:
        """Those of some instances."""
        places = index.detach().cpu().numpy() if isinstance(index, Tensor) else index
        return replace(self, columns=tuple(column[places] for column in self.columns))

    @property
    def times(self) -> np.ndarray | None:
        """The first column of dates, `datetime64[ns]`; `None` where there is none."""
        return next((column for column in self.columns if column.dtype.kind == "M"), None)

    def frame(self) -> Any:
        """A pandas DataFrame of the key columns."""
        pandas = need("pandas", "a frame of keys", "learn")
        table = pandas.DataFrame(dict(zip(self.names, self.columns, strict=True)))
        return table.assign(**{name: table[name].dt.tz_localize("UTC") for name in self.zoned})

    def index(self, *, text: bool = False) -> Any:
        """A pandas Index, to look rows up in; with `text`, of text, whatever the columns hold."""
        pandas = need("pandas", "a frame of keys", "learn")
        columns: list[Any] = list(self.columns)
        if text:
            parts = zip(self.names, self.columns, strict=True)
            columns = [np.array([self._text(name, value) for value in column], dtype=object) for name, column in parts]
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
        self._check_zones(other)
        same = [a.dtype.kind == b.dtype.kind for a, b in zip(self.columns, other.columns, strict=True)]
        return self.index(text=not all(same)).get_indexer(other.index(text=not all(same)))

    def _check_zones(self, other: Keys) -> None:
        """Refuse to compare dates that have a time zone with dates that have none: they would match hours apart."""
        for name, title, own, others in zip(self.names, other.names, self.columns, other.columns, strict=True):
            differ = (name in self.zoned) != (title in other.zoned)
            if differ and own.dtype.kind == "M" == others.dtype.kind and len(own) and len(others):
                got = f"{self._text(name, own[0])!r} in one and {other._text(title, others[0])!r} in another"
                raise checks.fail("key", f"dates {name!r} with a time zone in all tables, or in none", got, ONE_WAY)

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


def _canonical(series: Any) -> tuple[np.ndarray, bool]:
    """Dates as `datetime64[ns]`, anything else as text: the same in every file.

    With it, whether dates have a time zone.
    """
    series = frames.plain(series)
    dates = as_dates(series)
    if dates is not None:
        return dates
    return np.array(frames.as_texts(series.to_list()), dtype=object), False


def _sortable(column: np.ndarray) -> np.ndarray:
    """Ranks of text, in which whole numbers go by their size."""
    if column.dtype.kind == "M":
        return column
    texts, places = np.unique(column.astype(str), return_inverse=True)
    rank = {text: place for place, text in enumerate(frames.by_size(texts.tolist()))}
    return np.array([rank[text] for text in texts.tolist()], dtype=np.int64)[places]
