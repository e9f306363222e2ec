from __future__ import annotations

import itertools

import networkx
import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foresolve.problems import ShortestPath
from foresolve.solvers.exact import dijkstra, paths
from foresolve.solvers.exact.paths import PathSolver
from mistakes import mistake


def grid_arcs(side: int) -> tuple[np.ndarray, np.ndarray]:
    cells = np.arange(side * side).reshape(side, side)
    pairs = [(cells[:, :-1], cells[:, 1:]), (cells[:-1], cells[1:])]
    tails = np.concatenate([a.ravel() for a, _ in pairs] + [b.ravel() for _, b in pairs])
    heads = np.concatenate([b.ravel() for _, b in pairs] + [a.ravel() for a, _ in pairs])
    return tails, heads


@pytest.fixture
def cyclic() -> PathSolver:
    return PathSolver(*grid_arcs(6), 36, 0, 35)


def test_the_three_methods_agree(cyclic: PathSolver) -> None:
    generator = torch.Generator().manual_seed(0)
    costs = torch.rand(20, len(cyclic.tails), generator=generator, dtype=torch.float64)
    by_dijkstra = cyclic._trace(torch.from_numpy(cyclic._dijkstra.arcs_into(costs.numpy())))
    arc_into, has_cycle = cyclic._bellman_ford(costs)
    assert not has_cycle.any()
    assert torch.equal(by_dijkstra, cyclic._trace(arc_into))
    half = len(cyclic.tails) // 2
    acyclic = PathSolver(cyclic.tails[:half], cyclic.heads[:half], 36, 0, 35)
    assert acyclic.acyclic
    forward = costs.clone()
    forward[:, half:] = 100.0
    assert torch.equal(acyclic.solve(forward[:, :half])[0], cyclic.solve(forward)[0][:, :half])


def test_dijkstra_in_parts_is_dijkstra(cyclic: PathSolver, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = torch.randint(0, 3, (9, len(cyclic.tails)), generator=torch.Generator().manual_seed(1)).double()
    expected, _ = cyclic.solve(costs)
    monkeypatch.setattr(dijkstra, "DIJKSTRA_ARCS", 250)
    assert torch.equal(cyclic.solve(costs)[0], expected)


def test_a_mixed_batch_keeps_its_order(cyclic: PathSolver) -> None:
    generator = torch.Generator().manual_seed(2)
    costs = torch.rand(8, len(cyclic.tails), generator=generator, dtype=torch.float64)
    potential = torch.rand(8, 36, generator=generator, dtype=torch.float64) * 2
    shifted = costs + potential[:, cyclic.tails] - potential[:, cyclic.heads]
    mixed = torch.where((torch.arange(8) % 2 == 0)[:, None], costs, shifted)
    assert torch.equal(cyclic.solve(mixed)[0], cyclic.solve(costs)[0])


def test_a_dear_road_elsewhere_changes_nothing() -> None:
    # 0 -> 1 -> 2 -> 3 costs 0.5 less than 0 -> 3, which is found first; 3 -> 0, of cost 1e12, leads back.
    tails, heads = np.array([0, 0, 1, 2, 3]), np.array([3, 1, 2, 3, 0])
    costs = torch.tensor([[0.5, -1.0, 0.5, 0.5, 1e12]], dtype=torch.float64)
    x, cyclic = PathSolver(tails, heads, 4, 0, 3).solve(costs)
    assert not cyclic.any()
    assert x[0].tolist() == [0, 1, 1, 1, 0]


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20), digits=st.integers(-6, 12))
def test_cycles_of_weight_zero_end_however_they_are_rounded(seed: int, digits: int) -> None:
    """Costs that are differences of potentials: every cycle has weight zero, but for rounding."""
    solver = PathSolver(*grid_arcs(4), 16, 0, 15)
    rng = np.random.default_rng(seed)
    height = rng.normal(size=(5, 16)) * 10.0 ** rng.choice([0, digits], size=(5, 16))
    x, cyclic = solver.solve(torch.from_numpy(height[:, solver.tails] - height[:, solver.heads]))
    assert not cyclic.any()
    assert all(solver.order(row) for row in x.numpy())


