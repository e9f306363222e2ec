"""Which instances stay, and what takes the place of missing entries."""

from __future__ import annotations

from typing import Any

import numpy as np

from foresolve._base import checks
from foresolve.data.frames.encoding import Encoding
from foresolve.data.frames.keys import Keys, keys_listed
from foresolve.data.frames.missing import previous, refuse, statistic
from foresolve.data.frames.reader import FrameReader, flattened, uses_statistic


def common_instances(inputs: Keys, truths: Keys, rules: tuple[Any, Any]) -> tuple[tuple[np.ndarray, np.ndarray], int]:
    """Positions of the same instances in both tables; those that only one has are refused, or dropped by its rule."""
    places = truths.places(inputs)
    lacking = np.flatnonzero(places < 0)
    strange = np.flatnonzero(inputs.places(truths) < 0)
    for name, keys, alone, rule in (("theta", inputs, lacking, rules[1]), ("features", truths, strange, rules[0])):
        if len(alone) and (rule != "drop" or len(alone) == len(keys)):
            got = f"none for {keys_listed(keys, alone)}"
            remedy = f'Correct the keys, or leave such instances out: `missing={{"{name}": "drop"}}`'
            raise checks.fail(name, f"a table with the instances of both, by {' and '.join(keys.names)}", got, remedy)
    known = np.flatnonzero(places >= 0)
    return (known, places[known]), len(lacking) + len(strange)


def count_missing(table: np.ndarray, encoding: Encoding) -> int:
    """Missing entries of the user's columns, each counted once, whatever numbers it becomes."""
    counted = {column.title: part.start for part, column in encoding.groups()}
    return int(np.isnan(table[..., list(counted.values())]).sum())


def kept_instances(
    table: np.ndarray, wanted: np.ndarray, keys: Keys, rules: tuple[Any, Any], reader: FrameReader,
    names: tuple[str, ...],
) -> np.ndarray:  # fmt: skip
    """Which instances stay; an error where missing entries are refused."""
    keep = np.ones(len(table), dtype=bool)
    holes = flattened(np.isnan(table)), np.isnan(wanted).reshape(len(wanted), -1)
    if rules[0] == "refuse" and holes[0].any():
        reader.refuse(np.isnan(table), keys)
    if rules[1] == "refuse" and holes[1].any():
        refuse("theta", holes[1], keys, names)
    for part, rule in zip(holes, rules):
        if rule == "drop":
            keep &= ~part.any(1)
    if not keep.any():
        raise checks.fail("missing", "a rule that leaves an instance", "one that drops all of them")
    return keep


def fill_features(
    table: np.ndarray, holes: np.ndarray, reader: FrameReader, keys: Keys
) -> tuple[np.ndarray, FrameReader]:
    width = table.shape[-1]
    if uses_statistic(reader.missing):
        rows = table.reshape(-1, width), holes.reshape(-1, width)
        values = statistic(*rows, reader.missing, reader.encoding)
        return np.where(holes, values, table), reader.filled_with(values)
    if reader.missing != "previous":
        return table, reader
    table = previous(table)
    if np.isnan(table).any():
        reader.refuse(np.isnan(table), keys)
    return table, reader.filled_with(table[-1])


def fill_theta(table: np.ndarray, holes: np.ndarray, rule: Any, keys: Keys, names: tuple[str, ...]) -> np.ndarray:
    flat, gaps = table.reshape(len(table), -1), holes.reshape(len(table), -1)
    if uses_statistic(rule):
        unknown = gaps.all(0)
        if unknown.any():
            got = "none of " + ", ".join(repr(names[place]) for place in np.flatnonzero(unknown)[:5])
            raise checks.fail("theta", f"with some entry of each parameter to take the {rule} of", got)
        flat = np.where(gaps, statistic(flat, gaps, rule), flat)
    elif rule == "previous":
        flat = previous(flat)
        if np.isnan(flat).any():
            refuse("theta", np.isnan(flat), keys, names)
    return flat.reshape(table.shape)
