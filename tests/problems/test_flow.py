from __future__ import annotations

import networkx
import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.errors import InfeasibleError, UnboundedError
from foresolve.problems import MaxFlow, MinCostFlow
from mistakes import mistake
from problems.conformance import LinearConformance, scipy_value


def random_arcs(rng: np.random.Generator, nodes: int, count: int) -> np.ndarray:
    tails = rng.integers(0, nodes, count)
    return np.stack([tails, (tails + rng.integers(1, nodes, count)) % nodes], 1)


class TestMaxFlow(LinearConformance):
    def make(self, seed: int) -> MaxFlow:
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(2, 7))
        arcs = np.concatenate([[[0, nodes - 1]], random_arcs(rng, nodes, int(rng.integers(1, 15)))])
        return MaxFlow(arcs, 0, nodes - 1, rng.integers(0, 5, len(arcs)), nodes)

    def best(self, problem: MaxFlow, theta: Tensor) -> float:
        return scipy_value(problem, theta)

    @pytest.mark.parametrize("seed", range(8))
    def test_plain_maximum_flow_is_that_of_networkx(self, seed: int) -> None:
        problem = self.make(seed)
        graph = networkx.DiGraph()
        for (tail, head), capacity in zip(problem.arcs, problem.capacity.tolist(), strict=True):
            known = graph.get_edge_data(tail, head, {"capacity": 0.0})["capacity"]
            graph.add_edge(tail, head, capacity=known + capacity)
        theta = problem.flow_value_theta()
        x = problem.solve(theta)
        assert problem.objective(x, theta).item() == pytest.approx(
            networkx.maximum_flow_value(graph, 0, problem.target)
        )
        assert torch.equal(x, x.round())

    def test_capacity_per_instance_and_with_gradients(self) -> None:
        capacity = torch.tensor([[1.0, 2.0], [3.0, 1.5]], requires_grad=True)
        problem = MaxFlow([(0, 1), (1, 2)], 0, 2, capacity)
        assert problem.solve(problem.flow_value_theta()).tolist() == [[1.0, 1.0], [1.5, 1.5]]
        assert problem.capacity.requires_grad
        assert problem.batch_shape == (2,)

    def test_endless_cycle_is_unbounded(self) -> None:
        problem = MaxFlow([(0, 1), (1, 2), (2, 1), (2, 3)], 0, 3, np.inf)
        with mistake(kind=UnboundedError, instances=[1]) as caught:
            problem.solve(torch.tensor([[-1.0] * 4, [1.0] * 4]))
        assert caught.value.instances == (1,)

    def test_no_inner_nodes(self) -> None:
        assert MaxFlow([(0, 1), (1, 0)], 0, 1, [2.0, 3.0]).solve(torch.tensor([1.0, -1.0])).tolist() == [2.0, 0.0]

    def test_check_names_nodes_and_arcs(self) -> None:
        problem = MaxFlow([(0, 1), (1, 2)], 0, 2, [1.0, 1.0])
        assert "node 1" in str(problem.check(torch.tensor([1.0, 0.0])))
        assert "arc 1 -> 2" in str(problem.check(torch.tensor([2.0, 2.0])))

    @pytest.mark.parametrize(
        ("change", "about"),
        [
            ({"capacity": [1.0, -1.0]}, ("capacity", ">= 0", "-1 at [1]")),
            ({"capacity": [1.0, float("nan")]}, ("capacity", "nan at [1]")),
            ({"capacity": [1.0, 1.0, 1.0]}, ("capacity", "(*batch, 2)", "(3,)")),
            ({"target": 0}, ("target", "source")),
            ({"source": 9}, ("source", "9")),
            ({"source": "a"}, ("source", ">= 0", "'a'")),
            ({"arcs": np.array([(0, 1, 2)])}, ("arcs", "(1, 3)")),
            ({"arcs": [(0, 1, 2.5)]}, ("arcs", "(0, 1, 2.5)", "arc 0", "theta")),
            ({"arcs": []}, ("arcs", "no arcs")),
            ({"arcs": [(0, 1), (1, -2)], "n_nodes": 3}, ("arcs", "[1, -2]", "arc 1")),
            ({"arcs": [(0, 1), (1, -2)]}, ("target", "3 nodes", "got 2")),
            ({"arcs": [(0, 1), (1, 0.5)], "n_nodes": 3}, ("arcs", "arc 1")),
            ({"arcs": "ab"}, ("arcs", "'a' at arc 0")),
            ({"n_nodes": 2}, ("n_nodes", "(2)", "got 2")),
        ],
    )
    def test_bad_input(self, change: dict[str, object], about: tuple[str, ...]) -> None:
        arguments = {"arcs": [(0, 1), (1, 2)], "source": 0, "target": 2, "capacity": 1.0} | change
        with mistake(*about):
            MaxFlow(**arguments)  # type: ignore[arg-type]


