"""Fenchel-Young losses: the loss itself, not only its gradient."""

from __future__ import annotations

import itertools
from dataclasses import replace

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.data import Batch
from foresolve.layers import (
    IdentityProjection,
    PerturbedAdditive,
    PerturbedMultiplicative,
    RegularizedFrankWolfe,
    RelativeGamma,
    SmoothedLayer,
)
from foresolve.losses import FenchelYoung
from foresolve.problems import TopK
from foresolve.sets import UniformMatroid
from losses.conformance import Case, LossConformance, instance
from losses.test_decision import LINEAR
from mistakes import mistake

PERTURBED = [PerturbedAdditive, PerturbedMultiplicative]
SIMPLEX = UniformMatroid(3, 1)


class TestQuadratic(LossConformance):
    def loss(self) -> FenchelYoung:
        return FenchelYoung(foresolve.QuadraticRelaxation(0.5))

    def cases(self) -> list[Case]:
        return [instance(problem, n) for problem, n in LINEAR]


class TestRelativeQuadratic(TestQuadratic):
    def loss(self) -> FenchelYoung:
        return FenchelYoung(foresolve.QuadraticRelaxation())


class TestFrankWolfe(TestQuadratic):
    def loss(self) -> FenchelYoung:
        return FenchelYoung(RegularizedFrankWolfe())


class TestGivenRegularizer(TestFrankWolfe):
    steps, rate = 15, 0.1

    def loss(self) -> FenchelYoung:
        return FenchelYoung(RegularizedFrankWolfe(0.5, lambda x: (x.square() + x**4).sum(-1)))

    def cases(self) -> list[Case]:
        return [instance(*LINEAR[0])]


class TestAdditive(TestFrankWolfe):
    separable = False

    def loss(self) -> FenchelYoung:
        return FenchelYoung(PerturbedAdditive(sigma=0.5))


class TestPlainSamples(TestAdditive):
    """Samples that do not add up to zero."""

    def loss(self) -> FenchelYoung:
        return FenchelYoung(PerturbedAdditive(3, sigma=0.5, variance_reduction="none"))


class TestMultiplicative(TestAdditive):
    def loss(self) -> FenchelYoung:
        return FenchelYoung(PerturbedMultiplicative(sigma=0.5))


def test_value_and_gradient_of_the_quadratic_loss_are_those_of_the_definition() -> None:
    for problem, n in LINEAR:
        theta_hat, batch = instance(problem, n)
        theta_hat.requires_grad_()
        layer = foresolve.QuadraticRelaxation(0.5)
        x, y, c = layer(theta_hat, problem).detach(), problem.solve(batch.theta), problem.gain(theta_hat).detach()

        def smoothed(x: Tensor, c: Tensor) -> Tensor:
            return (c * x).sum(-1) - 0.5 * x.square().sum(-1)

        value = FenchelYoung(layer)(theta_hat, batch)
        torch.testing.assert_close(value, smoothed(x, c) - smoothed(y, c))
        (gradient,) = torch.autograd.grad(value.sum(), theta_hat)
        torch.testing.assert_close(gradient, problem.gain(x - y))


def test_the_quadratic_loss_is_zero_just_where_the_decision_is_the_best() -> None:
    problem = foresolve.TopK(6, 2)
    theta_hat, batch = instance(problem, 6)
    y = problem.solve(batch.theta)
    loss = FenchelYoung(foresolve.QuadraticRelaxation(0.1))
    assert float(loss(y, batch).abs().max()) < 1e-12  # gains of 1 and 0: smoothing of 0.1 leaves y the best
    assert float(loss(theta_hat, batch).max()) > 0.01
    layer = foresolve.QuadraticRelaxation(2.0)
    assert float((layer(y, problem) - y).abs().max()) > 0.01
    assert float(FenchelYoung(layer)(y, batch).min()) > 0.01


