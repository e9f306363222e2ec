"""Who reaches whom in live-edge graphs, against a plain search."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from foresolve.sets.functions import cascades
from foresolve.sets.functions.cascades import CascadeGraph, LiveGraphs, changes, draw_targets, padded

N, GRAPHS = 9, 5


def draw(seed: int) -> tuple[np.ndarray, np.ndarray, LiveGraphs]:
    rng = np.random.default_rng(seed)
    pairs = rng.integers(0, N, (25, 2))
    pairs = pairs[pairs[:, 0] != pairs[:, 1]]
    probability = rng.random(len(pairs))
    return pairs, probability, LiveGraphs(CascadeGraph.of(pairs, N), probability, GRAPHS, seed)


def arcs(live: LiveGraphs, graph: int) -> set[int]:
    return set(live.network.arc[live.live[graph]].tolist())


def reaching(pairs: np.ndarray, present: set[int], target: int) -> set[int]:
    graph = nx.DiGraph([tuple(pairs[arc]) for arc in present])
    graph.add_nodes_from(range(N))
    return {target, *nx.ancestors(graph, target)}


def members(owner: np.ndarray, node: np.ndarray, count: int) -> list[set[int]]:
    return [set(node[owner == k].tolist()) for k in range(count)]


@pytest.mark.parametrize("seed", range(5))
@pytest.mark.parametrize("marks", [N, 2**22])  # one search at a time, and all together
def test_the_nodes_that_reach_a_target(seed: int, marks: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cascades, "MARKS", marks)
    pairs, _, live = draw(seed)
    start, graph = np.tile(np.arange(N), GRAPHS), np.repeat(np.arange(GRAPHS), N)
    without = np.where(np.arange(len(start)) % 2 == 0, -1, np.arange(len(start)) % len(pairs))
    owner, node = live.sources(start, graph, without=without)
    rows = members(owner, node, len(start))
    assert len(owner) == sum(map(len, rows))  # no node twice
    for k in range(len(start)):
        assert rows[k] == reaching(pairs, arcs(live, graph[k]) - {without[k]}, start[k])


@pytest.mark.parametrize("seed", range(5))
def test_a_switched_arc_changes_the_row_as_a_new_search_would(seed: int) -> None:
    pairs, probability, live = draw(seed)
    targets = draw_targets(np.arange(N), GRAPHS, 4, seed)
    graph = np.repeat(np.arange(GRAPHS), 4)
    owner, node = live.sources(targets.reshape(-1), graph)
    rows = members(owner, node, targets.size)
    switches = changes(live, probability, targets, owner, node)
    sets = members(switches.owner, switches.node, len(switches.row))
    assert len(sets) > 0
    for row, edge, present, nodes in zip(switches.row, switches.edge, switches.present, sets):
        live_arcs, target = arcs(live, graph[row]), targets.reshape(-1)[row]
        assert present == (edge in live_arcs) == (probability[edge] > 0.5)
        if present:
            assert nodes == reaching(pairs, live_arcs - {edge}, target)
        else:
            assert nodes == reaching(pairs, live_arcs | {edge}, target) - rows[row]
            assert nodes  # an arc that adds nothing is not listed


def test_arcs_are_there_as_often_as_they_are_likely() -> None:
    pairs, probability, _ = draw(0)
    live = LiveGraphs(CascadeGraph.of(pairs, N), probability, 4000, 1)
    shares = live.live.mean(0)
    np.testing.assert_allclose(shares, probability[live.network.arc], atol=0.05)


def test_targets_are_each_drawn_once_for_a_graph() -> None:
    targets = draw_targets(np.array([2, 3, 5, 7]), 50, 3, 0)
    assert all(len(set(row)) == 3 and set(row) <= {2, 3, 5, 7} for row in targets.tolist())
    assert len({tuple(row) for row in targets.tolist()}) > 1


def test_rows_are_filled_up_to_a_power_of_two() -> None:
    owner, node = np.array([0, 1, 1, 1, 3, 3]), np.array([4, 0, 1, 2, 5, 6])
    parts = padded(owner, node, 4, 9)
    assert [index.shape[1] for _, index in parts] == [1, 2, 4]
    assert [ids.tolist() for ids, _ in parts] == [[0], [3], [1]]
    assert parts[2][1].tolist() == [[0, 1, 2, 9]]
