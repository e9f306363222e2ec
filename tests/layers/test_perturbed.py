"""Perturbed layers: against exact expectations of tiny problems, and the promises about variance and state.

Samples have fixed seeds, so that every test gives the same answer each time. Where one compares a mean of `N` samples
with an expectation, the bound is 5 standard errors: another seed would fail with a probability below 6e-7 an entry.
"""

from __future__ import annotations

import copy
from collections.abc import Callable

import numpy as np
import pytest
import torch
from scipy import integrate, stats
from torch import Tensor

import foresolve
from foresolve.layers import PerturbedAdditive, PerturbedMultiplicative
from foresolve.layers.perturbed import PerturbedLayer
from foresolve.problems import Problem
from layers.conformance import LayerConformance
from layers.test_blackbox import PROBLEMS, draw, submodular
from mistakes import mistake

Kind = type[PerturbedAdditive] | type[PerturbedMultiplicative]
KINDS = [PerturbedAdditive, PerturbedMultiplicative]
REDUCTIONS = ["none", "control", "leave-one-out", "antithetic"]
THETA = torch.tensor([1.0, 0.8, 0.5], dtype=torch.float64)
SIGMA = 0.6
V = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)


class TestConformance(LayerConformance):
    smooth = False
    random = True

    def layer(self) -> foresolve.Layer:
        return PerturbedAdditive(6, sigma=0.5)

    def cases(self) -> list[tuple[foresolve.Problem, Tensor]]:
        return [(problem, draw(4, problem.n)) for problem in PROBLEMS] + [submodular()]


class TestConformanceOfTheMultiplicativeLayer(TestConformance):
    def layer(self) -> foresolve.Layer:
        return PerturbedMultiplicative(6, sigma=0.5)


def chances(kind: Kind, theta: np.ndarray) -> np.ndarray:
    """The probability that each of three items comes first, by numerical integration over its own noise."""
    mean = theta if kind is PerturbedAdditive else np.log(theta)  # a common factor changes no order

    def first(i: int) -> float:
        others = [j for j in range(3) if j != i]

        def density(z: float) -> float:
            return stats.norm.pdf(z) * np.prod([stats.norm.cdf((mean[i] - mean[j]) / SIGMA + z) for j in others])

        return integrate.quad(density, -9, 9, epsabs=1e-12)[0]

    return np.array([first(i) for i in range(3)])


def slopes(kind: Kind) -> np.ndarray:
    """The gradient of `V' x(theta)`, by central differences of the exact expectation."""
    theta, step = THETA.numpy(), 1e-4
    return np.array(
        [
            (chances(kind, theta + step * e) - chances(kind, theta - step * e)) @ V.numpy() / (2 * step)
            for e in np.eye(3)
        ]
    )


def gradients(layer: PerturbedLayer, count: int, v: Tensor = V) -> Tensor:
    """`count` independent estimates of the gradient of `v' x(theta)`."""
    theta = THETA.expand(count, 3).clone().requires_grad_()
    return torch.autograd.grad(layer(theta, foresolve.TopK(3, 1)), theta, v.expand(count, 3))[0]


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_mean_and_gradient_are_unbiased(kind: Kind, reduction) -> None:
    count = 20_000
    layer = kind(samples=4, sigma=SIGMA, variance_reduction=reduction)
    x = layer(THETA.expand(count, 3), foresolve.TopK(3, 1))
    assert float(((x.mean(0) - torch.from_numpy(chances(kind, THETA.numpy()))).abs() / x.std(0)).max()) < 5 / count**0.5
    estimates = gradients(layer, count)
    assert float(((estimates.mean(0) - torch.from_numpy(slopes(kind))).abs() / estimates.std(0)).max()) < 5 / count**0.5


