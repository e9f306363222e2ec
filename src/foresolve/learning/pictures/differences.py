"""Paired differences as forest plots."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import as_axes, bare
from foresolve._base.drawing.intervals import (
    ROW,
    Number,
    Row,
    difference_marks,
    draw_differences,
    point_to_better,
)
from foresolve._base.drawing.palette import Role

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from foresolve.learning.comparison import Comparison

# Less of these is better, of those more; of metrics of your own nobody knows.
LESS = {"regret", "relative_regret", "worst_case_regret", "mse", "cross_entropy", "hamming", "adjusted"}
MORE = {"value", "identical", "feasible"}


def draw_comparison(comparison: Comparison, roles: Mapping[str, Role] | None, ax: Any) -> Axes:
    """Every report against the reference; turned around where less is better."""
    measure = comparison.measure.replace("_", " ")
    sign = -1.0 if comparison.measure in LESS else 1.0
    rows = []
    for row in comparison.rows:
        if row.name != comparison.reference:
            ends = (None, None) if row.difference_interval is None else row.difference_interval
            low, high = ends if sign > 0 else (_minus(ends[1]), _minus(ends[0]))
            rows.append(
                Row(row.name, sign * row.difference + 0.0, low, high, None if roles is None else roles.get(row.name))
            )
    saved = f"{measure} saved against" if sign < 0 else f"{measure} less that of"
    level = f"{comparison.confidence:.0%} interval" + (f", by {comparison.blocks}" if comparison.blocks else "")
    known = comparison.measure in LESS | MORE
    return draw_forest(rows, f"{saved} {comparison.reference}, mean over instances", level, ax, known)


def draw_forest(
    rows: Sequence[Row], label: str, level: str, ax: Any, known: bool = True, number: Number | None = None
) -> Axes:
    """Differences from a reference; `known` is whether more is better."""
    lines = max(1, sum(1 + 0.4 * bool(row.context) for row in rows))
    ours, ax = ax is None, as_axes(ax, (8.0, 1.3 + (ROW + 0.06) * lines))
    if not rows:
        bare(ax)
        ax.text(0.5, 0.5, "nothing to compare with", ha="center", transform=ax.transAxes)
        return ax
    draw_differences(ax, rows, label=label, number=number)
    if known:
        point_to_better(ax)
    marks, figure = difference_marks(rows, level), ax.get_figure(root=True)
    if ours and figure is not None:
        legends.below(figure, marks)  # names and numbers beside the axes leave too little room under them
    else:
        legends.under(ax, marks)
    return ax


def _minus(number: float | None) -> float | None:
    return None if number is None else 0.0 - number
