"""Lists and lines in sentences."""

from __future__ import annotations

from collections.abc import Sequence


def listed(parts: Sequence[str]) -> str:
    """All parts, with "and" before the last.

    >>> listed(["a"]), listed(["a", "b", "c"])
    ('a', 'a, b and c')
    """
    return parts[0] if len(parts) == 1 else f"{', '.join(parts[:-1])} and {parts[-1]}"


def some_of(names: Sequence[str], most: int = 5, separator: str = ", ") -> str:
    """The first names, and how many more there are.

    >>> some_of(["a", "b", "c"], 3), some_of(["a", "b", "c"], 1)
    ('a, b, c', 'a and 2 more')
    """
    return separator.join(names[:most]) + (f" and {len(names) - most} more" if len(names) > most else "")


def line_of(error: BaseException, place: int = 0) -> str:
    """A line of what another library's error says, by default the first; empty where it says nothing.

    >>> line_of(ValueError("one\\ntwo")), line_of(ValueError("one\\ntwo"), -1), line_of(ValueError())
    ('one', 'two', '')
    """
    return (str(error).strip().splitlines() or [""])[place]
