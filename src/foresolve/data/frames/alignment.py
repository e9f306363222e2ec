"""Frames with an index: their rows belong together by its labels, not by their order."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np

from foresolve._base import checks
from foresolve.data.frames.encoding import Column, Encoding
from foresolve.data.frames.keys import Keys, keys_listed
from foresolve.data.frames.origin import Origin
from foresolve.data.frames.reader import FrameReader
from foresolve.data.inputs import column_names

POSITION = "To go by position, pass arrays: `frame.to_numpy()`"


class Aligned(NamedTuple):
    """Tables whose rows belong together, and what is known of where they came from."""

    tables: dict[str, Any]
    origin: Origin | None


def align(tables: Mapping[str, Any]) -> Aligned:
    """The tables of a data set with the rows of those that have an index (pandas) in the same order, that of the index.

    Labels that one has and another lacks are refused, and so are labels that stand twice, unless all are in the same
    order already. Where some tables have no index, rows stay in the order of the first that has one.
    """
    indexed = {name: table for name, table in tables.items() if hasattr(table, "iloc")}
    if not indexed:
        return Aligned(dict(tables), None)
    owner, first = next(iter(indexed.items()))
    same = all(table.index.equals(first.index) for table in indexed.values())
    if not same and len({len(table) for table in indexed.values()}) > 1 and _all_counting(indexed):
        return Aligned(dict(tables), None)  # row numbers that differ in length: an error of sizes, raised elsewhere
    if not first.index.is_unique:
        if not same:
            label = first.index[first.index.duplicated()][0]
            raise checks.fail(owner, "a frame whose index has each label once", f"{label!r} more than once", POSITION)
        return Aligned(dict(tables), None)
    keys = Keys.of_index(first.index)
    moved = dict(tables)
    for name, table in indexed.items():
        moved[name] = _by_label(name, table, owner, keys)
    order = keys.order()
    everything = all(table is None or name in indexed for name, table in tables.items())
    rearranged = everything and len(indexed) > 1 and not np.array_equal(order, np.arange(len(order)))
    if rearranged:
        moved = {name: None if table is None else table.iloc[order] for name, table in moved.items()}
        keys = keys.select(order)
    if _counting(first.index):
        return Aligned(moved, _origin(keys, moved.get("features"), None) if "features" in indexed else None)
    return Aligned(moved, _origin(keys, moved.get("features"), order if rearranged else None))


def in_order(name: str, table: Any, keys: Keys) -> Any:
    """A Series or frame with the rows of `keys`, in their order; it may have more."""
    own = Keys.of_index(table.index)
    own.check_different(name)
    places = own.places(keys) if len(own.names) == len(keys.names) else np.full(len(keys), -1)
    if (places < 0).any():
        got = f"none for {keys_listed(keys, np.flatnonzero(places < 0))}"
        raise checks.fail(name, f"a row for each {' and '.join(keys.names)} of the data", got)
    return table.iloc[places]


def _by_label(name: str, table: Any, owner: str, keys: Keys) -> Any:
    """The rows of a table in the order of `keys`, which are those of the table `owner`."""
    if not table.index.is_unique:
        label = table.index[table.index.duplicated()][0]
        raise checks.fail(name, "a frame whose index has each label once", f"{label!r} more than once", POSITION)
    own = Keys.of_index(table.index)
    if len(own.names) != len(keys.names):
        expected = f"a frame with the index of `{owner}`"
        raise checks.fail(name, expected, f"one of {len(own.names)} levels instead of {len(keys.names)}", POSITION)
    places = own.places(keys)
    lacking, strange = np.flatnonzero(places < 0), np.flatnonzero(keys.places(own) < 0)
    if len(lacking) or len(strange):
        parts = (("without", keys, lacking), ("with", own, strange))
        told = " and ".join(f"{word} {keys_listed(k, where)}" for word, k, where in parts if len(where))
        raise checks.fail(name, f"a frame with the rows of `{owner}`, by its index", f"one {told}", POSITION)
    return table if np.array_equal(places, np.arange(len(places))) else table.iloc[places]


def _origin(keys: Keys, features: Any, order: np.ndarray | None) -> Origin:
    return Origin(keys, keys.times, _plain_reader(keys, features), order=order)


def _plain_reader(keys: Keys, features: Any) -> FrameReader | None:
    """How later frames of the same columns of numbers are read."""
    names = column_names(features) if hasattr(features, "columns") else None
    if names is None:
        return None
    key = keys.names if not set(keys.names) & set(names) else ()
    return FrameReader(key, Encoding(tuple(Column(name, "number") for name in names)))


def _counting(index: Any) -> bool:
    """Whether it only counts rows from 0."""
    return index.nlevels == 1 and index.name is None and np.array_equal(index.to_numpy(), np.arange(len(index)))


def _all_counting(indexed: Mapping[str, Any]) -> bool:
    return all(_counting(table.index) for table in indexed.values())
