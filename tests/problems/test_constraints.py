from __future__ import annotations

from collections.abc import Callable

import pytest
import torch

from foresolve.problems import Constraints, Knapsack, LinearProgram, MaxFlow, MinCostFlow
from foresolve.solvers.projection.rows import BipartiteRows
from foresolve.solvers.projection.sparse_rows import SparseRows
from mistakes import mistake

COUNT = 5


def rand(*shape: int) -> torch.Tensor:
    return torch.rand(*shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


PER_INSTANCE: dict[str, Callable[[], LinearProgram]] = {
    "rows": lambda: LinearProgram(rand(COUNT, 2, 4), [1.0, 2.0], bounds=(0, 3), names=list("abcd")),
    "sparse rows": lambda: LinearProgram(rand(COUNT, 2, 4).round().to_sparse(), [1.0, 2.0], bounds=(0, 3)),
    "one row for all": lambda: LinearProgram(rand(1, 2, 4), 1 + rand(COUNT, 2), bounds=(0, 3)),
    "right-hand sides": lambda: LinearProgram(rand(2, 4), 1 + rand(COUNT, 2)),
    "bounds": lambda: LinearProgram(n=4, bounds=(-rand(COUNT, 4), rand(COUNT, 4)), sense="min"),
    "everything": lambda: LinearProgram(rand(COUNT, 2, 4), 1 + rand(COUNT, 2), bounds=(0, rand(COUNT, 4))),
    "knapsack weights": lambda: Knapsack(rand(COUNT, 2, 4), 1.0),
    "knapsack capacity": lambda: Knapsack([1, 2, 3, 4], (10 * rand(COUNT, 1)).round()),
    "knapsack weights and capacity": lambda: Knapsack(rand(COUNT, 2, 4), rand(COUNT, 2)),
    "flow capacity": lambda: MaxFlow([(0, 1), (1, 2), (0, 2), (2, 1)], 0, 2, rand(COUNT, 4)),
    "flow supply": lambda: MinCostFlow(
        [(0, 1), (1, 2), (0, 2), (2, 1)], rand(COUNT, 1) * torch.tensor([1.0, 0.0, -1.0])
    ),
}


@pytest.mark.parametrize("kind", PER_INSTANCE)
def test_what_is_per_instance_follows_its_instance(kind: str) -> None:
    problem = PER_INSTANCE[kind]()
    assert problem.batch_shape == (COUNT,)
    theta, index = rand(COUNT, 4), torch.tensor([3, 0, 3])
    expected = problem.solve(theta)
    chosen = problem.select(index)
    assert (type(chosen), chosen.batch_shape, chosen.names) == (type(problem), (3,), problem.names)
    assert torch.equal(chosen.solve(theta[index]), expected[index])
    assert torch.equal(problem.select(torch.tensor(2)).solve(theta[2]), expected[2])
    assert problem.select(torch.tensor(2)).batch_shape == ()
    assert chosen.check(expected[index])
    twin = type(chosen).from_config(chosen.config())
    assert torch.equal(twin.solve(theta[index]), expected[index])
    with mistake("", "`theta` (2,)", "(3,)"):
        chosen.solve(theta[:2])


def test_weights_and_capacity_are_those_of_the_rows() -> None:
    weights, capacity = rand(COUNT, 2, 4), rand(COUNT, 2)
    problem = Knapsack(weights, capacity)
    assert torch.equal(problem.weights, weights)
    assert torch.equal(problem.capacity, capacity)
    chosen = problem.select(torch.tensor([4, 1]))
    assert torch.equal(chosen.weights, weights[[4, 1]])
    assert torch.equal(chosen.capacity, capacity[[4, 1]])


def test_weights_of_a_large_sparse_knapsack() -> None:
    weights = torch.zeros(20, 1000)
    weights[:, ::20] = 1.0
    problem = Knapsack(weights, 3.0)
    assert isinstance(problem.constraints.rows, SparseRows)
    assert torch.equal(problem.weights, weights.double())


def test_a_batch_of_several_dimensions_is_not_selected_from() -> None:
    with mistake("problem", "(2, 3)"):
        LinearProgram([[1.0, 1.0]], rand(2, 3, 1)).select(torch.tensor([0]))


def test_gradients_reach_selected_rows() -> None:
    rows = rand(COUNT, 2, 4).requires_grad_()
    chosen = LinearProgram(rows, [1.0, 2.0]).select(torch.tensor([1, 1]))
    chosen.constraints.rows.values.sum().backward()
    assert rows.grad is not None
    assert rows.grad.sum((1, 2)).tolist() == [0.0, 16.0, 0.0, 0.0, 0.0]


def test_rows_with_a_structure_make_a_program() -> None:
    equality = torch.zeros(4, dtype=torch.bool)
    constraints = Constraints.of(BipartiteRows(2, 2), torch.ones(4), equality, (0.0, 1.0), implied_upper=True)
    problem = LinearProgram(constraints=constraints, names=["aa", "ab", "ba", "bb"])
    theta = torch.tensor([3.0, 2.0, 2.0, 0.5])
    assert problem.solve(theta).tolist() == [0.0, 1.0, 1.0, 0.0]
    twin = LinearProgram.from_config(problem.config())
    assert twin.solve(theta).tolist() == [0.0, 1.0, 1.0, 0.0]
    assert twin.constraints.implied_upper
    assert problem.constraints.dense().tolist() == [[1, 1, 0, 0], [0, 0, 1, 1], [1, 0, 1, 0], [0, 1, 0, 1]]
    with mistake("constraints"):
        LinearProgram([[1.0]], [1.0], constraints=constraints)
