"""Dates in users' tables: of any type, or text as ISO 8601 writes it; and whether they have a time zone."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime
from typing import Any, NamedTuple

import numpy as np

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.frames import plain
from foresolve._base.table_files import WHERE
from foresolve.errors import InvalidInputError, Phrase, Setting

ZONE = r"(?:Z|[+-]\d{2}(?::?\d{2})?)$"
TIMED_ZONE = rf"[T ]\d{{2}}.*{ZONE}"  # "2024-05-27" ends like an offset, and is none
FRACTIONS = ("ms", "us", "ns")
ONE_WAY = "Write all of them with their zone, or all without"
READ = ("For a file, set ", Setting("date_format", "%d.%m.%Y"), " in ", WHERE)
WRITTEN = Phrase("Dates are written 2024-05-27, or 2024-05-27 08:30. ", *READ)
LOOKED_AT = 1000
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_TIME = r"([T ,_].*)?"
_DATED = re.compile(
    rf"\d{{1,2}}([./-])\d{{1,2}}\1(\d{{4}}|\d{{2}}){_TIME}|\d{{4}}([./_])\d{{1,2}}\4\d{{1,2}}{_TIME}"
    rf"|(19|20)\d\d-\d{{1,2}}-\d{{1,2}}{_TIME}|(19|20)\d\d[-/. ](0?[1-9]|1[0-2]|Q[1-4])"
    rf"|([a-z]{{3,9}},? )?\d{{1,2}}[ -.]{{1,2}}({_MONTHS})[a-z]*\.?[ -]\d{{2,4}}{_TIME}"
    rf"|([a-z]{{3,9}},? )?({_MONTHS})[a-z]*\.? (\d{{1,2}},? )?\d{{4}}{_TIME}"
    r"|(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])",
    re.IGNORECASE,
)


class Dates(NamedTuple):
    """A column of dates.

    Attributes
    ----------
    values: `(N,)`, `datetime64[ns]`, in UTC where they have a zone; entries that are missing are NaT.
    zoned: whether they have a time zone. Those that have one and those that have none cannot be compared: 8:00 on a
        clock on some wall is no point in time.
    """

    values: np.ndarray
    zoned: bool


def as_dates(series: Any) -> Dates | None:
    """A column of dates, or of text that is all ISO dates; `None` for any other column."""
    pandas = need("pandas", "a column of dates", "learn")
    series = plain(series)
    if pandas.api.types.is_datetime64_any_dtype(series.dtype):
        zoned = series.dt.tz is not None
        dates = series.dt.tz_convert(None) if zoned else series
    elif isinstance(series.dtype, pandas.PeriodDtype):
        dates, zoned = series.dt.to_timestamp(), False
    elif _is_text(series) or (series.dtype == object and len(series) and all(map(_is_date, series.to_list()))):
        if _is_text(series):
            series = series.mask(series == "None")
            if not _looks_dated(series):
                return None
        try:
            dates = pandas.to_datetime(series, format="ISO8601", utc=True)
        except (ValueError, TypeError):
            return None
        zoned, dates = _zoned(series), dates.dt.tz_convert(None)
    else:
        return None
    return Dates(_in_nanoseconds(dates), zoned)


def _in_nanoseconds(dates: Any) -> np.ndarray:
    given = dates.to_numpy()
    # By the year, which each unit can tell: beyond these, some versions of NumPy wrap nanoseconds, others raise.
    far = ((given < np.datetime64("1678", "Y")) | (given >= np.datetime64("2262", "Y"))) & ~np.isnat(given)
    if far.any():
        got = f"{np.datetime_as_string(given[far][0], unit='D')} in the column {dates.name!r}"
        raise checks.fail("dates", "from 1678 to 2261", got, "Leave such entries out, or the column")
    return np.asarray(given, dtype="datetime64[ns]")


def _zoned(series: Any) -> bool:
    """True if text, or Python's own dates, have a zone; an error if some have and some have not."""
    known = series.dropna()
    if _is_text(series):
        zones = known.astype(str).str.contains(TIMED_ZONE, regex=True).to_numpy(dtype=bool)
    else:
        zones = np.array([getattr(value, "tzinfo", None) is not None for value in known], dtype=bool)
    if zones.any() and not zones.all():
        got = f"{str(known.iloc[int(zones.argmax())])!r} and {str(known.iloc[int(zones.argmin())])!r}"
        expected = f"all with a time zone, or all without, in the column {str(series.name)!r}"
        raise checks.fail("dates", expected, got, ONE_WAY)
    return bool(zones.any())


