"""How a number changes during training: from the share of it that is done, 0 to 1, to the number."""

from __future__ import annotations

import math
from collections.abc import Callable

from foresolve._base import checks

__all__ = ["geometric", "linear"]


def geometric(start: float, stop: float) -> Callable[[float], float]:
    """A schedule from `start` to `stop` by equal ratios: `layer.gamma = schedule(epoch / epochs)`."""
    low, high = math.log(checks.positive("start", start)), math.log(checks.positive("stop", stop))
    return lambda progress: math.exp(low + (high - low) * min(max(progress, 0.0), 1.0))


def linear(start: float, stop: float) -> Callable[[float], float]:
    """A schedule from `start` to `stop` by equal differences."""
    checks.positive("start", start)
    checks.positive("stop", stop)
    return lambda progress: start + (stop - start) * min(max(progress, 0.0), 1.0)
