"""Paired comparisons as forest plots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import as_axes, bare
from foresolve._base.drawing.intervals import ROW, Row, difference_marks, draw_differences, point_to_better
from foresolve._base.drawing.palette import Role

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from foresolve.learning.comparison import Comparison
    from foresolve.learning.paired import PairedComparison


def draw_comparison(comparison: Comparison, roles: Mapping[str, Role] | None, ax: Any) -> Axes:
    """The gain of every report over the reference."""
    measure = comparison.measure.replace("_", " ")
    label = f"{measure} gained over {comparison.reference}, mean over instances"
    level = f"{comparison.confidence:.0%} interval" + (f", by {comparison.blocks}" if comparison.blocks else "")
    return draw_forest(pair_rows(comparison.rows, roles or {}), label, level, ax)


def pair_rows(pairs: Iterable[PairedComparison], roles: Mapping[str, Role]) -> list[Row]:
    """The rows of a forest plot: all pairs but the reference with itself."""
    return [
        Row(pair.name, pair.gained, *(pair.interval or (None, None)), roles.get(pair.name))
        for pair in pairs
        if not pair.is_reference
    ]


def draw_forest(rows: list[Row], label: str, level: str, ax: Any) -> Axes:
    """Gains over a reference; better is to the right."""
    ax = as_axes(ax, (8.0, 1.2 + (ROW + 0.06) * max(len(rows), 1)))
    if not rows:
        bare(ax)
        ax.text(0.5, 0.5, "nothing to compare with", ha="center", transform=ax.transAxes)
        return ax
    draw_differences(ax, rows, label=label)
    point_to_better(ax)
    legends.under(ax, difference_marks(rows, level))
    return ax