@pytest.mark.parametrize("kind", KINDS)
def test_variance_reduction_reduces_variance(kind: Kind) -> None:
    """Ratios of two variances of 4,000 estimates: their error is about 5 %, the margin asked for 20 %.

    Of an objective with positive parameters, as is usual: where values scatter about zero there is nothing to subtract.
    """
    v = torch.tensor([3.0, 1.0, 2.0], dtype=torch.float64)

    def variance(reduction, sigma: float) -> float:
        return float(gradients(kind(samples=6, sigma=sigma, variance_reduction=reduction), 4000, v).var(0).sum())

    for sigma in (0.05, 0.2, SIGMA):
        plain = variance("none", sigma)
        for reduction in REDUCTIONS[1:]:
            assert variance(reduction, sigma) < 0.8 * plain, (sigma, reduction)


@pytest.mark.parametrize("kind", KINDS)
def test_costs_are_perturbed_costs(kind: Kind) -> None:
    """The mean decision of a cheapest item is that of the dearest, with the costs' signs changed."""
    cheapest = foresolve.LinearProgram(A_eq=[[1.0, 1.0, 1.0]], b_eq=[1.0], bounds=(0, 1), sense="min")
    x = kind(samples=20, seed=3)(THETA, cheapest)
    same = kind(samples=20, seed=3)
    z = same.draw(THETA)
    picked = same.perturb(THETA, z).argmin(-1)
    torch.testing.assert_close(x, torch.nn.functional.one_hot(picked, 3).double().mean(0))


class Counting(foresolve.TopK):
    """Counts its solves."""

    def argmax(self, gains: Tensor) -> Tensor:
        self.calls = getattr(self, "calls", 0) + 1
        return super().argmax(gains)


@pytest.mark.parametrize("reduction", REDUCTIONS)
def test_all_samples_of_all_instances_are_one_solve(reduction) -> None:
    problem, theta = Counting(6, 2), draw(5, 6).requires_grad_()
    x = PerturbedAdditive(samples=8, variance_reduction=reduction)(theta, problem)
    x.sum().backward()
    assert problem.calls == 1
    torch.testing.assert_close(x.sum(-1), torch.full((5,), 2.0, dtype=torch.float64))


@pytest.mark.parametrize("kind", KINDS)
@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_shapes_and_dtypes(kind: Kind, dtype: torch.dtype) -> None:
    problem = foresolve.BipartiteMatching(3, 4)
    for shape in [(12,), (3, 12), (2, 3, 12), (0, 12)]:
        theta = draw(*shape).abs().to(dtype).requires_grad_()
        x = kind()(theta, problem)
        assert x.shape == theta.shape
        assert x.dtype == dtype
        (x * x).sum().backward()
        assert theta.grad is not None
        assert theta.grad.dtype == dtype
        assert problem.check(x.detach(), relaxed=True)


def test_instances_with_problems_of_their_own() -> None:
    limited = foresolve.LinearProgram(A_eq=torch.ones(3, 1, 4), b_eq=torch.tensor([[1.0], [2.0], [3.0]]), bounds=(0, 1))
    theta = draw(4).requires_grad_()
    x = PerturbedAdditive()(theta, limited)
    torch.testing.assert_close(x.sum(-1), torch.tensor([1.0, 2.0, 3.0], dtype=torch.float64))
    (x * draw(3, 4, seed=1)).sum().backward()
    assert theta.grad is not None
    assert theta.grad.shape == (4,)


@pytest.mark.parametrize("kind", KINDS)
def test_any_oracle_will_do_within_bounds(kind: Kind) -> None:
    """Set functions of probabilities, by greedy: the chance of each item against the frequency it is a mean of."""
    problem, theta = submodular()
    theta = (theta + 0.2 * draw(2, 3, 2).tanh()).requires_grad_()
    layer = kind(samples=400, sigma=0.3, bounds=(0.0, 1.0))
    x = layer(theta, problem)
    torch.testing.assert_close(x.sum(-1), torch.ones(2, dtype=torch.float64))
    x[:, 0].sum().backward()
    assert theta.grad is not None
    assert theta.grad.shape == theta.shape
    assert bool((theta.grad[:, 0].sum(-1) > 0).all())  # an item that covers more is taken more often


def sequence(layer: PerturbedLayer, problem: Problem, count: int) -> list[Tensor]:
    return [layer(draw(4, 20).abs(), problem) for _ in range(count)]


