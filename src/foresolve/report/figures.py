"""The paper's figures for every domain, and a chart of Table 1, drawn with matplotlib's objects (no pyplot).

A figure is a `matplotlib.figure.Figure`; `to_svg` and `to_png` make text and bytes of it, the same for the same input.
"""

from __future__ import annotations

import io
import re
from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from foresolve._base import files
from foresolve._base.checks import fail
from foresolve._base.extras import need
from foresolve.report.summary import CHOSEN, OPT, RANDOM, two_stage
from foresolve.report.view import RunView

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

BLUE, ORANGE, GRAY, GREEN = "#0b6e99", "#c2571a", "#777777", "#5a7d2a"
MOST_VECTOR_POINTS = 1500  # above it a scatter becomes pixels, which are smaller
Picture = Mapping[str, np.ndarray]


def draw(run: RunView) -> dict[str, Figure]:
    """All figures of a run that its records and pictures allow, by the name of their file; drawn once for each view.

    "values": Table 1 as a chart. "heat-maps": Figure 1 of the paper. "out-weights": Figure 2 of the paper.
    """
    return run.once("figures", _draw)


def svgs(run: RunView) -> dict[str, str]:
    """The figures of `draw` as SVG, worked out once for each view."""
    return run.once("figures as SVG", lambda run: {name: to_svg(figure) for name, figure in draw(run).items()})


def _draw(run: RunView) -> dict[str, Figure]:
    drawn: dict[str, Figure] = {}
    if any(row.method != OPT for row in run.rows):
        drawn["values"] = value_chart(run)
    pictures = {method: run.pictures[method] for method in run.info.figure_methods if method in run.pictures}
    if pictures:
        drawn["heat-maps"] = heat_maps(pictures, rows=run.info.rows, columns=run.info.columns)
        drawn["out-weights"] = out_weights(pictures, rows=run.info.rows)
    return drawn


def write_figures(run: RunView, folder: Path) -> list[Path]:
    """Draw and write every figure as PNG and SVG into a folder; give the paths back."""
    paths: list[Path] = []
    for name, svg in svgs(run).items():
        paths.append(files.write_bytes(folder / f"{name}.png", to_png(draw(run)[name])))
        paths.append(files.write_text(folder / f"{name}.svg", svg))
    return paths


def heat_maps(pictures: Mapping[str, Picture], *, rows: str, columns: str) -> Figure:
    """Figure 1: `theta` of one test instance and what each method predicts for it; dark is high.

    Each map has its own scale, since decision-focused predictions may have any; the largest 0.5 % of the predictions
    are all black, for a few outliers would leave the rest white. The rows of all maps are in one order, that of the
    true row sums, so that a map that knows which rows matter is darker at the top.

    Parameters
    ----------
    pictures: for each method "theta" and "theta_hat", both `(rows, columns)`.
    rows, columns: what they are, in the plural.
    """
    truth = np.asarray(next(iter(pictures.values()))["theta"])
    maps = {"truth": truth, **{method: np.asarray(picture["theta_hat"]) for method, picture in pictures.items()}}
    for method, values in maps.items():
        if values.ndim != 2 or values.shape != truth.shape:
            raise fail(f"theta_hat of {method}", f"(rows, columns) = {truth.shape}, as theta", str(values.shape))
    order = np.argsort(-truth.sum(1), kind="stable")
    wide = truth.shape[1] > 2 * truth.shape[0]
    count = len(maps)
    figure = _figure((7.2, 1.9 * count) if wide else (2.9 * count, 2.9))
    axes = figure.subplots(count if wide else 1, 1 if wide else count, squeeze=False).ravel()
    for axis, (method, values) in zip(axes, maps.items()):
        # "none" keeps the pixels of the matrix in the SVG: small files, sharp squares.
        least, most = _scale(values, 1.0 if method == "truth" else 0.995)
        shape = "auto" if wide else "equal"
        image = axis.imshow(values[order], cmap="Greys", aspect=shape, interpolation="none", vmin=least, vmax=most)
        axis.set_title(method)
        axis.set_xlabel(columns)
        axis.set_ylabel(rows)
        axis.set_xticks([])
        axis.set_yticks([])
        figure.colorbar(image, ax=axis, fraction=0.046, pad=0.02)
    return figure


def _scale(values: np.ndarray, share: float) -> tuple[float, float]:
    """From white to black: up to a quantile, or to the maximum where so few differ; a constant map is white."""
    least, most = float(values.min()), float(values.max())
    top = float(np.quantile(values, share))
    return least, top if top > least else most if most > least else least + 1.0


