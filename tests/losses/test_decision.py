"""The decision loss, with every layer there is."""

from __future__ import annotations

import copy

import pytest
import torch

import foresolve
from foresolve.data.batch import Batch
from foresolve.layers.blackbox import BlackboxInterpolation
from foresolve.layers.frank_wolfe import RegularizedFrankWolfe
from foresolve.layers.identity import IdentityProjection, NegativeIdentity
from foresolve.layers.imle import IMLE, AdaptiveIMLE
from foresolve.layers.perturbed import PerturbedAdditive, PerturbedMultiplicative
from foresolve.losses.decision import DecisionLoss
from losses.conformance import Case, LossConformance, instance
from losses.test_prediction import coverage

LINEAR = [(foresolve.TopK(6, 2), 6), (foresolve.ShortestPath.grid(3, 3), 12), (foresolve.BipartiteMatching(3, 3), 9)]


class TestQuadratic(LossConformance):
    nonnegative = False

    def loss(self) -> DecisionLoss:
        return DecisionLoss(foresolve.QuadraticRelaxation(0.5))

    def cases(self) -> list[Case]:
        return [instance(problem, n, positive=True) for problem, n in LINEAR]


class TestNormalized(TestQuadratic):
    nonnegative = True

    def loss(self) -> DecisionLoss:
        return DecisionLoss(foresolve.QuadraticRelaxation(0.5), normalize=True)


class TestFrankWolfe(TestQuadratic):
    def loss(self) -> DecisionLoss:
        return DecisionLoss(RegularizedFrankWolfe(0.5))


class TestMultilinear(TestQuadratic):
    def loss(self) -> DecisionLoss:
        return DecisionLoss(foresolve.MultilinearRelaxation(0.5))

    def cases(self) -> list[Case]:
        return [coverage()]

    def toy(self) -> Case:
        problem = foresolve.SubmodularProblem(
            foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(6, 2), method="exact"
        )
        theta_hat, batch = instance(problem, 6, 3, size=8, positive=True)
        return 0.5 * theta_hat + 0.2, batch

    steps, rate = 40, 0.005
    goal = 0.8  # so near to the start that no parameter leaves [0, 1]


class Discrete(TestQuadratic):
    """Layers whose gradient is not that of their decision."""

    smooth = False


class TestBlackbox(Discrete):
    goal = 0.2  # no gradient where no step of length lam finds a better decision

    def loss(self) -> DecisionLoss:
        return DecisionLoss(BlackboxInterpolation(20.0))


class TestIdentity(Discrete):
    def loss(self) -> DecisionLoss:
        return DecisionLoss(IdentityProjection(center=True))


class TestNegativeIdentity(Discrete):
    learns = False  # gains of one sign have gradients of one sign: Adam moves all alike, which the projection cures

    def loss(self) -> DecisionLoss:
        return DecisionLoss(NegativeIdentity())


class Random(Discrete):
    separable = False


class TestAdditive(Random):
    goal = 0.2

    def loss(self) -> DecisionLoss:
        return DecisionLoss(PerturbedAdditive(sigma=0.2))


class TestMultiplicative(TestAdditive):
    def loss(self) -> DecisionLoss:
        return DecisionLoss(PerturbedMultiplicative(sigma=0.3))


class TestIMLE(Random):
    def loss(self) -> DecisionLoss:
        return DecisionLoss(IMLE(temperature=0.2, kappa=2, lam=20.0))


class TestAdaptiveIMLE(Random):
    def loss(self) -> DecisionLoss:
        return DecisionLoss(AdaptiveIMLE(temperature=0.2, kappa=2))


def test_values() -> None:
    theta_hat, batch = instance(foresolve.ShortestPath.grid(3, 3), 12, positive=True)
    layer = foresolve.QuadraticRelaxation(0.5)
    value = batch.problem.objective(layer(theta_hat, batch.problem), batch.theta)
    torch.testing.assert_close(DecisionLoss(layer)(theta_hat, batch), -value)
    best = batch.problem.objective(batch.problem.solve(batch.theta), batch.theta)
    assert float(best.max()) < 0  # costs: the best value is negative, the regret is not
    torch.testing.assert_close(DecisionLoss(layer, normalize=True)(theta_hat, batch), (best - value) / -best)


def test_a_best_value_of_zero_is_named() -> None:
    theta = torch.tensor([[1.0, 0.0], [-1.0, -2.0], [0.5, 0.5]])
    batch = Batch(None, theta, foresolve.BipartiteMatching(1, 2))
    with pytest.raises(foresolve.InvalidInputError, match="best value is not 0, to normalise by; got instance 1"):
        DecisionLoss(foresolve.QuadraticRelaxation(0.5), normalize=True)(theta, batch)
    assert bool(torch.isfinite(DecisionLoss(foresolve.QuadraticRelaxation(0.5))(theta, batch)).all())


def test_only_the_normalized_loss_needs_a_decision() -> None:
    layer = foresolve.QuadraticRelaxation(0.5)
    assert not DecisionLoss(layer).uses_best
    assert DecisionLoss(layer, normalize=True).uses_best
    assert not DecisionLoss.uses_best


def test_the_state_of_the_layer_is_that_of_the_loss() -> None:
    theta_hat, batch = instance(foresolve.TopK(6, 2), 6)
    loss, restored = DecisionLoss(PerturbedAdditive(seed=1)), DecisionLoss(PerturbedAdditive(seed=2))
    loss(theta_hat, batch)
    restored.load_state_dict(copy.deepcopy(loss.state_dict()))
    assert torch.equal(loss(theta_hat, batch), restored(theta_hat, batch))


def test_what_is_refused() -> None:
    with pytest.raises(foresolve.InvalidInputError, match="`layer` must be a Layer"):
        DecisionLoss(foresolve.TopK(6, 2))  # type: ignore[arg-type]
