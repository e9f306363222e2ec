"""How numbers are spread, column by column, in a few figures that a file can keep."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import configs
from foresolve.data.inputs import as_table

LEVELS = 21
# Rows that quantiles are taken of; of more, evenly spaced ones.
MOST_ROWS = 200_000
_TABLES = ("low", "high", "mean", "deviation", "persistence", "cuts", "below", "up_to")


@dataclass(frozen=True, eq=False)
class Spread:
    """Of `d` columns: ends, mean, standard deviation, quantiles and the shares of the numbers around them.

    Attributes
    ----------
    names: of the columns.
    count: instances that the figures are of; those that have several rows (the long form) count once.
    low, high, mean, deviation: `(d,)`.
    persistence: `(d,)`, how much an instance is like the one before it: the correlation of neighbors, 0 where it is
        negative or no more than chance.
    cuts: `(21, d)`, the quantiles at 0, 0.05, ..., 1, each a number that occurs.
    below, up_to: `(21, d)`, the share of the numbers that are less than a cut, and at most that: where numbers repeat,
        these are not the levels of the quantiles.
    """

    names: tuple[str, ...]
    count: int
    low: Tensor
    high: Tensor
    mean: Tensor
    deviation: Tensor
    persistence: Tensor
    cuts: Tensor
    below: Tensor
    up_to: Tensor

    @classmethod
    def of(cls, features: Any, names: Sequence[str] | None = None) -> Self:
        """Of a table `(N, ..., d)`, or of a dict or tuple of them; columns without names are numbered."""
        columns = columns_of(features)
        figures = [_figures(part.detach().cpu().double().numpy()) for part in columns]
        joined = [torch.from_numpy(np.concatenate(parts, -1)) for parts in zip(*figures, strict=True)]
        width = joined[0].shape[-1]
        known = names is not None and len(names) == width
        return cls(tuple(map(str, names or ())) if known else numbered(width), len(columns[0]), *joined)

    def shares(self, features: Any) -> tuple[np.ndarray, np.ndarray]:
        """The shares `(21, d)` of other numbers that are less than each cut, and at most that."""
        tables = [part.detach().cpu().double().numpy() for part in columns_of(features)]
        sorted_columns = [np.sort(table.reshape(-1, table.shape[-1]), 0) for table in tables]
        cuts, start, parts = self.cuts.numpy(), 0, []
        for table in sorted_columns:
            parts.append(_shares(table, cuts[:, start : start + table.shape[1]]))
            start += table.shape[1]
        below, up_to = (np.concatenate(side, -1) for side in zip(*parts, strict=True))
        return below, up_to

    @property
    def independent(self) -> np.ndarray:
        """As how many independent instances those that depend on each other count, `(d,)`."""
        return independent(self.count, self.persistence.numpy())

    def config(self) -> configs.Config:
        """As JSON and tensors."""
        return {"names": list(self.names), "count": self.count} | {name: getattr(self, name) for name in _TABLES}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """What `config()` describes, checked: a file may claim anything."""
        names, width = tuple(str(name) for name in config["names"]), len(config["names"])
        tables = {name: configs.tensor(config, name).double() for name in _TABLES}
        for name, table in tables.items():
            shape = (width,) if name in _TABLES[:5] else (LEVELS, width)
            if table.shape != shape:
                raise ValueError(f"`{name}` must be {shape}; got {tuple(table.shape)}")
        return cls(names, configs.size(config, "count"), **tables)


def numbered(width: int) -> tuple[str, ...]:
    """Names for columns that have none."""
    return tuple(map(str, range(width)))


def columns_of(features: Any) -> list[Tensor]:
    """Each table of features as `(N, rows of an instance, d)`."""
    if isinstance(features, dict | tuple):
        parts = features.values() if isinstance(features, dict) else features
        return [column for part in parts for column in columns_of(part)]
    table = as_table("features", features, torch.device("cpu"), dtype=torch.float64)
    if table.ndim == 1:
        table = table.unsqueeze(-1)
    return (
        [table.reshape(len(table), -1, table.shape[-1])] if table.numel() else [table.new_zeros(0, 1, table.shape[-1])]
    )


def _figures(table: np.ndarray) -> tuple[np.ndarray, ...]:
    rows = table.reshape(-1, table.shape[-1])
    ends = rows.min(0), rows.max(0), rows.mean(0), rows.std(0, ddof=1) if len(rows) > 1 else np.zeros(rows.shape[1])
    some = np.sort(rows[:: -(-len(rows) // MOST_ROWS)], 0)
    places = np.ceil(np.linspace(0, 1, LEVELS) * len(some)).astype(int) - 1
    cuts = some[np.maximum(places, 0)]
    return *ends, persistence(table.mean(1)), cuts, *_shares(some, cuts)


def persistence(rows: np.ndarray) -> np.ndarray:
    """The correlation `(d,)` of each row `(N, d)` with the one before it; 0 where it is negative or may be chance."""
    centered = rows - rows.mean(0)
    total = (centered**2).sum(0)
    lagged = (centered[1:] * centered[:-1]).sum(0)
    correlation = np.divide(lagged, total, out=np.zeros(rows.shape[1]), where=total > 0)
    return np.where(correlation > 2 / np.sqrt(max(len(rows), 1)), np.clip(correlation, 0.0, 0.99), 0.0)


def independent(count: int, correlation: np.ndarray) -> np.ndarray:
    """As how many independent instances `count` of an autoregressive series of first order count."""
    return np.maximum(count * (1 - correlation) / (1 + correlation), 1.0)


def _shares(ordered: np.ndarray, cuts: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Of sorted columns `(M, d)`: the shares less than, and at most, each cut."""
    sides = []
    for side in ("left", "right"):
        counts = [np.searchsorted(ordered[:, j], cuts[:, j], side) for j in range(ordered.shape[1])]  # type: ignore[call-overload]
        sides.append(np.stack(counts, -1) / max(len(ordered), 1) if counts else np.zeros(cuts.shape))
    return sides[0], sides[1]
