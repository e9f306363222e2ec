"""Levels against networkx, and groups that hold every usable arc once."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from foresolve.solvers.exact.levels import groups, hops, longest_ways


def acyclic(seed: int, n: int = 12, arcs: int = 30) -> tuple[np.ndarray, np.ndarray]:
    rng = np.random.default_rng(seed)
    pairs = np.sort(rng.integers(0, n, (arcs, 2)), axis=1)
    pairs = pairs[pairs[:, 0] < pairs[:, 1]]
    names = rng.permutation(n)  # so that numbers do not tell the order
    return names[pairs[:, 0]], names[pairs[:, 1]]


@pytest.mark.parametrize("seed", range(6))
def test_hops_are_the_fewest_arcs(seed: int) -> None:
    tails, heads = acyclic(seed)
    graph = nx.DiGraph(zip(tails.tolist(), heads.tolist()))
    graph.add_nodes_from(range(12))
    start = int(tails[0])
    lengths = nx.single_source_shortest_path_length(graph, start)
    assert hops(tails, heads, 12, start).tolist() == [lengths.get(node, np.inf) for node in range(12)]


@pytest.mark.parametrize("seed", range(6))
def test_the_longest_way_to_a_node(seed: int) -> None:
    tails, heads = acyclic(seed)
    levels = longest_ways(tails, heads, 12)
    assert levels is not None
    longest = dict.fromkeys(range(12), 0)
    graph = nx.DiGraph(zip(tails.tolist(), heads.tolist()))
    for node in nx.topological_sort(graph):
        for follower in graph.successors(node):
            longest[follower] = max(longest[follower], longest[node] + 1)
    assert levels.tolist() == list(longest.values())


def test_a_cycle_has_no_levels() -> None:
    tails, heads = np.array([0, 1, 2, 2]), np.array([1, 2, 1, 3])
    assert longest_ways(tails, heads, 4) is None
    assert longest_ways(tails[[0, 1, 3]], heads[[0, 1, 3]], 4) is not None


@pytest.mark.parametrize("seed", range(6))
def test_groups_hold_every_usable_arc_once_level_by_level(seed: int) -> None:
    tails, heads = acyclic(seed, n=40, arcs=300)
    levels = longest_ways(tails, heads, 40)
    assert levels is not None
    usable = np.random.default_rng(seed).random(len(tails)) < 0.8
    arcs, visited = [], []
    for nodes, into in groups(heads, usable, levels):
        filled = into < len(heads)
        assert len(set(levels[nodes])) == 1
        assert (np.broadcast_to(nodes[:, None], into.shape)[filled] == heads[into[filled]]).all()
        assert into.size <= 4 * max(filled.sum(), len(nodes))
        arcs += into[filled].tolist()
        visited.append(int(levels[nodes[0]]))
    assert sorted(arcs) == np.flatnonzero(usable).tolist()
    assert visited == sorted(visited)