def out_weights(pictures: Mapping[str, Picture], *, rows: str) -> Figure:
    """Figure 2: the predicted row sum of `theta` against the true one, for all rows of all test instances.

    `r2` is the squared correlation, as in the paper: it is blind to scale and offset, and so is choosing the largest.

    Parameters
    ----------
    pictures: for each method "true_weight" and "predicted_weight", both `(instances, rows)`.
    rows: what they are, in the plural.
    """
    figure = _figure((3.6 * len(pictures), 3.4))
    axes = figure.subplots(1, len(pictures), squeeze=False).ravel()
    for axis, (method, picture) in zip(axes, pictures.items()):
        true, predicted = weights(picture, method)
        many = len(true) > MOST_VECTOR_POINTS
        axis.scatter(true, predicted, s=5, alpha=0.25 if many else 0.5, color=_color(method), linewidths=0,
                     rasterized=many)  # fmt: skip
        r2 = r_squared(true, predicted)
        axis.set_title(f"{method}: " + ("all equal" if r2 is None else f"r² = {r2:.2f}"))
        axis.set_xlabel(f"true out-weight of {rows}")
        axis.set_ylabel("predicted out-weight")
    return figure


def value_chart(run: RunView) -> Figure:
    """Table 1 as a chart: a panel for each budget, a line for each method, the paper's figures as diamonds."""
    methods = [method for method in run.methods if method != OPT]
    figure = _figure((2.0 + 2.6 * len(run.ks), 0.9 + 0.27 * len(methods)))
    axes = figure.subplots(1, len(run.ks), squeeze=False, sharey=True).ravel()
    for axis, k in zip(axes, run.ks):
        for i, method in enumerate(methods):
            _value_line(axis, run, method, k, i)
        best = run.row(OPT, k)
        if best is not None:
            axis.axvline(best.shown(run.scored).mean, color="#333333", linestyle="--", linewidth=1)
        axis.set_title("" if k is None else f"k = {k}")
        axis.grid(axis="x", color="#e5e5e5")
        axis.set_axisbelow(True)
        axis.set_xlabel("value under the truth")
    axes[0].set_yticks(range(len(methods)), methods)
    axes[0].set_ylim(len(methods) - 0.5, -0.5)
    return figure


def weights(picture: Picture, method: str) -> tuple[np.ndarray, np.ndarray]:
    """The true and the predicted row sums of all test instances, flat, in double precision."""
    true, predicted = (np.ravel(picture[f"{name}_weight"]).astype(np.float64) for name in ("true", "predicted"))
    if true.shape != predicted.shape:
        raise fail(f"predicted_weight of {method}", f"{true.shape}, as true_weight", str(predicted.shape))
    return true, predicted


def r_squared(true: np.ndarray, predicted: np.ndarray) -> float | None:
    """The squared Pearson correlation; `None` where one of the two does not vary.

    >>> round(r_squared(np.array([1.0, 2.0, 3.0]), np.array([-20.0, -40.0, -60.0])), 6)
    1.0
    """
    x, y = true - true.mean(), predicted - predicted.mean()
    scale = float(x @ x) * float(y @ y)
    tiny = np.finfo(np.float64).eps * len(true)
    if float(x @ x) <= tiny * float(true @ true) or float(y @ y) <= tiny * float(predicted @ predicted):
        return None
    return float(x @ y) ** 2 / scale


def to_png(figure: Figure) -> bytes:
    """The figure as PNG."""
    stream = io.BytesIO()
    figure.savefig(stream, format="png", dpi=160, metadata={"Software": None})
    return stream.getvalue()


def to_svg(figure: Figure) -> str:
    """The figure as an SVG element that can stand in a page."""
    matplotlib = need("matplotlib", "a figure", "plot")
    stream = io.StringIO()
    # Text stays text, and names of shapes come from the shapes rather than from chance.
    with matplotlib.rc_context({"svg.fonttype": "none", "svg.hashsalt": "foresolve"}):
        figure.savefig(stream, format="svg", dpi=160, metadata={"Date": None, "Creator": None})
    text = stream.getvalue()
    text = text[text.index("<svg") :]
    text = re.sub(r"<metadata>.*?</metadata>", "", text, flags=re.DOTALL)
    used = set(re.findall(r'(?:url\(#|href="#)([^")]+)', text))
    return re.sub(r' id="([^"]*)"', lambda match: match[0] if match[1] in used else "", text)


def prefixed(svg: str, prefix: str) -> str:
    """With a prefix before every name in it: the names of two figures on a page must differ."""
    return re.sub(r'(\bid="|url\(#|href="#)', rf"\g<1>{prefix}", svg)


def _figure(size: tuple[float, float]) -> Any:
    return need("matplotlib.figure", "a figure", "plot").Figure(figsize=size, layout="constrained")


def _color(method: str) -> str:
    if method in (CHOSEN, RANDOM, OPT):
        return GRAY
    return ORANGE if two_stage(method) else BLUE


def _value_line(axis: Axes, run: RunView, method: str, k: int | None, height: int) -> None:
    """One method's mean with its interval, and the paper's beside it."""
    row, paper = run.row(method, k), run.published(method, k)
    if row is not None:
        ours = row.shown(run.scored)
        color = GREEN if method in run.info.heuristics else _color(method)
        if ours.low is not None and ours.high is not None:
            axis.plot([ours.low, ours.high], [height, height], color=color, linewidth=2, solid_capstyle="butt")
        axis.plot([ours.mean], [height], "o", color=color, markersize=5)
    if paper is not None:
        axis.plot([paper.mean], [height], "D", markerfacecolor="none", markeredgecolor="#222222", markersize=6)
