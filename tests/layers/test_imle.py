"""I-MLE: its noise against the Gumbel distribution, its gradient against the formula, and what adapts.

Seeds are fixed; statistical bounds say how improbable a failure is for another seed.
"""

from __future__ import annotations

import copy

import numpy as np
import pytest
import torch
from scipy import stats
from torch import Tensor

import foresolve
from foresolve.layers import IMLE, AdaptiveIMLE, BlackboxInterpolation
from layers.conformance import LayerConformance
from layers.test_blackbox import PROBLEMS, draw, submodular
from mistakes import mistake


class TestConformance(LayerConformance):
    smooth = False
    random = True

    def layer(self) -> foresolve.Layer:
        return IMLE(4, lam=2.0)

    def cases(self) -> list[tuple[foresolve.Problem, Tensor]]:
        return [(problem, draw(4, problem.n)) for problem in PROBLEMS]


class TestConformanceOfTheAdaptiveLayer(TestConformance):
    def layer(self) -> foresolve.Layer:
        return AdaptiveIMLE(4, alpha=0.5)


def test_sums_of_the_noise_are_gumbel() -> None:
    """Ten terms leave a tail out (its standard deviation is 0.31 of 1.28): moments to 5 %, the shape to 0.03.

    Of 60,000 samples, mean and deviation are within 0.5 % and 0.6 % (one standard error); the bounds are beyond 7.
    """
    kappa, temperature = 3, 2.0
    noise = IMLE(60_000, temperature=temperature, kappa=kappa).noise(torch.zeros(kappa, dtype=torch.float64))
    total = noise.sum(-1).numpy() / temperature
    assert abs(total.mean()) < 0.04
    missing = np.pi**2 / 6 - sum(1 / i**2 for i in range(1, 11))
    assert abs(total.var() - (np.pi**2 / 6 - missing)) < 0.08
    assert stats.kstest(total + np.euler_gamma, "gumbel_r").statistic < 0.03


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("symmetric", [False, True])
def test_the_gradient_is_a_difference_of_decisions_under_the_same_noise(problem, symmetric: bool) -> None:
    theta, g, lam = draw(4, problem.n), draw(4, problem.n, seed=1), 3.0
    layer = IMLE(5, temperature=0.5, lam=lam, symmetric=symmetric, seed=7)
    noise = IMLE(5, temperature=0.5, seed=7).noise(theta)
    leaf = theta.clone().requires_grad_()
    x = layer(leaf, problem)
    x.backward(g)

    def decide(c: Tensor) -> Tensor:
        return problem.solve(problem.gain(c + noise)).mean(0)

    c = problem.gain(theta)
    torch.testing.assert_close(x, decide(c))
    ahead, reach = (c + lam * g, 2 * lam) if symmetric else (c, lam)
    assert leaf.grad is not None
    torch.testing.assert_close(problem.gain(leaf.grad), (decide(ahead) - decide(c - lam * g)) / reach)
    assert float(leaf.grad.abs().max()) > 0


def test_without_noise_it_interpolates() -> None:
    problem, theta, g = foresolve.ShortestPath.grid(3, 3), draw(4, 12), draw(4, 12, seed=1)
    quiet, plain = theta.clone().requires_grad_(), theta.clone().requires_grad_()
    IMLE(2, temperature=1e-12, lam=3.0)(quiet, problem).backward(g)
    BlackboxInterpolation(3.0)(plain, problem).backward(g)
    torch.testing.assert_close(quiet.grad, plain.grad)


def test_the_step_of_the_adaptive_layer_ignores_the_scale_of_the_loss() -> None:
    problem, theta, g = foresolve.TopK(6, 2), draw(4, 6), draw(4, 6, seed=1)
    gradients = []
    for scale in (1.0, 1e-3):
        leaf = theta.clone().requires_grad_()
        AdaptiveIMLE(3, alpha=0.8, temperature=0.3)(leaf, problem).backward(scale * g)
        assert leaf.grad is not None
        gradients.append(leaf.grad / scale)
    torch.testing.assert_close(*gradients)
    assert float(gradients[0].abs().max()) > 0


def test_alpha_moves_until_gradients_are_as_dense_as_asked_for() -> None:
    problem, g = foresolve.TopK(20, 5), draw(8, 20, seed=1)
    for start in (0.01, 3.0):
        layer = AdaptiveIMLE(1, alpha=start, target=4.0, rate=0.02, temperature=0.3)
        densities = []
        for step in range(400):
            leaf = draw(8, 20, seed=step + 2).requires_grad_()
            layer(leaf, problem).backward(g)
            densities.append(float(layer.density))
        # Each step's density has a standard deviation below 1; the mean over the last hundred is well within 1.
        assert abs(np.mean(densities[-100:]) - 4.0) < 1.0


