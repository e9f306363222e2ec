"""Two sides, and the pairs made between them."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
from torch import Tensor

from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import bare, shortened
from foresolve._base.drawing.palette import CHOSEN, GRAY, MAP
from foresolve._base.extras import need
from foresolve._base.numbers import significant
from foresolve.problems.drawings.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_NODES = 24  # on a side: more are drawn as a matrix
MOST_NUMBERED = 8  # more numbers would lie on each other


class PairDrawing(Drawing):
    """Nodes of two sides and lines between them; larger ones as a matrix of weights with the pairs marked."""

    left: int
    right: int
    left_names: tuple[str, ...] | None
    right_names: tuple[str, ...] | None

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None) -> None:
        made = x.reshape(self.left, self.right)
        weights = None
        if theta is not None and self.theta_shape == (self.n,):
            weights = theta.numpy().reshape(self.left, self.right)
        if max(self.left, self.right) > MOST_NODES:
            _draw_matrix(ax, made, weights)
            return
        sides = [np.linspace(1, 0, self.left) if self.left > 1 else np.array([0.5]),
                 np.linspace(1, 0, self.right) if self.right > 1 else np.array([0.5])]  # fmt: skip
        _draw_lines(ax, made, weights, sides)
        names = self.left_names or range(self.left), self.right_names or range(self.right)
        for side, (heights, called, across) in enumerate(zip(sides, names, ("right", "left"))):
            ax.scatter(np.full(len(heights), side), heights, s=46, color=GRAY, zorder=4, linewidths=0)
            for height, name in zip(heights, called):
                ax.annotate(
                    shortened(name), (side, height), (-8 + 16 * side, 0), textcoords="offset points", ha=across,
                    va="center", fontsize=8,
                )  # fmt: skip
        bare(ax)
        ax.margins(0.04, 0.06)
        entries = [legends.mark("pair made", CHOSEN, "", line="-")]
        entries += [] if weights is None else [legends.mark("not made; stronger: more weight", GRAY, "", line="-")]
        legends.under(ax, entries)


def _draw_lines(ax: Axes, made: np.ndarray, weights: np.ndarray | None, sides: list[np.ndarray]) -> None:
    top = 1.0 if weights is None else float(np.abs(weights).max()) or 1.0
    for i, j in np.ndindex(made.shape):
        ends = [sides[0][i], sides[1][j]]
        if made[i, j] > 1e-6:
            share = float(min(made[i, j], 1.0))
            ax.plot([0, 1], ends, color=CHOSEN, linewidth=2.6, alpha=0.25 + 0.75 * share, zorder=3)
            if weights is not None and len(sides[0]) <= MOST_NUMBERED:
                ax.annotate(
                    significant(float(weights[i, j]), 3), (0.12, 0.88 * ends[0] + 0.12 * ends[1]), (0, 5), color=CHOSEN,
                    fontsize=7, textcoords="offset points", ha="center", zorder=5,
                )  # fmt: skip
        elif weights is not None and weights[i, j] > 0:
            ax.plot([0, 1], ends, color=GRAY, linewidth=0.9, alpha=float(0.08 + 0.6 * weights[i, j] / top), zorder=1)


def _draw_matrix(ax: Axes, made: np.ndarray, weights: np.ndarray | None) -> None:
    rows, columns = np.nonzero(made > 1e-6)
    if weights is not None:
        image: Any = ax.imshow(weights, cmap=MAP, aspect="auto", interpolation="none")
        figure: Any = ax.get_figure()
        figure.colorbar(image, ax=ax, fraction=0.046, pad=0.02, label="weight theta")
    else:
        ax.set(xlim=(-0.5, made.shape[1] - 0.5), ylim=(made.shape[0] - 0.5, -0.5))
    to_rgba = need("matplotlib.colors", "a picture", "plot").to_rgba
    colors = [to_rgba(CHOSEN, 0.25 + 0.75 * min(float(made[i, j]), 1.0)) for i, j in zip(rows, columns)]
    ax.scatter(columns, rows, s=22, marker="s", facecolors="none", edgecolors=colors, linewidths=1.6)
    ax.set_xlabel("right", fontsize=9)
    ax.set_ylabel("left", fontsize=9)
    legends.under(ax, [legends.mark("pair made", CHOSEN, "s", hollow=True)])
