"""Heat maps and out-weights, by what is drawn rather than by pixels."""

from __future__ import annotations

import numpy as np
import pytest
from matplotlib.colors import to_rgba

from drawn import labels, overlaps
from foresolve._base.drawing.palette import COLORS, Role
from foresolve._base.drawing.rendering import to_svg
from foresolve.report.prediction_figures import blocks, heat_maps, out_weights, trend
from mistakes import mistake
from reproduce.fakes import picture

ROLES: dict[str, Role] = {"NN2-2Stage": "two-stage", "NN2-Decision": "decision-focused"}
METHODS = tuple(ROLES)


@pytest.fixture(scope="module")
def pictures() -> dict[str, dict[str, np.ndarray]]:
    return {method: picture("matching", method) for method in METHODS}


def test_heat_maps_show_truth_and_predictions_in_one_order(pictures: dict[str, dict[str, np.ndarray]]) -> None:
    figure = heat_maps(pictures, rows="papers", columns="others")
    maps = [axis for axis in figure.axes if axis.images]
    assert [axis.get_title() for axis in maps] == ["truth", *METHODS]
    order = np.argsort(-pictures[METHODS[0]]["theta"].sum(1), kind="stable")
    shown = [np.asarray(axis.images[0].get_array()) for axis in maps]
    np.testing.assert_array_equal(shown[0], pictures[METHODS[0]]["theta"][order])
    np.testing.assert_array_equal(shown[2], pictures[METHODS[1]]["theta_hat"][order])
    colors = maps[0].images[0].get_cmap()
    assert sum(colors(1.0)[:3]) < sum(colors(0.0)[:3])  # dark is high


def test_maps_have_one_scale_one_bar_and_numbers_on_their_axes(pictures: dict[str, dict[str, np.ndarray]]) -> None:
    figure = heat_maps(pictures, rows="papers", columns="others")
    maps = [axis for axis in figure.axes if axis.images]
    assert len({axis.images[0].get_clim() for axis in maps}) == 1
    (bar,) = [axis.images[0].colorbar for axis in maps if axis.images[0].colorbar is not None]
    assert bar.ax.get_ylabel() == "theta (scale of roots)"
    assert len(maps[0].get_xticks()) > 2
    assert len(maps[0].get_yticks()) > 2


def test_what_is_beyond_the_scale_is_dark_on_every_page() -> None:
    theta, large = np.eye(40), np.eye(40)
    large[0, 0] = 9.0
    svg = to_svg(heat_maps({"A": {"theta": theta, "theta_hat": large}}, rows="a", columns="b"))
    assert "fill: #010101" in svg


@pytest.mark.parametrize("shape", [(50, 50), (50, 100), (30, 31)])
def test_the_bar_is_as_high_as_the_maps(shape: tuple[int, int]) -> None:
    theta = np.random.default_rng(0).random(shape)
    figure = heat_maps({name: {"theta": theta, "theta_hat": theta} for name in ("A", "B")}, rows="a", columns="b")
    figure.draw_without_rendering()
    last = [axis for axis in figure.axes if axis.images][-1]
    (bar,) = [axis.images[0].colorbar for axis in figure.axes if axis.images and axis.images[0].colorbar is not None]
    high, wanted = bar.ax.get_window_extent(), last.get_window_extent()
    assert (high.y0, high.y1) == pytest.approx((wanted.y0, wanted.y1), abs=2)
    assert overlaps(figure) == []


@pytest.mark.parametrize(("alive", "top"), [(0, 1.0), (1, 1.0), (300, 1.0)], ids=["none", "too few", "enough"])
def test_a_map_of_dead_outputs_is_white(alive: int, top: float) -> None:
    theta_hat = np.zeros((20, 40))
    theta_hat.ravel()[:alive] = 0.3
    figure = heat_maps({"NN1": {"theta": np.eye(20, 40), "theta_hat": theta_hat}}, rows="a", columns="b")
    assert [axis for axis in figure.axes if axis.images][1].images[0].get_clim() == (0.0, top)


def test_single_entries_of_large_maps_stay_visible() -> None:
    large = np.zeros((1000, 1000))
    large[517, 333] = 1.0
    small = blocks(large)
    assert max(small.shape) <= 160
    assert small.max() == 1.0
    assert small.sum() == 1.0


def test_wide_matrices_are_stacked() -> None:
    wide = heat_maps({"NN1-2Stage": picture("budget", "NN1-2Stage")}, rows="channels", columns="customers")
    assert wide.get_figheight() > 0.5 * wide.get_figwidth()
    first, second = [axis.get_position().y0 for axis in wide.axes if axis.images]
    assert first > second


def test_shapes_must_agree(pictures: dict[str, dict[str, np.ndarray]]) -> None:
    wrong = {**pictures["NN2-2Stage"], "theta_hat": np.zeros(2500)}
    with mistake("theta_hat of NN2-2Stage", "(50, 50)"):
        heat_maps({"NN2-2Stage": wrong}, rows="papers", columns="others")
    wrong = {**pictures["NN2-2Stage"], "predicted_weight": np.zeros(3)}
    with mistake("predicted_weight of NN2-2Stage"):
        out_weights({"NN2-2Stage": wrong}, rows="papers", roles=ROLES)


def test_out_weights_share_scales_and_show_where_predictions_meet_the_truth(
    pictures: dict[str, dict[str, np.ndarray]],
) -> None:
    figure = out_weights(pictures, rows="papers", roles=ROLES)
    assert len({(axis.get_xlim(), axis.get_ylim()) for axis in figure.axes}) == 1
    for axis, (method, drawn) in zip(figure.axes, pictures.items()):
        r = np.corrcoef(drawn["true_weight"].ravel(), drawn["predicted_weight"].ravel())[0, 1]
        assert axis.get_title() == f"{method}: r² = {r**2:.2f}"
        diagonal, means = axis.get_lines()
        np.testing.assert_array_equal(diagonal.get_xdata(), diagonal.get_ydata())
        expected = trend(drawn["true_weight"].ravel(), drawn["predicted_weight"].ravel())
        np.testing.assert_allclose(means.get_xydata().T, expected)
        counts = axis.collections[0].get_array()
        assert counts is not None
        assert counts.sum() == drawn["true_weight"].size
        assert axis.collections[0].get_cmap()(1.0)[:3] == pytest.approx(to_rgba(COLORS[ROLES[method]])[:3], abs=0.01)
    assert labels(figure.legends[0])[:2] == ["predicted = true", "mean of each tenth, by true weight"]


def test_a_prediction_that_knows_no_order_is_called_so() -> None:
    rng = np.random.default_rng(0)
    blind = {"true_weight": rng.random((20, 50)), "predicted_weight": rng.random((20, 50))}
    assert out_weights({"a": blind}, rows="papers", roles={}).axes[0].get_title().endswith("knows no order")


def test_a_constant_prediction_is_drawn_too() -> None:
    constant = {"true_weight": np.arange(4.0).reshape(1, 4), "predicted_weight": np.ones((1, 4))}
    assert out_weights({"NN1-2Stage": constant}, rows="papers", roles={}).axes[0].get_title() == "NN1-2Stage: all equal"
    flat = {"true_weight": np.ones((1, 4)), "predicted_weight": np.ones((1, 4))}
    assert out_weights({"NN1-2Stage": flat}, rows="papers", roles={}).axes[0].get_title() == "NN1-2Stage: all equal"
