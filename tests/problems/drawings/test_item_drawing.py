from __future__ import annotations

import pytest
import torch
from matplotlib.colors import to_rgb

import foresolve
from drawn import overlaps
from foresolve._base.drawing.canvas import new_figure
from foresolve._base.drawing.palette import CHOSEN


def test_a_mistake_is_a_colored_bar_below_a_gray_one() -> None:
    problem = foresolve.TopK(4, 2, names=["a", "b", "c", "d"])
    axes = problem.draw(torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([3.0, 2.0, 1.0, 0.0]))
    assert [text.get_text() for text in axes.get_yticklabels()] == ["a", "b", "c", "d"]
    assert [bar.get_facecolor()[:3] == to_rgb(CHOSEN) for bar in axes.patches] == [False, True, False, True]


def test_of_many_items_all_chosen_are_shown() -> None:
    problem, theta = foresolve.TopK(200, 5), torch.arange(200.0)
    axes = problem.draw(problem.solve(-theta), theta)  # the worst ones
    assert len(axes.patches) == 30
    assert sum(bar.get_facecolor()[:3] == to_rgb(CHOSEN) for bar in axes.patches) == 5
    assert "30 of 200" in axes.get_xlabel()


def test_a_knapsack_is_as_full_as_it_is() -> None:
    problem = foresolve.Knapsack([3, 4, 5], 8, names=["tent", "stove", "rope"])
    axes = problem.draw(torch.tensor([1.0, 0.0, 1.0]), torch.tensor([3.0, 4.0, 5.5]))
    packed = [bar for bar in axes.patches if bar.get_facecolor()[:3] == to_rgb(CHOSEN)]
    assert sum(bar.get_width() for bar in packed) == pytest.approx(100.0)
    assert {"tent\n3", "stove\n4", "rope\n5.5"} == {text.get_text() for text in axes.texts}
    two = foresolve.Knapsack([[3.0, 4.0], [1.0, 1.0]], [7.0, 4.0]).draw(torch.tensor([1.0, 1.0]))
    assert [text.get_text() for text in two.get_yticklabels()] == ["weight 0", "weight 1", "left out"]


def test_what_does_not_fit_goes_beyond_the_line() -> None:
    axes = foresolve.Knapsack([3, 4], 5).draw(torch.tensor([1.0, 1.0]))
    assert axes.get_title() == "not feasible"
    assert axes.get_xlim()[1] > 140


def test_names_of_many_items_stay_apart() -> None:
    problem = foresolve.TopK(500, 40)
    theta = torch.rand(500, generator=torch.Generator().manual_seed(0))
    axes = problem.plot(theta)
    assert len(axes.patches) == len(axes.get_yticklabels()) == 45
    assert overlaps(axes.get_figure()) == []
    small = problem.plot(theta, new_figure(3.0, 1.5).subplots())
    assert len(small.patches) == 45 > len(small.get_yticklabels())
    assert overlaps(small.get_figure()) == []


def test_many_packed_items_have_no_edges_that_hide_them() -> None:
    weights = torch.full((300,), 1.0)
    axes = foresolve.Knapsack(weights, 40.0).plot(torch.arange(300.0))
    assert {bar.get_linewidth() for bar in axes.patches} == {0.0}


def test_large_numbers_are_written_out() -> None:
    assert foresolve.TopK(2, 1).plot(torch.tensor([2.5e6, 1.0])).get_title() == "worth 2,500,000"
