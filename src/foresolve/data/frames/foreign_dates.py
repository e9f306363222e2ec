"""Dates that are written otherwise than 2024-05-27: they are read as names or numbers, which their user should know."""

from __future__ import annotations

import re

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
        pattern = _COMPACT if column.dtype.kind in "iu" else _TEXT
        few = [str(entry) for entry in column[:LOOKED_AT]]
        compact = column.dtype == object and all(_COMPACT.fullmatch(entry) for entry in few)
        if len(np.unique(column)) > 1 and (compact or all(pattern.fullmatch(entry) for entry in few)):
            example = next((entry for entry in few if not _ISO.fullmatch(entry)), few[0])
            checks.warn(
                f"the key {name!r} looks like dates ({example!r}), but dates are written 2024-05-27: rows count as "
                "undated, and are split at random. Write dates that way, or pass `dates=False` if they are only names",
                ForesolveWarning,
            )
