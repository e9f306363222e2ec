"""Names that look the same and are not: a space at the end, an accent of its own character, a mark without width."""

from __future__ import annotations

import unicodedata
from collections.abc import Iterable
from typing import Any

HOW = "They differ in spaces, or in how their letters are composed"


def look(name: str) -> str:
    r"""What a reader sees of a name.

    >>> look("J01 ") == look("J01"), look("Ko\u0308ln") == look("K\u00f6ln"), look("j01") == look("J01")
    (True, True, False)
    """
    if not name.isascii():
        seen = (letter for letter in name if unicodedata.category(letter) != "Cf")
        name = unicodedata.normalize("NFC", "".join(seen))
    return " ".join(name.split())


def first_alike(names: Iterable[Any]) -> tuple[str, str] | None:
    """The first two different texts among names that look the same; what is no text is left aside."""
    seen: dict[str, str] = {}
    for name in names:
        if isinstance(name, str):
            other = seen.setdefault(look(name), name)
            if other != name:
                return other, name
    return None


def twin(value: Any, options: Iterable[Any]) -> str | None:
    """The option that looks as `value` does, and is another text."""
    if not isinstance(value, str):
        return None
    seen = look(value)
    return next((o for o in options if isinstance(o, str) and o != value and look(o) == seen), None)


def spelled_out(a: str, b: str) -> str:
    """Both, so that one sees where they differ."""
    return f"{a!a} and {b!a}"
