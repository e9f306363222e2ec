"""The published backward pass for linear programs: the same numbers as its system written out in full."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.layers import QuadraticRelaxation, WilderQuadratic
from foresolve.schedules import geometric
from layers.conformance import LayerConformance
from mistakes import mistake


def weights(batch: tuple[int, ...], n: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    return torch.rand(*batch, n, generator=torch.Generator().manual_seed(seed), dtype=dtype)


class TestConformance(LayerConformance):
    smooth = False

    def layer(self) -> foresolve.Layer:
        return WilderQuadratic()

    def cases(self) -> list[tuple[foresolve.Problem, Tensor]]:
        boxed = foresolve.LinearProgram(
            A_ub=torch.tensor([[1.0, 2.0, 1.0], [3.0, -1.0, 0.5]]), b_ub=torch.tensor([2.0, 1.0]), bounds=(0.0, 1.0)
        )
        costs = foresolve.LinearProgram(A_ub=-torch.ones(1, 4), b_ub=torch.tensor([-2.0]), bounds=(0, 1), sense="min")
        return [
            (foresolve.BipartiteMatching(4, 3), weights((4,), 12, 0)),
            (boxed, weights((4,), 3, 1)),
            (costs, weights((4,), 4, 2)),
            (foresolve.TopK(5, 2), weights((4,), 5, 3)),
        ]


def published_gradient(x: np.ndarray, left: int, right: int, q: float, v: np.ndarray) -> np.ndarray:
    """`v' dx / dtheta` of one matching by the whole published system: every inequality is a row, `x >= 0` too.

    Multipliers and slacks are cut off from below at 1e-8 before they are divided, and all multipliers are not positive.
    The unknowns are the derivatives of x, of the slacks and of the multipliers:
    `Q dx + G' dz = v`, `d ds + dz = 0` with `d` the quotient, `G dx + ds = 0`.
    """
    n = left * right
    rows = np.zeros((left + right + n, n))
    for i in range(left):
        for j in range(right):
            rows[i, i * right + j] = rows[left + j, i * right + j] = 1.0
    rows[left + right :] = -np.eye(n)
    slack = np.concatenate([np.ones(left + right), np.zeros(n)]) - rows @ x
    multiplier = np.full(len(slack), -0.3)  # as the solver gave them: none is positive
    quotient = np.maximum(multiplier, 1e-8) / np.maximum(slack, 1e-8)
    m = len(slack)
    eye, zero = np.eye(m), np.zeros((m, m))
    system = np.block(
        [
            [q * np.eye(n), np.zeros((n, m)), rows.T],
            [np.zeros((m, n)), np.diag(quotient), eye],
            [rows, eye, zero],
        ]
    )
    return np.linalg.solve(system, np.concatenate([v, np.zeros(2 * m)]))[:n]


@pytest.mark.parametrize(("left", "right"), [(5, 5), (6, 4)])
@pytest.mark.parametrize("curvature", [0.1, 0.1 * 0.8**11])
def test_the_gradient_is_that_of_the_whole_published_system(left: int, right: int, curvature: float) -> None:
    problem = foresolve.BipartiteMatching(left, right)
    theta = weights((4,), problem.n, 3).requires_grad_()
    x = WilderQuadratic(curvature=curvature)(theta, problem)
    v = torch.randn(x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
    (x * v).sum().backward()
    assert theta.grad is not None
    assert 0 < int((x == 0).sum()) < x.numel()
    for b in range(4):
        expected = published_gradient(x[b].detach().numpy(), left, right, curvature, v[b].numpy())
        np.testing.assert_allclose(theta.grad[b].numpy(), expected, rtol=1e-6, atol=1e-9)


def test_an_equality_is_two_inequalities() -> None:
    theta = weights((), 5, 8).requires_grad_()
    x = WilderQuadratic(gamma=0.5, curvature=0.2)(theta, foresolve.TopK(5, 2))
    v = torch.arange(5.0, dtype=torch.float64)
    (x * v).sum().backward()
    at_bound = ((x == 0) | (x == 1)).double().detach()
    matrix = 0.2 * torch.eye(5, dtype=torch.float64) + torch.diag(at_bound) + 2.0
    assert theta.grad is not None
    torch.testing.assert_close(theta.grad, torch.linalg.solve(matrix, v), atol=0, rtol=1e-5)  # slack bounds have 1e-8


def test_forward_it_is_the_exact_layer() -> None:
    problem, theta = foresolve.BipartiteMatching(6, 6), weights((3,), 36, 4, torch.float32)
    x = WilderQuadratic(gamma=0.2)(theta, problem)
    assert x.dtype == torch.float32
    torch.testing.assert_close(x, QuadraticRelaxation(0.2)(theta, problem))


def test_a_pair_that_is_not_chosen_has_a_gradient() -> None:
    problem, theta = foresolve.BipartiteMatching(5, 5), weights((), 25, 5).requires_grad_()
    soft, exact = WilderQuadratic(0.1)(theta, problem), QuadraticRelaxation(0.1)(theta, problem)
    pair = int((soft == 0).nonzero()[0])
    (of_soft,) = torch.autograd.grad(soft[pair], theta)
    (of_exact,) = torch.autograd.grad(exact[pair], theta)
    assert float(of_soft[pair]) > 0.5
    assert float(of_exact.abs().max()) == 0.0


def test_the_curvature_is_annealed_and_the_forward_pass_is_not() -> None:
    problem, theta = foresolve.BipartiteMatching(3, 3), weights((4,), 9, 6, torch.float32)
    data = foresolve.DecisionDataset(theta, theta, problem)
    layer = WilderQuadratic()
    schedule = geometric(0.1, 0.1 * 0.8**2)
    anneal = {"curvature": schedule}
    foresolve.fit(foresolve.MLP(9, 9, seed=0), foresolve.DecisionLoss(layer), data, epochs=3, anneal=anneal)
    assert layer.curvature == pytest.approx(0.064)
    assert layer.gamma == 0.1


def test_it_says_what_it_cannot_do() -> None:
    theta = weights((2,), 9, 7)
    rhs = torch.ones(1, dtype=torch.float64, requires_grad=True)
    predicted = foresolve.LinearProgram(A_ub=torch.ones(1, 9, dtype=torch.float64), b_ub=rhs, bounds=(0, 1))
    with mistake("problem", "LinearProgram"):
        WilderQuadratic()(theta, predicted)
    for name in ("gamma", "curvature"):
        with mistake(name, "0.0"):
            WilderQuadratic(**{name: 0.0})
