"""Means with their intervals, one row each: forest plots, and charts of values."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any

import numpy as np

from foresolve._base.drawing.canvas import shortened, tidy
from foresolve._base.drawing.legends import mark, role_marks
from foresolve._base.drawing.palette import GRAY, INK, PAPER, Role, color_of, marker_of
from foresolve._base.numbers import signed

if TYPE_CHECKING:
    from matplotlib.axes import Axes

ROW = 0.3  # inches
LONGEST, WIDEST = 44, 100  # characters of a name, and of the label below all
UNCLEAR = "no significant difference"
Number = Callable[[float], str]


@dataclass(frozen=True)
class Row:
    """A mean with its interval; an end that is not known is `None`, one that is not bounded is infinite.

    Attributes
    ----------
    published: the figure of a paper, and the half width of its interval.
    context: what tells it from other rows of the same name: a domain, a budget.
    tested: whether a test, beside the interval, tells it from zero; `None` where there is no other test.
    """

    name: str
    mean: float
    low: float | None = None
    high: float | None = None
    role: Role | None = None
    published: tuple[float, float] | None = None
    context: str = ""
    tested: bool | None = None

    @property
    def bounded(self) -> bool:
        """Whether both ends are known and finite."""
        return all(end is not None and math.isfinite(end) for end in (self.low, self.high))

    @property
    def verdict(self) -> str:
        """The side of zero on which the interval of a difference lies."""
        if self.low is None or self.high is None:
            return "no interval"
        if self.tested is False:
            return UNCLEAR
        return "better" if self.low > 0 else "worse" if self.high < 0 else UNCLEAR

    def text(self, number: Number) -> str:
        """The mean, and its interval in brackets."""
        ends = (self.low, self.high)
        if any(end is None or math.isnan(end) for end in ends):
            return _minus(number(self.mean))
        low, high = (number(end) if end is not None and math.isfinite(end) else "unbounded" for end in ends)
        return _minus(f"{number(self.mean)} [{low}, {high}]")

    def scaled(self, factor: float) -> Row:
        """The same in another unit, `factor` of which are one of this."""
        low, high = (None if end is None else factor * end for end in (self.low, self.high))
        return replace(self, mean=factor * self.mean, low=low, high=high)


def draw_rows(
    ax: Axes, rows: Sequence[Row], *, number: Number, limits: tuple[float, float] | None = None, hollow: bool = False,
    texts: bool = True, names: bool = True,
) -> None:  # fmt: skip
    """Rows from the top down, each with its number at the right edge, where no interval can hide it.

    Parameters
    ----------
    limits: what the axis shows; a mean outside of it is an arrow at the edge. By default all means and intervals.
    hollow: whether a marker is hollow where the interval has zero inside.
    texts: whether numbers are written; `names`: whether names are.
    """
    low, high = _limits(rows) if limits is None else limits
    for height, row in enumerate(rows):
        color, inside = color_of(row.role), low <= row.mean <= high
        marker = marker_of(row.role) if inside else "<" if row.mean < low else ">"
        face = PAPER if hollow and row.verdict not in ("better", "worse") else color
        place = min(max(row.mean, low), high)
        ax.plot([place], [height], marker, color=color, markerfacecolor=face, markersize=6, zorder=3, clip_on=False)
        _draw_interval(ax, row, height, (low, high))
        if row.published is not None:
            _draw_published(ax, row.published, height, (low, high))
        if texts:
            ax.annotate(
                row.text(number), (1.0, height), (6, 0), xycoords=ax.get_yaxis_transform(), textcoords="offset points",
                va="center", fontsize=8, annotation_clip=False,
            )  # fmt: skip
    ax.set_yticks(range(len(rows)), [_name(row) for row in rows] if names else [])
    ax.tick_params(axis="y", length=0)
    ax.set_ylim(len(rows) - 0.4, -0.6)
    ax.set_xlim(low, high)
    tidy(ax, "x")
    ax.spines["left"].set_visible(False)


def _name(row: Row) -> str:
    return "\n".join(shortened(text, LONGEST) for text in (row.name, row.context) if text)


def _minus(text: str) -> str:
    """With minus signs, as the numbers of axes have."""
    return text.replace("-", "−")


def _draw_interval(ax: Axes, row: Row, height: float, limits: tuple[float, float]) -> None:
    """Over its marker, for it may be shorter; an end within the picture has a cap."""
    if row.low is None or row.high is None or math.isnan(row.low + row.high):
        return
    ends = np.clip([row.low, row.high], *limits)
    if row.high < limits[0] or row.low > limits[1]:
        return
    ax.plot(ends, [height, height], color=INK, linewidth=1.1, solid_capstyle="butt", zorder=4)
    caps = [end for end, shown in zip((row.low, row.high), ends) if end == shown]
    ax.plot(caps, [height] * len(caps), "|", color=INK, markersize=6, markeredgewidth=1.1, zorder=4)


def _draw_published(ax: Axes, published: tuple[float, float], height: float, limits: tuple[float, float]) -> None:
    mean, half = published
    if not limits[0] <= mean <= limits[1]:
        return
    ends = np.clip([mean - half, mean + half], *limits)
    ax.plot(ends, [height + 0.28] * 2, color=INK, linewidth=0.8, zorder=4)
    ax.plot([mean], [height + 0.28], "D", markerfacecolor="none", markeredgecolor=INK, markersize=4.5, zorder=4)


def draw_differences(ax: Axes, rows: Sequence[Row], *, label: str = "", number: Number | None = None) -> None:
    """A forest plot: the best on top, a line at zero, better to the right (say so: `point_to_better`)."""
    ordered = sorted(rows, key=lambda row: -row.mean)
    draw_rows(ax, ordered, number=signed if number is None else number, hollow=True)
    low, high = ax.get_xlim()
    ax.set_xlim(min(low, -0.04 * (high - low)), max(high, 0.04 * (high - low)))
    ax.axvline(0.0, color=INK, linewidth=1.0, zorder=1)
    ax.set_xlabel(shortened(label, WIDEST), fontsize=9)


def point_to_better(ax: Axes) -> None:
    """Say above the line at zero which side of it is better."""
    low, high = ax.get_xlim()
    for text, side, room in (("better →", "left", high), ("← worse", "right", -low)):
        if room > 0.12 * (high - low):
            ax.annotate(
                text, (0.0, 1.0), (5 if side == "left" else -5, 1), xycoords=("data", "axes fraction"),
                textcoords="offset points", ha=side, va="bottom", fontsize=8,
            )  # fmt: skip


def difference_marks(rows: Sequence[Row], interval: str = "95 % interval") -> list[Any]:
    """The legend of a forest plot; `interval` is what it says of the intervals."""
    entries = role_marks(row.role for row in rows)
    if any(row.bounded for row in rows):
        entries.append(interval_mark(interval))
        entries.append(mark(f"hollow: {UNCLEAR}", GRAY, "o", hollow=True))
    if any(row.low is None or row.high is None for row in rows):
        entries.append(mark("hollow, alone: no interval", GRAY, "o", hollow=True))
    return entries


def interval_mark(words: str = "95 % interval") -> Any:
    """The legend of intervals."""
    return mark(words, INK, "|", line="-")


def published_mark(words: str = "published, with its interval") -> Any:
    """The legend of what a paper says."""
    return mark(words, INK, "D", hollow=True)


def _limits(rows: Sequence[Row]) -> tuple[float, float]:
    """All means and finite ends, with a margin."""
    ends = [end for row in rows for end in (row.mean, row.low, row.high) if end is not None and math.isfinite(end)]
    ends += [row.published[0] for row in rows if row.published is not None]
    low, high = min(ends), max(ends)
    margin = 0.06 * (high - low) or 0.06 * abs(high) or 1.0
    return low - margin, high + margin
