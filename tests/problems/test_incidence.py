from __future__ import annotations

import networkx as nx
import numpy as np

from foresolve.problems.incidence import incidence


def test_rows_are_those_of_the_oriented_incidence_matrix() -> None:
    graph = nx.gnp_random_graph(8, 0.4, seed=1, directed=True)
    tails, heads = np.array(graph.edges).T
    rows = incidence(tails, heads, np.arange(8), 8)
    expected = -nx.incidence_matrix(graph, oriented=True).toarray()  # networkx has +1 where an arc enters
    np.testing.assert_array_equal(rows.scipy().toarray(), expected)
    nodes = np.array([5, 0, 3])
    np.testing.assert_array_equal(incidence(tails, heads, nodes, 8).scipy().toarray(), expected[nodes])


def test_self_loops_cancel_and_a_circulation_is_conserved() -> None:
    tails, heads = np.array([0, 1, 2, 1]), np.array([1, 2, 0, 1])
    matrix = incidence(tails, heads, np.arange(3), 3).scipy().toarray()
    assert matrix[:, 3].tolist() == [0, 0, 0]
    assert (matrix @ [1, 1, 1, 5]).tolist() == [0, 0, 0]
