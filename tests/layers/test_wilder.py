"""The published recipe: the same numbers as its formulas written out in full."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from layers.conformance import LayerConformance
from submodular_instances import draw_theta

N, TARGETS, K, CAP, RIDGE = 7, 5, 2, 0.95, 0.01


def problem() -> foresolve.SubmodularProblem:
    return foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(N, K))


class TestConformance(LayerConformance):
    smooth = False

    def layer(self) -> foresolve.Layer:
        return foresolve.layers.WilderMultilinear()

    def cases(self) -> list[tuple[foresolve.Problem, Tensor]]:
        return [(problem(), draw_theta((4,), N, TARGETS, seed)) for seed in range(2)]


def full_system(x: np.ndarray, theta: np.ndarray, v: np.ndarray, hessian: bool) -> np.ndarray:
    """The gradient for one instance by the whole (3n + 1)-sized system and the whole cross derivative."""

    def without(*items: int) -> np.ndarray:
        keep = [i for i in range(N) if i not in items]
        return np.prod(1 - x[keep, None] * theta[keep], axis=0)

    gradient = np.array([theta[i] @ without(i) for i in range(N)])
    cross = np.zeros((N, N, TARGETS))
    curvature = np.zeros((N, N))
    for i in range(N):
        for j in range(N):
            cross[i, j] = without(i) if i == j else -theta[i] * x[j] * without(i, j)
            curvature[i, j] = 0.0 if i == j else -(theta[i] * theta[j]) @ without(i, j)
    inside = (x > 0) & (x < CAP)
    price = gradient[inside].mean() if inside.any() else 0.0
    upper = np.where(x >= CAP, gradient - price, 0.0)
    lower = np.where(x <= 0, price - gradient, 0.0)
    multipliers = np.concatenate([[price], upper, lower])
    values = np.concatenate([[x.sum() - K], x - CAP, -x])
    slopes = np.concatenate([np.ones((1, N)), np.eye(N), -np.eye(N)])
    top = np.concatenate([-curvature * hessian, slopes.T], axis=1)
    bottom = np.concatenate([multipliers[:, None] * slopes, np.diag(values)], axis=1)
    system = np.concatenate([top, bottom]) + RIDGE * np.eye(3 * N + 1)
    right = np.concatenate([cross.reshape(N, -1), np.zeros((2 * N + 1, N * TARGETS))])
    return (v @ np.linalg.solve(system, right)[:N]).reshape(N, TARGETS)


@pytest.mark.parametrize("hessian", [False, True])
def test_the_gradient_is_that_of_the_whole_system(hessian: bool) -> None:
    layer = foresolve.layers.WilderMultilinear(hessian=hessian)
    theta = draw_theta((4,), N, TARGETS, 0).requires_grad_()
    x = layer(theta, problem())
    v = torch.randn(x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
    (x * v).sum().backward()
    assert theta.grad is not None
    for b in range(4):
        # x(S) = k to rounding, which the ridge does not see
        expected = full_system(x[b].detach().numpy(), theta[b].detach().numpy(), v[b].numpy(), hessian)
        np.testing.assert_allclose(theta.grad[b].numpy(), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


def test_the_ascent_is_torch_sgd_with_a_projection() -> None:
    theta = draw_theta((), N, TARGETS, 1)
    x = torch.zeros(N, dtype=torch.float64, requires_grad=True)
    optimizer = torch.optim.SGD([x], lr=0.1, momentum=0.9, nesterov=True)
    for _ in range(10):
        optimizer.zero_grad()
        (-problem().objective(x, theta)).backward()
        optimizer.step()
        x.data = bisected(x.data)
    torch.testing.assert_close(foresolve.layers.WilderMultilinear()(theta, problem()), x.detach(), atol=1e-9, rtol=0)


def bisected(y: Tensor) -> Tensor:
    """The projection onto `sum x = k`, `0 <= x <= cap` by bisection."""
    low, high = float(y.min()) - 1, float(y.max())
    for _ in range(100):
        middle = (low + high) / 2
        low, high = (middle, high) if float((y - middle).clamp(0, CAP).sum()) > K else (low, middle)
    return (y - high).clamp(0, CAP)


def test_decisions_respect_budget_and_cap() -> None:
    x = foresolve.layers.WilderMultilinear()(draw_theta((3, 2), N, TARGETS, 2, torch.float32), problem())
    assert x.shape == (3, 2, N)
    assert x.dtype == torch.float32
    torch.testing.assert_close(x.sum(-1), torch.full((3, 2), float(K)))
    assert float(x.max()) <= CAP + 1e-6
    assert float(x.min()) >= 0


def test_it_says_what_it_cannot_do() -> None:
    theta = draw_theta((2,), N, TARGETS, 0)
    partition = foresolve.SubmodularProblem(
        foresolve.ProbabilisticCoverage(), foresolve.sets.PartitionMatroid([0] * 4 + [1] * 3, 1)
    )
    with pytest.raises(
        foresolve.InvalidInputError,
        match="UniformMatroid, as in the paper; got SubmodularProblem: its matroid",
    ):
        foresolve.layers.WilderMultilinear()(theta, partition)
    with pytest.raises(foresolve.InvalidInputError, match="SubmodularProblem"):
        foresolve.layers.WilderMultilinear()(theta, foresolve.TopK(N, K))
    with pytest.raises(foresolve.InvalidInputError, match=r"`cap` must be at least k / n"):
        foresolve.layers.WilderMultilinear(cap=0.1)(theta, problem())
    for name, value in {"steps": 0, "rate": 0.0, "momentum": 1.0, "cap": 1.5, "ridge": 0.0}.items():
        with pytest.raises(foresolve.InvalidInputError, match=name):
            foresolve.layers.WilderMultilinear(**{name: value})