def test_a_relative_smoothing_comes_from_the_truth() -> None:
    """So the loss is convex, and grows with the scale of a wrong prediction instead of in proportion."""
    theta_hat, batch = instance(foresolve.BipartiteMatching(3, 3), 9, positive=True)
    for make in (foresolve.QuadraticRelaxation, RegularizedFrankWolfe):
        loss = FenchelYoung(make())
        middle = loss((theta_hat + 3 * batch.theta) / 2, batch)
        assert bool((middle <= (loss(theta_hat, batch) + loss(3 * batch.theta, batch)) / 2 + 1e-12).all())
        assert float(loss(1e-9 * theta_hat, batch).min()) > 0.01
        scaled = replace(batch, theta=10 * batch.theta)
        torch.testing.assert_close(loss(10 * theta_hat, scaled), 10 * loss(theta_hat, batch))


def test_frank_wolfe_and_the_quadratic_relaxation_are_one_loss() -> None:
    for problem, n in LINEAR:
        theta_hat, batch = instance(problem, n)
        torch.testing.assert_close(
            FenchelYoung(RegularizedFrankWolfe(0.5))(theta_hat, batch),
            FenchelYoung(foresolve.QuadraticRelaxation(0.5))(theta_hat, batch),
        )


@pytest.mark.parametrize("kind", PERTURBED)
def test_the_perturbed_loss_is_unbiased(kind) -> None:
    """One instance, against `E max (c + sigma Z)'x - c'y` over all vertices, with a million samples of your own.

    The bound is 5 standard errors of the estimates' mean: another seed would fail with a probability below 6e-7.
    """
    problem = foresolve.TopK(4, 2)
    theta_hat, batch = instance(problem, 4, size=1, positive=True)
    vertices = torch.tensor([v for v in itertools.product([0.0, 1.0], repeat=4) if sum(v) == 2], dtype=torch.float64)
    z = torch.randn(10**6, 4, generator=torch.Generator().manual_seed(5), dtype=torch.float64)
    points = kind(sigma=0.5).perturb(theta_hat, z)
    exact = (points @ vertices.T).amax(-1).mean() - (theta_hat * problem.solve(batch.theta)).sum()
    count = 5000
    many = replace(batch, theta=batch.theta.expand(count, 4), index=None)
    for reduction in ("none", "antithetic"):
        values = FenchelYoung(kind(10, 0.5, variance_reduction=reduction))(theta_hat.expand(count, 4), many)
        assert abs(float(values.mean() - exact)) < 5 * float(values.std()) / count**0.5 + 2e-3


def test_the_perturbed_loss_vanishes_as_the_prediction_grows_sure() -> None:
    """Omega(y) = 0: nothing is left out of the value."""
    problem = foresolve.BipartiteMatching(3, 3)
    _, batch = instance(problem, 9, positive=True)
    sure = 2 * problem.solve(batch.theta) - 1
    values = [float(FenchelYoung(PerturbedAdditive(200))(t * sure, batch).max()) for t in (0.3, 1.0, 30.0)]
    assert values[0] > values[1] > values[2] == 0.0


@pytest.mark.parametrize("kind", PERTURBED)
def test_the_gradient_is_the_mean_difference(kind) -> None:
    problem = foresolve.ShortestPath.grid(3, 3)
    theta_hat, batch = instance(problem, 12, positive=True)
    leaf = theta_hat.clone().requires_grad_()
    FenchelYoung(kind(seed=4))(leaf, batch).sum().backward()
    points, x = kind(seed=4).sample(theta_hat, problem)
    factors = points / theta_hat if kind is PerturbedMultiplicative else torch.ones_like(points)
    expected = problem.gain((factors * (x - problem.solve(batch.theta))).mean(0))
    assert leaf.grad is not None
    torch.testing.assert_close(leaf.grad, expected)


def test_a_learned_smoothing_gets_its_gradient() -> None:
    theta_hat, batch = instance(foresolve.TopK(6, 2), 6)
    gamma = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    (slope,) = torch.autograd.grad(FenchelYoung(foresolve.QuadraticRelaxation(gamma))(theta_hat, batch).sum(), gamma)

    def value(gamma: float) -> float:
        return float(FenchelYoung(foresolve.QuadraticRelaxation(gamma))(theta_hat, batch).sum())

    assert float(slope) == pytest.approx((value(0.5 + 1e-6) - value(0.5 - 1e-6)) / 2e-6, abs=1e-6)


