from __future__ import annotations

from collections.abc import Callable, Hashable

import networkx
import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.errors import ForesolveError, InfeasibleError, UnboundedError
from foresolve.problems import ShortestPath
from mistakes import mistake
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


class TestCells(LinearConformance):
    """Costs on cells, the start included."""

    def make(self, seed: int) -> ShortestPath:
        rng = np.random.default_rng(seed)
        shape = int(rng.integers(2, 5)), int(rng.integers(1, 5))
        ends = {} if seed % 4 else {"source": (shape[0] - 1, 0), "target": (0, shape[1] - 1)}
        return ShortestPath.grid(*shape, moves="8" if seed % 2 else "4", costs="cells", **ends)

    def draw(self, problem: ShortestPath, batch: tuple[int, ...], seed: int) -> Tensor:
        return super().draw(problem, batch, seed).abs()

    def best(self, problem: ShortestPath, theta: Tensor) -> float:
        graph = networkx.DiGraph()
        for tail, head in problem.arcs:
            graph.add_edge(tail, head, weight=float(theta[head]))
        way = networkx.dijkstra_path_length(graph, problem.source, problem.target)
        return -(way + float(theta[problem.source]))


class TestCostsOnNamedNodes(TestCells):
    """An acyclic part and cycles, parallel arcs, names as nodes."""

    def make(self, seed: int) -> ShortestPath:
        rng = np.random.default_rng(seed)
        nodes = ["home", "work", *(f"J{i}" for i in range(int(rng.integers(1, 7))))]
        pairs = rng.integers(0, len(nodes), (int(rng.integers(1, 20)), 2))
        arcs = [("home", "work"), *((nodes[a], nodes[b]) for a, b in pairs)]
        return ShortestPath(arcs, "home", "work", costs="nodes")

    def best(self, problem: ShortestPath, theta: Tensor) -> float:
        cost = dict(zip(problem.node_names, theta.tolist(), strict=True))
        graph = networkx.DiGraph()
        for tail, head in problem.arcs:
            graph.add_edge(tail, head, weight=cost[head])
        way = networkx.dijkstra_path_length(graph, problem.source, problem.target)
        return -(way + cost["home"])


def test_costs_on_nodes_are_costs_of_the_arcs_into_them() -> None:
    cells = ShortestPath.grid(3, 4, "8", costs="cells")
    arcs = ShortestPath.grid(3, 4, "8")
    theta = torch.randn(6, 12, generator=torch.Generator().manual_seed(0), dtype=torch.float64)  # cycles pay
    heads = [head for _, head in arcs.arcs]
    assert torch.equal(cells.gain(theta), arcs.gain(theta[:, heads]))
    assert torch.equal(cells.constant(theta), -theta[:, 0])
    assert torch.equal(cells.maximizer(theta), arcs.maximizer(theta[:, heads]))
    x, adjusted = cells.decide(theta)
    assert torch.equal(x, arcs.decide(theta[:, heads])[0])
    assert adjusted.any()
    torch.testing.assert_close(cells.objective(x, theta), -(cells.nodes(x) * theta).sum(-1))


def test_costs_on_nodes_are_named_by_nodes() -> None:
    problem = ShortestPath([("a", "b"), ("b", "c")], "a", "c", costs="nodes")
    assert (problem.theta_names, problem.names) == (("a", "b", "c"), ("a -> b", "b -> c"))
    assert ShortestPath.grid(2, 2, costs="cells").theta_names is None


def test_files_keep_what_theta_prices() -> None:
    problem = ShortestPath.grid(2, 3, "4", costs="cells", source=(1, 0), target=2)
    twin = ShortestPath.from_config(problem.config())
    assert (twin.costs, twin.shape, twin.source, twin.target) == ("nodes", (2, 3), 3, 2)
    assert twin.theta_shape == (6,)
    with pytest.raises(ValueError, match="`shape` must be of 6 cells; it is 3 x 3"):
        ShortestPath.from_config(problem.config() | {"shape": [3, 3]})


def test_a_picture_of_cells_is_refused_with_the_remedy() -> None:
    problem = ShortestPath.grid(3, 4, "8", costs="cells")
    with mistake("theta", "(*batch, 12)", "(5, 3, 4)", "theta.flatten(-2)"):
        problem.solve(torch.ones(5, 3, 4))
    flat = ShortestPath.grid(1, 4, "4", costs="cells")  # where a batch of one looks like a picture
    assert flat.solve(torch.ones(1, 4)).shape == (1, 6)


