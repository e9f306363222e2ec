"""Bars with names, and marks beside them."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np

from foresolve._base.drawing.canvas import shortened, tidy
from foresolve._base.drawing.palette import GIVEN, GRAY

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST = 30
LEAST_TEXT = 6.0  # points, from a name to the next: where rows are lower, not all have one


def largest(sizes: np.ndarray, most: int = MOST) -> np.ndarray:
    """The places of the `most` largest, in their own order: what is shown of too many.

    >>> largest(np.array([3.0, 1.0, 2.0]), 2).tolist()
    [0, 2]
    """
    return np.sort(np.argsort(-sizes, kind="stable")[:most])


def draw_bars(ax: Axes, names: Sequence[str], values: np.ndarray, colors: Sequence[str], label: str) -> None:
    """Horizontal bars from the top down."""
    ax.barh(range(len(values)), values, color=list(colors), height=0.68)
    figure = ax.get_figure(root=True)
    assert figure is not None
    room = 72 * figure.get_figheight() * ax.get_position().height / max(len(values), 1)  # points, for a row
    places = range(0, len(values), math.ceil(LEAST_TEXT / room))
    ax.set_yticks(places, [shortened(names[i]) for i in places])
    ax.tick_params(axis="y", length=0, labelsize=min(8.0, max(0.9 * room, LEAST_TEXT - 1)))
    ax.set_ylim(len(values) - 0.4, -0.6)
    ax.axvline(0.0, color=GRAY, linewidth=0.8)
    ax.set_xlabel(label, fontsize=9)
    tidy(ax, "x")
    ax.spines["left"].set_visible(False)


def mark_bars(ax: Axes, numbers: np.ndarray, label: str) -> None:
    """Diamonds on an axis of their own, at the top, whose zero is that of the bars."""
    above = ax.twiny()
    above.plot(numbers, range(len(numbers)), "D", color=GIVEN, markersize=4, zorder=4)
    low, high = _around_zero(numbers)
    left, right = _around_zero(np.array(ax.dataLim.intervalx))
    below = max(-low / (high - low), -left / (right - left))
    share = below / (below + max(high / (high - low), right / (right - left)))  # of the width, left of zero
    above.set_xlim(*_with_zero_at(share, low, high))
    ax.set_xlim(*_with_zero_at(share, left, right))
    above.set_xlabel(label, fontsize=9, color=GIVEN)
    above.tick_params(axis="x", colors=GIVEN, labelsize=8)
    above.spines[["right", "left", "bottom"]].set_visible(False)
    above.spines["top"].set_color(GIVEN)


def _around_zero(numbers: np.ndarray) -> tuple[float, float]:
    low, high = min(0.0, float(numbers.min())), max(0.0, float(numbers.max()))
    return (low, high) if high > low else (0.0, 1.0)


def _with_zero_at(share: float, low: float, high: float) -> tuple[float, float]:
    width = max(high / (1 - share) if share < 1 else 0.0, -low / share if share > 0 else 0.0) * 1.06
    return -share * width, (1 - share) * width
