"""The keys of a file that is larger than memory: what they are, and whether each stands in one place."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Literal

import numpy as np

from foresolve._base import checks
from foresolve._base.extras import need
from foresolve._base.table_files import SEPARATORS, suffix_of
from foresolve.data.frames.streams import CHUNK, pieces
from foresolve.errors import ForesolveError

KeyKind = Literal["number", "date", "time", "text"]
_NUMBER = re.compile(r"-?(0|[1-9]\d{0,17})")  # "007" is a name: as a number it would lose its zeros
_DATE, _TIME = re.compile(r"\d{4}-\d{2}-\d{2}"), re.compile(r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}.*")


@dataclass(frozen=True)
class KeyScan:
    """What the keys of a file are, found out before any work is done.

    Attributes
    ----------
    rows, instances: how many there are.
    kinds: by column, what all its entries are: whole numbers, dates, points in time, or text. A single chunk could
        look like something else.
    """

    rows: int
    instances: int
    kinds: dict[str, KeyKind]


def scan_keys(path: str | Path, key: Sequence[str], rows: int = CHUNK, *, long: bool = False) -> KeyScan:
    """Read nothing but the keys of a file: a key that stands in several places is refused, by name.

    In the long form an instance has several rows, one after the other. The memory it takes is 16 bytes an instance.
    """
    path = checks.path("path", path)
    typed = suffix_of(path) not in SEPARATORS  # text is text there, also where it looks like numbers
    hashes: list[np.ndarray] = []
    kinds: dict[str, set[KeyKind]] = {title: set() for title in key}
    total, last = 0, None
    for frame in _key_frames(path, key, rows):
        total += len(frame)
        for title in key:
            kind = _kind(frame[title], typed=typed)
            if kind is None:
                raise ForesolveError(f"{path} has rows without a key: the column {title!r} has missing entries")
            kinds[title].add(kind)
        codes = _hashed(frame)
        hashes.append(_starts(codes, last) if long else codes)
        last = codes[-1]
    first = np.concatenate(hashes)
    hashes.clear()
    first.sort()  # in place: there may be many
    again = np.flatnonzero(first[1:] == first[:-1])
    if len(again):
        name = _named(path, key, rows, int(first[again[0]]))
        remedy = "Sort the file by its key, or drop what stands there twice"
        raise ForesolveError(f"{path} has the key {name} in several places. {remedy}")
    return KeyScan(total, len(first), {title: _common(found) for title, found in kinds.items()})


def _starts(codes: np.ndarray, last: np.uint64 | None) -> np.ndarray:
    """The code of each instance, once where its rows stand together; `last` is that of the row before."""
    changed = codes[1:] != codes[:-1]
    return codes[np.concatenate([[last is None or codes[0] != last], changed])]


def _key_frames(path: Path, key: Sequence[str], rows: int) -> Iterator[Any]:
    for frame in pieces(path, rows, key, only=list(key)):
        yield frame[list(key)]


def _hashed(frame: Any) -> np.ndarray:
    pandas = need("pandas", "reading tables", "learn")
    return pandas.util.hash_pandas_object(frame.astype(str), index=False).to_numpy()


def _named(path: Path, key: Sequence[str], rows: int, code: int) -> str:
    for frame in _key_frames(path, key, rows):
        places = np.flatnonzero(_hashed(frame) == np.uint64(code))
        if len(places):
            entries = [str(frame[title].iloc[places[0]]) for title in key]
            return repr(entries[0]) if len(entries) == 1 else str(tuple(entries))
    raise AssertionError("the code is that of a key")


def _kind(series: Any, *, typed: bool) -> KeyKind | None:
    """What all entries of a column are; `None` where one is missing."""
    pandas = need("pandas", "reading tables", "learn")
    if series.isna().any():
        return None
    if pandas.api.types.is_integer_dtype(series.dtype):
        return "number"
    if pandas.api.types.is_datetime64_any_dtype(series.dtype):
        return "date" if (series == series.dt.normalize()).all() else "time"
    texts = series.astype(str).str
    patterns: dict[KeyKind, re.Pattern[str]] = {"number": _NUMBER, "date": _DATE, "time": _TIME}
    for kind, pattern in patterns.items():
        if not (typed and kind == "number") and texts.fullmatch(pattern).all():
            return kind
    return "time" if texts.fullmatch(f"{_DATE.pattern}|{_TIME.pattern}").all() else "text"


def _common(kinds: set[KeyKind]) -> KeyKind:
    if len(kinds) == 1:
        return next(iter(kinds))
    return "time" if kinds == {"date", "time"} else "text"
