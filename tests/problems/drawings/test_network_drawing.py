from __future__ import annotations

import numpy as np
import torch
from matplotlib.colors import to_rgba

import foresolve
from drawn import labels
from foresolve._base.drawing.palette import CHOSEN
from foresolve.problems import MaxFlow, MinCostFlow
from mistakes import mistake

ROADS = [("home", "A"), ("A", "work"), ("home", "work"), ("work", "home")]


def taken(axes: object) -> int:
    return sum(patch.get_edgecolor() == to_rgba(CHOSEN) for patch in axes.patches)  # type: ignore[attr-defined]


def test_a_path_on_its_graph() -> None:
    problem = foresolve.ShortestPath(ROADS, "home", "work")
    axes = problem.plot(torch.tensor([1.0, 1.0, 3.0, 1.0]))
    assert taken(axes) == 2
    assert {"home", "work", "A", "3"} <= {text.get_text() for text in axes.texts}
    assert labels(axes.get_legend()) == ["path", "not taken", "from", "to"]
    assert axes.get_title() == "costs 2"


def test_nodes_stand_where_the_user_says() -> None:
    problem = foresolve.ShortestPath(ROADS, "home", "work")
    places = {"home": (0.0, 0.0), "A": (5.0, 5.0), "work": (9.0, 1.0)}
    x = torch.tensor([1.0, 1.0, 0.0, 0.0])
    for positions in (places, np.array([places[name] for name in problem.node_names])):
        axes = problem.draw(x, positions=positions)
        drawn = np.concatenate([marks.get_offsets() for marks in axes.collections])
        assert {tuple(place) for place in drawn} == set(places.values())
    with mistake("positions", "none for A"):
        problem.draw(x, positions={"home": (0, 0), "work": (1, 1)})
    with mistake("positions", "(3, 2)", "(2, 2)"):
        problem.draw(x, positions=np.zeros((2, 2)))


def test_a_path_on_cells_is_drawn_over_their_costs() -> None:
    problem = foresolve.ShortestPath.grid(3, 4, "8", costs="cells")
    cells = torch.arange(12.0)
    axes = problem.plot(cells)
    np.testing.assert_array_equal(axes.images[0].get_array(), cells.reshape(3, 4).numpy())  # type: ignore[arg-type]
    path = axes.collections[-1].get_segments()  # type: ignore[attr-defined]
    assert path[0][0].tolist() == [0.0, 0.0]
    assert any(segment[1].tolist() == [3.0, 2.0] for segment in path)


def test_steps_there_and_back_are_side_by_side() -> None:
    problem = foresolve.ShortestPath.grid(2, 2, "4")
    axes = problem.plot(torch.arange(1.0, problem.n + 1.0))
    steps = axes.collections[0].get_segments()  # type: ignore[attr-defined]
    assert len(steps) == problem.n
    assert len({tuple(segment.mean(0).round(6)) for segment in steps}) == problem.n
    assert len(foresolve.ShortestPath.grid(2, 2).draw(torch.tensor([1.0, 0, 0, 1])).collections) == 2


def test_flows_say_how_full_arcs_are() -> None:
    pipes = [("a", "b"), ("b", "c"), ("a", "c")]
    most = MaxFlow(pipes, "a", "c", [2.0, 1.0, float("inf")])
    axes = most.draw(torch.tensor([1.0, 1.0, 4.0]))
    assert {"1/2", "1/1", "4"} <= {text.get_text() for text in axes.texts}
    assert labels(axes.get_legend())[0] == "flow / capacity: wider where more flows"
    cheap = MinCostFlow(pipes, {"a": 2.0, "c": -2.0})
    axes = cheap.plot(torch.tensor([1.0, 1.0, 3.0]))
    assert labels(axes.get_legend()) == ["flow: wider where there is more", "no flow", "supply", "demand"]
    assert taken(axes) == 2
