"""Schedules: numbers that change during training, from the share of it that is done, 0 to 1, to the number."""

from __future__ import annotations

import math
from collections.abc import Callable

from foresolve._base import checks

__all__ = ["geometric", "linear"]


def geometric(start: float, stop: float) -> Callable[[float], float]:
    """A schedule from `start` to `stop` by equal ratios: `layer.gamma = schedule(epoch / epochs)`.

    Examples
    --------
    >>> from foresolve.schedules import geometric
    >>> schedule = geometric(10, 0.1)
    >>> [round(schedule(progress), 6) for progress in (0.0, 0.5, 1.0)]
    [10.0, 1.0, 0.1]
    """
    low, high = math.log(checks.positive("start", start)), math.log(checks.positive("stop", stop))
    return lambda progress: math.exp(low + (high - low) * min(max(progress, 0.0), 1.0))


def linear(start: float, stop: float) -> Callable[[float], float]:
    """A schedule from `start` to `stop` by equal differences.

    Examples
    --------
    >>> from foresolve.schedules import linear
    >>> schedule = linear(1, 0.5)
    >>> [schedule(progress) for progress in (0.0, 0.5, 1.0)]
    [1.0, 0.75, 0.5]
    """
    checks.positive("start", start)
    checks.positive("stop", stop)
    return lambda progress: start + (stop - start) * min(max(progress, 0.0), 1.0)
