from __future__ import annotations

import math

import pytest
import torch
from torch.nn import functional

import foresolve
from foresolve.data import Batch, DecisionDataset
from foresolve.layers import BlackboxInterpolation, PerturbedAdditive
from foresolve.losses import Imitation
from losses.conformance import Case, LossConformance, instance
from mistakes import mistake

LINEAR = [(foresolve.TopK(6, 2), 6), (foresolve.ShortestPath.grid(3, 3), 12), (foresolve.BipartiteMatching(3, 3), 9)]


class TestSquared(LossConformance):
    def loss(self) -> Imitation:
        return Imitation(foresolve.QuadraticRelaxation(0.5))

    def cases(self) -> list[Case]:
        return [instance(problem, n, positive=True) for problem, n in LINEAR]


class TestHamming(TestSquared):
    def loss(self) -> Imitation:
        return Imitation(foresolve.QuadraticRelaxation(0.5), "hamming")


class TestCrossEntropy(TestSquared):
    def loss(self) -> Imitation:
        return Imitation(foresolve.QuadraticRelaxation(0.5), "cross_entropy", epsilon=0.01)


class TestBlackbox(TestSquared):
    """As it was trained where the layer comes from: Hamming distances of 0/1 decisions."""

    smooth = False
    goal = 0.2

    def loss(self) -> Imitation:
        return Imitation(BlackboxInterpolation(60.0), "hamming")


class TestPerturbed(TestSquared):
    smooth, separable = False, False

    def loss(self) -> Imitation:
        return Imitation(PerturbedAdditive(100, 0.5), "cross_entropy", epsilon=0.01)


Y = torch.tensor([[1.0, 0.0, 0.0]], dtype=torch.float64)


def batch(y: torch.Tensor = Y) -> Batch:
    return Batch(None, None, foresolve.TopK(3, 1), decision=y)


def test_formulas() -> None:
    x = torch.tensor([[0.5, 0.3, 0.2]], dtype=torch.float64)  # its own projection
    layer = foresolve.QuadraticRelaxation(gamma=0.5)
    torch.testing.assert_close(layer(x, foresolve.TopK(3, 1)), x)
    assert Imitation(layer)(x, batch()).item() == pytest.approx((0.25 + 0.09 + 0.04) / 3)
    assert Imitation(layer, "hamming")(x, batch()).item() == pytest.approx(1.0 / 3)
    for epsilon in (1e-3, 0.1):
        p = epsilon + (1 - 2 * epsilon) * x
        expected = functional.binary_cross_entropy(p, Y, reduction="none").mean(-1)
        torch.testing.assert_close(Imitation(layer, "cross_entropy", epsilon=epsilon)(x, batch()), expected)


def test_a_wrong_vertex_has_a_bounded_loss_and_a_gradient() -> None:
    loss = Imitation(PerturbedAdditive(2, 1e-6), "cross_entropy", epsilon=0.05)
    x = torch.tensor([[0.0, 1.0, 0.0]], dtype=torch.float64, requires_grad=True)
    value = loss(x, batch())
    assert value.item() == pytest.approx((-2 * math.log(0.05) - math.log(0.95)) / 3)
    p = 0.05 + 0.9 * x
    entries = -(Y * p.log() + (1 - Y) * (1 - p).log()).mean(-1)
    (slope,) = torch.autograd.grad(entries, x)
    assert slope[0, 0] < -5  # a clamp would give 0
    assert slope[0, 1] > 5


def test_decisions_must_be_between_0_and_1_but_for_squares() -> None:
    problem = foresolve.LinearProgram([[1.0, 1.0]], [4.0], bounds=(0, 3))
    theta_hat, y = torch.tensor([[2.0, 1.0]]), torch.tensor([[3.0, 1.0]])
    layer = foresolve.QuadraticRelaxation(gamma=0.1)
    assert Imitation(layer)(theta_hat, Batch(None, None, problem, decision=y)).item() >= 0
    for distance in ("hamming", "cross_entropy"):
        with mistake("decisions", repr(distance), "from 1 to 3", "squared"):
            Imitation(layer, distance)(theta_hat, Batch(None, None, problem, decision=y))  # type: ignore[arg-type]
        with mistake("layer(theta_hat, problem)", repr(distance)):
            Imitation(layer, distance)(theta_hat, Batch(None, None, problem, decision=y / 3))  # type: ignore[arg-type]


def test_it_learns_from_decisions_alone() -> None:
    generator = torch.Generator().manual_seed(0)
    features, weights = torch.randn(120, 4, generator=generator), torch.randn(4, 6, generator=generator)
    problem = foresolve.TopK(6, 2)
    data = DecisionDataset(features, decisions=problem.solve(features @ weights), problem=problem)
    train, test = data.split(80, 40)
    for distance in ("squared", "hamming", "cross_entropy"):
        model = foresolve.MLP(4, 6, seed=0)
        before = foresolve.evaluate(model, test, bootstrap=0).hamming
        loss = Imitation(PerturbedAdditive(20, 0.5), distance)  # type: ignore[arg-type]
        foresolve.fit(model, loss, train, epochs=30, lr=0.05, progress=False)
        after = foresolve.evaluate(model, test, bootstrap=0).hamming
        assert before is not None
        assert after is not None
        assert after < 0.5 * before


def test_bad_arguments() -> None:
    with mistake("layer", "MSE"):
        Imitation(foresolve.MSE())  # type: ignore[arg-type]
    with mistake("distance", "'euclidean'"):
        Imitation(PerturbedAdditive(), "euclidean")  # type: ignore[arg-type]
    for epsilon in (0.0, 0.5, -1.0):
        with mistake("epsilon"):
            Imitation(PerturbedAdditive(), "cross_entropy", epsilon=epsilon)
    assert "epsilon=0.001" in repr(Imitation(PerturbedAdditive(), "cross_entropy"))
