"""What the value of a setting may be: in words, and as a check."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from foresolve._base import checks

_SECONDS = {"s": 1, "sec": 1, "second": 1, "seconds": 1, "min": 60, "minute": 60, "minutes": 60,
            "h": 3600, "hour": 3600, "hours": 3600}  # fmt: skip
_DURATION = re.compile(r"([0-9.]+)\s*([a-z]+)")


@dataclass(frozen=True)
class Kind:
    """A kind of value.

    Attributes
    ----------
    words: what it is, as it follows "must be".
    read: gives the value that foresolve works with; raises `ValueError` for what is of another kind.
    options: the words that may stand there, for "did you mean".
    """

    words: str
    read: Callable[[Any], Any]
    options: tuple[str, ...] = ()


def duration(value: Any) -> float:
    """Seconds of a number, or of text such as "10 min".

    >>> duration("1.5 h")
    5400.0
    """
    if isinstance(value, str):
        parts = _DURATION.fullmatch(value.strip().lower())
        if parts is None or parts[2] not in _SECONDS:
            raise ValueError
        value = float(parts[1]) * _SECONDS[parts[2]]
    return _number(value, above=0.0)


def _number(value: Any, above: float = -math.inf, below: float = math.inf) -> float:
    if isinstance(value, bool) or not isinstance(value, int | float) or not above < value < below:
        raise ValueError
    return float(value)


def _whole(least: int) -> Callable[[Any], int]:
    def read(value: Any) -> int:
        if isinstance(value, bool) or not isinstance(value, int) or value < least:
            raise ValueError
        return value

    return read


def _text(value: Any) -> str:
    if not isinstance(value, str) or not value:
        raise ValueError
    return value


def _texts(value: Any) -> tuple[str, ...]:
    if not isinstance(value, list) or not value or len(set(map(str, value))) < len(value):
        raise ValueError
    return tuple(map(_text, value))


def _text_or_texts(value: Any) -> str | tuple[str, ...]:
    return _texts(value) if isinstance(value, list) else _text(value)


def _label(value: Any) -> str | int:
    return value if isinstance(value, int) and not isinstance(value, bool) else _text(value)


def _numbers(value: Any) -> float | tuple[float, ...]:
    if isinstance(value, list) and value:
        return tuple(map(_number, value))
    return _number(value)


def _split(value: Any) -> tuple[float, ...]:
    if not isinstance(value, list) or len(value) != 3:
        raise ValueError
    shares = tuple(_number(share, above=0.0, below=1.0) for share in value)
    if not math.isclose(sum(shares), 1.0, abs_tol=1e-9):
        raise ValueError
    return shares


def _widths(value: Any) -> str | tuple[int, ...]:
    return value if value == "auto" else tuple(map(_whole(1), value if isinstance(value, list) else [value]))


def _block(value: Any) -> str | int:
    return value if value == "auto" else _whole(1)(value)


TEXT = Kind("text", _text)
DATES = Kind("a column, as text, or false", lambda value: False if value is False else _text(value))
FILE = Kind("the name of a file, as text", _text)
LABEL = Kind("a name, as text or a whole number", _label)
TEXTS = Kind('a list of names, as ["a", "b"], none twice', _texts)
COLUMNS = Kind('a column, as text, or a list of columns, as ["a", "b"]', _text_or_texts)
NUMBERS = Kind("a number, or a list of numbers", _numbers)
COUNT = Kind("a whole number >= 1", _whole(1))
SEED = Kind("a whole number >= 0", _whole(0))
SHARE = Kind("a number between 0 and 1", lambda value: _number(value, above=0.0, below=1.0))
DURATION = Kind('seconds, or text such as "10 min"', duration)
SPLIT = Kind("three shares above 0 that add up to 1, as [0.6, 0.2, 0.2]", _split)
WIDTHS = Kind('"auto", or a list of widths, as [64, 64] (an empty list: a linear model)', _widths)
BLOCK = Kind('"auto", or a whole number >= 1', _block)


def choice(*options: str) -> Kind:
    """One of several words."""

    def read(value: Any) -> str:
        if value not in options:
            raise ValueError
        return value

    return Kind("one of " + ", ".join(f'"{option}"' for option in options), read, options)


def table_of(kind: Kind, what: str) -> Kind:
    """A table from names that the user chooses to values of a kind."""

    def read(value: Any) -> dict[str, Any]:
        if not isinstance(value, dict):
            raise ValueError
        return {str(name): kind.read(entry) for name, entry in value.items()}

    return Kind(f"a table of {what}, each {kind.words}", read, kind.options)


def nearest(value: Any, options: Sequence[str]) -> str:
    """A question after the nearest of some words, as the end of a message."""
    question = checks.did_you_mean(value, options, code=True)
    return f" {question}" if question else ""
