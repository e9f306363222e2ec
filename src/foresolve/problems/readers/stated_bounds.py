"""Bounds of variables as a model file states them."""

from __future__ import annotations

import math

import numpy as np

from foresolve.problems.readers.model import INFINITE
from foresolve.problems.readers.source import Source


class StatedBounds:
    """`[0, inf)` for each variable, unless the file states a side, once at most."""

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lower: dict[int, float] = {}
        self.upper: dict[int, float] = {}
        self.lines: dict[int, int] = {}  # of the upper bounds

    def state(self, line: int, column: int, *, lower: float | None = None, upper: float | None = None) -> None:
        """A line of the file says so; `None` for a side that it leaves open."""
        if (lower is not None and lower >= INFINITE) or (upper is not None and upper <= -INFINITE):
            raise self.source.broken(line, "the bound is infinite, which nothing satisfies")
        for sides, value, side in ((self.lower, lower, "a lower"), (self.upper, upper, "an upper")):
            if value is not None:
                if column in sides:
                    raise self.source.broken(line, f"{side} bound of the variable is given twice")
                sides[column] = value
        if upper is not None:
            self.lines[column] = line

    def arrays(self, n: int, remedy: str) -> tuple[np.ndarray, np.ndarray]:
        """The lower and upper bounds of all variables; `remedy` for those that tools read in two ways."""
        lower, upper = np.zeros(n), np.full(n, math.inf)
        for j, value in self.upper.items():
            if value < 0 and j not in self.lower:
                what = "an upper bound below 0 without a lower bound: to some tools that is 0, to others -inf"
                raise self.source.broken(self.lines[j], what, remedy)
            upper[j] = value
        for j, value in self.lower.items():
            lower[j] = value
        return lower, upper