def test_hubs_are_padded_apart() -> None:
    # One node of degree 200 on the level of many of degree 1.
    middle = np.arange(1, 201)
    tails = np.concatenate([np.zeros(200, int), middle, middle])
    heads = np.concatenate([middle, np.full(200, 201), middle + 201])
    sink = 402
    tails = np.concatenate([tails, np.arange(201, sink)])
    heads = np.concatenate([heads, np.full(sink - 201, sink)])
    solver = PathSolver(tails, heads, sink + 1, 0, sink)
    assert sum(arcs.size for _, arcs in solver._groups) <= 4 * len(tails)
    costs = torch.rand(3, len(tails), generator=torch.Generator().manual_seed(3), dtype=torch.float64)
    x, _ = solver.solve(costs)
    assert (x.sum(-1) == 3).all()


def test_high_and_low_degrees_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    ends = np.sort(np.stack([rng.integers(0, 12, 300), rng.integers(0, 12, 300)], 1), axis=1)
    ends = ends[ends[:, 0] != ends[:, 1]]
    solver = PathSolver(ends[:, 0], ends[:, 1], 12, 0, 11)
    costs = torch.from_numpy(rng.normal(size=(7, len(ends))))
    expected, _ = solver.solve(costs)
    monkeypatch.setattr(paths, "LOOP_DEGREE", 1)
    assert torch.equal(solver.solve(costs)[0], expected)


