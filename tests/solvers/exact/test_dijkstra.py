"""The arcs that come back form cheapest paths, instance by instance."""

from __future__ import annotations

import networkx as nx
import numpy as np
import pytest

from foresolve.solvers.exact import dijkstra
from foresolve.solvers.exact.dijkstra import BatchedDijkstra

NODES = 7


def draw_arcs(seed: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Arcs with cycles, parallel ones among them, of which some may not be used."""
    rng = np.random.default_rng(seed)
    ends = rng.integers(0, NODES, (2, 24))
    ends = ends[:, ends[0] != ends[1]]
    tails, heads = np.concatenate([ends, ends[:, :5]], axis=1)  # the first five twice
    return tails, heads, rng.random(len(tails)) < 0.85


def distances(tails: np.ndarray, heads: np.ndarray, usable: np.ndarray, costs: np.ndarray) -> np.ndarray:
    graph = nx.MultiDiGraph()
    graph.add_nodes_from(range(NODES))
    for arc in np.flatnonzero(usable):
        graph.add_edge(int(tails[arc]), int(heads[arc]), weight=costs[arc])
    lengths = nx.single_source_dijkstra_path_length(graph, 0)
    return np.array([lengths.get(node, np.inf) for node in range(NODES)])


def walked(tails: np.ndarray, into: np.ndarray, costs: np.ndarray) -> np.ndarray:
    """The cost of going back from each node along its arc until the source; infinite where there is no arc."""
    totals = np.zeros(NODES)
    for node in range(1, NODES):
        at = node
        for _ in range(NODES):
            if at == 0:
                break
            if into[at] == len(tails):
                totals[node] = np.inf
                break
            totals[node] += costs[into[at]]
            at = tails[into[at]]
        else:
            pytest.fail("the arcs run in a circle")
    return totals


@pytest.mark.parametrize("seed", range(8))
def test_going_back_along_the_arcs_costs_the_distance(seed: int, monkeypatch: pytest.MonkeyPatch) -> None:
    tails, heads, usable = draw_arcs(seed)
    costs = np.random.default_rng(seed + 100).random((6, len(tails)))
    monkeypatch.setattr(dijkstra, "DIJKSTRA_ARCS", 2 * len(tails))  # several calls for one batch
    into = BatchedDijkstra(tails, heads, usable, NODES, 0).arcs_into(costs)
    assert into.shape == (NODES, 6)
    for b in range(6):
        used = into[into[:, b] < len(tails), b]
        assert usable[used].all()
        assert (heads[used] == np.flatnonzero(into[:, b] < len(tails))).all()
        np.testing.assert_allclose(walked(tails, into[:, b], costs[b]), distances(tails, heads, usable, costs[b]))


def test_of_parallel_arcs_the_cheapest_and_of_equal_ones_the_first() -> None:
    tails, heads = np.array([0, 0, 0]), np.array([1, 1, 1])
    solver = BatchedDijkstra(tails, heads, np.ones(3, dtype=bool), 2, 0)
    into = solver.arcs_into(np.array([[3.0, 1.0, 2.0], [1.0, 1.0, 1.0], [2.0, 1.0, 1.0]]))
    assert into[1].tolist() == [1, 0, 1]
    assert into[0].tolist() == [3, 3, 3]  # nothing leads into the source
