from __future__ import annotations

import networkx
import torch

from foresolve.problems import SubmodularProblem
from foresolve.sets import FacilityLocation, GraphicMatroid, PolyhedralMatroid
from mistakes import mistake


def test_excess_of_forests_is_that_of_the_worst_set_of_edges() -> None:
    triangle = GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3), (3, 3)])
    x = torch.tensor([[0.9, 0.9, 0.9, 0.2, 0.0], [0.5, 0.5, 1.0, 1.0, 0.0], [0.5, 0.5, 1.0, 1.0, 0.25]])
    assert triangle.rank == 3
    expected = torch.tensor([[0.7], [0.0], [0.25]], dtype=torch.float64)
    torch.testing.assert_close(triangle.excess(x, base=False)["sets"], expected, atol=1e-6, rtol=0)


def test_forests_have_no_projection() -> None:
    tree = GraphicMatroid([(0, 1)])
    assert not isinstance(tree, PolyhedralMatroid)
    problem = SubmodularProblem(FacilityLocation(), tree)
    assert "projection" not in problem.traits
    with mistake("matroid", "GraphicMatroid"):
        problem.solve(torch.ones(1, 2), method="ascent")


def test_graphs_of_networkx() -> None:
    graph = networkx.Graph([("a", "b"), ("b", "c"), ("c", "a")])
    graph.add_node("alone")
    matroid = GraphicMatroid.from_networkx(graph)
    assert matroid.nodes == ["a", "b", "c", "alone"]
    assert matroid.n_nodes == 4
    assert [tuple(matroid.nodes[i] for i in edge) for edge in matroid.edges.tolist()] == list(graph.edges)
    assert matroid.maximize(torch.tensor([1.0, 3.0, 2.0])).tolist() == [0.0, 1.0, 1.0]
    with mistake("graph", "DiGraph"):
        GraphicMatroid.from_networkx(graph.to_directed())
    with mistake("graph", "list"):
        GraphicMatroid.from_networkx([(0, 1)])
