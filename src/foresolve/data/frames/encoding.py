"""How columns of a frame become numbers."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, Self, get_args

import numpy as np

from foresolve._base import checks, frames
from foresolve._base.extras import need
from foresolve.data.frames.dates import ONE_WAY, WRITTEN, Dates, as_dates, unread, written_otherwise
from foresolve.errors import ForesolveWarning, Phrase, Setting

Kind = Literal["number", "category", "date", "trend", "ignore"]
MOST_CATEGORIES = 50
WEEKDAYS = ("Monday", "Tuesday", "Wednesday", "Thursday", "Friday", "Saturday", "Sunday")
DAY, YEAR = np.timedelta64(1, "D"), 365.2425


@dataclass(frozen=True)
class Column:
    """One column of the user's, and how it is encoded.

    Attributes
    ----------
    kind: "number", "category", "date" or "trend".
    categories: of a "category", in the order of the numbers they become.
    hours: whether a "date" has times of day.
    start: of a "trend", the date that counts as 0.
    zoned: whether a "date" or a "trend" has a time zone; `None` where nobody knows.
    """

    title: str
    kind: Kind
    categories: tuple[str, ...] = ()
    hours: bool = False
    start: str = ""
    zoned: bool | None = None

    @property
    def names(self) -> tuple[str, ...]:
        """Of the numbers that it becomes."""
        if self.kind == "category":
            return tuple(f"{self.title} = {category}" for category in self.categories)
        if self.kind == "trend":
            return (f"{self.title} days",)
        if self.kind == "date":
            hours = (f"{self.title} hour sin", f"{self.title} hour cos") if self.hours else ()
            season = (f"{self.title} season sin", f"{self.title} season cos")
            return (*season, *(f"{self.title} = {day}" for day in WEEKDAYS), *hours)
        return (self.title,)

    def numbers(self, series: Any) -> np.ndarray:
        """`(N, len(names))`, float64; a row of NaN where the entry is missing."""
        if series.isna().all():  # then its type says nothing
            return np.full((len(series), len(self.names)), np.nan)
        if self.kind == "category":
            return self._indicators(series)
        if self.kind in ("date", "trend"):
            dates = as_dates(series)
            if dates is None:
                raise checks.fail("features", f"dates in their column {self.title!r}", _example(series), WRITTEN)
            self._check_zone(dates)
            return self._calendar(dates.values) if self.kind == "date" else self._days(dates.values)
        return frames.as_numbers("features", series)[:, None]

    def _indicators(self, series: Any) -> np.ndarray:
        places = {category: place for place, category in enumerate(self.categories)}
        missing = series.isna().to_numpy()
        table = np.zeros((len(series), len(places)))
        unknown: dict[str, int] = {}
        for row, text in enumerate(frames.as_texts(series.to_list())):
            if missing[row]:
                table[row] = np.nan
            elif text in places:
                table[row, places[text]] = 1.0
            else:
                unknown[text] = unknown.get(text, 0) + 1
        if unknown:
            told = ", ".join(f"{frames.listed([text])} in {count} rows" for text, count in list(unknown.items())[:5])
            told += f" and {len(unknown) - 5} more" * (len(unknown) > 5)
            known = frames.listed(self.categories)
            message = f"the column {self.title!r} has categories that training did not see: {told}. It saw {known}; "
            checks.warn(message + "they count as none of these", ForesolveWarning)
        return table

    def _check_zone(self, dates: Dates) -> None:
        """Refuse dates that have a time zone where those of training had none, or the other way around."""
        if self.zoned is not None and dates.zoned != self.zoned:
            words = {True: "with a time zone", False: "without one"}
            expected = f"dates {words[self.zoned]} in their column {self.title!r}, as in training"
            raise checks.fail("features", expected, words[dates.zoned], ONE_WAY)

    def _calendar(self, dates: np.ndarray) -> np.ndarray:
        missing = np.isnat(dates)
        filled = np.where(missing, np.datetime64("2000-01-01", "ns"), dates)
        first = filled.astype("datetime64[Y]").astype(filled.dtype)
        season = 2 * np.pi * ((filled - first) / DAY) / YEAR
        weekday = (filled.astype("datetime64[D]").astype(np.int64) + 3) % 7  # the first day of the count is a Thursday
        parts = [np.sin(season), np.cos(season), *(weekday[:, None] == np.arange(7)).T.astype(float)]
        if self.hours:
            hour = 2 * np.pi * ((filled - filled.astype("datetime64[D]").astype(filled.dtype)) / DAY)
            parts += [np.sin(hour), np.cos(hour)]
        table = np.stack(parts, 1)
        table[missing] = np.nan
        return table

    def _days(self, dates: np.ndarray) -> np.ndarray:
        days = (dates - np.datetime64(self.start, "ns")) / DAY
        return np.where(np.isnat(dates), np.nan, days)[:, None]

    def config(self) -> dict[str, Any]:
        """Fit for JSON."""
        return {
            "title": self.title, "kind": self.kind, "categories": list(self.categories), "hours": self.hours,
            "start": self.start, "zoned": self.zoned,
        }  # fmt: skip


@dataclass(frozen=True)
class Encoding:
    r"""How columns become numbers: stated when the data is read, and the same when decisions are made.

    - "number": itself.
    - "category": for each category :math:`c` of training, :math:`[\text{entry} = c]`; one that training did not see is
      none of them, with a warning.
    - "date": :math:`\sin(2 \pi s), \cos(2 \pi s)` with :math:`s` the share of the year that has passed, an indicator
      for each weekday, and the same sine and cosine of the time of day where there are times of day.
    - "trend": days since the first date. Models extrapolate it; it is never a default.
    - "ignore": not used.

    By default columns of numbers and truth values are numbers, text is a category, dates are dates.
    """

    columns: tuple[Column, ...]

    @classmethod
    def of(cls, frame: Any, titles: Sequence[str], kinds: Mapping[str, Any] | None = None) -> Self:
        """What a frame's columns are, as stated or by their types, with the categories that they hold."""
        stated = {title: _kinds(title, kind) for title, kind in (kinds or {}).items()}
        for title in stated:
            frames.column("features", frame, title, "encode")
        columns = []
        for title in titles:
            series = frame[title]
            for kind in stated.get(title) or (_natural(title, series),):
                if kind != "ignore":
                    columns.append(_learned(title, kind, series))
                    entry = written_otherwise(columns[-1].categories) if title not in stated else None
                    if entry is not None:
                        raise unread("features", f"the column {title!r}", entry, Setting("encode", {title: "category"}))
        if not columns:
            raise checks.fail("features", "a frame with at least one column to predict from", "none")
        return cls(tuple(columns))

    @property
    def titles(self) -> tuple[str, ...]:
        """The columns of a frame that are used."""
        return tuple(dict.fromkeys(column.title for column in self.columns))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the numbers that they become."""
        return tuple(name for column in self.columns for name in column.names)

    def groups(self) -> Iterator[tuple[slice, Column]]:
        """Which numbers belong to which column."""
        start = 0
        for column in self.columns:
            yield slice(start, start + len(column.names)), column
            start += len(column.names)

    def numbers(self, frame: Any) -> np.ndarray:
        """`(N, len(names))`, float64; NaN where entries are missing."""
        return np.concatenate([column.numbers(frame[column.title]) for column in self.columns], 1)

    def __str__(self) -> str:
        return ", ".join(f"{column.title}: {column.kind}" for column in self.columns)

    def config(self) -> list[dict[str, Any]]:
        """Fit for JSON."""
        return [column.config() for column in self.columns]

    @classmethod
    def from_config(cls, config: Sequence[Mapping[str, Any]]) -> Self:
        """What `config()` describes."""
        columns = []
        for entry in config:
            kind = checks.one_of("kind", entry["kind"], get_args(Kind))
            categories = tuple(str(category) for category in entry["categories"])
            zoned = entry.get("zoned")  # versions before asked for none
            columns.append(
                Column(
                    str(entry["title"]), kind, categories, bool(entry["hours"]), str(entry["start"]),
                    None if zoned is None else bool(zoned),
                )
            )  # fmt: skip
        return cls(tuple(columns))


def _kinds(title: str, kind: Any) -> tuple[Kind, ...]:
    """One kind, or several: a date may be a trend too."""
    kinds = (kind,) if isinstance(kind, str) else tuple(kind)
    return tuple(checks.one_of(f"encode[{title!r}]", part, get_args(Kind)) for part in kinds)


def _natural(title: str, series: Any) -> Kind:
    """What a column is by its type."""
    pandas = need("pandas", "a frame", "learn")
    if isinstance(series.dtype, pandas.CategoricalDtype):  # its user says so
        return "category"
    if pandas.api.types.is_numeric_dtype(series.dtype):  # truth values too
        return "number"
    if as_dates(series) is not None:
        return "date"
    entries = series.dropna().astype(str).str.strip()
    if len(entries) and entries.str.fullmatch(r"[+-]?\d+").all() and entries.str.match(r"[+-]?0\d").any():
        return "category"  # "00114" is a name
    counted = series.dropna()[entries != "None"]
    parsed = pandas.to_numeric(counted, errors="coerce")
    if len(counted) and int(parsed.notna().sum()) > len(counted) / 2:
        frames.as_numbers("features", series)  # numbers, but for some entries, which are named
        return "number"
    if len(entries) and all(map(frames.WRITTEN_OTHERWISE.fullmatch, entries)):
        remedy = frames.numbers_remedy("; if they are names, set ", Setting("encode", {title: "category"}))
        raise checks.fail("features", f"numbers in the column {title!r}", repr(entries.iloc[0]), remedy)
    return "category"


def _learned(title: str, kind: Kind, series: Any) -> Column:
    """The column as it will be read from now on."""
    if kind == "category":
        known = series.dropna()
        categories = tuple(sorted(set(frames.as_texts(known.to_list()))))
        if len(categories) > MOST_CATEGORIES:
            got = f"{len(categories)} in {title!r}, such as {frames.listed(categories, 3)}"
            remedy = Phrase("Leave it out, ", Setting("encode", {title: "ignore"}), ", or group its categories first")
            raise checks.fail("features", f"columns of at most {MOST_CATEGORIES} categories", got, remedy)
        if not categories:
            remedy = Phrase("Leave it out, ", Setting("encode", {title: "ignore"}))
            raise checks.fail("features", "columns with some entries", f"{title!r}, which has none", remedy)
        return Column(title, kind, categories)
    if kind == "number":
        frames.as_numbers("features", series)
        return Column(title, kind)
    dates = as_dates(series)
    if dates is None or np.isnat(dates.values).all():
        raise checks.fail("features", f"dates in their column {title!r}", _example(series), WRITTEN)
    known = dates.values[~np.isnat(dates.values)]
    hours = bool((known != known.astype("datetime64[D]").astype(known.dtype)).any())
    return Column(title, kind, hours=hours, start=str(known.min().astype("datetime64[s]")), zoned=dates.zoned)


def _example(series: Any) -> str:
    known = series.dropna()
    return repr(known.iloc[0]) if len(known) else "no entry"