def _is_text(series: Any) -> bool:
    pandas = need("pandas", "a column of dates", "learn")
    return pandas.api.types.is_string_dtype(series.dtype) and not pandas.api.types.is_numeric_dtype(series.dtype)


def _is_date(value: Any) -> bool:
    return hasattr(value, "isoformat") or value is None or value != value


def _looks_dated(series: Any) -> bool:
    """True if the text begins as ISO dates do: "2021-01-31"; "2021" and "0715" are names and numbers."""
    known = series.dropna()
    begun = r"\d{4}-\d{2}-\d{2}([T ]|$)"
    if not len(known) or not re.match(begun, str(known.iloc[0])):
        return False
    return bool(known.astype(str).str.match(begun).all())


def date_text(value: np.datetime64, *, zoned: bool = False) -> str:
    """The date in ISO 8601, no more exactly than needed; those with a zone end in Z, which says UTC.

    >>> date_text(np.datetime64("2024-05-27", "ns")), date_text(np.datetime64("2024-05-27T08:00:00.250", "ns"))
    ('2024-05-27', '2024-05-27T08:00:00.250')
    >>> date_text(np.datetime64("2024-05-27", "ns"), zoned=True)
    '2024-05-27T00:00:00Z'
    """
    unit = _unit(np.array([value]), ("s", *FRACTIONS) if zoned else ("D", "s", *FRACTIONS))
    return str(np.datetime_as_string(value, unit=unit)) + ("Z" if zoned else "")


def _unit(values: np.ndarray, units: tuple[Any, ...]) -> Any:
    """The first unit that loses nothing of any date."""
    return next(unit for unit in units if (values.astype(f"datetime64[{unit}]").astype(values.dtype) == values).all())


def clock_texts(series: Any) -> Any:
    """A column of points in time, all written alike: "2024-05-27 08:00:00", with a Z where they have a zone."""
    zoned = series.dt.tz is not None
    values = (series.dt.tz_convert(None) if zoned else series).to_numpy().astype("datetime64[ns]")
    texts = np.char.replace(np.datetime_as_string(values, unit=_unit(values, ("s", *FRACTIONS))), "T", " ")
    return np.char.add(texts, "Z") if zoned else texts


def written_otherwise(entries: Sequence[str]) -> str | None:
    """An entry that keeps a column from being dates, if most of its entries look like dates; else `None`.

    >>> written_otherwise(["27.05.2024", "28.05.2024"]), written_otherwise(["2024-05-27", "2024-05-28", "Total"])
    ('27.05.2024', 'Total')
    """
    few = list(dict.fromkeys(entries[:LOOKED_AT]))
    strange = [entry for entry in few if not _DATED.fullmatch(entry)]
    if len(few) < 2 or 2 * len(strange) >= len(few):
        return None
    return next(iter([*strange, *(entry for entry in few if not _is_read(entry)), few[0]]))


def _is_read(entry: str) -> bool:
    """True if it is a date that would have been read: 2024-02-30 is none."""
    try:
        datetime.fromisoformat(entry)
    except ValueError:
        return False
    return re.match(r"\d{4}-\d{2}-\d{2}([T ]|$)", entry) is not None


def unread(name: str, where: str, entry: str, *names: str | Setting) -> InvalidInputError:
    """The error for a column that looks like dates and is not read as such; `names` says that it holds names."""
    remedy = Phrase(*READ, "; if they are only names, set ", *names)
    return checks.fail(name, f"dates written 2024-05-27 in {where}", repr(entry), remedy)
