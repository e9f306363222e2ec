from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

import foresolve
from foresolve.layers import QuadraticRelaxation
from foresolve.problems import Affine
from foresolve.problems.smoothed_columns import MOST_VARIABLES, smoothed_columns
from foresolve.testing import check_layer

HOURS = 4


def storage(**bounds: float) -> foresolve.LinearProgram:
    """Buy, sell and keep: prices are paid and earned, what is in store earns nothing."""
    hours = np.arange(HOURS)
    balance = np.zeros((HOURS, 3 * HOURS))
    balance[hours, hours], balance[hours, HOURS + hours], balance[hours, 2 * HOURS + hours] = 0.9, -1.1, -1.0
    balance[hours[1:], 2 * HOURS + hours[:-1]] = 1.0
    upper = np.repeat([1.0, 1.0, 1.5], HOURS)
    plan = foresolve.LinearProgram(A_eq=balance, b_eq=np.eye(HOURS)[0] * -0.5, bounds=(0.0, upper))
    which, sign = np.concatenate([hours, hours, np.full(HOURS, -1)]), np.repeat([-1.0, 1.0, 0.0], HOURS)
    return plan.parametrized(Affine.tied(which, sign))


def null_space(matrix: Tensor) -> Tensor:
    _, values, right = torch.linalg.svd(matrix)
    rank = int((values > 1e-10).sum())
    return right[rank:]


@given(st.integers(0, 10_000), st.integers(1, 5), st.integers(1, 8))
def test_what_is_left_out_is_determined_by_the_rows(seed: int, m: int, n: int) -> None:
    g = torch.Generator().manual_seed(seed)
    rows = torch.randint(-2, 3, (m, n), generator=g).double()
    moved = torch.rand(n, generator=g) < 0.4
    weights = smoothed_columns(moved, rows)
    if weights is None:
        weights = torch.ones(n, dtype=torch.float64)
    assert bool((weights[moved] == 1).all())
    free = null_space(rows)
    curvature = free @ torch.diag(weights) @ free.T
    assert len(free) == 0 or float(torch.linalg.eigvalsh(curvature)[0]) > 1e-12
    # As few as can be: one less of those that are not moved would leave a direction without curvature.
    for j in ((weights == 1) & ~moved).nonzero().flatten().tolist():
        fewer = weights.clone()
        fewer[j] = 0.0
        assert float(torch.linalg.eigvalsh(free @ torch.diag(fewer) @ free.T)[0]) < 1e-10


def test_where_all_are_smoothed() -> None:
    rows = torch.tensor([[1.0, -1.0, -1.0]])
    assert smoothed_columns(torch.ones(3, dtype=torch.bool), rows) is None
    assert smoothed_columns(torch.tensor([True, True, False]), rows[:0]) is None
    assert smoothed_columns(torch.tensor([True, False, False]), torch.zeros(1, 3)) is None
    large = torch.ones(MOST_VARIABLES + 1, dtype=torch.bool)
    large[-1] = False
    assert smoothed_columns(large, torch.ones(1, len(large))) is None


def test_of_problems() -> None:
    problem = storage()
    assert problem.smoothed_columns is not None
    assert problem.smoothed_columns.tolist() == [1.0] * 2 * HOURS + [0.0] * HOURS
    restored = foresolve.LinearProgram.from_config(problem.config())
    assert torch.equal(restored.smoothed_columns, problem.smoothed_columns)
    assert foresolve.TopK(3, 1).smoothed_columns is None
    half = foresolve.TopK(3, 1).parametrized(Affine.part([0, 1], known=[0.0, 0.0, 1.0]))
    assert half.smoothed_columns is not None  # the third follows from x_1 + x_2 + x_3 = 1
    assert half.smoothed_columns.tolist() == [1.0, 1.0, 0.0]
    knapsack = foresolve.Knapsack([1.0, 2.0], 2.0).parametrized(Affine.part([0], known=[0.0, 1.0]))
    assert knapsack.smoothed_columns is None  # rows that are inequalities determine nothing


@pytest.mark.parametrize("gamma", [0.05, 0.5, 5.0])
def test_the_layer_is_the_program_over_the_smoothed_columns(gamma: float) -> None:
    cvxpy = pytest.importorskip("cvxpy")
    problem = storage()
    theta = torch.tensor([[1.0, 3.0, 0.5, 2.0], [2.0, 1.0, 4.0, 1.5]], dtype=torch.float64)
    solution = QuadraticRelaxation(gamma).solve(theta, problem)
    assert bool(solution.converged.all())
    for x, prices in zip(solution.x, theta, strict=True):
        y = cvxpy.Variable(problem.n)
        gain = problem.gain(prices).numpy()
        objective = gain @ y - gamma * cvxpy.sum_squares(y[: 2 * HOURS])
        rows = [problem.A_eq.toarray() @ y == problem.b_eq.numpy(), y >= 0, y <= problem.upper.numpy()]
        cvxpy.Problem(cvxpy.Maximize(objective), rows).solve(solver="CLARABEL")
        np.testing.assert_allclose(x.numpy(), y.value, atol=1e-6)


def test_gradients_and_promises_of_such_a_layer() -> None:
    theta = torch.rand(3, HOURS, generator=torch.Generator().manual_seed(4), dtype=torch.float64)
    check_layer(QuadraticRelaxation(0.3), storage(), theta)
    gamma = torch.tensor(0.4, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(lambda g: QuadraticRelaxation(g)(theta, storage()), (gamma,))


def test_fenchel_young_knows_what_is_smoothed() -> None:
    """Its value is the shortfall in the smoothed program, never negative and 0 at the layer's own decision."""
    problem, layer = storage(), QuadraticRelaxation(0.3)
    theta = torch.rand(5, HOURS, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    truth = theta.flip(0)
    own = layer(theta, problem)
    shortfall = layer.fenchel_young()
    torch.testing.assert_close(shortfall(theta, own, problem, truth), torch.zeros(5, dtype=torch.float64))
    best = problem.solve(truth)
    value = lambda x: problem.objective(x, theta) - 0.3 * x[:, : 2 * HOURS].square().sum(-1)  # noqa: E731
    torch.testing.assert_close(shortfall(theta, best, problem, truth), value(own) - value(best))
