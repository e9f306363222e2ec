"""How strongly a decision is smoothed: fixed, relative to the data, or changing during training."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import torch
from torch import Tensor

from foresolve import _check


@dataclass(frozen=True)
class Relative:
    r"""A `gamma` in units of the data, so that rescaling `theta` or `x` leaves the decision as it is.

    .. math:: \gamma = \text{factor} \cdot \frac{\text{spread}(\theta)}{\text{size}(x)}, \quad
        \text{spread}(\theta)^2 = \mathrm{Var}(\theta) + 0.01 \, \mathrm{mean}(\theta^2)

    per instance, with `size` the mean width of the finite boxes; where there are none, or the rows imply the upper
    bounds (matchings), the largest right-hand side over the norm of its row. It is part of the differentiated map:
    gradients are those of the layer as it is called, and finite differences agree with them.
    """

    factor: float = 0.3

    def __post_init__(self) -> None:
        _check.positive("factor", self.factor)

    def __call__(self, theta: Tensor, size: Tensor) -> Tensor:
        """`gamma` for each instance: `theta` `(B, n)`, `size` `(1 or B,)`, result `(B,)`."""
        variance = (theta - theta.mean(-1, keepdim=True)).square().mean(-1)
        square = variance + 0.01 * theta.square().mean(-1)
        flat = square <= 0  # theta = 0: any gamma gives the same decision
        spread = torch.where(flat, 1.0, square).sqrt()
        return self.factor * spread / size


def geometric(start: float, stop: float) -> Callable[[float], float]:
    """A schedule from `start` to `stop` by equal ratios: `layer.gamma = schedule(epoch / epochs)`."""
    low, high = math.log(_check.positive("start", start)), math.log(_check.positive("stop", stop))
    return lambda progress: math.exp(low + (high - low) * min(max(progress, 0.0), 1.0))


def linear(start: float, stop: float) -> Callable[[float], float]:
    """A schedule from `start` to `stop` by equal differences."""
    _check.positive("start", start)
    _check.positive("stop", stop)
    return lambda progress: start + (stop - start) * min(max(progress, 0.0), 1.0)
