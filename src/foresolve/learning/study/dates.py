"""Dated rows: what was known before, and how long a block is."""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any, ClassVar

import numpy as np
import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.bootstrap import Block
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning.blocks import as_block, labels_in_order
from foresolve.learning.study.dependence import dependence_length
from foresolve.learning.study.facts import Facts
from foresolve.learning.study.methods import Context, Family, Method, MethodInfo, Settings
from foresolve.models.last_value import LastValue

DAY, WEEK = np.timedelta64(1, "D"), np.timedelta64(7, "D")
NEAR = 0.25  # how far from a day the usual distance of rows may be


class Last(Method):
    """The truth of an earlier row: the last before the decision, a day or a week ago.

    Only rows with a strictly earlier time are used, so that rows of the same day do not tell each other's truth;
    those whose truth was filled in are left out. That the truth of one row is known when the next is decided on is
    assumed.

    Parameters
    ----------
    times, theta: of all rows, `(N,)` and `(N, ...)`.
    """

    info = MethodInfo("last value", Family.BASELINE, "predicts the true parameters of an earlier row", deployable=False)
    spans: ClassVar[dict[str, np.timedelta64 | None]] = {"previous": None, "week": WEEK, "day": DAY}

    def __init__(self, times: np.ndarray, theta: Tensor) -> None:
        order = np.argsort(times, kind="stable")
        self.times, self.theta = times[order], theta[torch.from_numpy(order)]
        self.step = spacing(times)
        self.span: str = "previous"

    def settings(self, facts: Facts) -> list[Settings]:
        names = ["previous"]
        names += ["week"] if self.step < 7 * (1 - NEAR) else []
        names += ["day"] if self.step < 1 - NEAR else []
        return [{"lag": name} for name in names]

    def train(self, settings: Settings, number: int, context: Context) -> nn.Module:
        return LastValue().fit(self.seen(context.valid, settings))

    def seen(self, data: DecisionDataset, settings: Settings) -> DecisionDataset:
        times = data.times
        assert times is not None
        span = self.spans[settings["lag"]]
        if span is None:
            places = np.searchsorted(self.times, times, side="left") - 1
        else:
            places = np.searchsorted(self.times, times - span, side="right") - 1
        if (places < 0).any():
            raise ForesolveError(f"{int((places < 0).sum())} rows have no earlier one whose truth was known")
        return data.with_features(self.theta[torch.from_numpy(places)].flatten(1).to(data.device))


def spacing(times: np.ndarray) -> float:
    """The usual distance of different times, in days; infinite for fewer than two."""
    steps = np.diff(np.unique(times)) / DAY
    return float(np.median(steps)) if len(steps) else math.inf


def study_block(block: Any, data: DecisionDataset, differences: Iterable[np.ndarray] = ()) -> Block:
    r"""The instances that are resampled as one; "auto" is each instance alone, or, for dated rows, times in a row.

    With `T` different times, a block has :math:`\lceil T^{1/3} \rceil` of them, at least 7 where rows are about a day
    apart, at least 24 where they are about an hour apart, and at least as many as any of the `differences` `(N,)` need
    (`dependence_length`); rows of the same time stay together, and what is left over belongs to the last block.
    """
    times = data.times
    if not (isinstance(block, str) and block == "auto"):
        if isinstance(block, str):
            raise checks.fail("block", '"auto", a length, or a label for each test instance', repr(block))
        return as_block("block", labels_in_order(block, data), len(data))
    if times is None:
        return None
    moments, which = np.unique(times, return_inverse=True)
    counts = np.bincount(which)
    lengths = [dependence_length(np.bincount(which, column) / counts) for column in differences]
    length = min(max([block_length(len(moments), spacing(times)), *lengths]), len(moments))
    return np.minimum(which // length, len(moments) // length - 1).astype(np.int64)


def neighbors(block: Block, data: DecisionDataset) -> str:
    """The blocks of `study_block` in words: "13 groups of at least 7 neighboring days"; nothing without dates."""
    if data.times is None or not isinstance(block, np.ndarray):
        return ""
    moments, first = np.unique(data.times, return_index=True)
    lengths = np.bincount(block[first])
    season = _season(spacing(moments))
    unit = {7: "days", 24: "hours", 1: "times"}[season]
    size = str(lengths.min()) if lengths.min() == lengths.max() else f"at least {lengths.min()}"
    return f"{len(lengths)} group{'s' * (len(lengths) != 1)} of {size} neighboring {unit}"


def block_length(moments: int, step: float) -> int:
    """The number of different times that make a block; `step` is their distance in days.

    >>> block_length(400, 1.0), block_length(1000, 30.0), block_length(500, 1 / 24)
    (8, 10, 24)
    """
    return max(_season(step), math.ceil(round(moments ** (1 / 3), 9)))


def _season(step: float) -> int:
    """A week of days, a day of hours; `step` is their distance in days."""
    return 7 if abs(step - 1) <= NEAR else 24 if abs(24 * step - 1) <= NEAR else 1
