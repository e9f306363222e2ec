"""What methods predict, in pictures: one instance as heat maps, and row sums against the true ones."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from foresolve._base.checks import fail
from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import new_figure, tidy
from foresolve._base.drawing.palette import INK, MAP, Role, color_of, shades
from foresolve._base.extras import need
from foresolve.report.out_weights import Picture, r_squared, weights

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

MOST_PIXELS = 160  # a side of a heat map: more would be finer than a page shows, and single entries invisible
BINS = 10
BEYOND = "#010101"
NO_ORDER = 0.05  # of r²: below it a prediction says nothing of the order


def heat_maps(pictures: Mapping[str, Picture], *, rows: str, columns: str) -> Figure:
    """Figure 1: `theta` of one test instance and what each method predicts for it, on one scale; dark is high.

    The scale is that of square roots, so that small values are visible; it ends where the truth does, or 99.5 %
    of what a method predicts. The rows of all maps are in one order, that of the true row sums. A map of more than 160
    rows or columns is drawn in blocks, each as dark as its largest entry: single entries stay visible.

    Parameters
    ----------
    pictures: for each method "theta" and "theta_hat", both `(rows, columns)`.
    rows, columns: what they are, in the plural.
    """
    truth = np.asarray(next(iter(pictures.values()))["theta"])
    maps = {"truth": truth, **{method: np.asarray(picture["theta_hat"]) for method, picture in pictures.items()}}
    for method, numbers in maps.items():
        if numbers.ndim != 2 or numbers.shape != truth.shape:
            raise fail(f"theta_hat of {method}", f"(rows, columns) = {truth.shape}, as theta", str(numbers.shape))
    order = np.argsort(-truth.sum(1), kind="stable")
    wide, count = truth.shape[1] > 2 * truth.shape[0], len(maps)
    height = 0.9 + 2.3 * min(1.0, truth.shape[0] / truth.shape[1])  # of maps whose entries are squares
    figure = new_figure(7.6, 0.6 + 1.8 * count) if wide else new_figure(0.9 + 2.7 * count, height)
    axes = figure.subplots(count if wide else 1, 1 if wide else count, squeeze=False, sharex=True, sharey=True).ravel()
    least, most = _scale(maps)
    extent = (0.5, truth.shape[1] + 0.5, truth.shape[0] + 0.5, 0.5)
    colors: Any = need("matplotlib.colors", "a picture", "plot")
    norm = colors.PowerNorm(0.5, least, most)
    # Black in an SVG becomes the color of the page's text: what is beyond the scale stays nearly black.
    shade = need("matplotlib", "a picture", "plot").colormaps[MAP].with_extremes(over=BEYOND)
    image: Any = None
    for i, (axis, (method, numbers)) in enumerate(zip(axes, maps.items())):
        image = axis.imshow(
            blocks(numbers[order]), cmap=shade, aspect="auto" if wide else "equal", interpolation="none", norm=norm,
            extent=extent,
        )  # fmt: skip
        axis.set_title(method, fontsize=10)
        if not wide or i == count - 1:
            axis.set_xlabel(columns, fontsize=9)
        if wide or i == 0:
            axis.set_ylabel(f"{rows},\nlargest sum first", fontsize=9)
    beyond = max(float(numbers.max()) for numbers in maps.values()) > most
    bar: dict[str, Any] = {"ax": list(axes), "fraction": 0.04, "pad": 0.02}
    if not wide:  # as high as the maps, whose entries are squares
        bar = {"cax": axes[-1].inset_axes((1.05, 0.0, 0.07, 1.0))}
    figure.colorbar(image, **bar, extend="max" if beyond else "neither").set_label("theta (scale of roots)", fontsize=8)
    return figure


def blocks(numbers: np.ndarray, most: int = MOST_PIXELS) -> np.ndarray:
    """The largest entry of each block, so few blocks that no side has more than `most`.

    >>> blocks(np.array([[0.0, 3.0, 1.0, 0.0]]), most=2)
    array([[3., 1.]])
    """
    for axis in (0, 1):
        size = -(-numbers.shape[axis] // most)
        numbers = np.maximum.reduceat(numbers, np.arange(0, numbers.shape[axis], size), axis=axis)
    return numbers


def _scale(maps: Mapping[str, np.ndarray]) -> tuple[float, float]:
    """One scale for all: from the least to the truth's largest, or 99.5 % of a prediction, or its largest."""
    least, tops = min(float(numbers.min()) for numbers in maps.values()), []
    for method, numbers in maps.items():
        top, largest = float(np.quantile(numbers, 1.0 if method == "truth" else 0.995)), float(numbers.max())
        tops.append(top if top > float(numbers.min()) else largest)
    return least, max(tops) if max(tops) > least else least + 1.0


