"""What a study found, in pictures: what methods save, and what they cost."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import as_axes, tidy
from foresolve._base.drawing.intervals import Row
from foresolve._base.drawing.palette import Role, color_of, marker_of
from foresolve._base.drawing.points import name_points
from foresolve.learning.pictures.differences import draw_forest

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from foresolve.learning.study.contrast import Contrast
    from foresolve.learning.study.result import Study

NO_FEATURES = ("mean", "last value")  # references that learn nothing from features


def draw_contrast(contrast: Contrast, units: str, ax: Any) -> Axes:
    """Every method of a study against the best two-stage model: what it saves, or gains, an instance."""
    rows = [
        Row(row.name, row.improvement, low, high, study_role(row.name, row.role))
        for row in contrast
        if row.name != contrast.reference
        for low, high in [row.improvement_interval or (None, None)]
    ]
    counted = contrast.blocks or f"{contrast.instances} test instances"
    unit = f" ({units})" if units else ""
    label = f"regret saved an instance against {contrast.reference}{unit}; {counted}"
    return draw_forest(rows, label, f"{contrast.confidence:.0%} interval", ax)


def draw_cost(study: Study, ax: Any) -> Axes:
    """Seconds of training, all trials of a method together, against its regret on test data."""
    ax = as_axes(ax, (7.2, 4.2))
    rows, regrets = study.comparison.rows, [row.regret for row in study.comparison.rows]
    seconds = [sum(trial.seconds for trial in study.trials if trial.method == row.name) for row in rows]
    for row, took in zip(rows, seconds):
        role = study_role(row.name, row.role)
        ax.plot([took], [row.regret], marker_of(role), color=color_of(role), markersize=8)
    ax.set_xscale("log")
    ax.set_ylim(min(0.0, min(regrets)), 1.12 * max(*regrets, 1e-12))
    ax.margins(x=0.2)
    unit = f" ({study.units})" if study.units else ""
    ax.set_xlabel("seconds, all trials of a method (log scale)", fontsize=9)
    ax.set_ylabel(f"mean regret on test data{unit}; lower is better", fontsize=9)
    tidy(ax, "both")
    legends.under(ax, legends.role_marks(study_role(row.name, row.role) for row in rows))
    name_points(ax, list(zip(seconds, regrets)), [row.name for row in rows])
    return ax


def study_role(name: str, role: str) -> Role:
    """The role of a method of a study."""
    if role == "decision-focused":
        return "decision-focused"
    return "heuristic" if name in NO_FEATURES else "two-stage"
