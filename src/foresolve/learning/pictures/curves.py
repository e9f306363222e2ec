"""Learning curves: the regret of decisions falls, while the error of predictions may rise."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

from foresolve._base import checks
from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import as_axes, new_figure, shortened, tidy, whole
from foresolve._base.drawing.palette import CHOSEN, GIVEN, GRAY, INK, SEQUENCE, Role, color_of, marker_of
from foresolve._base.extras import need
from foresolve._base.numbers import significant

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

    from foresolve.learning.history import History

# What validation was by: its column, what it is called and its unit.
SHARES = {"valid_regret": ("validation regret", "normalized regret (%)"),
          "valid_distance": ("validation distance", "distance to decisions on record (%)")}  # fmt: skip
SIZE = (6.8, 4.0)
Style = str | tuple[int, tuple[float, ...]]
STYLES: tuple[Style, ...] = ("-", "--", ":", "-.", (0, (8, 2)), (0, (6, 1.5, 1, 1.5, 1, 1.5)), (0, (2, 1)), (0, (1, 4)))


def draw_history(history: History, ax: Any) -> Axes:
    """What was monitored on the left axis, the error of predictions on the right one, the training loss in gray."""
    ax = as_axes(ax, SIZE)
    entries: list[Any] = []
    shares = [column for column in SHARES if _known(getattr(history, column))]
    for column in shares:
        label, unit = SHARES[column]
        places, numbers = history.curve(column)
        ax.plot(places, [100 * number for number in numbers], color=CHOSEN, linewidth=2.0, label=label)
        entries.append(legends.mark(f"{label}, %", CHOSEN, "", line="-"))
        ax.set_ylabel(unit, fontsize=9)
        on_logs(ax, [numbers])
    if not shares:
        ax.set_ylabel("loss", fontsize=9)
    losses = _beside(ax) if shares else ax
    epochs = range(1, len(history) + 1)
    lone = "o" if len(history) == 1 else ""  # a line of one point is none
    losses.plot(epochs, history.train_loss, marker=lone, color=GRAY, linewidth=1.2, label="training loss")
    ends = (
        f": {significant(history.train_loss[0], 3)} to {significant(history.train_loss[-1], 3)}"
        if shares and len(history)
        else ""
    )
    entries.append(legends.mark(f"training loss{ends}", GRAY, "", line="-"))
    if _known(history.valid_loss):
        places, numbers = history.curve("valid_loss")
        dots = "o" if len(places) == 1 else ""
        losses.plot(places, numbers, marker=dots, color=CHOSEN, linewidth=2.0, label="validation loss")
        entries.append(legends.mark("validation loss", CHOSEN, "", line="-"))
    if _known(history.valid_mse):
        _draw_error(ax, history)
        entries.append(legends.mark("squared error of predictions", GIVEN, "", line="-"))
    if history.best_epoch is not None:
        ax.axvline(history.best_epoch, color=INK, linestyle=":", linewidth=1.2)
        entries.append(legends.mark("best epoch", INK, "", line=":"))
    ax.set_xlabel("epoch", fontsize=9)
    whole(ax.xaxis)
    tidy(ax, "y")
    legends.under(ax, entries, 3)
    return ax


def far_apart(numbers: Iterable[float | None]) -> bool:
    """Whether numbers are positive and the largest is five times the smallest or more: they belong on a log scale.

    >>> far_apart([1.0, None, 5.0]), far_apart([1.0, 4.0]), far_apart([0.0, 5.0])
    (True, False, False)
    """
    known = [number for number in numbers if number is not None and math.isfinite(number)]
    return bool(known) and min(known) > 0 and max(known) >= 5 * min(known)


def on_logs(ax: Axes, curves: list[list[float]]) -> None:
    """A log scale where one scale of differences would hide all but the largest numbers; the label says so."""
    if not far_apart(number for curve in curves for number in curve):
        return
    ticker: Any = need("matplotlib.ticker", "a picture", "plot")
    ax.set_yscale("log")
    ax.set_ylabel(f"{ax.get_ylabel()}, log scale", fontsize=9)
    ax.yaxis.set_major_locator(ticker.LogLocator(subs=(1.0, 2.0, 5.0)))
    ax.yaxis.set_major_formatter(ticker.FuncFormatter(lambda value, _: f"{value:g}"))
    ax.yaxis.set_minor_formatter(ticker.NullFormatter())


def _draw_error(ax: Axes, history: History) -> None:
    right = ax.twinx()
    right.plot(*history.curve("valid_mse"), color=GIVEN, linewidth=1.6, label="squared error")
    right.set_ylabel("mean squared error of predictions", fontsize=9)
    right.tick_params(axis="y", color=GIVEN)
    right.spines[["top", "left"]].set_visible(False)
    right.spines["right"].set_color(GIVEN)


def _beside(ax: Axes) -> Axes:
    """An axis without marks: its ends are in the legend."""
    losses = ax.twinx()
    losses.set_yticks([])
    losses.spines[:].set_visible(False)
    return losses


def plot_learning(histories: Mapping[str, History], roles: Mapping[str, Role] | None = None) -> Figure:
    """Learning curves side by side: decisions on the left, predictions on the right, each on one scale.

    Parameters
    ----------
    histories: of trainings that were validated on the same data, by name.
    roles: "decision-focused", "two-stage", ..., by name, which color the lines; each has a color of its own without.

    Examples
    --------
    >>> import torch, foresolve
    >>> theta = torch.rand(40, 4, generator=torch.Generator().manual_seed(0))
    >>> data = foresolve.DecisionDataset(theta, theta, foresolve.TopK(4, 2))
    >>> losses = {"two-stage": foresolve.MSE(), "SPO+": foresolve.SPOPlus()}
    >>> histories = {
    ...     name: foresolve.fit(foresolve.MLP(4, 4, seed=0), loss, data, data, epochs=3, lr=0.01)
    ...     for name, loss in losses.items()
    ... }
    >>> figure = foresolve.learning.plot_learning(histories)
    >>> [axes.get_ylabel() for axes in figure.axes]
    ['normalized regret (%)', 'mean squared error of predictions']
    """
    if not isinstance(histories, Mapping) or not histories:
        raise checks.fail(
            "histories", "a dict of them by name, at least one", type(histories).__name__ if histories else "none"
        )
    shares = [column for column in SHARES if any(_known(getattr(h, column)) for h in histories.values())]
    columns = [shares[0] if shares else "valid_loss" if _any(histories, "valid_loss") else "train_loss"]
    columns += ["valid_mse"] if _any(histories, "valid_mse") else []
    figure = new_figure(1.0 + 4.2 * len(columns), 4.0)
    entries: dict[str, Any] = {}
    looks = _looks(list(histories), roles or {})
    for axis, column in zip(figure.subplots(1, len(columns), squeeze=False).ravel(), columns):
        for name, history in histories.items():
            role, color, style = looks[name]
            places, numbers = history.curve(column)
            numbers = [100 * number for number in numbers] if column in SHARES else numbers
            lone = "o" if len(places) == 1 else ""
            axis.plot(places, numbers, linestyle=style, marker=lone, color=color, linewidth=1.8)
            if history.best_epoch is not None and history.best_epoch in places:
                best = numbers[places.index(history.best_epoch)]
                axis.plot([history.best_epoch], [best], marker_of(role), color=color, markersize=7)
            marker = "" if history.best_epoch is None else marker_of(role)
            entries[name] = legends.mark(shortened(name, 30), color, marker, line=style)
        words = {"valid_mse": "mean squared error of predictions", "train_loss": "training loss"}
        axis.set_ylabel(SHARES[column][1] if column in SHARES else words.get(column, "validation loss"), fontsize=9)
        if column in SHARES or column == "valid_mse":
            on_logs(axis, [history.curve(column)[1] for history in histories.values()])
        best = any(history.best_epoch is not None for history in histories.values())
        axis.set_xlabel("epoch" + ("; the marker is the best one on validation data" if best else ""), fontsize=9)
        whole(axis.xaxis)
        tidy(axis, "y")
    legends.below(figure, list(entries.values()))
    return figure


def _looks(names: Sequence[str], roles: Mapping[str, Role]) -> dict[str, tuple[Role | None, str, Style]]:
    """The role, color and style of each line: those of one color differ in their style."""
    looks: dict[str, tuple[Role | None, str, Style]] = {}
    for i, name in enumerate(names):
        role = roles.get(name)
        color = SEQUENCE[i % len(SEQUENCE)] if role is None else color_of(role)
        alike = sum(other == color for _, other, _ in looks.values())
        looks[name] = role, color, STYLES[alike % len(STYLES)]
    return looks


def _any(histories: Mapping[str, History], column: str) -> bool:
    return any(_known(getattr(history, column)) for history in histories.values())


def _known(values: list[float | None]) -> bool:
    return any(value is not None and not math.isnan(value) for value in values)