class TestNamedNodes:
    ROADS = (("J01", "J02"), ("J02", "J01"), ("J01", "J07"), ("J07", "J01"), ("J07", "J02"), ("J02", "J07"))

    @pytest.mark.parametrize("seed", range(5))
    @pytest.mark.parametrize("name", [str, lambda i: (i, "x"), lambda i: 10**9 + i, lambda i: i if i % 2 else str(i)])
    def test_they_are_the_numbered_twin(self, seed: int, name: Callable[[int], Hashable]) -> None:
        rng = np.random.default_rng(seed)
        pairs = np.concatenate([[[0, 5], [5, 0]], rng.integers(0, 6, (15, 2))])
        numbered = ShortestPath(pairs, 0, 5, 6)
        named = ShortestPath([(name(int(a)), name(int(b))) for a, b in pairs], name(0), name(5))
        assert named.arcs == [(name(a), name(b)) for a, b in numbered.arcs]
        theta = torch.from_numpy(rng.normal(size=(8, len(pairs))))
        assert torch.equal(named.solve(theta.abs()), numbered.solve(theta.abs()))
        flows = named.maximizer(theta), numbered.maximizer(theta)
        values = [named.objective(x, theta) for x in flows]
        torch.testing.assert_close(*values)
        path = named.path(named.solve(theta[0].abs()))
        assert path == [name(i) for i in numbered.path(numbered.solve(theta[0].abs()))]

    def test_arcs_stay_in_the_order_given(self) -> None:
        problem = ShortestPath(self.ROADS, "J01", "J07")
        assert problem.arcs == list(self.ROADS)
        assert problem.node_names == ["J01", "J02", "J07"]
        assert problem.names == tuple(f"{tail} -> {head}" for tail, head in self.ROADS)

    def test_parallel_arcs_are_kept(self) -> None:
        problem = ShortestPath([("a", "b"), ("a", "b")], "a", "b")
        assert problem.names == ("a -> b [0]", "a -> b [1]")
        keyed = ShortestPath([("a", "b", "ferry"), ("a", "b", "bridge")], "a", "b")
        assert keyed.names == ("a -> b (ferry)", "a -> b (bridge)")
        assert keyed.solve(torch.tensor([2.0, 1.0])).tolist() == [0.0, 1.0]

    def test_a_node_that_is_not_there(self) -> None:
        with mistake("source", "3 nodes", "'J1'", "'J01'?"):
            ShortestPath(self.ROADS, "J1", "J07")
        with mistake("target", "3 nodes", "got 12"):
            ShortestPath(self.ROADS, "J01", 12)

    def test_names_that_no_file_holds_are_an_error_at_save(self) -> None:
        problem = ShortestPath([(frozenset("a"), "b")], frozenset("a"), "b")
        assert problem.path(problem.solve(torch.ones(1))) == [frozenset("a"), "b"]
        with mistake("", "frozenset", "networkx.relabel_nodes", kind=ForesolveError):
            problem.config()


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
        with mistake("source", "2 nodes", "'c'"):
            ShortestPath.from_networkx(graph, "c", "b")
        with mistake("graph", "list"):
            ShortestPath.from_networkx([("a", "b")], "a", "b")

    def test_negative_cycle_is_named_by_labels(self) -> None:
        graph = networkx.DiGraph([("a", "b"), ("b", "c"), ("c", "a"), ("c", "d")])
        problem = ShortestPath.from_networkx(graph, "a", "d")
        theta = torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, 1.0, -3.0, 1.0]])
        with pytest.raises(UnboundedError, match=r"(a|b|c) -> (a|b|c) -> (a|b|c) -> (a|b|c) costs -1") as caught:
            problem.solve(theta)
        assert 'head="non_negative"' in str(caught.value.remedy)
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
    with mistake("", "node 0 (`source`)", "node 2 (`target`)", kind=InfeasibleError):
        ShortestPath([(0, 1), (2, 1)], 0, 2)


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ((0, 3), ("height", ">= 1", "got 0")),
        ((1, 1), ("height", "1 x 1")),
        ((2, 2, "6"), ("moves", "'6'")),
    ],
)
def test_bad_grid(arguments: tuple[int, ...], about: tuple[str, ...]) -> None:
    with mistake(*about):
        ShortestPath.grid(*arguments)


@pytest.mark.parametrize(
    ("options", "about"),
    [
        ({"costs": "nodes"}, ("costs", "'cells'", "got 'nodes'")),
        ({"source": (2, 0)}, ("source", "2 x 3", "(2, 0)")),
        ({"target": (0, 0, 0)}, ("target", "(0, 0, 0)")),
        ({"target": (0, 0.5)}, ("target", "(0, 0.5)")),
        ({"target": 6}, ("target", "below 6", "got 6")),
        ({"target": (0, 0)}, ("target", "source")),
    ],
)
def test_bad_ends_of_a_grid(options: dict[str, object], about: tuple[str, ...]) -> None:
    with mistake(*about):
        ShortestPath.grid(2, 3, "4", **options)


def test_costs_are_of_arcs_or_nodes() -> None:
    with mistake("costs", "'nodes'", "got 'cells'"):
        ShortestPath([(0, 1)], 0, 1, costs="cells")