@pytest.mark.parametrize("problem", PROBLEMS, ids=lambda p: type(p).__name__)
@pytest.mark.parametrize("samples", [1, 10])
def test_the_first_gradient_is_not_zero(problem, samples: int) -> None:
    """With the step it starts with, no decision changes: it is doubled until one does."""
    theta, g = draw(2, problem.n), draw(2, problem.n, seed=1)
    layer, leaf = AdaptiveIMLE(samples, alpha=1e-3), theta.clone().requires_grad_()
    fixed = IMLE(samples, seed=0)
    fixed.step = lambda c, g: 1e-3 * c.norm(dim=-1, keepdim=True) / g.norm(dim=-1, keepdim=True)  # type: ignore
    still = theta.clone().requires_grad_()
    fixed(still, problem).backward(g)
    layer(leaf, problem).backward(g)
    assert leaf.grad is not None
    assert still.grad is not None
    assert not bool(still.grad.any())
    assert bool(leaf.grad.any())
    found = float(layer.alpha) - layer.rate
    assert found == pytest.approx(1e-3 * 2 ** round(np.log2(found / 1e-3)))  # doubled, and then updated once


def test_the_search_ends_with_the_first_gradient() -> None:
    problem, g = foresolve.TopK(20, 5), draw(1, 20, seed=1)
    layer = AdaptiveIMLE(1, alpha=1e-3)
    for step in range(20):
        before = float(layer.alpha)
        layer(draw(1, 20, seed=step).requires_grad_(), problem).backward(g)
        if step:
            assert abs(float(layer.alpha) - before) == pytest.approx(layer.rate)


def test_decisions_that_are_best_for_the_loss_have_no_gradient() -> None:
    """However long the step: then `alpha` is left as it was, but for its update."""
    problem, layer = foresolve.TopK(6, 2), AdaptiveIMLE(3, temperature=1e-3)
    theta = torch.tensor([[9.0, 9.0, 0.0, 0.0, 0.0, 0.0]], dtype=torch.float64, requires_grad=True)
    layer(theta, problem).backward(-theta.detach())  # a loss that the two best items lower
    assert theta.grad is not None
    assert not bool(theta.grad.any())
    assert float(layer.alpha) == pytest.approx(0.1 + layer.rate)
    assert float(layer.density) == 0.0


def test_no_gradient_comes_from_no_loss() -> None:
    layer, theta = AdaptiveIMLE(2), torch.zeros(3, 6, dtype=torch.float64, requires_grad=True)
    layer(theta, foresolve.TopK(6, 2)).backward(torch.zeros(3, 6, dtype=torch.float64))
    assert theta.grad is not None
    assert float(theta.grad.abs().max()) == 0.0


@pytest.mark.parametrize("make", [lambda s: IMLE(3, seed=s), lambda s: AdaptiveIMLE(3, seed=s)])
def test_training_resumes_bit_for_bit(make) -> None:
    def steps(layer: IMLE) -> list[Tensor]:
        gradients = []
        for step in range(3):
            leaf = draw(4, 20, seed=step).requires_grad_()
            layer(leaf, foresolve.TopK(20, 5)).backward(draw(4, 20, seed=9))
            assert leaf.grad is not None
            gradients.append(leaf.grad)
        return gradients

    layer, twin = make(1), make(2)
    first = steps(layer)
    twin.load_state_dict(copy.deepcopy(layer.state_dict()))
    ahead = steps(layer)
    assert all(torch.equal(a, b) for a, b in zip(ahead, steps(twin)))
    assert not all(torch.equal(a, b) for a, b in zip(ahead, first))


def test_shapes_dtypes_and_what_is_refused() -> None:
    theta = draw(2, 3, 6).float().requires_grad_()
    x = IMLE()(theta, foresolve.TopK(6, 2))
    x.square().sum().backward()
    assert x.shape == theta.shape
    assert x.dtype == torch.float32
    assert theta.grad is not None
    torch.testing.assert_close(x.sum(-1), torch.full((2, 3), 2.0))
    for name, value in (("samples", 0), ("temperature", 0.0), ("lam", -1.0), ("kappa", 0.0)):
        with mistake(name, str(value)):
            IMLE(**{name: value})
    with mistake("decay", "got 1.0"):
        AdaptiveIMLE(decay=1.0)
    problem, theta = submodular()
    with mistake("problem", "SubmodularProblem", "IMLE"):
        IMLE()(theta, problem)