@pytest.mark.parametrize("through_source", [True, False])
def test_negative_cycles_are_found(cyclic: PathSolver, through_source: bool) -> None:
    costs = torch.rand(5, len(cyclic.tails), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    node = 0 if through_source else 14
    arc = int(np.flatnonzero((cyclic.tails == node) & (cyclic.heads == node + 1))[0])
    expected, _ = cyclic.solve(costs)
    costs[3, arc] = -2.0
    x, found = cyclic.solve(costs)
    assert found.tolist() == [False, False, False, True, False]
    assert torch.equal(x[~found], expected[~found])
    assert not x[3].any()
    nodes, total = cyclic.cycle(costs[3])
    assert {node, node + 1} <= set(nodes)
    assert nodes[0] == nodes[-1]
    assert total < 0


def test_all_negative_costs_end_soon() -> None:
    solver = PathSolver(*grid_arcs(40), 1600, 0, 1599)
    _, found = solver.solve(-torch.ones(1, len(solver.tails), dtype=torch.float64))
    assert found.all()


@settings(max_examples=60, deadline=None)
@given(seed=st.integers(0, 2**20))
def test_negative_cycles_are_those_of_networkx(seed: int) -> None:
    rng = np.random.default_rng(seed)
    nodes, many = int(rng.integers(2, 9)), int(rng.integers(1, 30))
    arcs = np.concatenate([[[0, nodes - 1]], rng.integers(0, nodes, (many, 2))])
    solver = PathSolver(arcs[:, 0], arcs[:, 1], nodes, 0, nodes - 1)
    costs = torch.from_numpy(rng.integers(-2, 6, (9, len(arcs)))).double()
    x, found = solver.solve(costs)
    for row, cost, cyclic in zip(x, costs, found.tolist(), strict=True):
        graph = networkx.MultiDiGraph()
        for (tail, head), weight, usable in zip(arcs.tolist(), cost.tolist(), solver.usable.tolist(), strict=True):
            if usable:
                graph.add_edge(tail, head, weight=weight)
        assert cyclic == networkx.negative_edge_cycle(graph)
        if cyclic:
            ring, total = solver.cycle(cost)
            assert ring[0] == ring[-1]
            assert len(set(ring[1:])) == len(ring) - 1
            steps = list(itertools.pairwise(ring))
            assert total == sum(cost[int(i)] for i in _chosen(arcs, cost, steps))
            assert total < 0
        else:
            length = networkx.bellman_ford_path_length(graph, 0, nodes - 1)
            assert float(cost @ row) == length


def _chosen(arcs: np.ndarray, cost: torch.Tensor, steps: list[tuple[int, int]]) -> list[int]:
    """The cheapest arc of each step."""
    parallel = [np.flatnonzero((arcs == step).all(1)) for step in steps]
    return [int(same[cost[same].argmin()]) for same in parallel]


class TestInside:
    """0 -> 1 -> 2 -> 3 with 1 -> 4 -> 1 beside it, and 1 -> 3 at once."""

    arcs = np.array([(0, 1), (1, 2), (2, 3), (1, 4), (4, 1), (1, 3)])
    solver = PathSolver(arcs[:, 0], arcs[:, 1], 5, 0, 3)

    def inside(self, flow: list[float], costs: list[float]) -> list[float]:
        tensors = [torch.tensor([row], dtype=torch.float64) for row in (flow, costs)]
        return self.solver.inside(*tensors)[0].tolist()

    def test_cycles_go(self) -> None:
        assert self.inside([1, 1, 1, 1, 1, 0], [1, 1, 1, -5, 1, 0]) == [1, 1, 1, 0, 0, 0]

    def test_the_cheapest_in_the_support_with_negative_costs_as_zero(self) -> None:
        half = [1, 0.5, 0.5, 0, 0, 0.5]
        assert self.inside(half, [1, 1, 1, 0, 0, 3]) == [1, 1, 1, 0, 0, 0]
        assert self.inside(half, [1, 1, 1, 0, 0, 1]) == [1, 0, 0, 0, 0, 1]
        assert self.inside(half, [1, -9, 4, 0, 0, 3]) == [1, 0, 0, 0, 0, 1]

    def test_what_is_no_flow_is_refused(self) -> None:
        with mistake("x", "node 0", "node 3", "number 0"):
            self.inside([1, 0, 1, 0, 0, 0], [1.0] * 6)

    @pytest.mark.parametrize(
        ("x", "order"),
        [
            ([1, 1, 1, 0, 0, 0], [0, 1, 2, 3]),
            ([1, 0, 0, 0, 0, 1], [0, 1, 3]),
            ([1, 1, 1, 1, 1, 0], None),
            ([1, 0.5, 0.5, 0, 0, 0.5], None),
            ([1, 1, 0, 0, 0, 0], None),
            ([1, 0, 0, 0, 1, 1], None),
        ],
    )
    def test_order(self, x: list[float], order: list[int] | None) -> None:
        assert self.solver.order(np.array(x, dtype=np.float64)) == order


def test_a_cycle_through_the_target_is_no_path() -> None:
    solver = PathSolver(np.array([0, 1, 2]), np.array([1, 2, 1]), 3, 0, 1)
    assert solver.order(np.ones(3)) is None


def test_small_batches_in_numpy_equal_large_ones_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ShortestPath.grid(4, 6)
    theta = torch.randn(50, problem.n, generator=torch.Generator().manual_seed(0)).double()
    theta[25:] = theta[25:].round()  # ties
    quick = problem.solve(theta)
    monkeypatch.setattr(paths, "SMALL", 0)
    assert torch.equal(problem.solve(theta), quick)


def test_cyclic_graphs_in_numpy_and_in_torch(cyclic: PathSolver) -> None:
    costs = torch.randn(40, len(cyclic.tails), generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    costs = costs.abs().round() - (torch.arange(40) % 3 == 0)[:, None] * 0.5  # some with cycles that pay
    potential = torch.rand(40, 36, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    costs[20:] += (potential[:, cyclic.tails] - potential[:, cyclic.heads])[20:]
    x, found = cyclic.solve(costs)
    assert 0 < int(found.sum()) < 40
    again, found_again = cyclic._solve(costs)  # as on a GPU
    assert torch.equal(found, found_again)
    assert torch.equal(x, again)
