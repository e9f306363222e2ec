"""Facts about the data that decide which models suit it."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.models.heads import Head, check_head
from foresolve.models.mlp import MLP
from foresolve.models.pairs import PairModel, pair
from foresolve.models.table import layout_of

SKEWED = 0.5  # the mean skewness of columns from which on logarithms are tried
FAR = 1e5  # times its deviation, the size of a parameter that single precision hardly sees vary
WIDTH = 64  # of the hidden layer that is tried


@dataclass(frozen=True)
class Facts:
    """Facts about the training data; test data is not used.

    Attributes
    ----------
    layout: what a row is: "instance", "item" or "pair".
    positive: whether all parameters are positive and skewed, less so in their logarithms.
    bounds: between which predictions are put: those of the problem, or from 0 on where no parameter is negative.
    head: of networks.
    hidden: the layers of networks that are tried.
    far: whether a parameter's deviation is too small beside its size.
    """

    layout: str
    positive: bool
    bounds: tuple[float | None, float | None]
    head: Head
    hidden: tuple[tuple[int, ...], ...]
    far: bool = False

    @classmethod
    def of(cls, train: DecisionDataset, head: Any = "auto", hidden: Any = "auto") -> Facts:
        layout, _ = layout_of(train.features, train.theta)
        bounds = _bounds(train)
        positive = is_skewed(train.theta.reshape(len(train), -1)) and bounds[1] is None
        return cls(layout, positive, bounds, _head(head, train, positive, bounds), _hidden(hidden), _far(train.theta))

    def network(self, train: DecisionDataset, hidden: Sequence[int], seed: int) -> MLP | PairModel:
        """A new network for such data."""
        features, theta = train.features, train.theta
        if self.layout == "pair":
            left, right = pair(features)
            return PairModel(left.shape[-1], right.shape[-1], hidden[0] if hidden else None, self.head, seed)
        if self.layout == "item":
            lead = features.ndim - 1
            outputs = theta.shape[lead:]
            width = None if not outputs else int(outputs[0]) if len(outputs) == 1 else tuple(outputs)
            return MLP(features.shape[-1], width, hidden=tuple(hidden), head=self.head, seed=seed)
        width = math.prod(features.shape[1:])
        outputs = theta.shape[1] if theta.ndim == 2 and features.ndim == 2 else tuple(theta.shape[1:])
        return MLP(width, outputs, hidden=tuple(hidden), head=self.head, seed=seed)


def is_skewed(theta: Tensor) -> bool:
    """True if all numbers `(N, p)` are positive, and columns skewed to the right, more than their logarithms are."""
    if not bool((theta > 0).all()):
        return False
    skewness, of_logarithms = _skewness(theta), _skewness(theta.double().log())
    return skewness > SKEWED and abs(of_logarithms) < skewness


def _far(theta: Tensor) -> bool:
    deviation, size = theta.double().std(0, correction=0), theta.double().abs().amax(0)
    return bool(((deviation > 0) & (size > FAR * deviation)).any())


def _skewness(table: Tensor) -> float:
    centered = table.double() - table.double().mean(0)
    deviation = centered.square().mean(0).sqrt()
    varies = deviation > 1e-9 * table.double().abs().amax(0)
    if not bool(varies.any()):
        return 0.0
    return float(((centered / torch.where(varies, deviation, 1.0)) ** 3).mean(0)[varies].mean())


def _bounds(train: DecisionDataset) -> tuple[float | None, float | None]:
    low, high = train.problem.theta_bounds
    if not math.isfinite(low) and bool((train.theta >= 0).all()):
        low = 0.0
    return (low if math.isfinite(low) else None), (high if math.isfinite(high) else None)


def _head(head: Any, train: DecisionDataset, positive: bool, bounds: tuple[float | None, float | None]) -> Head:
    if head != "auto":
        return check_head(head)
    if bounds == (0.0, 1.0):
        return "probability"
    if positive:
        return "positive"
    return "non_negative" if bounds[0] == 0 and train.problem.sense == "min" else "free"


def _hidden(hidden: Any) -> tuple[tuple[int, ...], ...]:
    """No hidden layer and one of `WIDTH` are tried, unless widths are given."""
    if hidden == "auto":
        return (), (WIDTH,)
    if isinstance(hidden, str) or not isinstance(hidden, Sequence):
        raise checks.fail("hidden", '"auto" or the widths of hidden layers', repr(hidden))
    return (tuple(checks.positive_int("hidden", width) for width in hidden),)
