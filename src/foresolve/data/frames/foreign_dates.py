"""Dates that are written otherwise than 2024-05-27: they are read as names or numbers, which their user should know."""

from __future__ import annotations

import re
from collections.abc import Sequence
from datetime import datetime

import numpy as np

from foresolve._base import checks
from foresolve.data.frames.keys import Keys
from foresolve.errors import ForesolveWarning

LOOKED_AT = 1000
_MONTHS = "jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec"
_TIME = r"([T ,_].*)?"
_TEXT = re.compile(
    rf"\d{{1,2}}([./-])\d{{1,2}}\1(\d{{4}}|\d{{2}}){_TIME}|\d{{4}}([./_])\d{{1,2}}\4\d{{1,2}}{_TIME}"
    rf"|(19|20)\d\d-\d{{1,2}}-\d{{1,2}}{_TIME}|(19|20)\d\d[-/. ](0?[1-9]|1[0-2]|Q[1-4])"
    rf"|([a-z]{{3,9}},? )?\d{{1,2}}[ -.]{{1,2}}({_MONTHS})[a-z]*\.?[ -]\d{{2,4}}{_TIME}"
    rf"|([a-z]{{3,9}},? )?({_MONTHS})[a-z]*\.? (\d{{1,2}},? )?\d{{4}}{_TIME}",
    re.IGNORECASE,
)
_ISO = re.compile(r"\d{4}-\d{2}-\d{2}([T ].*)?")
_COMPACT = re.compile(r"(19|20)\d\d(0[1-9]|1[0-2])(0[1-9]|[12]\d|3[01])")


def warn_of_foreign_dates(keys: Keys) -> None:
    """Say so where a key looks like a date and is none: rows would be split at random, with the future in training."""
    for name, column in zip(keys.names, keys.columns, strict=True):
        if column.dtype.kind == "M":
            continue
        few = [str(entry) for entry in column[:LOOKED_AT]]
        dated = np.array([_looks_dated(entry, whole=column.dtype.kind in "iu") for entry in few])
        if len(np.unique(column)) > 1 and 2 * dated.sum() > len(few):  # a few others may be a total, or a slip
            strange = [entry for entry, looks in zip(few, dated, strict=True) if not looks]
            others = [entry for entry in few if not _is_read(entry)]
            example = f"but for {strange[0]!r}" if strange else f"({(others or few)[0]!r})"
            checks.warn(
                f"the key {name!r} looks like dates {example}, but dates are written 2024-05-27: rows count as "
                "undated, and are split at random. Write dates that way, or pass `dates=False` if they are only names",
                ForesolveWarning,
            )


def warn_of_foreign_categories(title: str, categories: Sequence[str]) -> None:
    """Say so where a feature looks like dates and is taken for categories: each day of tomorrow is a new one."""
    dated = [category for category in categories[:LOOKED_AT] if _looks_dated(category, whole=False)]
    if len(categories) > 1 and 2 * len(dated) > len(categories[:LOOKED_AT]):
        checks.warn(
            f"the column {title!r} looks like dates ({dated[0]!r}), but dates are written 2024-05-27: they count as "
            f'categories. Write dates that way, or say so: `encode={{{title!r}: "category"}}`',
            ForesolveWarning,
        )


def _looks_dated(entry: str, *, whole: bool) -> bool:
    return _COMPACT.fullmatch(entry) is not None or (not whole and _TEXT.fullmatch(entry) is not None)


def _is_read(entry: str) -> bool:
    """Whether it is a date that would have been read: 2024-02-30 is none."""
    try:
        datetime.fromisoformat(entry)
    except ValueError:
        return False
    return _ISO.fullmatch(entry) is not None
