"""The pictures of a study: what methods gain, and the time they take."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any

from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import as_axes, tidy
from foresolve._base.drawing.palette import Role, color_of, marker_of
from foresolve._base.drawing.points import name_points
from foresolve.learning.pictures.differences import draw_forest, pair_rows
from foresolve.learning.study.methods import Family

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from foresolve.learning.study.contrast import Contrast, MethodRow
    from foresolve.learning.study.result import Study

ROLES: dict[Family, Role] = {
    Family.BASELINE: "heuristic",
    Family.TWO_STAGE: "two-stage",
    Family.DECISION_FOCUSED: "decision-focused",
}


def study_roles(rows: Iterable[MethodRow]) -> dict[str, Role]:
    """The role of each method, which has a color."""
    return {row.name: ROLES[row.method.family] for row in rows}


def draw_contrast(contrast: Contrast, units: str, ax: Any) -> Axes:
    """The gain of every method of a study over the best two-stage model."""
    counted = contrast.blocks or f"{contrast.instances} test instances"
    unit = f" ({units})" if units else ""
    label = f"gained per instance over {contrast.reference}{unit}; {counted}"
    return draw_forest(
        pair_rows(contrast.rows, study_roles(contrast.rows)), label, f"{contrast.confidence:.0%} interval", ax
    )


def draw_cost(study: Study, ax: Any) -> Axes:
    """Seconds of training, all trials of a method together, against its regret on test data."""
    ax = as_axes(ax, (7.2, 4.2))
    rows, regrets = study.comparison.rows, [row.regret for row in study.comparison.rows]
    seconds = [sum(trial.seconds for trial in study.trials if trial.method == row.name) for row in rows]
    roles = study_roles(rows)
    for row, took in zip(rows, seconds):
        role = roles[row.name]
        ax.plot([took], [row.regret], marker_of(role), color=color_of(role), markersize=8)
    ax.set_xscale("log")
    ax.set_ylim(min(0.0, min(regrets)), 1.12 * max(*regrets, 1e-12))
    ax.margins(x=0.2)
    unit = f" ({study.units})" if study.units else ""
    ax.set_xlabel("seconds, all trials of a method (log scale)", fontsize=9)
    ax.set_ylabel(f"mean regret on test data{unit}; lower is better", fontsize=9)
    tidy(ax, "both")
    legends.under(ax, legends.role_marks(roles.values()))
    name_points(ax, list(zip(seconds, regrets)), [row.name for row in rows])
    return ax
