from __future__ import annotations

from typing import Any

import numpy as np
import pandas
import pytest
import torch

from foresolve._base.arc_lists import read_arcs
from foresolve._base.graphs import Graph
from mistakes import mistake

ROADS = [("J2", "J1"), ("J1", "J3"), ("J2", "J1")]
FRAME = pandas.DataFrame(ROADS, columns=["from", "to"])


@pytest.mark.parametrize(
    "arcs",
    [
        ROADS,
        [list(road) for road in ROADS],
        zip(FRAME["from"], FRAME["to"], strict=True),
        FRAME,
        FRAME.astype("string"),
        FRAME.astype("category"),
        FRAME.to_numpy(),
        np.array(ROADS),
        FRAME.set_index(pandas.Index([7, 8, 9])),
    ],
)
def test_names_in_every_form(arcs: Any) -> None:
    pairs, nodes, keys = read_arcs(arcs)
    assert (pairs.tolist(), nodes, keys) == ([[0, 1], [1, 2], [0, 1]], ["J2", "J1", "J3"], None)


@pytest.mark.parametrize(
    "arcs", [[(0, 1), (2, 0)], pandas.DataFrame({"a": [0, 2], "b": [1, 0]}), torch.tensor([[0.0, 1.0], [2.0, 0.0]])]
)
def test_numbers_stay_numbers(arcs: Any) -> None:
    assert read_arcs(arcs).nodes is None
    assert read_arcs(arcs).pairs.tolist() == [[0, 1], [2, 0]]


def test_nodes_of_many_kinds() -> None:
    pairs, nodes, _ = read_arcs([(1, "1"), ("1", (0, 2)), ((0, 2), 2.5)])
    assert (pairs.tolist(), nodes) == ([[0, 1], [1, 2], [2, 3]], [1, "1", (0, 2), 2.5])
    assert read_arcs([((0, 0), (0, 1)), ((0, 1), (1, 1))]).nodes == [(0, 0), (0, 1), (1, 1)]


@pytest.mark.parametrize(
    ("arcs", "nodes"),
    [
        ([(10**10, 7), (7, 10**10 + 1)], [7, 10**10, 10**10 + 1]),
        ([(3, 1), (1, 2)], [1, 2, 3]),
        ([(0, -1), (-1, 5)], [-1, 0, 5]),
        ([(2.5, 0.5), (0.5, 3.0)], [0.5, 2.5, 3.0]),
        ([(4.0, 2.0), (2.0, 3.0)], [2, 3, 4]),
        ([(2**63 + 3, 5), (5, 2**63 + 1)], [5, 2**63 + 1, 2**63 + 3]),
        ([(2**63 + 1, -5), (-5, 2**63)], [-5, 2**63, 2**63 + 1]),
        ([(2**70 + 1, 1), (1, 2**70)], [1, 2**70, 2**70 + 1]),
    ],
)
def test_numbers_that_are_not_0_to_n_are_names_in_the_order_of_their_size(arcs: Any, nodes: list[Any]) -> None:
    exact = [np.array(arcs), pandas.DataFrame(arcs)] if arcs[0][0] < 2**53 else [np.array(arcs, dtype=object)]
    for form in [arcs, iter(arcs), *exact]:
        graph = Graph.of(form)
        assert graph.nodes == nodes
        assert graph.arcs == arcs
        assert (graph.n_nodes, graph.number("source", arcs[0][0])) == (len(nodes), nodes.index(arcs[0][0]))


def test_unsigned_integers() -> None:
    assert read_arcs(np.array([[2**63 + 3, 5], [5, 2**63 + 1]], dtype=np.uint64)).nodes == [5, 2**63 + 1, 2**63 + 3]
    assert read_arcs(np.array([[1, 0], [0, 2]], dtype=np.uint64)).nodes is None


def test_the_order_of_integers_does_not_depend_on_the_number_of_arcs() -> None:
    """With costs on nodes, `theta` is in the order of the nodes."""
    for top in (4, 999, 1021, 10**12):
        assert Graph.of([(top, 1), (1, 0), (0, top)]).node_names == [0, 1, top]


def test_whoever_says_how_many_nodes_there_are_means_numbers() -> None:
    graph = Graph.of([(0, 5000)], 6000)
    assert (graph.n_nodes, graph.nodes, graph.pairs.tolist()) == (6000, None, [[0, 5000]])
    with mistake("arcs", "[0, -1]"):
        Graph.of([(0, -1)], 3)
    more = Graph.of([(1, 4), (4, 2)]).with_nodes(6)
    assert (more.n_nodes, more.nodes, more.arcs) == (6, None, [(1, 4), (4, 2)])
    for count in (2, 4):
        with mistake("supply", "3 nodes"):
            Graph.of([(1, 4), (4, 2)]).with_nodes(count)


def test_keys() -> None:
    assert read_arcs([("a", "b", "ferry"), ("a", "b", 1)]).keys == ["ferry", 1]
    assert read_arcs([(0, 1, 0), (0, 1, 1)]).keys == [0, 1]
    assert Graph.of([(0, 1, 0), (0, 1, 1)]).arcs == [(0, 1, 0), (0, 1, 1)]


@pytest.mark.parametrize(
    ("arcs", "facts"),
    [
        ([("a", "b"), ("ab",)], ["('ab',) at arc 1", "list(zip"]),
        (["ab", "cd"], ["'ab' at arc 0"]),
        ([1, 2], ["1 at arc 0"]),
        (3, ["(tail, head)", "int"]),
        ([], ["(n_arcs, 2)"]),
        ([("a", "b"), ("a", "b", 1)], ["(tail, head)", "(tail, head, key)"]),
        ([("a", "b", 1.5)], ["('a', 'b', 1.5) at arc 0", "`theta`"]),
        ([("a", "b", {"weight": 2})], ["{'weight': 2}", "`theta`"]),
        ([("a", ["b"])], ["['b'], a list, at arc 0"]),
        ([("a", "b"), ("a", None)], ["None at arc 1"]),
        (pandas.DataFrame({"a": ["x", "y"], "b": ["y", np.nan]}), ["nan at arc 1"]),
        (pandas.DataFrame({"a": ["x"], "b": [None]}).astype("string"), ["<NA> at arc 0"]),
        (pandas.DataFrame({"a": [0, 1], "b": [1, np.nan]}), ["nan at arc 1"]),
        (np.zeros((2, 3)), ["(n_arcs, 2)", "(2, 3)"]),
    ],
)
def test_what_is_no_list_of_arcs(arcs: Any, facts: list[str]) -> None:
    with mistake("arcs", *facts):
        read_arcs(arcs)


def test_named_nodes_are_as_many_as_they_are() -> None:
    assert Graph.of(ROADS, 3).n_nodes == 3
    with mistake("n_nodes", "arcs", "got 9"):
        Graph.of(ROADS, 9)
