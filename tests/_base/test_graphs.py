from __future__ import annotations

from typing import Any

import networkx
import numpy as np
import pytest
import torch

from foresolve._base.graphs import Graph, arc_table, as_edges, networkx_arcs, networkx_nodes
from foresolve.errors import ForesolveError
from mistakes import mistake


@pytest.mark.parametrize("arcs", [[(0, 1), (2, 0)], np.array([[0, 1], [2, 0]]), torch.tensor([[0, 1], [2, 0]])])
def test_pairs_of_numbers(arcs: Any) -> None:
    graph = Graph.of(arcs)
    assert (graph.tails.tolist(), graph.heads.tolist(), graph.n_nodes) == ([0, 2], [1, 0], 3)
    assert graph.arcs == [(0, 1), (2, 0)]
    assert graph.names is None
    assert graph.arc_name(1) == "2 -> 0"
    assert Graph.of(graph) is graph
    assert Graph.of(arcs, 7).n_nodes == 7


def test_networkx_keeps_order_names_and_keys() -> None:
    graph = Graph.from_networkx(networkx.MultiGraph([("b", (1, 2)), ("b", (1, 2))]))
    assert graph.arcs == [("b", (1, 2), 0), ((1, 2), "b", 0), ("b", (1, 2), 1), ((1, 2), "b", 1)]
    assert graph.names == ("b -> (1, 2) (0)", "(1, 2) -> b (0)", "b -> (1, 2) (1)", "(1, 2) -> b (1)")
    assert graph.ends("b", (1, 2)) == (0, 1)
    with mistake("target", "source"):
        graph.ends("b", "b")


def test_a_graph_is_not_a_list_of_arcs() -> None:
    with mistake("arcs", "from_networkx"):
        Graph.of(networkx.DiGraph([(0, 1)]))


def test_arcs_of_the_same_nodes_have_names_of_their_own() -> None:
    graph = Graph.from_networkx(networkx.Graph([("a", "a"), ("a", "b")]))
    assert graph.names == ("a -> a [0]", "a -> a [1]", "a -> b", "b -> a")


def test_what_cannot_be_a_node_is_none() -> None:
    graph = Graph.from_networkx(networkx.DiGraph([("a", "b")]))
    with mistake("target", "2 nodes", "['b']"):
        graph.ends("a", ["b"])


def test_attributes_follow_the_arcs() -> None:
    graph = networkx.Graph()
    graph.add_edge("a", "b", room=2)
    graph.add_edge("b", "c")
    graph.add_node("c", supply=-1.5)
    assert networkx_arcs(graph, "room", np.inf) == [2.0, 2.0, np.inf, np.inf]
    assert networkx_nodes(graph, "supply", 0.0) == [0.0, 0.0, -1.5]


@pytest.mark.parametrize("graph", [networkx.DiGraph([("a", "b")]), networkx.MultiGraph([(1.5, ("x", 3)), (1.5, 7)])])
def test_config_keeps_names(graph: Any) -> None:
    network = Graph.from_networkx(graph)
    twin = Graph.from_config(network.config())
    assert (twin.arcs, twin.n_nodes) == (network.arcs, network.n_nodes)


@pytest.mark.parametrize("node", [None, frozenset("a"), ("a", None), 1j, b"a"])
def test_names_that_no_file_holds(node: Any) -> None:
    network = Graph.from_networkx(networkx.DiGraph([("a", "b")] if node is None else [("a", node)]))
    if node is None:
        network = Graph(network.tails, network.heads, 2, ["a", None])
    with mistake("", "None" if node is None else type(node).__name__, "relabel_nodes", kind=ForesolveError):
        network.config()


def test_values_by_node() -> None:
    graph = Graph.of([("mine", "port"), ("port", "mill")])
    assert graph.node_names == ["mine", "port", "mill"]
    assert graph.by_node("supply", {"mill": -2.0, "mine": 2.0}) == [2.0, 0.0, -2.0]
    with mistake("supply", "'mil'", "'mill'"):
        graph.by_node("supply", {"mil": 1.0})


@pytest.mark.parametrize("numbers", [[114, 215, 215], [114.0, 215.0, 215.0]])
def test_a_column_of_nodes_that_is_text_makes_the_other_one_text(numbers: list[Any]) -> None:
    """Leading zeros leave one column text and the other one numbers: "114" and 114 were two nodes."""
    pandas = pytest.importorskip("pandas")
    table = pandas.DataFrame({"from": ["007", "114", "007"], "to": numbers})
    assert arc_table("arcs", table, "from", "to", None).arcs == [("007", "114"), ("114", "215"), ("007", "215")]


def test_edges_may_be_none_at_all() -> None:
    pairs, count = as_edges(np.zeros((0, 2)), 4)
    assert (pairs.shape, count) == ((0, 2), 4)


def test_undirected_edges_as_arcs_each_way_or_as_they_are() -> None:
    graph = networkx.MultiGraph([("a", "b"), ("b", "c"), ("a", "b")])
    arcs = [("a", "b", 0), ("a", "b", 1), ("b", "c", 0)]
    network = Graph.from_networkx(graph, both_ways=False)
    assert network.arcs == arcs
    assert network.pairs.tolist() == [[0, 1], [0, 1], [1, 2]]
    assert Graph.from_networkx(graph).arcs == [arc for u, v, key in arcs for arc in ((u, v, key), (v, u, key))]
