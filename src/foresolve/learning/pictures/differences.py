"""Paired comparisons as forest plots."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
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
    from foresolve.learning.paired import PairedComparison


def draw_comparison(comparison: Comparison, roles: Mapping[str, Role] | None, ax: Any) -> Axes:
    """The gain of every report over the reference."""
    measure = comparison.measure.replace("_", " ")
    label = f"{measure} gained over {comparison.reference}, mean over instances"
    level = f"{comparison.confidence:.0%} interval" + (f", by {comparison.blocks}" if comparison.blocks else "")
    return draw_forest(pair_rows(comparison.rows, roles or {}), label, level, ax)


def pair_rows(pairs: Iterable[PairedComparison], roles: Mapping[str, Role], *, tested: bool | None = None) -> list[Row]:
    """The rows of a forest plot: all pairs but the reference with itself.

    `tested` is False if too few units allow no claim.
    """
    return [
        Row(pair.name, pair.gained, *(pair.interval or (None, None)), roles.get(pair.name), tested=tested)
        for pair in pairs
        if not pair.is_reference
    ]


def draw_forest(rows: Sequence[Row], label: str, level: str, ax: Any, number: Number | None = None) -> Axes:
    """Gains over a reference; better is to the right."""
    lines = max(1, sum(1 + 0.4 * bool(row.context) for row in rows))
    ours, ax = ax is None, as_axes(ax, (8.0, 1.3 + (ROW + 0.06) * lines))
    if not rows:
        bare(ax)
        ax.text(0.5, 0.5, "nothing to compare with", ha="center", transform=ax.transAxes)
        return ax
    draw_differences(ax, rows, label=label, number=number)
    point_to_better(ax)
    marks, figure = difference_marks(rows, level), ax.get_figure(root=True)
    if ours and figure is not None:
        legends.below(figure, marks)  # names and numbers beside the axes leave too little room under them
    else:
        legends.under(ax, marks)
    return ax
