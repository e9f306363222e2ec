from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.errors import InfeasibleError, InvalidInputError, UnboundedError
from foresolve.problems.shortest_path import ShortestPath
from problems.conformance import LinearConformance, scipy_value


def networkx_value(problem: ShortestPath, theta: Tensor) -> float:
    graph = networkx.MultiDiGraph()
    for arc, cost in zip(problem.arcs, theta.tolist(), strict=True):
        if arc[0] != arc[1]:
            graph.add_edge(arc[0], arc[1], weight=cost)
    return -networkx.bellman_ford_path_length(graph, problem.source, problem.target)


class TestRightDownGrid(LinearConformance):
    def make(self, seed: int) -> ShortestPath:
        rng = np.random.default_rng(seed)
        return ShortestPath.grid(int(rng.integers(1, 6)), int(rng.integers(2, 6)))

    def best(self, problem: ShortestPath, theta: Tensor) -> float:
        return networkx_value(problem, theta)

    def test_arcs_in_the_documented_order(self) -> None:
        expected = []
        for i in range(3):
            expected += [(4 * i + j, 4 * i + j + 1) for j in range(3)]
            expected += [(4 * i + j, 4 * i + j + 4) for j in range(4)] if i < 2 else []
        assert ShortestPath.grid(3, 4).arcs == expected


class TestAcyclicGraph(LinearConformance):
    """Arcs from low to high numbers: parallel ones, dead ends, nodes out of reach, hubs of high degree."""

    def make(self, seed: int) -> ShortestPath:
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(3, 12))
        ends = np.sort(rng.integers(0, nodes, (int(rng.integers(1, 40)), 2)), axis=1)
        ends = np.concatenate([ends[ends[:, 0] != ends[:, 1]], [[1, nodes - 1]], [[0, nodes - 1]]])
        rename = rng.permutation(nodes)
        return ShortestPath(rename[ends], rename[1], rename[nodes - 1], nodes)

    def best(self, problem: ShortestPath, theta: Tensor) -> float:
        return networkx_value(problem, theta)


