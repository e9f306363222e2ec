"""Learning curves."""

from __future__ import annotations

import pytest

from drawn import labels, overlaps
from foresolve._base.drawing.canvas import new_figure
from foresolve._base.drawing.palette import CHOSEN, COLORS, GIVEN, Role
from foresolve.learning import History, plot_learning
from foresolve.learning.pictures.curves import draw_history
from mistakes import mistake


def history(regrets: list[float], errors: list[float], start: float = 0.8) -> History:
    """Of a training that validated regret."""
    made = History(monitor="regret", start=start, start_mse=1.0, best_epoch=len(regrets), planned=len(regrets))
    for regret, error in zip(regrets, errors, strict=True):
        made.append(train_loss=10 * regret, valid_regret=regret, valid_mse=error, seconds=0.1, skipped=0)
    return made


def test_regret_falls_while_the_error_of_predictions_rises() -> None:
    axes = draw_history(history([0.5, 0.25], [2.0, 3.0]), None)
    figure = axes.get_figure()
    assert figure is not None
    regret, loss, error = (axis.get_lines()[0] for axis in figure.axes)
    assert regret.get_xydata().tolist() == [[0, 80], [1, 50], [2, 25]]
    assert error.get_xydata().tolist() == [[0, 1], [1, 2], [2, 3]]
    assert loss.get_xydata().tolist() == [[1, 5], [2, 2.5]]
    assert (regret.get_color(), error.get_color()) == (CHOSEN, GIVEN)
    assert labels(axes.get_legend()) == [
        "validation regret, %", "training loss: 5 to 2.5", "squared error of predictions", "best epoch",
    ]  # fmt: skip
    assert overlaps(figure) == []


def test_losses_alone() -> None:
    made = History(monitor="loss", start=2.5, best_epoch=1)
    for epoch in range(3):
        made.append(train_loss=3.0 - epoch, valid_loss=2.0 + epoch, seconds=0.1, skipped=0)
    axes = draw_history(made, None)
    assert labels(axes.get_legend()) == ["training loss", "validation loss", "best epoch"]
    _, validation, best = axes.get_lines()
    assert validation.get_xydata().tolist() == [[0, 2.5], [1, 2.0], [2, 3.0], [3, 4.0]]
    assert set(best.get_xdata()) == {1}  # type: ignore[arg-type]
    assert axes.get_ylabel() == "loss"


def test_what_falls_far_is_on_a_log_scale() -> None:
    assert draw_history(history([0.5, 0.01], [1.0, 1.0]), None).get_yscale() == "log"
    assert draw_history(history([0.5, 0.3], [1.0, 1.0]), None).get_yscale() == "linear"
    assert draw_history(history([0.5, 0.0], [1.0, 1.0]), None).get_yscale() == "linear"  # no log of zero


def test_the_axes_are_the_callers() -> None:
    mine = new_figure(4, 3).subplots()
    assert history([0.5], [1.0]).plot(mine) is mine


def test_trainings_side_by_side() -> None:
    histories = {"two-stage": history([0.5, 0.4], [0.5, 0.3]), "SPO+": history([0.3, 0.2], [2.0, 3.0])}
    figure = plot_learning(histories, {"two-stage": "two-stage", "SPO+": "decision-focused"})
    regrets, errors = figure.axes
    assert regrets.get_ylabel() == "normalized regret (%)"
    assert errors.get_ylabel() == "mean squared error of predictions, log scale"
    colors = [line.get_color() for line in regrets.get_lines()]
    assert set(colors) == {COLORS["two-stage"], COLORS["decision-focused"]}
    assert labels(figure.legends[0]) == ["two-stage", "SPO+"]
    assert overlaps(figure) == []
    assert len(plot_learning({"a": History(train_loss=[1.0])}).axes) == 1
    with mistake("histories"):
        plot_learning({})


def test_a_lone_epoch_is_a_dot_at_a_whole_number() -> None:
    lone = History(train_loss=[1.0])
    for axes in (lone.plot(), *plot_learning({"a": lone}).axes):
        assert [line.get_marker() for line in axes.get_lines()] == ["o"]
        assert "best" not in axes.get_xlabel()
        axes.get_figure(root=True).draw_without_rendering()
        low, high = axes.get_xlim()
        assert [tick for tick in axes.get_xticks() if low <= tick <= high] == [1.0]


def test_lines_of_one_role_differ_in_style_and_errors_far_apart_have_a_log_scale() -> None:
    made = history([0.5, 0.4], [0.5, 0.3])
    made.best_epoch = None
    names = {f"network {i}": made for i in range(3)} | {"spo+": history([0.5, 0.4], [50.0, 100.0])}
    figure = plot_learning(names, dict.fromkeys(list(names)[:3], "two-stage") | {"spo+": "decision-focused"})
    regrets, errors = figure.axes
    looks = [(line.get_color(), line.get_linestyle()) for line in regrets.get_lines() if len(line.get_xdata()) > 1]
    assert looks == [(COLORS["two-stage"], "-"), (COLORS["two-stage"], "--"), (COLORS["two-stage"], ":"), (CHOSEN, "-")]
    assert (regrets.get_yscale(), errors.get_yscale()) == ("linear", "log")
    assert errors.get_ylabel() == "mean squared error of predictions, log scale"
    marks = [mark.get_marker() for mark in figure.legends[0].legend_handles]
    assert marks == ["", "", "", "o"]  # the marker is the best epoch, where one is known


@pytest.mark.parametrize("role", ["two-stage", None])
def test_no_two_lines_look_the_same(role: Role | None) -> None:
    names = {f"network {i}": history([0.5, 0.4], [0.5, 0.3]) for i in range(8 if role else 40)}
    figure = plot_learning(names, {} if role is None else dict.fromkeys(names, role))
    lines = [line for line in figure.axes[0].get_lines() if len(line.get_xdata()) > 1]
    looks = {(line.get_color(), str(line._unscaled_dash_pattern)) for line in lines}  # type: ignore[attr-defined]
    assert len(looks) == len(names)
