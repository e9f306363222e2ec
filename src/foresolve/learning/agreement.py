"""How decisions agree with those on record."""

from __future__ import annotations

import hashlib
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.learning.metrics import differing

Metric = Callable[[Tensor, Tensor], Any]
SIGNATURE = "metric(x, y) -> (B,)"


def as_metrics(metric: Metric | Mapping[str, Metric] | None, taken: set[str]) -> dict[str, Metric]:
    """One's own metrics by name: that of the function where it has one that is not `taken`, else "metric"."""
    if metric is None:
        return {}
    if not isinstance(metric, Mapping):
        checks.function("metric", metric, SIGNATURE, "Or a dict of such functions by name")
        name = getattr(metric, "__name__", "")
        return {name if name.isidentifier() and name not in taken else "metric": metric}
    for name, function in metric.items():
        checks.function(f"metric[{name!r}]", function, SIGNATURE)
        if not isinstance(name, str) or name in taken:
            raise checks.fail("metric", "a dict whose names are none of the report's own", repr(name), "Rename it")
    return dict(metric)


def measured(metrics: Mapping[str, Metric], x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """A column for each metric: a number for each decision in `x` and the one in `y` that it is compared with."""
    columns, expected = {}, f"({len(x)},), one number for each instance"
    for name, metric in metrics.items():
        column = metric(x, y)
        try:
            column = torch.as_tensor(column)
        except (TypeError, ValueError, RuntimeError) as error:
            raise checks.fail(f"{name}(x, y)", expected, type(column).__name__) from error
        if column.shape != (len(x),):
            raise checks.fail(f"{name}(x, y)", expected, str(tuple(column.shape)), "Average over entries alone")
        columns[name] = column
    return columns


def agreement(x: Tensor, y: Tensor) -> dict[str, Tensor]:
    """Whether decisions are the same as on record, and the share of their entries that differ."""
    different = differing(x, y)
    return {"identical": ~different.any(-1), "hamming": different.double().mean(-1)}


class Digest:
    """Of the decisions on record, which tells whether two reports are of the same instances."""

    def __init__(self) -> None:
        self._digest = hashlib.sha256()

    def add(self, decisions: Tensor) -> None:
        """The next ones."""
        self._digest.update(np.ascontiguousarray(decisions.detach().cpu().double().numpy()).tobytes())

    def __str__(self) -> str:
        return self._digest.hexdigest()
