"""What decisions are worth, in pictures: values, shares of the way to the best, paired differences, cost."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING

from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import new_figure, tidy
from foresolve._base.drawing.intervals import (
    ROW,
    Row,
    difference_marks,
    draw_differences,
    draw_rows,
    interval_mark,
    point_to_better,
    published_mark,
)
from foresolve._base.drawing.palette import INK, color_of, marker_of
from foresolve._base.drawing.points import name_points
from foresolve.report.findings import FEW
from foresolve.report.formats import best_words, digits
from foresolve.report.roles import role_of
from foresolve.report.summary import OPT, RANDOM, Estimate, MethodSummary
from foresolve.report.view import RunView

if TYPE_CHECKING:
    from matplotlib.figure import Figure

SHOWN = 0.6  # of the best share: methods below it are arrows at the edge, or the others would be one point
NAMES, PANEL = 1.9, 3.1  # inches


def values(run: RunView) -> Figure:
    """Table 1: mean values with their intervals, a panel for each budget, the published figures as diamonds."""
    methods = _by_value(run)
    figure = new_figure(_width(len(run.ks)), 1.2 + ROW * len(methods))
    places = _number(digits(run))
    for i, (axis, k) in enumerate(zip(figure.subplots(1, len(run.ks), squeeze=False).ravel(), run.ks)):
        rows = [_row(run, row, row.shown(run.scored)) for m in methods if (row := run.row(m, k)) is not None]
        best = _best(run, k)
        top = max([best or 0.0, *(row.high or row.mean for row in rows)])
        low = min([0.0, *(row.low if row.low is not None else row.mean for row in rows)])
        draw_rows(axis, rows, number=places, limits=(low, top + 0.04 * (top - low)), names=i == 0)
        if best is not None:
            axis.axvline(best, color=INK, linestyle="--", linewidth=1)
        axis.set_title("" if k is None else f"k = {k}", fontsize=10)
        axis.set_xlabel(f"value under the truth{_few(run)}", fontsize=9)
    _legend(run, figure, methods)
    return figure


def shares(run: RunView) -> Figure | None:
    """Values as a share of the way from random decisions (0 %) to the best (100 %), near enough to see differences.

    `None` where no random decisions were scored, or they are the best.
    """
    ks = [k for k in run.ks if any(known == k for _, known in run.ways)]
    methods = [method for method in _by_value(run) if any((method, k) in run.ways for k in ks)]
    if not methods:
        return None
    figure = new_figure(_width(len(ks)), 1.2 + ROW * len(methods))
    axes = figure.subplots(1, len(ks), squeeze=False).ravel()
    for i, (axis, k) in enumerate(zip(axes, ks)):
        rows = [_shared(run, method, k) for method in methods if (method, k) in run.ways]
        seen = [row for row in rows if row.mean >= SHOWN * max(row.mean for row in rows)] or rows
        ends = [end for row in seen for end in (row.mean, row.low, row.high) if end is not None]
        margin = 0.08 * (max(ends) - min(ends)) or 5.0
        limits = min(ends) - margin, max(ends) + margin
        draw_rows(axis, rows, number=lambda value: f"{value:.1f}", limits=limits, names=i == 0)
        if limits[0] <= 100 <= limits[1]:
            axis.axvline(100.0, color=INK, linestyle="--", linewidth=1)
        axis.set_title("" if k is None else f"k = {k}", fontsize=10)
        axis.set_xlabel("% of the way from random to best", fontsize=9)
    outside = legends.mark("off the scale", color_of("reference"), "<")
    few = any(line.get_marker() == "<" for axis in axes for line in axis.get_lines())
    best = any(line.get_linestyle() == "--" for axis in axes for line in axis.get_lines())
    _legend(run, figure, methods, *([outside] if few else []), best=best)
    return figure


def differences(run: RunView) -> Figure | None:
    """Paired differences, a forest plot for each budget on one scale; `None` where nothing is compared."""
    groups = {k: [gap for gap in run.differences if gap.k == k] for k in run.ks}
    groups = {k: gaps for k, gaps in groups.items() if gaps}
    if not groups:
        return None
    heights = [len(gaps) + 1.6 for gaps in groups.values()]
    figure = new_figure(9.0, 0.6 + ROW * sum(heights) + 0.45 * len(groups))
    axes = figure.subplots(len(groups), 1, squeeze=False, sharex=True, gridspec_kw={"height_ratios": heights}).ravel()
    every: list[Row] = []
    for axis, (k, gaps) in zip(axes, groups.items()):
        rows = [
            Row(f"{gap.name} − {gap.reference}", gap.gained, *(gap.interval or (None, None)), role_of(run, gap.name))
            for gap in gaps
        ]
        draw_differences(axis, rows, number=_number(digits(run), "+"))
        axis.set_title("" if k is None else f"k = {k}", fontsize=10, pad=14)
        every += rows
    low = min(0.0, *(end for row in every for end in (row.mean, row.low) if end is not None))
    high = max(0.0, *(end for row in every for end in (row.mean, row.high) if end is not None))
    margin = 0.04 * (high - low) or 1.0
    axes[-1].set_xlim(low - margin, high + margin)
    point_to_better(axes[0])
    axes[-1].set_xlabel(f"difference in value, paired by split{_few(run)}", fontsize=9)
    legends.below(figure, difference_marks(every, "95 % interval over splits"))
    return figure


def cost(run: RunView) -> Figure | None:
    """What a method costs, in seconds a split, against what its decisions are worth; `None` where no time was kept."""
    k = run.accuracy_k
    rows = [row for row in run.rows if row.k == k and row.method not in (OPT, RANDOM) and row.seconds > 0]
    if len(rows) < 2:
        return None
    shared = all((row.method, k) in run.ways for row in rows)
    figure = new_figure(7.2, 4.2)
    axis = figure.subplots()
    scaled = [_shared(run, row.method, k) if shared else _row(run, row, row.shown(run.scored)) for row in rows]
    for row, shown in zip(rows, scaled):
        color = color_of(shown.role)
        if shown.low is not None and shown.high is not None:
            axis.plot([row.seconds] * 2, [shown.low, shown.high], color=color, linewidth=1.6)
        axis.plot([row.seconds], [shown.mean], marker_of(shown.role), color=color, markersize=7)
    axis.set_xscale("log")
    axis.margins(0.16, 0.1)
    tidy(axis, "both")
    axis.set_xlabel("seconds a split, for training and deciding (log scale)", fontsize=9)
    axis.set_ylabel("% of the way from random to best" if shared else "value", fontsize=9)
    axis.set_title("" if k is None else f"k = {k}", fontsize=10)
    legends.below(figure, legends.role_marks(row.role for row in scaled))
    name_points(axis, [(row.seconds, shown.mean) for row, shown in zip(rows, scaled)], [row.method for row in rows])
    return figure


def _width(panels: int) -> float:
    return max(NAMES + PANEL * panels, 7.2)


def _by_value(run: RunView) -> list[str]:
    """The methods but the best decisions, the most valuable first: that of the budget of the figures decides."""
    rows = {row.method: row for row in run.rows if row.k == run.accuracy_k and row.method != OPT}
    others = [method for method in run.methods if method not in rows and method != OPT]
    return [*sorted(rows, key=lambda method: -rows[method].shown(run.scored).mean), *others]


def _row(run: RunView, row: MethodSummary, shown: Estimate) -> Row:
    paper = run.published(row.method, row.k)
    published = None if paper is None else (paper.mean, paper.half)
    return Row(row.method, shown.mean, shown.low, shown.high, role_of(run, row.method), published)


def _best(run: RunView, k: int | None) -> float | None:
    row = run.row(OPT, k)
    return None if row is None else row.shown(run.scored).mean


def _shared(run: RunView, method: str, k: int | None) -> Row:
    share = run.ways[method, k]
    low, high = (None if end is None else 100 * end for end in (share.low, share.high))
    return Row(method, 100 * share.mean, low, high, role_of(run, method))


def _legend(run: RunView, figure: Figure, methods: Sequence[str], *more: object, best: bool = True) -> None:
    bound = [] if not best or all(run.row(OPT, k) is None for k in run.ks) else [OPT]
    entries = legends.role_marks(role_of(run, method) for method in (*methods, *bound))
    for entry in entries:
        if entry.get_label() == legends.WORDS["reference"]:
            entry.set_label("reference: " + ", ".join(m for m in methods if role_of(run, m) == "reference"))
    if bound:
        entries[-1].set_label(best_words(any(row.by_steps(run.scored) for row in run.rows)))
    if any(row.value.low is not None for row in run.rows):
        entries.append(interval_mark("95 % interval over splits"))
    if any(run.published(method, k) is not None for method in methods for k in run.ks) and not more:
        entries.append(published_mark())
    legends.below(figure, [*entries, *more])


def _few(run: RunView) -> str:
    splits = max((row.value.splits for row in run.rows), default=0)
    return f" ({splits} split{'s' if splits != 1 else ''}: only a hint)" if splits < FEW else ""


def _number(places: int, sign: str = "") -> Callable[[float], str]:
    return lambda value: f"{value:{sign}.{places}f}"
