from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.errors import UnboundedError
from foresolve.problems.shortest_path import ShortestPath
from foresolve.solvers.exact import dijkstra, paths
from foresolve.solvers.exact.paths import PathSolver


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
    by_sweeps = cyclic._trace(cyclic._bellman_ford(costs, torch.arange(20), (20,)))
    assert torch.equal(by_dijkstra, by_sweeps)
    half = len(cyclic.tails) // 2
    acyclic = PathSolver(cyclic.tails[:half], cyclic.heads[:half], 36, 0, 35)
    assert acyclic.acyclic
    forward = costs.clone()
    forward[:, half:] = 100.0
    assert torch.equal(acyclic.solve(forward[:, :half]), cyclic.solve(forward)[:, :half])


def test_dijkstra_in_parts_is_dijkstra(cyclic: PathSolver, monkeypatch: pytest.MonkeyPatch) -> None:
    costs = torch.randint(0, 3, (9, len(cyclic.tails)), generator=torch.Generator().manual_seed(1)).double()
    expected = cyclic.solve(costs)
    monkeypatch.setattr(dijkstra, "DIJKSTRA_ARCS", 250)
    assert torch.equal(cyclic.solve(costs), expected)


def test_a_mixed_batch_keeps_its_order(cyclic: PathSolver) -> None:
    generator = torch.Generator().manual_seed(2)
    costs = torch.rand(8, len(cyclic.tails), generator=generator, dtype=torch.float64)
    potential = torch.rand(8, 36, generator=generator, dtype=torch.float64) * 2
    shifted = costs + potential[:, cyclic.tails] - potential[:, cyclic.heads]
    mixed = torch.where((torch.arange(8) % 2 == 0)[:, None], costs, shifted)
    assert torch.equal(cyclic.solve(mixed, (8,)), cyclic.solve(costs, (8,)))


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
    x = solver.solve(costs)
    assert (x.sum(-1) == 3).all()


def test_high_and_low_degrees_agree(monkeypatch: pytest.MonkeyPatch) -> None:
    rng = np.random.default_rng(4)
    ends = np.sort(np.stack([rng.integers(0, 12, 300), rng.integers(0, 12, 300)], 1), axis=1)
    ends = ends[ends[:, 0] != ends[:, 1]]
    solver = PathSolver(ends[:, 0], ends[:, 1], 12, 0, 11)
    costs = torch.from_numpy(rng.normal(size=(7, len(ends))))
    expected = solver.solve(costs)
    monkeypatch.setattr(paths, "LOOP_DEGREE", 1)
    assert torch.equal(solver.solve(costs), expected)


@pytest.mark.parametrize("through_source", [True, False])
def test_negative_cycles_are_found(cyclic: PathSolver, through_source: bool) -> None:
    costs = torch.rand(5, len(cyclic.tails), generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    node = 0 if through_source else 14
    arc = int(np.flatnonzero((cyclic.tails == node) & (cyclic.heads == node + 1))[0])
    costs[3, arc] = -2.0
    with pytest.raises(UnboundedError, match=r"instance \(1, 1\)") as caught:
        cyclic.solve(costs[:4], (2, 2))
    assert caught.value.instances == (3,)
    assert str(node) in str(caught.value)


def test_all_negative_costs_end_soon() -> None:
    solver = PathSolver(*grid_arcs(40), 1600, 0, 1599)
    with pytest.raises(UnboundedError, match="a cycle has negative cost"):
        solver.solve(-torch.ones(1, len(solver.tails), dtype=torch.float64), (1,))


def test_small_batches_in_numpy_equal_large_ones_in_torch(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ShortestPath.grid(4, 6)
    theta = torch.randn(50, problem.n, generator=torch.Generator().manual_seed(0)).double()
    theta[25:] = theta[25:].round()  # ties
    quick = problem.solve(theta)
    monkeypatch.setattr(paths, "SMALL", 0)
    assert torch.equal(problem.solve(theta), quick)