def out_weights(pictures: Mapping[str, Picture], *, rows: str, roles: Mapping[str, Role]) -> Figure:
    """Figure 2: the predicted row sum of `theta` against the true one, for all rows of all test instances.

    Panels share their scales; the dashed diagonal is where a prediction meets the truth. `r2` is the squared
    correlation, as in the paper: it is blind to scale and offset, and so is choosing the largest.

    Parameters
    ----------
    pictures: for each method "true_weight" and "predicted_weight", both `(instances, rows)`.
    rows: what they are, in the plural.
    roles: of the methods.
    """
    pairs = {method: weights(picture, method) for method, picture in pictures.items()}
    figure = new_figure(0.6 + 3.6 * len(pairs), 4.0)
    axes = figure.subplots(1, len(pairs), squeeze=False, sharex=True, sharey=True).ravel()
    every = np.concatenate([np.concatenate(pair) for pair in pairs.values()])
    across = np.concatenate([true for true, _ in pairs.values()])
    limits = _padded(across), _padded(every)
    densest = None
    for axis, (method, (true, predicted)) in zip(axes, pairs.items()):
        densest = _density(axis, true, predicted, limits, color_of(roles.get(method)))
        ends = [max(limits[0][0], limits[1][0]), min(limits[0][1], limits[1][1])]
        axis.plot(ends, ends, color=INK, linestyle="--", linewidth=1)
        centers, means = trend(true, predicted)
        axis.plot(centers, means, color=INK, linewidth=1.2, marker="o", markersize=3.5)
        axis.set_title(f"{method}: {_told(r_squared(true, predicted))}", fontsize=10)
        axis.set_xlabel(f"true out-weight of {rows}", fontsize=9)
        tidy(axis)
    axes[0].set_ylabel("predicted out-weight", fontsize=9)
    assert densest is not None
    entries = [
        legends.mark("predicted = true", INK, "", line="--"),
        legends.mark("mean of each tenth, by true weight", INK, "o", line="-"),
        *(
            legends.patch(f"{rows}: {method} (stronger: more, log scale)", color_of(roles.get(method)))
            for method in pairs
        ),
    ]
    legends.below(figure, entries)
    return figure


def _density(axis: Axes, true: np.ndarray, predicted: np.ndarray, limits: Any, color: str) -> Any:
    colors: Any = need("matplotlib.colors", "a picture", "plot")
    image = axis.hist2d(
        true, predicted, bins=48, range=limits, cmap=shades(color), norm=colors.LogNorm(vmin=1), cmin=1,
    )[3]  # fmt: skip
    image.set_rasterized(True)
    return image


def _padded(numbers: np.ndarray) -> tuple[float, float]:
    low, high = float(numbers.min()), float(numbers.max())
    margin = 0.03 * (high - low) or 0.5
    return low - margin, high + margin


def _told(r2: float | None) -> str:
    if r2 is None:
        return "all equal"
    return f"r² = {r2:.2f}" + (", knows no order" if r2 < NO_ORDER else "")


def trend(true: np.ndarray, predicted: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Mean true and predicted numbers of each tenth, by the true ones; tenths of equal numbers are one."""
    edges = np.unique(np.quantile(true, np.linspace(0, 1, BINS + 1)))
    place = np.clip(np.searchsorted(edges, true, side="right") - 1, 0, max(len(edges) - 2, 0))
    groups = np.unique(place)
    means = [(true[place == group].mean(), predicted[place == group].mean()) for group in groups]
    return np.array([mean for mean, _ in means]), np.array([mean for _, mean in means])
