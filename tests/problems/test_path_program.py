from __future__ import annotations

import re
import warnings

import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from foresolve.errors import ForesolveWarning, StoppedError, UnboundedError
from foresolve.problems import Affine, ShortestPath
from foresolve.solvers.exact.outcome import Ending, Outcome
from mistakes import mistake

seeds = st.integers(0, 2**20)
several = settings(max_examples=40, deadline=None)

TWO_WAY = [(0, 1), (1, 0), (1, 2), (2, 1), (0, 2), (2, 0), (2, 3), (3, 2)]


def drawn(seed: int, batch: int = 9) -> tuple[ShortestPath, Tensor]:
    """A graph with cycles, self-loops, parallel arcs and dead ends, and costs of both signs, often with ties."""
    rng = np.random.default_rng(seed)
    nodes = int(rng.integers(2, 9))
    arcs = np.concatenate([[[0, nodes - 1]], rng.integers(0, nodes, (int(rng.integers(1, 30)), 2))])
    theta = torch.from_numpy(rng.normal(rng.uniform(-1, 1), 1.0, (batch, len(arcs))))
    return ShortestPath(arcs, 0, nodes - 1, nodes), theta.round() if seed % 2 else theta


def best_flow(problem: ShortestPath, theta: Tensor) -> float:
    """The least cost over the flow polytope, by SciPy."""
    bounds = np.stack([problem.lower.numpy(), problem.upper.numpy()], 1)
    result = scipy.optimize.linprog(theta.numpy(), A_eq=problem.A_eq, b_eq=problem.b_eq.numpy(), bounds=bounds)
    assert result.success, result.message
    return float(result.fun)


@several
@given(seed=seeds)
def test_argmax_is_the_best_flow_whatever_the_cycles_cost(seed: int) -> None:
    problem, theta = drawn(seed)
    x = problem.argmax(-theta)
    assert problem.check(x)
    assert bool(((x == 0) | (x == 1)).all())
    best = torch.tensor([best_flow(problem, row) for row in theta], dtype=torch.float64)
    torch.testing.assert_close((theta * x).sum(-1), best, atol=1e-7, rtol=1e-7)
    assert torch.equal(problem.maximizer(theta), x)


@several
@given(seed=seeds)
def test_solve_and_decide_part_where_a_cycle_has_negative_cost(seed: int) -> None:
    problem, theta = drawn(seed)
    x, adjusted = problem.decide(theta)
    paths = problem.path(x)  # raises for what is not one path
    assert all(path[0] == problem.source and path[-1] == problem.target for path in paths)
    assert torch.equal(x, problem.discrete(problem.maximizer(theta), theta))
    assert torch.equal(problem.solve(theta[~adjusted]), x[~adjusted])
    best = torch.tensor([best_flow(problem, row) for row in theta], dtype=torch.float64)
    torch.testing.assert_close((theta * x).sum(-1)[~adjusted], best[~adjusted])
    for i in adjusted.nonzero().flatten().tolist():
        with pytest.raises(UnboundedError) as caught:
            problem.solve(theta[i])
        assert float(re.search(r"costs (-\S+) there", str(caught.value))[1]) < 0
    if adjusted.any():
        with pytest.raises(UnboundedError) as caught:
            problem.solve(theta)
        assert caught.value.instances == tuple(adjusted.nonzero().flatten().tolist())


@several
@given(seed=seeds)
def test_any_path_in_a_best_flow_is_shortest_where_no_cycle_pays(seed: int) -> None:
    """So the rule by which one is chosen changes nothing there: here from flows that mix all shortest paths."""
    problem, theta = drawn(seed)
    theta = theta.abs().round()
    x = problem.solve(theta)
    rng = np.random.default_rng(seed)
    tilted = theta + 1e-9 * torch.from_numpy(rng.random((5, *theta.shape)))
    mixed = problem.solve(tilted).mean(0)
    other = problem.discrete(mixed, theta * 0)  # by another rule: any path of the support
    torch.testing.assert_close((theta * other).sum(-1), (theta * x).sum(-1))


def test_zero_cycles_are_dropped_in_silence() -> None:
    problem = ShortestPath(TWO_WAY, 0, 3)
    zero = torch.zeros(2, problem.n)
    round_trip = problem.solve(zero) + torch.tensor([0.0, 0, 0, 0, 0, 0, 0, 0])
    round_trip[:, 0] = round_trip[:, 1] = 1.0  # 0 -> 1 -> 0 beside it
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        x, adjusted = problem.decide(zero, warn=True)
    assert not adjusted.any()
    assert torch.equal(x, problem.solve(zero))
    assert problem.check(round_trip)
    assert problem.path(problem.discrete(round_trip, zero)) == [[0, 2, 3]] * 2


