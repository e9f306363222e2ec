"""The decision loss, with every layer there is."""

from __future__ import annotations

import copy

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.data import Batch
from foresolve.layers import (
    IMLE,
    AdaptiveIMLE,
    BlackboxInterpolation,
    IdentityProjection,
    NegativeIdentity,
    PerturbedAdditive,
    PerturbedMultiplicative,
    RegularizedFrankWolfe,
)
from foresolve.losses import DecisionLoss
from foresolve.problems import Affine
from losses.conformance import Case, LossConformance, instance
from losses.test_prediction import coverage
from mistakes import caution, mistake

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
    with mistake("batch", "instance 1"):
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
    with mistake("layer", "TopK"):
        DecisionLoss(foresolve.TopK(6, 2))  # type: ignore[arg-type]


def shortage(x: Tensor, problem: foresolve.Problem) -> Tensor:
    """What was made stays; what is missing under the true load is bought, what is too much is thrown away."""
    made, load = x[..., :2], problem.b_eq[..., 0].to(x)  # type: ignore[attr-defined]
    gap = load - made.sum(-1)
    return torch.cat([made, gap.clamp_min(0.0).unsqueeze(-1), (-gap).clamp_min(0.0).unsqueeze(-1)], -1)


def loads(count: int) -> foresolve.DecisionDataset:
    """Two plants, a shortage that costs 9 and a surplus that costs 0.5; the load is predicted."""
    plain = foresolve.LinearProgram(A_eq=[[1.0, 1.0, 1.0, -1.0]], b_eq=[0.0], bounds=(0, [2, 2, 50, 50]), sense="min")
    problem = plain.parametrized([1.0, 2.0, 9.0, 0.5], b_eq=Affine([[1.0]]), names=["load"])
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(count, 3, generator=generator)
    rule = torch.tensor([[0.5], [0.3], [0.1]])
    noise = 0.3 * torch.randn(count, 1, generator=generator)
    return foresolve.DecisionDataset(features, (2 + features @ rule + noise).clamp_min(0.1), problem)


def test_decisions_under_predicted_constraints_are_repaired() -> None:
    data = loads(5)
    batch = Batch(None, data.theta.double(), data.problem)
    loss = DecisionLoss(foresolve.QuadraticRelaxation(gamma=0.05), repair=shortage)
    theta_hat = (data.theta.double() - 0.3).requires_grad_()
    value = loss(theta_hat, batch)
    made = foresolve.QuadraticRelaxation(gamma=0.05)(theta_hat, data.problem).detach()[:, :2]
    gap = data.theta[:, 0] - made.sum(-1)
    expected = made @ torch.tensor([1.0, 2.0]).double() + torch.where(gap > 0, 9.0 * gap, -0.5 * gap)
    torch.testing.assert_close(value.detach(), expected.double(), check_dtype=False)
    difference = (loss(theta_hat.detach() + 1e-5, batch) - loss(theta_hat.detach() - 1e-5, batch)) / 2e-5
    (gradient,) = torch.autograd.grad(value.sum(), theta_hat)
    torch.testing.assert_close(gradient[:, 0], difference.double(), atol=1e-4, rtol=1e-4)


def test_training_and_evaluation_go_by_the_same_repair() -> None:
    train, valid = loads(120).split(80, 40, seed=0)
    loss = DecisionLoss(foresolve.QuadraticRelaxation(gamma=0.05), repair=shortage)
    model = foresolve.MLP(3, 1, seed=0)
    before = foresolve.evaluate(model, valid, repair=shortage).normalized_regret
    history = foresolve.fit(model, loss, train, valid, epochs=20, lr=0.05, patience=5)
    report = foresolve.evaluate(model, valid, repair=shortage)
    assert min(history.valid_regret) == pytest.approx(report.normalized_regret, rel=1e-5)
    assert 0 <= report.normalized_regret < before
    assert report.feasible is not None
    assert report.feasible < 1
    with mistake("repair", "got 3"):
        DecisionLoss(foresolve.QuadraticRelaxation(), repair=3)  # type: ignore[arg-type]


def test_without_a_repair_infeasible_decisions_are_warned_of() -> None:
    data = loads(8)
    with caution("8 of 8", "repair"):
        report = foresolve.evaluate(lambda features: torch.full((len(features), 1), 0.05), data, bootstrap=0)
    assert report.feasible == 0
    assert foresolve.evaluate(lambda _: data.theta, data, bootstrap=0).regret == pytest.approx(0.0, abs=1e-6)


def test_without_a_repair_the_regret_of_predicted_constraints_is_not_watched() -> None:
    train, valid = loads(30).split(20, 10, seed=0)
    history = foresolve.fit(foresolve.MLP(3, 1, seed=0), foresolve.MSE(), train, valid, epochs=2)
    assert history.valid_loss[0] is not None
    with mistake("monitor", '"loss"', "theta"):
        foresolve.fit(foresolve.MLP(3, 1, seed=0), foresolve.MSE(), train, valid, epochs=2, monitor="regret")
