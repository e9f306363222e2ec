"""Layers in pictures: as gamma falls, and along a line."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch
from tools.gallery import PATHS, RESPONSES, response, smooth_path

import foresolve
from drawn import labels, overlaps
from foresolve import layers
from foresolve._base.drawing.canvas import new_figure
from mistakes import mistake

PROBLEM = foresolve.TopK(5, 2)
THETA, OTHER = torch.tensor([0.9, 0.7, 0.2, 0.4, 0.1]), torch.tensor([0.1, 0.2, 0.9, 0.5, 0.3])


@pytest.mark.parametrize("name", PATHS)
def test_paths_of_all_smoothed_layers(name: str) -> None:
    axes = smooth_path(PATHS[name])()
    assert axes.get_xscale() == "log"
    high, low = axes.get_xlim()
    assert high > low  # gamma falls to the right
    assert "gamma of the layer" in labels(axes.get_legend())
    assert overlaps(axes.get_figure()) == []


def test_a_path_goes_from_the_center_to_the_best_decision() -> None:
    axes = layers.QuadraticRelaxation(0.1).plot_path(THETA, PROBLEM)
    lines = [line for line in axes.get_lines() if len(line.get_xdata()) > 2]  # type: ignore[arg-type]
    assert len(lines) == 5
    ends = np.array([(line.get_ydata()[0], line.get_ydata()[-1]) for line in lines])  # type: ignore[index]
    np.testing.assert_allclose(ends[:, 0], 0.4, atol=0.05)
    assert sorted(ends[:, 1].round(6)) == [0, 0, 0, 1, 1]
    dots = [line.get_ydata()[0] for line in axes.get_lines() if line.get_marker() == "o"]  # type: ignore[index]
    assert sorted(dots) == [0, 0, 0, 1, 1]


def test_gammas_and_axes_of_the_caller() -> None:
    mine = new_figure(4, 3).subplots()
    axes = layers.QuadraticRelaxation(0.1).plot_path(THETA[None], PROBLEM, mine, gammas=[0.1, 1.0])
    assert axes is mine
    assert list(axes.get_lines()[0].get_xdata())[:2] == [1.0, 0.1]  # type: ignore[arg-type]
    with mistake("gammas", "got 1"):
        layers.QuadraticRelaxation(0.1).plot_path(THETA, PROBLEM, gammas=[0.1])
    with mistake("theta", "(2, 5)"):
        layers.QuadraticRelaxation(0.1).plot_path(torch.stack([THETA, OTHER]), PROBLEM)
    many = foresolve.Knapsack(torch.ones(2, 1, 5), torch.ones(2, 1))
    with mistake("problem", "(2,)"):
        layers.QuadraticRelaxation(0.1).plot_path(THETA, many)
    with mistake("problem", "TopK"):
        layers.MultilinearRelaxation(0.1).plot_path(THETA, PROBLEM)


@pytest.mark.parametrize("name", RESPONSES)
def test_responses_of_all_layers(name: str) -> None:
    axes = response(RESPONSES[name])()
    assert labels(axes.get_legend())[-3:] == ["layer", "best decision", "slope passed back"]
    assert overlaps(axes.get_figure()) == []


def slopes(axes: Any) -> list[np.ndarray]:
    return [np.array(marks.get_segments()) for marks in axes.collections]


def test_slopes_are_those_of_the_layer() -> None:
    """Of an exact layer they lie along its line; a vertex passes none."""
    axes = layers.QuadraticRelaxation(0.5).plot_response(THETA, OTHER, PROBLEM)
    lines = [line for line in axes.get_lines() if line.get_linestyle() == "-"]
    for line, marks in zip(lines, slopes(axes), strict=True):
        places, values = np.asarray(line.get_xdata()), np.asarray(line.get_ydata())
        middle = marks.mean(1)
        np.testing.assert_allclose(np.interp(middle[:, 0], places, values), middle[:, 1], atol=1e-6)
        rise = (marks[:, 1, 1] - marks[:, 0, 1]) / (marks[:, 1, 0] - marks[:, 0, 0])
        measured = np.gradient(values, places)[:: len(places) // 12][: len(rise)]
        inside = np.abs(np.gradient(np.gradient(values, places), places))[:: len(places) // 12][: len(rise)] < 1e-6
        np.testing.assert_allclose(rise[inside], measured[inside], atol=1e-5)


def test_drawing_leaves_a_layer_and_its_generator_alone() -> None:
    layer, other = (layers.PerturbedAdditive(20, seed=0) for _ in range(2))
    layer.plot_response(THETA, OTHER, PROBLEM)
    assert torch.equal(layer(THETA, PROBLEM), other(THETA, PROBLEM))
    with mistake("toward", "(2, 5)"):
        layer.plot_response(THETA, torch.stack([THETA, OTHER]), PROBLEM)