def test_decide_warns_of_the_first_cycle_once() -> None:
    problem = ShortestPath([("a", "b"), ("b", "a"), ("b", "c"), ("a", "c")], "a", "c")
    theta = torch.tensor([[1.0, 1.0, 1.0, 1.0], [1.0, -2.0, 1.0, 5.0], [1.0, -3.0, 1.0, 5.0]])
    with pytest.warns(ForesolveWarning, match=r"instances 1, 2: (a -> b -> a|b -> a -> b) costs -1") as caught:
        x, adjusted = problem.decide(theta, warn=True)
    assert len(caught) == 1
    assert caught[0].filename == __file__
    assert adjusted.tolist() == [False, True, True]
    assert problem.path(x) == [["a", "c"], ["a", "b", "c"], ["a", "b", "c"]]
    assert x.dtype == theta.dtype
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        problem.decide(theta)


def test_shapes_of_decide_and_discrete() -> None:
    problem = ShortestPath(TWO_WAY, 0, 3)
    theta = torch.randn(2, 3, problem.n, generator=torch.Generator().manual_seed(0))
    x, adjusted = problem.decide(theta)
    assert (x.shape, adjusted.shape, adjusted.dtype) == ((2, 3, 8), (2, 3), torch.bool)
    single, flag = problem.decide(theta[1, 2])
    assert (single.shape, flag.shape) == ((8,), ())
    assert torch.equal(single, x[1, 2])
    assert problem.discrete(problem.maximizer(theta)[1], theta).shape == (2, 3, 8)
    empty, none = problem.decide(theta[:0])
    assert (empty.shape, none.shape) == ((0, 3, 8), (0, 3))


def test_solution_refuses_what_solve_refuses() -> None:
    problem = ShortestPath(TWO_WAY, 0, 3)
    with mistake("", "costs -2", kind=UnboundedError, instances=[0]):
        problem.solution(-torch.ones(8))
    assert problem.solution(torch.ones(8)).optimal.all()


def test_errors_of_the_search_name_the_instance_in_the_batch(monkeypatch: pytest.MonkeyPatch) -> None:
    problem = ShortestPath(TWO_WAY, 0, 3).limited(seconds=5.0)
    stopped = [Outcome(Ending.TIME_LIMIT)]
    monkeypatch.setattr(problem._pool, "search", lambda *arguments: stopped)
    theta = torch.ones(2, 2, 8)
    theta[1, 0] = -1.0
    with pytest.raises(StoppedError) as caught:
        problem.maximizer(theta)
    assert caught.value.instances == (2,)
    assert "instance (1, 0)" in str(caught.value)


def test_predicted_capacities_make_it_a_program_like_any_other() -> None:
    """Roads that are closed: the bounds are theta's, and nothing is dropped from the flow."""
    plain = ShortestPath([(0, 1), (1, 2), (0, 2)], 0, 2)
    problem = plain.parametrized([1.0, 1.0, 5.0], upper=Affine.tied([0, 0, -1], known=[0.0, 0.0, 1.0]))
    theta = torch.tensor([[1.0], [0.0], [0.5]])
    x, adjusted = problem.decide(theta)
    assert x.tolist() == [[1, 1, 0], [0, 0, 1], [0.5, 0.5, 0.5]]
    assert not adjusted.any()
    assert torch.equal(problem.solve(theta), x)
    assert torch.equal(problem.discrete(x, theta), x)


ROUND = [(0, 1), (1, 0), (1, 2), (0, 2)]


def test_cycles_go_where_capacities_are_predicted() -> None:
    plain = ShortestPath(ROUND, 0, 2)
    problem = plain.parametrized([-1.0, -1.0, -1.0, -3.0], upper=Affine.tied([0, 0, 1, 2]))
    theta = torch.tensor([[1.0, 1.0, 1.0], [1.0, 1.0, 0.0], [0.0, 1.0, 1.0], [0.5, 1.0, 1.0]], dtype=torch.float64)
    flows = problem.solve(theta)
    assert flows.tolist() == [[1, 1, 0, 1], [1, 0, 1, 0], [0, 0, 0, 1], [0.5, 0.5, 0, 1]]
    x, adjusted = problem.decide(theta)
    assert problem.path(x[:3]) == [[0, 2], [0, 1, 2], [0, 2]]
    assert adjusted.tolist() == [True, False, False, False]
    assert torch.equal(x[3], flows[3])  # split by a capacity: no path with a cycle beside it
    assert torch.equal(problem.discrete(flows, theta), x)
    made = problem.at(theta)
    assert torch.equal(made.decide(theta)[0], x)
    assert torch.equal(made.discrete(flows, theta), x)
    with pytest.warns(ForesolveWarning, match="instance 0"):
        problem.decide(theta, warn=True)


