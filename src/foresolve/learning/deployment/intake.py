"""Features as they arrive at a policy: frames, files, arrays; and whether the policy has seen their like."""

from __future__ import annotations

import os
from collections.abc import Mapping
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from foresolve._base import checks, frames
from foresolve._base.text import some_of
from foresolve.data.frames.keys import Keys
from foresolve.data.frames.reader import FrameReader
from foresolve.errors import FeatureRangeWarning
from foresolve.learning.deployment.spread import Spread, columns_of
from foresolve.learning.features import select_columns

# Beyond the least and the largest value of training by more than this share of their distance is far outside.
FAR = 0.5
# A feature that was constant in training is as it was up to this share of its size.
SAME = 1e-6
NAMED = 5


class Intake(NamedTuple):
    """What a model is called with, what the instances are called (`None`: numbers), and whether a table held them."""

    features: Any
    keys: Keys | None
    table: bool = False


def take_in(features: Any, reader: FrameReader | None, names: tuple[str, ...] | None) -> Intake:
    """Features by name where they have names: through the reader of training, or in the order of `names`."""
    table: Any = features
    is_path = isinstance(features, str | os.PathLike)
    # A dict of columns is a frame to a reader, which has no other dicts; without one it holds tables of features.
    named = is_path or hasattr(table, "columns") or (reader is not None and isinstance(features, Mapping))
    if reader is not None and named:
        return Intake(*reader.read(table), named)
    if is_path:
        table = frames.as_file(features).frame()
    keys = _index_keys(table.index) if hasattr(table, "columns") and hasattr(table, "iloc") else None
    return Intake(select_columns(table, names), keys, named)


def _index_keys(index: Any) -> Keys | None:
    """Those in the index of a pandas frame, unless it only counts rows."""
    counts = index.nlevels == 1 and index.name is None and np.array_equal(index.to_numpy(), np.arange(len(index)))
    return None if counts else Keys.of_index(index)


def check_ranges(features: Any, keys: Keys | None, training: Spread) -> None:
    """Refuse features of another width than in training, and warn, once, of those that lie far outside of it."""
    columns = columns_of(features)
    width = sum(part.shape[-1] for part in columns)
    if width != len(training.names):
        expected = f"the {len(training.names)} features of training"
        rest = ", ..." if len(training.names) > NAMED else ""
        raise checks.fail("features", expected, f"{width}", f"They are {', '.join(training.names[:NAMED])}{rest}")
    told = _far(columns, keys, training)
    if told:
        checks.warn(
            f"features lie far outside of training: {some_of(told, NAMED, '; ')}. Predictions are guesses there: "
            "check units and sources, or train on data that covers them",
            FeatureRangeWarning,
        )


def _far(columns: list[Tensor], keys: Keys | None, training: Spread) -> list[str]:
    low, high = training.low.numpy(), training.high.numpy()
    reach = np.where(high > low, FAR * (high - low), SAME * np.maximum(np.abs(low), np.abs(high)))
    told, start = [], 0
    for part in columns:
        table = part.detach().cpu().double().numpy()
        own = slice(start, start + table.shape[-1])
        outside = np.maximum(low[own] - reach[own] - table, table - high[own] - reach[own])
        worst = outside.max(1, initial=-np.inf)  # (N, d), over the rows of an instance
        for j in np.flatnonzero((worst > 0).any(0)):
            instance = int(worst[:, j].argmax())
            value = table[instance, int(outside[instance, :, j].argmax()), j]
            count = int((worst[:, j] > 0).sum())
            name = f"instance {instance}" if keys is None else f"{keys[instance]!r}"
            others = f" and {count - 1} other instances" if count > 1 else ""
            span = f"{low[start + j]:.4g} to {high[start + j]:.4g} in training"
            told.append(f"{training.names[start + j]!r} is {value:.4g} in {name}{others} ({span})")
        start += table.shape[-1]
    return told
