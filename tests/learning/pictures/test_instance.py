"""One instance, side by side."""

from __future__ import annotations

from typing import Any

import pytest
import torch

import foresolve
from drawn import labels, overlaps
from foresolve.data import DecisionDataset
from foresolve.learning import Policy, draw_instance
from mistakes import mistake


def data(problem: Any, count: int = 3) -> DecisionDataset:
    theta = torch.rand(count, problem.theta_shape[0], generator=torch.Generator().manual_seed(0)) + 0.1
    return DecisionDataset(theta, theta, problem)


def test_predictions_above_and_the_truth_below_on_one_scale() -> None:
    cells = torch.tensor([[1.0, 9.0, 1.0], [1.0, 9.0, 1.0], [9.0, 1.0, 1.0]]).flatten().expand(3, 9)
    grid = DecisionDataset(cells, cells, foresolve.ShortestPath.grid(3, 3, "8", costs="cells"))
    policy = Policy(lambda features: torch.ones_like(features), grid.problem)  # takes the expensive diagonal
    figure = draw_instance({"exact": lambda features: features, "policy": policy}, grid, index=-1)
    maps = [axis for axis in figure.axes if axis.images]
    assert len(maps) == 5
    assert len({axis.images[0].get_clim() for axis in maps}) == 1
    titles = [axis.get_title() for axis in maps]
    assert [title.split("\n")[0] for title in titles] == [
        "exact: predicted", "policy: predicted", "best", "exact: true", "policy: true",
    ]  # fmt: skip
    assert titles[2:] == ["best\ncosts 4", "exact: true\ncosts 4, regret 0", "policy: true\ncosts 11, regret 7"]
    assert labels(figure.legends[0]) == ["path", "from", "to"]
    assert all(axis.get_legend() is None for axis in figure.axes)
    assert overlaps(figure) == []


def test_options_go_to_the_drawing() -> None:
    roads = [("a", "b"), ("b", "c"), ("a", "c")]
    figure = draw_instance(
        {"exact": lambda features: features}, data(foresolve.ShortestPath(roads, "a", "c")),
        positions={"a": (0, 0), "b": (7, 7), "c": (9, 0)},
    )  # fmt: skip
    assert any([7.0, 7.0] in marks.get_offsets().tolist() for axis in figure.axes for marks in axis.collections)  # type: ignore[union-attr]


def test_an_instance_is_called_by_its_key() -> None:
    pandas = pytest.importorskip("pandas")
    days = pandas.date_range("2025-09-11", periods=3, name="day")
    table = pandas.DataFrame(torch.rand(3, 4, generator=torch.Generator().manual_seed(0)).numpy(), index=days)
    dated = DecisionDataset(table, table, foresolve.TopK(4, 2))
    models = {"exact": lambda features: features}
    assert words(draw_instance(models, dated, -1)) == "2025-09-13\nabove: as predicted\nbelow: as it is"
    assert words(draw_instance(models, data(foresolve.TopK(3, 1)), 1)).startswith("instance 1\n")
    table.index = pandas.Index(["a", "$b$", "c"], name="store")
    assert words(draw_instance(models, DecisionDataset(table, table, foresolve.TopK(4, 2)))).startswith(r"\$b\$")


def words(figure: Any) -> str:
    """In the place without a picture."""
    return figure.axes[0].texts[0].get_text()


def test_instances_with_data_of_their_own() -> None:
    problem = foresolve.Knapsack(torch.ones(3, 1, 4), torch.tensor([[1.0], [2.0], [3.0]]))
    figure = draw_instance({"exact": lambda features: features}, data(problem), index=1)
    assert figure.axes[1].get_title().startswith("exact: predicted\nworth")


@pytest.mark.parametrize(
    ("index", "models", "about"),
    [(3, {"a": abs}, "index"), (0.5, {"a": abs}, "index"), (0, {}, "models"), (0, [abs], "models")],
)
def test_what_cannot_be_drawn_is_refused(index: Any, models: Any, about: str) -> None:
    with mistake(about):
        draw_instance(models, data(foresolve.TopK(3, 1)), index)


def test_decisions_alone_are_refused() -> None:
    known = DecisionDataset(torch.zeros(2, 3), decisions=torch.eye(3)[:2], problem=foresolve.TopK(3, 1))
    with mistake("data"):
        draw_instance({"a": lambda features: features}, known)
