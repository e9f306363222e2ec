"""From a user's frame of features to what a model is called with, in training and ever after."""

from __future__ import annotations

import math
import os
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple, Self, get_args

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, configs, frames
from foresolve._base.table_files import TableFile
from foresolve.data.frames.encoding import Encoding
from foresolve.data.frames.forms import joined
from foresolve.data.frames.keys import Keys, keys_listed
from foresolve.data.frames.missing import RULES, STATISTICS, Rule, previous, refuse, warn_of_same_times
from foresolve.data.frames.pivot import Axes, pivot
from foresolve.errors import ForesolveWarning, Phrase, Setting, Words

TRAINED = Phrase("Fill them in, or train again with a rule for ", Setting("missing"))


class FrameInput(NamedTuple):
    """Features `(N, d)`, or `(N, *variables, d)` of the long form, and the keys of their instances."""

    features: Tensor
    keys: Keys


class RawTable(NamedTuple):
    """Features with NaN where they are missing, `(N, ..., d)`, float64, and their keys."""

    table: np.ndarray
    keys: Keys


@dataclass(frozen=True, eq=False)
class FrameReader:
    """How a frame of features is read: its key columns, how others are encoded, what fills missing entries.

    Attributes
    ----------
    key: the columns that identify an instance; a frame without them has its rows numbered.
    encoding: of the columns.
    variable, axes: of the long form, the columns that name variables, and the variables along each axis; empty for the
        wide form.
    flat: whether several axes are one in the features, as the pairs of a matching are.
    missing: the rule for missing entries.
    fill: what missing entries become: a statistic of training, `(d,)`, or the last known before decisions are made,
        flat, of each variable of the long form.
    file: the settings of the file of training, as `TableFile` has them; later files are read alike.
    """

    key: tuple[str, ...]
    encoding: Encoding
    variable: tuple[str, ...] = ()
    axes: Axes = ()
    flat: bool = False
    missing: Rule = "refuse"
    fill: tuple[float, ...] | None = None
    file: Mapping[str, str] = field(default_factory=dict)

    @property
    def columns(self) -> tuple[str, ...]:
        """The columns that a frame must have."""
        key = self.key if self.variable else ()
        return tuple(dict.fromkeys((*key, *self.variable, *self.encoding.titles)))

    @property
    def names(self) -> tuple[str, ...]:
        """Of the numbers that the columns become."""
        return self.encoding.names

    @property
    def text(self) -> tuple[str, ...]:
        """The columns that are text in files of text."""
        categories = [column.title for column in self.encoding.columns if column.kind == "category"]
        return *self.key, *self.variable, *categories

    def read(self, table: Any) -> FrameInput:
        """Features and keys of a frame, or of a file that holds one; rows keep their order.

        Missing entries are refused, or filled as in training; instances that are to be dropped are, with a warning.
        """
        if isinstance(table, str | os.PathLike):
            table = frames.as_file(table, self.file)
        raw = self.raw("features", frames.as_frame("features", table, self.text))
        holes = np.isnan(raw.table)
        if not holes.any():
            return FrameInput(as_features(raw.table), raw.keys)
        if self.missing == "refuse":
            self.refuse(holes, raw.keys, TRAINED)
        if self.missing == "drop":
            return self._without(raw, holes)
        if self.missing == "previous":
            order = raw.keys.order_in_time()
            warn_of_same_times(raw.table[order], raw.keys.select(order), raw.keys.times)
        filled = self.carried(raw) if self.missing == "previous" else np.where(holes, self._start(raw), raw.table)
        if np.isnan(filled).any():
            self.refuse(np.isnan(filled), raw.keys)
        return FrameInput(as_features(filled), raw.keys)

    def refuse(self, holes: np.ndarray, keys: Keys, remedy: Words = RULES) -> None:
        """An error that names columns of the user's, or, where the long form lacks whole rows, their variables."""
        starts = {column.title: part.start for part, column in self.encoding.groups()}
        cells = holes[..., list(starts.values())]
        absent = cells.all(-1).reshape(len(cells), -1)
        if cells.ndim > 2 and len(starts) > 1 and absent.any():
            refuse("features", absent, keys, joined(self.axes), remedy, what="rows")
        refuse("features", cells, keys, tuple(starts), remedy)

    def carried(self, raw: RawTable) -> np.ndarray:
        """The table with the last known before each missing entry: in time where keys are dated, whatever the rows."""
        order = raw.keys.order_in_time()
        filled = np.empty_like(raw.table)
        filled[order] = previous(raw.table[order], self._start(raw))
        return filled

    def _start(self, raw: RawTable) -> np.ndarray:
        if self.fill is None:
            return np.full(len(self.names), np.nan)
        fill = np.array(self.fill)
        return fill if len(fill) == len(self.names) else fill.reshape(raw.table.shape[1:])

    def _without(self, raw: RawTable, holes: np.ndarray) -> FrameInput:
        keep = ~np.asarray(flattened(holes).any(1))
        if not keep.any():
            self.refuse(holes, raw.keys)
        told = keys_listed(raw.keys, np.flatnonzero(~keep))
        checks.warn(f"{int((~keep).sum())} instances have missing features and are left out: {told}", ForesolveWarning)
        return FrameInput(as_features(raw.table[keep]), raw.keys.select(keep))

    def raw(self, name: str, frame: Any) -> RawTable:
        """Encoded columns, NaN where entries are missing; each key once."""
        absent = [title for title in self.columns if not frames.has(frame, title)]
        if absent:
            remedy = checks.did_you_mean(absent[0], frame.columns) or f"It has {frames.listed(frame.columns)}"
            expected = f"a frame with the {len(self.columns)} columns of training"
            raise checks.fail(name, expected, f"one without {frames.listed(absent, 5)}", remedy)
        keys, table = self._keys(name, frame), self.encoding.numbers(frame)
        if self.variable:
            grid = pivot(name, frame, keys, self.variable, self.axes)
            wide = grid.table(table)
            return RawTable(wide.reshape(len(wide), -1, wide.shape[-1]) if self.flat else wide, grid.keys)
        keys.check_different(name)
        return RawTable(table, keys)

    def _keys(self, name: str, frame: Any) -> Keys:
        if self.key and all(frames.has(frame, title) for title in self.key):
            return Keys.of(name, frame, self.key)
        if not _is_default(frame.index):
            return Keys.of_index(frame.index)
        return Keys.numbered(len(frame))

    def filled_with(self, values: np.ndarray) -> FrameReader:
        """The same with other numbers for missing entries."""
        return replace(self, fill=tuple(float(value) for value in np.ravel(values)))

    def config(self) -> configs.Config:
        """Fit for JSON."""
        return {
            "key": list(self.key), "encoding": self.encoding.config(), "variable": list(self.variable),
            "axes": [list(axis) for axis in self.axes], "flat": self.flat, "missing": self.missing,
            "fill": None if self.fill is None else list(self.fill), "file": dict(self.file),
        }  # fmt: skip

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """What `config()` describes."""
        encoding = Encoding.from_config(config["encoding"])
        fill = config["fill"]
        width, variables = len(encoding.names), math.prod(len(axis) for axis in config["axes"])
        if fill is not None and len(fill) not in (width, width * variables):
            raise ValueError(f"`fill` must have {width} numbers, or {width} for each variable; it has {len(fill)}")
        return cls(
            key=tuple(map(str, config["key"])),
            encoding=encoding,
            variable=tuple(map(str, config["variable"])),
            axes=tuple(tuple(map(str, axis)) for axis in config["axes"]),
            flat=bool(config["flat"]),
            missing=checks.one_of("missing", config["missing"], get_args(Rule)),
            fill=None if fill is None else tuple(float(value) for value in fill),
            file=TableFile("later", **config.get("file", {})).settings,  # versions before had none
        )


def flattened(table: np.ndarray) -> np.ndarray:
    """`(N, ..., d)` truth values as `(N, d)`: whether any variable of an instance has it."""
    return table if table.ndim == 2 else np.asarray(table.reshape(len(table), -1, table.shape[-1]).any(1))


def as_features(table: np.ndarray) -> Tensor:
    """In torch's default dtype, as all that comes from frames."""
    return torch.tensor(table, dtype=torch.get_default_dtype())


def uses_statistic(rule: Rule) -> bool:
    """Whether a rule looks at other instances than earlier ones: then it must be worked out on training data."""
    return rule in STATISTICS


def _is_default(index: Any) -> bool:
    """Whether an index only counts the rows."""
    return index.nlevels == 1 and index.name is None and np.array_equal(index.to_numpy(), np.arange(len(index)))