@pytest.mark.parametrize("kind", KINDS)
def test_state_can_be_saved_and_samples_resumed_bit_for_bit(kind: Kind) -> None:
    problem, layer = foresolve.TopK(20, 5), kind(samples=6, seed=5)
    start = sequence(layer, problem, 2)
    saved = copy.deepcopy(layer.state_dict())
    twin = copy.deepcopy(layer)
    ahead = sequence(layer, problem, 3)
    assert not torch.equal(ahead[0], ahead[1])
    restored = kind(samples=6, seed=99)
    restored.load_state_dict(saved)
    for resumed in (sequence(restored, problem, 3), sequence(twin, problem, 3)):
        assert all(torch.equal(a, b) for a, b in zip(ahead, resumed))
    layer.reset(5)
    assert all(torch.equal(a, b) for a, b in zip(start, sequence(layer, problem, 2)))


def test_the_global_generator_is_left_alone() -> None:
    before = torch.random.get_rng_state()
    PerturbedAdditive()(THETA, foresolve.TopK(3, 1))
    assert torch.equal(before, torch.random.get_rng_state())


def test_second_derivatives_are_refused() -> None:
    theta = THETA.clone().requires_grad_()
    x = PerturbedAdditive()(theta, foresolve.TopK(3, 1))
    (gradient,) = torch.autograd.grad((x * x).sum(), theta, create_graph=True)
    with mistake("", "create_graph=True", kind=foresolve.ForesolveError):
        gradient.sum().backward()


def refused() -> dict[str, Callable[[], object]]:
    return {
        "samples, got 0": lambda: PerturbedAdditive(samples=0),
        "samples, got 3": lambda: PerturbedAdditive(samples=3, variance_reduction="antithetic"),
        "samples, got 1": lambda: PerturbedAdditive(samples=1, variance_reduction="leave-one-out"),
        "sigma": lambda: PerturbedAdditive(sigma=-1.0),
        "variance_reduction": lambda: PerturbedAdditive(variance_reduction="both"),  # type: ignore[arg-type]
        "bounds": lambda: PerturbedAdditive(bounds=(1.0, 0.0)),
        "seed": lambda: PerturbedAdditive(seed=-1),
        "theta, nan at [0]": lambda: PerturbedAdditive()(THETA * torch.nan, foresolve.TopK(3, 1)),
        "theta, (2,)": lambda: PerturbedAdditive()(THETA[:2], foresolve.TopK(3, 1)),
        "theta, zeros": lambda: PerturbedMultiplicative()((0 * THETA).requires_grad_(), foresolve.TopK(3, 1)),
    }


@pytest.mark.parametrize("case", refused())
def test_what_is_refused(case: str) -> None:
    argument, _, fact = case.partition(", ")
    with mistake(argument, fact):
        refused()[case]()


def test_what_reduces_variance_where_nothing_is_said() -> None:
    defaults = [PerturbedAdditive(samples=samples).variance_reduction for samples in (1, 3, 4)]
    assert defaults == ["control", "leave-one-out", "antithetic"]


@pytest.mark.parametrize("kind", KINDS)
def test_draws_stay_within_the_bounds_of_the_problem(kind) -> None:
    """Probabilities: what a coverage problem refuses is not handed to it, nor need `bounds` be given."""
    problem, theta = submodular()
    assert problem.theta_bounds == (0.0, 1.0)
    points, _ = kind(samples=20, sigma=2.0, seed=3).sample(theta, problem)
    assert (float(points.min()), float(points.max())) == (pytest.approx(0.0, abs=1e-2), 1.0)
    narrow, _ = kind(samples=20, sigma=2.0, seed=3, bounds=(0.25, 0.75)).sample(theta, problem)
    assert (float(narrow.min()), float(narrow.max())) == (0.25, 0.75)
    leaf = (theta + 1.0).requires_grad_()  # a prediction beyond the bounds is no error: its draws are clamped
    assert torch.autograd.grad(kind()(leaf, problem).sum(), leaf)[0].shape == theta.shape