def test_flows_that_theta_makes_larger_or_asks_for_stay() -> None:
    plain = ShortestPath(ROUND, 0, 2)
    amount = plain.parametrized([-1.0] * 4, b_eq=Affine([[1.0], [0.0], [-1.0]]), upper=Affine(np.zeros((4, 1)), 2.0))
    needed = plain.parametrized([1.0] * 4, lower=Affine.tied([-1, 0, -1, -1]))
    for problem in (amount, needed):
        theta = torch.tensor([[1.0], [0.0], [2.0]] if problem is amount else [[0.0], [1.0]], dtype=torch.float64)
        x, adjusted = problem.decide(theta)
        whole = problem.solve(theta)
        assert torch.equal(x[1:], whole[1:])
        assert problem.at(theta[1:]).check(x[1:])
        assert problem.path(x[0])[-1] == 2  # of one unit, and none asked for
        assert not adjusted[1:].any()


@several
@given(seed=seeds)
def test_closed_roads_are_as_if_they_were_not_there(seed: int) -> None:
    problem, costs = drawn(seed, batch=1)
    rng = np.random.default_rng(seed)
    closed = rng.random((6, problem.n)) < 0.3
    closed[:, 0] = False  # the way that is always there
    predicted = problem.parametrized(costs[0], upper=Affine(np.diag(problem.upper.numpy())))
    x, _ = predicted.decide(torch.from_numpy(1.0 - closed))
    assert [path[-1] for path in problem.path(x)] == [problem.target] * 6
    assert not x[torch.from_numpy(closed)].any()
    for row, shut in zip(x, closed, strict=True):
        left = ShortestPath(np.array(problem.arcs)[~shut], problem.source, problem.target, problem.n_nodes)
        own, cyclic = left.decide(costs[0, ~shut])
        if not cyclic:
            torch.testing.assert_close(costs[0] @ row, costs[0, ~shut] @ own)


def test_known_parts_per_instance() -> None:
    known = torch.tensor([[1.0] * 8, [-1.0] * 8, [3.0] * 8])
    problem = ShortestPath(TWO_WAY, 0, 3).parametrized(Affine.part([4], known))
    x, adjusted = problem.decide(torch.tensor([[2.5], [1.0], [9.0]]))
    assert adjusted.tolist() == [False, True, False]
    assert [len(path) for path in problem.path(x)] == [4, 4, 4]
    assert torch.equal(
        problem.discrete(problem.maximizer(torch.ones(3, 1)), torch.ones(3, 1)), problem.decide(torch.ones(3, 1))[0]
    )


@several
@given(seed=seeds)
def test_nodes_of_paths_and_back(seed: int) -> None:
    rng = np.random.default_rng(seed)
    problem = ShortestPath.grid(
        int(rng.integers(2, 6)), int(rng.integers(1, 6)), "8" if seed % 2 else "4", costs="cells"
    )
    theta = torch.from_numpy(rng.uniform(0.1, 1.0, (2, 3, problem.n_nodes)))
    x = problem.solve(theta)
    visited = problem.nodes(x)
    for path, row in zip(problem.path(x.flatten(0, 1)), visited.flatten(0, 1), strict=True):
        assert row.nonzero().flatten().tolist() == sorted(path)
    assert bool(((visited == 0) | (visited == 1)).all())
    assert torch.equal(problem.from_nodes(visited), x)
    assert torch.equal(problem.from_nodes(visited.bool()[0, 0].numpy()), x[0, 0])


def test_nodes_of_fractions_pass_gradients() -> None:
    problem = ShortestPath([(0, 1), (1, 3), (0, 2), (2, 3)], 0, 3)
    x = torch.tensor([0.25, 0.25, 0.75, 0.75], requires_grad=True)
    visits = problem.nodes(x)
    assert visits.tolist() == [1.0, 0.25, 0.75, 1.0]
    visits[1].backward()
    assert x.grad.tolist() == [1.0, 0.0, 0.0, 0.0]


@pytest.mark.parametrize(
    "visited",
    [
        [1, 1, 0, 0, 0, 0, 0, 0, 0],  # does not arrive
        [0, 0, 0, 0, 1, 0, 0, 0, 1],  # does not start
        [1, 0, 0, 1, 1, 0, 0, 0, 1],  # a shortcut from the start to the middle
        [1, 0, 1, 0, 1, 0, 0, 0, 1],  # something beside the path
        [1, 0, 0, 0, 0, 0, 0, 0, 1],  # nothing between the ends
    ],
)
def test_nodes_of_no_path_are_refused(visited: list[int]) -> None:
    problem = ShortestPath.grid(3, 3, "8", costs="cells")
    fine = [1, 0, 0, 0, 1, 0, 0, 0, 1]
    with mistake("visited", "instance 1"):
        problem.from_nodes([fine, visited])
    with mistake("visited", "(*batch, 9)"):
        problem.from_nodes(np.zeros((2, 3, 3)))


def test_a_flow_is_not_a_path() -> None:
    problem = ShortestPath(TWO_WAY, 0, 3)
    with mistake("x", "problem.discrete(x, theta)"):
        problem.path(torch.tensor([1.0, 1, 0, 0, 1, 0, 1, 0]))