def test_instances_with_problems_of_their_own() -> None:
    sizes = torch.tensor([[1.0], [2.0], [3.0]], dtype=torch.float64)
    limited = foresolve.LinearProgram(A_eq=torch.ones(3, 1, 5, dtype=torch.float64), b_eq=sizes, bounds=(0, 1))
    theta_hat, batch = instance(limited, 5, size=3)
    for layer in (foresolve.QuadraticRelaxation(), RegularizedFrankWolfe(), PerturbedAdditive()):
        value = FenchelYoung(layer)(theta_hat, batch)
        assert value.shape == (3,)
        assert float(value.min()) >= -1e-12


def test_what_is_refused() -> None:
    with mistake("layer", "IdentityProjection"):
        FenchelYoung(IdentityProjection())
    with mistake("layer", "bounds=(0.0, 1.0)"):
        FenchelYoung(PerturbedAdditive(bounds=(0.0, 1.0)))


class Cubic(SmoothedLayer):
    """A user's own smoothed layer, for sets of one item: the gradient of its value is its decision."""

    needs = ("linear",)

    def penalty(self, x: Tensor) -> Tensor:
        return (x.square() + x.abs() ** 3).sum(-1)

    def forward(self, theta: Tensor, problem: TopK) -> Tensor:
        gain, x = problem.gain(theta).detach(), torch.full_like(theta, 1 / problem.n)
        for _ in range(3000):  # projected gradient ascent
            slope = gain - self.smoothing(theta, problem).to(x)[..., None] * (2 * x + 3 * x.square())
            x = SIMPLEX.project(x + 0.05 * slope, check=False).x
        return x


def test_a_smoothed_layer_of_ones_own_has_its_loss() -> None:
    problem, layer = TopK(3, 1), Cubic(gamma=0.5)
    theta = torch.tensor([[0.5, 0.4, 0.1], [0.2, 0.9, 0.3]], dtype=torch.float64)
    theta_hat = theta.flip(0).clone().requires_grad_()
    batch = Batch(None, theta, problem)
    losses = FenchelYoung(layer)(theta_hat, batch)
    assert bool((losses > 0).all())
    losses.sum().backward()
    torch.testing.assert_close(theta_hat.grad, layer(theta_hat.detach(), problem) - batch.best()[0])


def test_a_word_that_is_no_trait_is_refused_where_it_is_stated() -> None:
    with mistake("Wrong.needs", "'lineer'", "'linear'"):
        type("Wrong", (SmoothedLayer,), {"needs": ("lineer",)})


@pytest.mark.parametrize("problem", [foresolve.TopK(4, 2), foresolve.LinearProgram([[1.0, 1.0]], [3.0], bounds=(0, 4))])
def test_a_relative_smoothing_is_a_fixed_unit_where_only_decisions_are_known(problem) -> None:
    """That of parameters with a spread of 1, whatever the prediction; `size` is the width of the boxes."""
    width = {4: 1.0, 2: 4.0}[problem.n]
    for scale in (1e-3, 1.0, 1e3):
        theta_hat = scale * torch.rand(3, problem.n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        y = problem.solve(torch.rand(3, problem.n, generator=torch.Generator().manual_seed(1), dtype=torch.float64))
        batch = foresolve.Batch(None, None, problem, decision=y)
        relative = FenchelYoung(foresolve.QuadraticRelaxation(RelativeGamma(0.6)))(theta_hat, batch)
        torch.testing.assert_close(relative, FenchelYoung(foresolve.QuadraticRelaxation(0.6 / width))(theta_hat, batch))
        relative = FenchelYoung(RegularizedFrankWolfe(RelativeGamma(0.6)))(theta_hat, batch)
        torch.testing.assert_close(relative, FenchelYoung(RegularizedFrankWolfe(0.6))(theta_hat, batch))


def test_a_smoothing_that_is_given_is_kept_where_only_decisions_are_known() -> None:
    problem = foresolve.TopK(4, 2)
    gamma = torch.nn.Parameter(torch.tensor(0.7))
    batch = foresolve.Batch(None, None, problem, decision=torch.tensor([[1.0, 1.0, 0.0, 0.0]]))
    loss = FenchelYoung(foresolve.QuadraticRelaxation(gamma))(torch.tensor([[0.0, 0.1, 0.2, 0.3]]), batch)
    loss.sum().backward()
    assert gamma.grad is not None
    assert gamma.grad.item() != 0
