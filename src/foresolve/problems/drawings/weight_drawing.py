"""Portfolios and plans: weights beside what was held, outputs beside what was asked for."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

import numpy as np
import torch
from torch import Tensor

from foresolve._base.drawing import legends
from foresolve._base.drawing.bars import MOST, draw_bars, largest, mark_bars
from foresolve._base.drawing.canvas import shortened, tidy
from foresolve._base.drawing.palette import CHOSEN, GIVEN, GRAY, INK
from foresolve.problems.drawings.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class PortfolioDrawing(Drawing):
    """The weight of each asset, what was held before, and the return that `theta` says."""

    assets: int
    current: Tensor | None
    predict: Literal["returns", "covariance", "both"]

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None) -> None:
        held = None if self.current is None else self.current.detach().cpu().double().numpy().reshape(-1)
        weights = x[: self.assets]
        shown = largest(np.abs(weights) + (0.0 if held is None else np.abs(held)), MOST)
        names = [str(i) if self.names is None else str(self.names[i]) for i in shown]
        few = "" if len(shown) == self.assets else f", the {len(shown)} largest of {self.assets}"
        draw_bars(ax, names, 100 * weights[shown], [CHOSEN] * len(shown), f"weight in %{few}")
        entries = [legends.patch("weight", CHOSEN)]
        if held is not None:
            ax.barh(range(len(shown)), 100 * held[shown], height=0.9, facecolor="none", edgecolor=INK, linewidth=1.0)
            entries.append(legends.patch("held before", "none", INK))
        if theta is not None and self.predict != "covariance":
            mark_bars(ax, 100 * theta.numpy()[: self.assets][shown], "return in %")
            entries.append(legends.mark("return (upper axis)", GIVEN, "D"))
        legends.under(ax, entries)


class TargetDrawing(Drawing):
    """Outputs and the target that they follow, one after the other."""

    _picture_size = (7.0, 3.8)

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None) -> None:
        outputs = self.follow(torch.from_numpy(x)).numpy()  # type: ignore[attr-defined]
        places = np.arange(len(outputs))
        entries = [legends.mark("plan", CHOSEN, "o", line="-")]
        if theta is not None:
            ax.vlines(places, outputs, theta.numpy(), color=GRAY, linewidth=1.4, zorder=1)
            ax.plot(places, theta.numpy(), "s", color=GIVEN, markersize=5, zorder=3)
            entries += [legends.mark("target", GIVEN, "s"), legends.mark("miss", GRAY, "", line="-")]
        ax.plot(places, outputs, "-o", color=CHOSEN, linewidth=1.8, markersize=4, zorder=2)
        names = self.theta_names
        if names is not None and len(names) <= 16:
            long = max(map(len, names)) > 5
            ax.set_xticks(
                places, [shortened(name, 12) for name in names], rotation=45 if long else 0,
                ha="right" if long else "center", fontsize=8,
            )  # fmt: skip
        else:
            ax.set_xlabel("number of the output", fontsize=9)
        ax.set_ylabel("output", fontsize=9)
        tidy(ax, "y")
        legends.under(ax, entries)
