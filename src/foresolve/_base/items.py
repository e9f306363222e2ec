"""Items that a user's table names, once each or once per instance."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, NamedTuple

import numpy as np

from foresolve._base import checks, frames


class Items(NamedTuple):
    """Names, and for each of them the row that has it first."""

    names: list[str]
    rows: np.ndarray


def read_items(argument: str, frame: Any, title: str, parameter: str = "name") -> Items:
    """The names in a column, in the order of the table; sorted where they repeat, as in a table of many instances.

    Names that are all whole numbers are sorted by size.
    """
    texts = frames.texts(argument, frame, title, parameter)
    first: dict[str, int] = {}
    for row, text in enumerate(texts):
        first.setdefault(text, row)
    names = frames.by_size(first) if len(first) < len(texts) else list(first)
    return Items(names, np.array([first[name] for name in names]))


def item_numbers(argument: str, frame: Any, title: str, items: Items, name: str, parameter: str) -> np.ndarray:
    """A number for each item, from a column in which it must be the same wherever the item stands."""
    column = frames.numbers(argument, frame, title, parameter)
    numbers = column[items.rows]
    expected = dict(zip(items.names, numbers, strict=True))
    for row, text in enumerate(frames.texts(argument, frame, name, "name")):
        if column[row] != expected[text]:
            got = f"{expected[text]:g} and {column[row]:g} for {text!r}"
            raise checks.fail(argument, f"one number for each item in its column {title!r}", got)
    return numbers


def as_side(name: str, nodes: Any) -> tuple[int, tuple[str, ...] | None]:
    """The size of one side of a matching, and its names, where these are given instead of a number."""
    if isinstance(nodes, Sequence) and not isinstance(nodes, str):
        names = tuple(map(str, nodes))
        if not names or len(set(names)) < len(names):
            twice = next((part for part in names if names.count(part) > 1), "")
            raise checks.fail(name, "different names, at least one", f"{twice!r} twice" if twice else "none")
        return len(names), names
    return checks.positive_int(name, nodes), None
