"""The published recipe: the same numbers as its formulas written out in full."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from layers.conformance import LayerConformance
from mistakes import mistake
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


def products(x: np.ndarray, theta: np.ndarray, *items: int) -> np.ndarray:
    """For each target, the probability that none of the other items reaches it."""
    keep = [i for i in range(len(x)) if i not in items]
    return np.prod(1 - x[keep, None] * theta[keep], axis=0)


def gradient_of(x: np.ndarray, theta: np.ndarray) -> np.ndarray:
    return np.array([theta[i] @ products(x, theta, i) for i in range(len(x))])


def published_gradient(
    x: np.ndarray, before: np.ndarray, theta: np.ndarray, k: int, v: np.ndarray, hessian: bool
) -> np.ndarray:
    """`v' dx / dtheta` of one instance by the whole published system, with all its right-hand sides.

    The unknowns are the derivatives of x, of the multiplier of `sum x <= k`, of those of `x <= cap` and of those of
    `-x <= 0`. Multipliers: that of the sum is the mean of the gradient over the coordinates strictly between 0 and cap,
    0 if there is none; that of a coordinate at its cap, and that of a coordinate at zero alike, is its gradient less
    that mean. The gradient in them is that of the iterate `before` the last step. 0.01 is added to the whole diagonal.
    """
    n, targets = theta.shape
    cross = np.zeros((n, n, targets))
    curvature = np.zeros((n, n))
    for i in range(n):
        for j in range(n):
            both = products(x, theta, i, j)
            cross[i, j] = both if i == j else -theta[i] * x[j] * both
            curvature[i, j] = 0.0 if i == j else -(theta[i] * theta[j]) @ both
    earlier = gradient_of(before, theta)
    inside = (x > 0) & (x < CAP)
    mean = earlier[inside].mean() if inside.any() else 0.0
    at_cap = np.where(np.abs(x - CAP) < 1e-6, earlier - mean, 0.0)
    at_zero = np.where(x > 0, 0.0, earlier - mean)
    multipliers = np.concatenate([[mean], at_cap, at_zero])
    values = np.concatenate([[0.0], x - CAP, -x])
    slopes = np.concatenate([np.ones((1, n)), np.eye(n), -np.eye(n)])
    top = np.concatenate([-curvature * hessian, slopes.T], axis=1)
    bottom = np.concatenate([np.diag(multipliers) @ slopes, np.diag(values)], axis=1)
    system = np.concatenate([top, bottom]) + RIDGE * np.eye(3 * n + 1)
    right = np.concatenate([cross.reshape(n, -1), np.zeros((2 * n + 1, n * targets))])
    return (v @ np.linalg.solve(system, right)[:n]).reshape(n, targets)


@pytest.mark.parametrize("hessian", [False, True])
@pytest.mark.parametrize(("n", "k"), [(7, 2), (30, 3), (30, 10)])
def test_the_gradient_is_that_of_the_whole_published_system(n: int, k: int, hessian: bool) -> None:
    layer = foresolve.layers.WilderMultilinear(hessian=hessian)
    choice = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(n, k))
    theta = draw_theta((4,), n, TARGETS, 0).requires_grad_()
    x = layer(theta, choice)
    before = foresolve.layers.WilderMultilinear(steps=layer.steps - 1)(theta.detach(), choice)
    v = torch.randn(x.shape, generator=torch.Generator().manual_seed(0), dtype=x.dtype)
    (x * v).sum().backward()
    assert theta.grad is not None
    assert bool((x == 0).any())  # both kinds of bounds must be seen
    assert bool((x == CAP).any())
    for b in range(4):
        point, parameters = x[b].detach().numpy(), theta[b].detach().numpy()
        expected = published_gradient(point, before[b].numpy(), parameters, k, v[b].numpy(), hessian)
        np.testing.assert_allclose(theta.grad[b].numpy(), expected, rtol=1e-7, atol=1e-9 * np.abs(expected).max())


def test_coordinates_at_zero_keep_the_sign_of_their_gradient() -> None:
    """What learning depends on: more of an item that is not taken pulls it up, if only a little."""
    n, k = 30, 3
    choice = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(n, k))
    theta = draw_theta((), n, TARGETS, 0).requires_grad_()
    x = foresolve.layers.WilderMultilinear()(theta, choice)
    item = int((x == 0).nonzero()[0])
    (gradient,) = torch.autograd.grad(x[item], theta)
    assert bool((gradient[item] > 0).all())


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
    with mistake("problem", "UniformMatroid", "SubmodularProblem"):
        foresolve.layers.WilderMultilinear()(theta, partition)
    with mistake("problem", "SubmodularProblem"):
        foresolve.layers.WilderMultilinear()(theta, foresolve.TopK(N, K))
    with mistake("cap", "got 0.1"):
        foresolve.layers.WilderMultilinear(cap=0.1)(theta, problem())
    for name, value in {"steps": 0, "rate": 0.0, "momentum": 1.0, "cap": 1.5, "ridge": 0.0}.items():
        with mistake(name, str(value)):
            foresolve.layers.WilderMultilinear(**{name: value})
