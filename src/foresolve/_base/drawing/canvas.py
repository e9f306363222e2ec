"""Figures and axes without pyplot: nothing global is touched, nothing is shown."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from foresolve._base import checks
from foresolve._base.drawing.palette import FAINT
from foresolve._base.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

SIZE = (6.4, 4.0)


def new_figure(width: float, height: float) -> Figure:
    """An empty figure, in inches, that makes room for its texts."""
    return need("matplotlib.figure", "a picture", "plot").Figure(figsize=(width, height), layout="constrained")


def as_axes(ax: Any, size: tuple[float, float] = SIZE) -> Axes:
    """The caller's axes, or those of a new figure."""
    axes = need("matplotlib.axes", "a picture", "plot")
    if ax is None:
        return new_figure(*size).subplots()
    if not isinstance(ax, axes.Axes):
        raise checks.fail("ax", "matplotlib Axes, or None for new ones", type(ax).__name__)
    return ax


def tidy(ax: Axes, grid: str = "") -> None:
    """Without the frame that says nothing, and with a faint grid along "x", "y" or "both"."""
    ax.spines[["top", "right"]].set_visible(False)
    ax.set_axisbelow(True)
    if grid:
        ax.grid(axis=grid, color=FAINT, linewidth=0.6)  # type: ignore[arg-type]


def whole(axis: Any) -> None:
    """Ticks of an axis of counts at whole numbers alone."""
    ticker = need("matplotlib.ticker", "a picture", "plot")
    axis.set_major_locator(ticker.MaxNLocator("auto", integer=True, min_n_ticks=1))


def bare(ax: Axes) -> None:
    """Without axes at all, for maps and networks."""
    ax.set_xticks([])
    ax.set_yticks([])
    for spine in ax.spines.values():
        spine.set_visible(False)


def shortened(text: object, most: int = 22) -> str:
    """A name that fits, without signs that cannot be seen, and that matplotlib does not take for a formula.

    >>> shortened("Lane from the northern depot to the mill"), shortened("$5")
    ('Lane from the northe…', '\\\\$5')
    """
    words = "".join(filter(str.isprintable, " ".join(str(text).split())))
    words = words if len(words) <= most else words[: most - 2] + "…"
    return words.replace("$", r"\$")
