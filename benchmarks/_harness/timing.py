"""When to call, on which draw of theta, and the medians of the times. Standard library only."""

from __future__ import annotations

import statistics
import time
from collections.abc import Iterator, Sequence
from typing import Any

Timing = tuple[float, float]


class Calls:
    """Rounds of calls within a budget: yields `(call, draw)`; the caller reports each with `took`.

    Every draw is used once, the first in the cold call; after that the others come round again, so never the same theta
    twice in a row, until `most` calls or `enough` seconds. After `patience` seconds not every draw need have been used.
    """

    def __init__(self, draws: int, *, budget: float, most: int, enough: float, patience: float | None = None) -> None:
        self.draws, self.budget, self.most, self.enough = draws, budget, most, enough
        self.patience = budget if patience is None else patience
        self.timings: list[Timing] = []

    def __iter__(self) -> Iterator[tuple[int, int]]:
        started = time.perf_counter()
        while (call := len(self.timings)) < self.most:
            elapsed = time.perf_counter() - started
            last = sum(self.timings[-1]) if self.timings else 0.0
            sufficient = self.enough if call >= self.draws else self.patience
            if elapsed + 1.2 * last > self.budget or elapsed > sufficient:
                return
            yield call, self._draw(call)

    def _draw(self, call: int) -> int:
        if self.draws == 1:
            return 0
        return call if call < self.draws else 1 + (call - 1) % (self.draws - 1)

    def took(self, forward: float, backward: float = 0.0) -> None:
        self.timings.append((forward, backward))


def medians(timings: Sequence[Timing], instances: int = 1) -> dict[str, Any]:
    """Seconds of forward, backward and their sum, each for one of the `instances` of a call."""
    return {
        "forward": statistics.median(forward for forward, _ in timings) / instances,
        "backward": statistics.median(backward for _, backward in timings) / instances,
        "total": statistics.median(map(sum, timings)) / instances,
        "calls": len(timings),
    }
