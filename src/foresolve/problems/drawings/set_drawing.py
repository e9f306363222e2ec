"""A chosen set, and what it covers."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base.drawing import layouts, legends
from foresolve._base.drawing.bars import MOST, draw_bars, largest
from foresolve._base.drawing.canvas import bare, shortened
from foresolve._base.drawing.networks import Network, draw_network
from foresolve._base.drawing.palette import CHOSEN, GRAY, MAP
from foresolve.problems.drawings.drawing import Drawing
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.functions.influence import InfluenceSpread

if TYPE_CHECKING:
    from matplotlib.axes import Axes

SMALL = 24  # items and targets up to which lines are drawn


class SetDrawing(Drawing):
    """What a chosen set covers: lines to targets, or rows of them; seeds on their graph; else what each item adds."""

    function: SetFunction
    targets: tuple[str, ...] | None
    _picture_size = (7.0, 4.4)

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None) -> None:
        names = [str(i) if self.names is None else str(self.names[i]) for i in range(len(x))]
        if theta is None:
            super()._draw(ax, x, None)
        elif isinstance(self.function, ProbabilisticCoverage | FacilityLocation):
            self._draw_covered(ax, x, theta.numpy(), names)
        elif isinstance(self.function, InfluenceSpread):
            _draw_seeds(ax, self.function, x, theta.numpy(), names)
        else:
            self._draw_worths(ax, x, theta, names)

    def _draw_covered(self, ax: Axes, x: np.ndarray, theta: np.ndarray, names: list[str]) -> None:
        """Each target gets what the set gives it: a probability, or the best of what is offered."""
        coverage = isinstance(self.function, ProbabilisticCoverage)
        offered = x[:, None] * theta
        got = 1 - np.prod(1 - offered, axis=0) if coverage else offered.max(0)
        targets = [str(j) if self.targets is None else self.targets[j] for j in range(theta.shape[1])]
        label = "probability of being reached" if coverage else "worth to a target"
        if max(theta.shape) <= SMALL:
            _draw_lines(ax, x, theta, got, names, targets, label)
        else:
            _draw_rows(ax, x, theta, got, names, label)

    def _draw_worths(self, ax: Axes, x: np.ndarray, theta: Tensor, names: list[str]) -> None:
        """What each item adds to the others that are chosen."""
        base = torch.from_numpy((x > 0.5).astype(np.float64))
        each = torch.eye(len(x), dtype=torch.float64)
        held = base.to(theta)[None]
        with torch.no_grad():
            values = [self.function.value(sets, theta[None].expand(len(x), *theta.shape)) for sets in (
                torch.maximum(held, each), torch.minimum(held, 1 - each))]  # fmt: skip
        added = (values[0] - values[1]).cpu().numpy()
        kept = set(np.flatnonzero(x > 0.5).tolist())
        shown = sorted({*kept, *largest(added, MOST).tolist()}, key=lambda i: -added[i])
        label = "what it adds to the others that are chosen"
        draw_bars(ax, [names[i] for i in shown], added[shown], [CHOSEN if i in kept else GRAY for i in shown], label)
        legends.under(ax, [legends.patch("chosen", CHOSEN), legends.patch("left out", GRAY)])


def _draw_lines(
    ax: Axes, x: np.ndarray, theta: np.ndarray, got: np.ndarray, names: list[str], targets: list[str], label: str
) -> None:
    top = float(theta.max()) or 1.0
    left, right = (np.linspace(1, 0, size) if size > 1 else np.array([0.5]) for size in theta.shape)
    for i, j in np.ndindex(theta.shape):
        if x[i] > 1e-6 and theta[i, j] > 0:
            alpha = float(min(x[i], 1.0) * (0.08 + 0.85 * theta[i, j] / top))
            ax.plot([0, 1], [left[i], right[j]], color=CHOSEN, alpha=alpha, linewidth=1.8, zorder=1)
    sizes = 40 + 60 * np.minimum(x, 1.0)
    ax.scatter(np.zeros(len(x)), left, s=sizes, color=[CHOSEN if share > 1e-6 else GRAY for share in x], zorder=3)
    image: Any = ax.scatter(
        np.ones(len(got)), right, s=90, c=got, cmap=MAP, edgecolors=GRAY, vmin=0.0, zorder=3,
        vmax=1.0 if label.startswith("prob") else None,
    )  # fmt: skip
    figure: Any = ax.get_figure()
    figure.colorbar(image, ax=ax, fraction=0.046, pad=0.12, label=label)
    for side, (heights, called) in enumerate(((left, names), (right, targets))):
        for height, name in zip(heights, called):
            ax.annotate(
                shortened(name), (side, height), (-10 + 20 * side, 0), textcoords="offset points", va="center",
                ha="left" if side else "right", fontsize=8,
            )  # fmt: skip
    bare(ax)
    ax.margins(0.06)
    legends.under(
        ax, [legends.mark("chosen", CHOSEN), legends.mark("left out", GRAY),
             legends.mark("covers; stronger: more", CHOSEN, "", line="-")],
    )  # fmt: skip


def _draw_rows(ax: Axes, x: np.ndarray, theta: np.ndarray, got: np.ndarray, names: list[str], label: str) -> None:
    """A row for each chosen item and one for all of them; targets from the best covered to the least."""
    chosen = np.flatnonzero(x > 1e-6)
    chosen = chosen[np.argsort(-theta[chosen].sum(1), kind="stable")][:MOST]
    order = np.argsort(-got, kind="stable")
    table = np.concatenate([x[chosen, None] * theta[chosen], got[None]])[:, order]
    image: Any = ax.imshow(table, cmap=MAP, aspect="auto", interpolation="none", vmin=0.0)
    figure: Any = ax.get_figure()
    figure.colorbar(image, ax=ax, fraction=0.046, pad=0.02, label=label)
    ax.set_yticks(range(len(table)), [*(shortened(names[i]) for i in chosen), "all together"], fontsize=8)
    ax.get_yticklabels()[-1].set_fontweight("bold")
    ax.axhline(len(chosen) - 0.5, color=CHOSEN, linewidth=1.6)
    ax.set_xlabel(f"{theta.shape[1]} targets, the best covered first", fontsize=9)
    ax.set_ylabel("chosen", fontsize=9)
    legends.under(ax, [legends.mark("above: what each covers; below: all together", CHOSEN, "", line="-")])


def _draw_seeds(ax: Axes, spread: InfluenceSpread, x: np.ndarray, theta: np.ndarray, names: list[str]) -> None:
    """Seeds on the graph; an arc is as wide as it is likely, and colored where it leaves a seed."""
    tails, heads = spread.edges.T
    if spread.nodes is not None:
        names = [str(node) for node in spread.nodes]
    seeds = {int(node): ("*", "chosen as a seed") for node in np.flatnonzero(x > 1e-6)}
    flow = np.where(x[tails] > 1e-6, theta, 0.0)
    network = Network(tails, heads, layouts.by_arcs(tails, heads, spread.n), names, flow, special=seeds)
    draw_network(ax, network, taken="reached from a seed: wider where likelier", left="other ties")