class TestCyclicGraph(LinearConformance):
    """Non-negative costs (some zero) shifted by potentials: negative arcs, no negative cycle."""

    any_gains = False

    def make(self, seed: int) -> ShortestPath:
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(2, 9))
        arcs = np.concatenate([[[0, nodes - 1], [nodes - 1, 0]], rng.integers(0, nodes, (int(rng.integers(1, 30)), 2))])
        return ShortestPath(arcs, 0, nodes - 1, nodes)

    def draw(self, problem: ShortestPath, batch: tuple[int, ...], seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        theta = torch.randint(0, 4, (*batch, problem.n), generator=generator).double()
        tails, heads = torch.tensor(problem.arcs).T
        potential = torch.randn(*batch, problem.n_nodes, generator=generator, dtype=torch.float64)
        negative = torch.rand(*batch, 1, generator=generator) < 0.5
        return torch.where(negative, theta + potential[..., tails] - potential[..., heads], theta)

    def best(self, problem: ShortestPath, theta: Tensor) -> float:
        return scipy_value(problem, theta)


class TestEightNeighbors(LinearConformance):
    any_gains = False

    def make(self, seed: int) -> ShortestPath:
        rng = np.random.default_rng(seed)
        return ShortestPath.grid(int(rng.integers(2, 5)), int(rng.integers(1, 5)), "8" if seed % 2 else "4")

    def draw(self, problem: ShortestPath, batch: tuple[int, ...], seed: int) -> Tensor:
        return super().draw(problem, batch, seed).abs()

    def best(self, problem: ShortestPath, theta: Tensor) -> float:
        return networkx_value(problem, theta)

    def test_number_of_arcs(self) -> None:
        assert ShortestPath.grid(3, 4, "4").n == 2 * (3 * 3 + 2 * 4)
        assert ShortestPath.grid(3, 4, "8").n == 2 * (3 * 3 + 2 * 4) + 4 * 2 * 3
        assert len(set(ShortestPath.grid(3, 4, "8").arcs)) == ShortestPath.grid(3, 4, "8").n


class TestNetworkx:
    def test_labels_and_order_are_those_of_the_graph(self) -> None:
        graph = networkx.DiGraph([("x", "y"), ("w", "x"), ("y", "z")])
        problem = ShortestPath.from_networkx(graph, "w", "z")
        assert problem.arcs == list(graph.edges)
        assert (problem.source, problem.target) == ("w", "z")
        assert problem.solve(torch.ones(3)).tolist() == [1.0, 1.0, 1.0]
        assert "node x" in str(problem.check(torch.tensor([0.0, 1.0, 1.0])))

    def test_undirected_edges_go_both_ways(self) -> None:
        problem = ShortestPath.from_networkx(networkx.Graph([("b", "a"), ("b", "c")]), "a", "c")
        assert problem.arcs == [("b", "a"), ("a", "b"), ("b", "c"), ("c", "b")]
        assert problem.solve(torch.ones(4)).tolist() == [0.0, 1.0, 1.0, 0.0]

    def test_multigraph_keeps_keys(self) -> None:
        graph = networkx.MultiDiGraph([("a", "b", "slow"), ("a", "b", "fast")])
        problem = ShortestPath.from_networkx(graph, "a", "b")
        assert problem.arcs == [("a", "b", "slow"), ("a", "b", "fast")]
        assert problem.solve(torch.tensor([2.0, 1.0])).tolist() == [0.0, 1.0]

    def test_bad_input(self) -> None:
        graph = networkx.DiGraph([("a", "b")])
        with pytest.raises(InvalidInputError, match="`source` must be one of the 2 nodes of `graph`; got 'c'"):
            ShortestPath.from_networkx(graph, "c", "b")
        with pytest.raises(InvalidInputError, match="`graph` must be a networkx graph; got list"):
            ShortestPath.from_networkx([("a", "b")], "a", "b")

    def test_negative_cycle_is_named_by_labels(self) -> None:
        graph = networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
        problem = ShortestPath.from_networkx(graph, "a", "d")
        theta = torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, -3.0, 1.0]])
        with pytest.raises(
            UnboundedError, match=r"instance 1: (a|b|c) -> (a|b|c) -> (a|b|c) -> (a|b|c) costs -1 "
        ) as caught:
            problem.solve(theta)
        assert caught.value.instances == (1,)


def test_cycles_off_the_way_do_no_harm() -> None:
    # 3 <-> 4 cannot be reached, 5 <-> 6 lead nowhere: their arcs are fixed at 0.
    arcs = [(0, 1), (1, 2), (3, 4), (4, 3), (3, 1), (1, 5), (5, 6), (6, 5)]
    problem = ShortestPath(arcs, 0, 2)
    assert problem.upper.tolist() == [1.0, 1.0, 0, 0, 0, 0, 0, 0]
    assert problem.solve(-torch.ones(8)).tolist() == [1.0, 1.0, 0, 0, 0, 0, 0, 0]


def test_rounding_makes_no_negative_cycle() -> None:
    problem = ShortestPath([(0, 1), (1, 2), (2, 0), (2, 3)], 0, 3)
    theta = torch.tensor([0.1, 0.2, -0.3, 1.0], dtype=torch.float64)  # 0.1 + 0.2 - 0.3 is 5e-17
    assert problem.solve(theta).tolist() == [1.0, 1.0, 0.0, 1.0]
    assert problem.solve(-theta).tolist() == [1.0, 1.0, 0.0, 1.0]


def test_unreachable_target_is_infeasible() -> None:
    with pytest.raises(InfeasibleError, match=r"no path leads from node 0 \(`source`\) to node 2 \(`target`\)"):
        ShortestPath([(0, 1), (2, 1)], 0, 2)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((0, 3), "`height` must be an integer >= 1; got 0"),
        ((1, 1), "`height` must be such that the grid has two cells or more; got 1 x 1"),
        ((2, 2, "6"), '`moves` must be "right-down", "4" or "8"; got \'6\''),
    ],
)
def test_bad_grid(arguments: tuple[int, ...], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        ShortestPath.grid(*arguments)