class TestMinCostFlow(LinearConformance):
    def make(self, seed: int) -> MinCostFlow:
        rng = np.random.default_rng(seed)
        nodes = int(rng.integers(2, 6))
        ring = np.stack([np.arange(nodes), np.roll(np.arange(nodes), -1)], 1)  # ample, so that every supply is met
        others = random_arcs(rng, nodes, int(rng.integers(1, 8)))
        supply = rng.integers(-3, 4, nodes)
        supply[-1] -= supply.sum()
        capacity = np.concatenate([np.full(nodes, 50), rng.integers(0, 4, len(others))])
        return MinCostFlow(np.concatenate([ring, others]), supply, capacity)

    def best(self, problem: MinCostFlow, theta: Tensor) -> float:
        return scipy_value(problem, theta)

    @pytest.mark.parametrize("seed", range(8))
    def test_integer_costs_as_networkx(self, seed: int) -> None:
        problem = self.make(seed)
        theta = torch.from_numpy(np.random.default_rng(seed).integers(-5, 10, problem.n))
        graph = networkx.MultiDiGraph()
        for node, amount in enumerate(problem.supply.tolist()):
            graph.add_node(node, demand=-int(amount))
        for (tail, head), capacity, cost in zip(problem.arcs, problem.capacity.tolist(), theta.tolist(), strict=True):
            graph.add_edge(tail, head, capacity=int(capacity), weight=cost)
        cost, _ = networkx.network_simplex(graph)
        assert problem.objective(problem.solve(theta), theta.double()).item() == pytest.approx(-cost)

    def test_supply_per_instance(self) -> None:
        problem = MinCostFlow([(0, 1)], torch.tensor([[1.0, -1.0], [2.0, -2.0]]))
        assert problem.solve(torch.tensor([1.0])).tolist() == [[1.0], [2.0]]

    def test_isolated_nodes_come_from_the_supply(self) -> None:
        assert MinCostFlow([(0, 1)], [1.0, -1.0, 0.0]).n_nodes == 3

    def test_infeasible_instance_is_named(self) -> None:
        problem = MinCostFlow([(0, 1)], torch.tensor([[1.0, -1.0], [2.0, -2.0], [1.0, -1.0]]), capacity=1.5)
        with mistake(kind=InfeasibleError, instances=[1]) as caught:
            problem.solve(torch.tensor([1.0]))
        assert caught.value.instances == (1,)

    def test_bad_supply(self) -> None:
        with mistake("supply", "sum of 1"):
            MinCostFlow([(0, 1)], [2.0, -1.0])
        with mistake("supply", "3 nodes", "(2,)"):
            MinCostFlow([(0, 2), (1, 2)], [1.0, -1.0])

    def test_nodes_that_no_arc_touches(self) -> None:
        for supply in ([1.0, 0.0, -1.0], [1.0, -1.0], {0: 1.0, 2: -1.0}):  # as numbers, in their order, by name
            assert MinCostFlow([(0, 2)], supply).solve(torch.ones(1)).tolist() == [1.0]
        with mistake("supply", "2 nodes", "got 4"):
            MinCostFlow([(0, 5)], [1.0, 0.0, 0.0, -1.0])


class TestNetworkx:
    def roads(self) -> networkx.DiGraph:
        graph = networkx.DiGraph()
        graph.add_node("mine", supply=3.0)
        graph.add_node("mill", supply=-3.0)
        graph.add_edge("mine", "port", capacity=2.0)
        graph.add_edge("port", "mill")
        graph.add_edge("mine", "mill", capacity=1)
        return graph

    def test_maximum_flow(self) -> None:
        problem = MaxFlow.from_networkx(self.roads(), "mine", "mill")
        assert problem.arcs == list(self.roads().edges)
        assert (problem.source, problem.target) == ("mine", "mill")
        assert problem.capacity.tolist() == [2.0, 1.0, np.inf]
        assert problem.names == ("mine -> port", "mine -> mill", "port -> mill")
        x = problem.solve(problem.flow_value_theta())
        assert x.tolist() == [2.0, 1.0, 2.0]
        assert problem.flow_value_theta().tolist() == [1.0, 1.0, 0.0]
        assert "node port" in str(problem.check(torch.tensor([1.0, 0.0, 0.0])))
        assert "mine -> port" in str(problem.check(torch.tensor([3.0, 0.0, 3.0])))

    def test_cheapest_flow(self) -> None:
        problem = MinCostFlow.from_networkx(self.roads())
        assert problem.supply.tolist() == [3.0, -3.0, 0.0]
        assert problem.solve(torch.tensor([1.0, 5.0, 1.0])).tolist() == [2.0, 1.0, 2.0]
        assert "node mill" in str(problem.check(torch.tensor([2.0, 0.0, 2.0])))
        assert MinCostFlow.from_networkx(self.roads(), sense="max").sense == "max"

    def test_undirected_edges_have_their_capacity_each_way(self) -> None:
        graph = networkx.MultiGraph()
        graph.add_edge("a", "b", "slow", room=1.0)
        graph.add_edge("a", "b", "fast", room=2.0)
        problem = MaxFlow.from_networkx(graph, "a", "b", capacity="room")
        assert problem.arcs == [("a", "b", "slow"), ("b", "a", "slow"), ("a", "b", "fast"), ("b", "a", "fast")]
        assert problem.capacity.tolist() == [1.0, 1.0, 2.0, 2.0]
        assert problem.names == ("a -> b (slow)", "b -> a (slow)", "a -> b (fast)", "b -> a (fast)")

    def test_bad_input(self) -> None:
        with mistake("source", "3 nodes", "'sea'"):
            MaxFlow.from_networkx(self.roads(), "sea", "mill")
        with mistake("graph", "list"):
            MinCostFlow.from_networkx([(0, 1)])
        graph = self.roads()
        graph.edges["port", "mill"]["capacity"] = "ample"
        with mistake("graph['capacity']", "'ample'", "'port'"):
            MaxFlow.from_networkx(graph, "mine", "mill")
        with mistake("arcs", "graph without edges"):
            MaxFlow.from_networkx(networkx.empty_graph(2), 0, 1)
