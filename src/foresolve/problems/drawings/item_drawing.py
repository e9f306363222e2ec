"""Items that are chosen by what they are worth and what they weigh."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
from torch import Tensor

from foresolve._base.drawing import legends
from foresolve._base.drawing.bars import MOST, draw_bars
from foresolve._base.drawing.canvas import shortened, tidy
from foresolve._base.drawing.palette import CHOSEN, GRAY, INK
from foresolve._base.numbers import significant
from foresolve.problems.drawings.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes


ROW = 0.15  # inches
FEW = 12  # items whose names are written above where they do not fit inside


class ChoiceDrawing(Drawing):
    """Items by what they are worth, the chosen ones in color: a mistake is a colored bar below a gray one."""

    def _new_size(self, x: np.ndarray) -> tuple[float, float]:
        width, height = self._picture_size
        return width, max(height, 1.2 + ROW * _rows(x))

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None) -> None:
        names = [str(i) if self.names is None else str(self.names[i]) for i in range(len(x))]
        if theta is None or theta.shape != x.shape:
            super()._draw(ax, x, theta)
            return
        worth = theta.numpy()
        order = np.argsort(-worth, kind="stable")
        shown = order
        if len(x) > MOST:  # what is chosen, and the best of what is not
            left = [i for i in order if x[i] <= 1e-6]
            kept = {*np.flatnonzero(x > 1e-6).tolist(), *left[: _rows(x) - int((x > 1e-6).sum())]}
            shown = np.array([i for i in order if i in kept])
        label = "worth theta" + (f", {len(shown)} of {len(x)} items" if len(shown) < len(x) else "")
        draw_bars(ax, [names[i] for i in shown], worth[shown], [CHOSEN if x[i] > 1e-6 else GRAY for i in shown], label)
        for bar, i in zip(ax.patches, shown):
            bar.set_alpha(float(0.3 + 0.7 * min(x[i], 1.0)) if x[i] > 1e-6 else 0.45)
        legends.under(ax, [legends.patch("chosen", CHOSEN), legends.patch("left out", GRAY)])


def _rows(x: np.ndarray) -> int:
    """How many items are shown: those that are chosen, and at least five others."""
    return min(len(x), max(MOST, int((x > 1e-6).sum()) + 5))


class PackingDrawing(Drawing):
    """A knapsack: how full it is, with what, and what stays outside."""

    _picture_size = (7.2, 3.2)

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None) -> None:
        weights = self.weights.detach().cpu().double().numpy().reshape(-1, len(x))  # type: ignore[attr-defined]
        capacity = self.capacity.detach().cpu().double().numpy().reshape(-1)  # type: ignore[attr-defined]
        shares = 100 * weights / np.where(capacity > 0, capacity, 1.0)[:, None]
        worth = np.ones(len(x)) if theta is None or theta.shape != x.shape else theta.numpy()
        density = worth / np.maximum(shares.sum(0), 1e-12)
        order = np.argsort(-density, kind="stable")
        names = [str(i) if self.names is None else str(self.names[i]) for i in range(len(x))]
        packed = [i for i in order if x[i] > 1e-6]
        outside = [i for i in order if x[i] <= 1e-6]
        titles = ["packed"] if len(shares) == 1 else [f"weight {d}" for d in range(len(shares))]
        rows = [(title, sizes * x, packed, CHOSEN) for title, sizes in zip(titles, shares)]
        rows.append(("left out", shares[0], outside, GRAY))
        width = max(110.0, *(float(sizes[chosen].sum()) for _, sizes, chosen, _ in rows))
        for height, (_, sizes, chosen, color) in enumerate(rows):
            _stack(ax, height, sizes, chosen, color, names, None if theta is None else worth, width)
        ax.axvline(100.0, color=INK, linewidth=1.2, linestyle="--")
        ax.set_yticks(range(len(rows)), [name for name, *_ in rows])
        ax.set(ylim=(len(rows) - 0.4, -0.6), xlim=(0, 1.01 * width))
        ax.set_xlabel("weight, in % of the capacity", fontsize=9)
        ax.tick_params(axis="y", length=0)
        tidy(ax)
        legends.under(
            ax, [legends.patch("packed" if theta is None else "packed (numbers: what items are worth)", CHOSEN),
                 legends.patch("left out", GRAY),
                 legends.mark("capacity", INK, "", line="--")],
        )  # fmt: skip


def _stack(
    ax: Axes, height: int, sizes: np.ndarray, chosen: list[int], color: str, names: list[str],
    worth: np.ndarray | None, width: float,
) -> None:  # fmt: skip
    """Segments from the left, what is worth most for its weight first; names where they fit."""
    left, edge = 0.0, 1.2 if len(chosen) <= MOST else 0.0  # between many items, edges would hide them
    for i in chosen:
        ax.barh(height, sizes[i], left=left, height=0.62, color=color, edgecolor="white", linewidth=edge)
        text = shortened(names[i], 14) + ("" if worth is None else f"\n{significant(worth[i], 3)}")
        if sizes[i] / width > 0.017 * max(map(len, text.split("\n"))):
            ax.text(left + sizes[i] / 2, height, text, ha="center", va="center", color="#ffffff", fontsize=8)
        elif len(chosen) <= FEW:
            ax.text(left, height - 0.34, text.replace("\n", " "), ha="left", va="bottom", fontsize=8)
        left += float(sizes[i])
