"""All figures of a run, drawn with matplotlib's objects (no pyplot), with what they show in words.

A figure is a `matplotlib.figure.Figure`; `to_svg` and `to_png` make text and bytes of it, the same for the same input.
"""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

from foresolve._base import files
from foresolve._base.drawing.palette import Role
from foresolve._base.drawing.rendering import to_png, to_svg
from foresolve.learning.pictures.curves import plot_learning
from foresolve.report import courses, prediction_figures, value_figures
from foresolve.report.formats import best_words
from foresolve.report.roles import role_of
from foresolve.report.summary import OPT
from foresolve.report.view import RunView

if TYPE_CHECKING:
    from matplotlib.figure import Figure

__all__ = ["captions", "draw", "svgs", "to_png", "to_svg", "write_figures"]


def draw(run: RunView) -> dict[str, Figure]:
    """All figures of a run that its records and pictures allow, by the name of their file; drawn once for each view.

    "differences": paired differences. "shares": values as a share of the way from random to best. "values": Table 1 as
    a chart. "cost": seconds against value. "learning": regret and error over epochs. "heat-maps": Figure 1 of the
    paper. "out-weights": Figure 2 of the paper.
    """
    return run.once("figures", _draw)


def svgs(run: RunView) -> dict[str, str]:
    """The figures of `draw` as SVG, worked out once for each view."""
    return run.once("figures as SVG", lambda run: {name: to_svg(figure) for name, figure in draw(run).items()})


def captions(run: RunView) -> dict[str, str]:
    """What each figure shows, in a sentence or two that are true of this run."""
    two_stage, decision = run.info.figure_methods
    k = "" if run.accuracy_k is None else f" (k = {run.accuracy_k})"
    best = best_words(any(row.by_steps(run.scored) for row in run.rows))
    published = " Diamonds: what the paper published." if run.comparable else ""
    return {
        "differences": (
            "Paired differences in value, the largest first: what varies between splits cancels. Right of the line "
            "at zero is better; a hollow marker has zero in its interval."
        ),
        "shares": (
            f"Values as a share of the way from random decisions (0 %) to {best} (100 %), on a scale that shows "
            f"what lies above {100 * value_figures.SHOWN:g} % of the largest share; 95 % intervals over splits, each "
            "with its own way."
        ),
        "values": f"Table 1 as a chart: mean and 95 % interval over splits; dashed: {best}.{published}",
        "cost": f"Seconds a split, for training and deciding, against what decisions are worth{k}.",
        "learning": (
            f"Regret of validation decisions and squared error of predictions over epochs, means over splits{k}; on a "
            "log scale where they are far apart."
        ),
        "heat-maps": (
            f"Figure 1{k}: theta of one test instance, as it is and as {two_stage} and {decision} predict it, on one "
            f"scale; dark is high. {run.info.rows.capitalize()} are in the order of their true row sums."
        ),
        "out-weights": (
            f"Figure 2{k}: predicted against true row sums of theta for all {run.info.rows} of the test instances of "
            "one split, on one scale; on the dashed diagonal they are equal. r² is the squared correlation."
        ),
    }


def _draw(run: RunView) -> dict[str, Figure]:
    drawn: dict[str, Figure | None] = {}
    if any(row.method != OPT for row in run.rows):
        drawn["differences"] = value_figures.differences(run)
        drawn["shares"] = value_figures.shares(run)
        drawn["values"] = value_figures.values(run)
        drawn["cost"] = value_figures.cost(run)
    learned = courses.shown(run)
    if learned:
        drawn["learning"] = plot_learning(learned, {method: role_of(run, method) for method in learned})
    pictures = {method: run.pictures[method] for method in run.info.figure_methods if method in run.pictures}
    if pictures:
        roles: dict[str, Role] = {method: role_of(run, method) for method in pictures}
        drawn["heat-maps"] = prediction_figures.heat_maps(pictures, rows=run.info.rows, columns=run.info.columns)
        drawn["out-weights"] = prediction_figures.out_weights(pictures, rows=run.info.rows, roles=roles)
    return {name: figure for name, figure in drawn.items() if figure is not None}


def write_figures(run: RunView, folder: Path) -> list[Path]:
    """Draw and write every figure as PNG and SVG into a folder; give the paths back."""
    paths: list[Path] = []
    for name, svg in svgs(run).items():
        paths.append(files.write_bytes(folder / f"{name}.png", to_png(draw(run)[name])))
        paths.append(files.write_text(folder / f"{name}.svg", svg))
    return paths
