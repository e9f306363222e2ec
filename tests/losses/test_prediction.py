"""Losses of the prediction."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.data import Batch
from foresolve.losses import MSE, CrossEntropy, LogMSE, PredictionLoss
from foresolve.losses.prediction import OF_PREDICTION
from losses.conformance import Case, LossConformance, instance
from mistakes import mistake


def coverage() -> Case:
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(4, 2))
    return instance(problem, 4, 3, positive=True)


class TestMSE(LossConformance):
    def loss(self) -> MSE:
        return MSE()

    def cases(self) -> list[Case]:
        return [instance(foresolve.TopK(6, 2), 6), instance(foresolve.ShortestPath.grid(3, 3), 12), coverage()]


class TestLogMSE(LossConformance):
    def loss(self) -> LogMSE:
        return LogMSE()

    learns = False  # descent would leave the positive numbers; a model ends in an exponential, as below

    def cases(self) -> list[Case]:
        return [instance(foresolve.TopK(6, 2), 6, positive=True), coverage()]


class TestCrossEntropy(LossConformance):
    def loss(self) -> CrossEntropy:
        return CrossEntropy()

    learns = False  # descent would leave [0, 1]; a model ends in a sigmoid, as below

    def cases(self) -> list[Case]:
        return [instance(foresolve.TopK(6, 2), 6, positive=True), coverage()]


class TestCrossEntropyOfLogits(TestCrossEntropy):
    learns, rate = True, 0.2

    def loss(self) -> CrossEntropy:
        return CrossEntropy(logits=True)


class TestPredictionLoss(TestMSE):
    def loss(self) -> PredictionLoss:
        return PredictionLoss(torch.nn.SmoothL1Loss(reduction="none"))


def test_values_are_means_over_everything_but_the_instances() -> None:
    theta_hat, batch = coverage()
    expected = torch.stack([torch.nn.functional.mse_loss(a, b) for a, b in zip(theta_hat, batch.theta)])
    torch.testing.assert_close(MSE()(theta_hat, batch), expected)
    torch.testing.assert_close(PredictionLoss(torch.nn.MSELoss(reduction="none"))(theta_hat, batch), expected)
    torch.testing.assert_close(PredictionLoss(lambda a, b: (a - b).square().mean((1, 2)))(theta_hat, batch), expected)
    expected = torch.stack([torch.nn.functional.binary_cross_entropy(a, b) for a, b in zip(theta_hat, batch.theta)])
    torch.testing.assert_close(CrossEntropy()(theta_hat, batch), expected)
    torch.testing.assert_close(CrossEntropy(logits=True)(theta_hat.logit(), batch), expected)


@pytest.mark.parametrize("logits", [False, True])
def test_certain_predictions_have_finite_losses(logits: bool) -> None:
    theta = torch.tensor([[1.0, 0.0]])
    theta_hat = torch.tensor([[50.0, 50.0]]) if logits else torch.tensor([[1.0, 1.0]])
    value = CrossEntropy(logits=logits)(theta_hat, Batch(None, theta, foresolve.TopK(2, 1)))
    assert float(value) == pytest.approx(25.0 if logits else 50.0)


def test_logarithms_are_those_of_relative_errors() -> None:
    theta = torch.tensor([[1e-3, 1.0, 1e3]], dtype=torch.float64)
    batch = Batch(None, theta, foresolve.TopK(3, 1))
    assert float(LogMSE()(theta, batch)) == 0.0
    torch.testing.assert_close(LogMSE()(theta * 2, batch), torch.tensor([2.0], dtype=torch.float64).log().square())


def test_a_model_with_a_positive_head_learns_by_its_name() -> None:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(80, 3, generator=generator)
    theta = (features @ torch.randn(3, 4, generator=generator)).exp()
    data = foresolve.DecisionDataset(features, theta, foresolve.TopK(4, 1))
    history = foresolve.fit(foresolve.MLP(3, 4, head="positive", seed=0), "log_mse", data, epochs=60, lr=0.05)
    assert history.train_loss[-1] < 1e-2 * history.train_loss[0]


def constant(a: Tensor, b: Tensor) -> Tensor:
    return torch.tensor(1.0)


def test_what_is_refused() -> None:
    theta_hat, batch = instance(foresolve.TopK(6, 2), 6)
    with mistake("theta", "[0, 1]"):
        CrossEntropy()(theta_hat, batch)
    with mistake("theta_hat", "[0, 1]"):
        CrossEntropy()(theta_hat, Batch(None, batch.theta.sigmoid(), batch.problem))
    with mistake("theta", "LogMSE"):
        LogMSE()(theta_hat.abs(), batch)
    with mistake("theta_hat", "MLP", '"positive"'):
        LogMSE()(theta_hat, Batch(None, batch.theta.exp(), batch.problem))
    with mistake("torch_loss", "MSELoss"):
        PredictionLoss(torch.nn.MSELoss())
    with mistake("torch_loss", "4 instances", "()"):
        PredictionLoss(constant)(theta_hat, batch)
    with mistake("torch_loss", "got str"):
        PredictionLoss("mse")  # type: ignore[arg-type]


def test_none_needs_a_decision() -> None:
    assert not any(loss.uses_best for loss in (MSE(), LogMSE(), CrossEntropy(), PredictionLoss(constant)))


def test_each_is_known_as_one_of_prediction() -> None:
    assert all(isinstance(loss, OF_PREDICTION) for loss in (MSE(), LogMSE(), CrossEntropy(), PredictionLoss(constant)))
    assert not isinstance(foresolve.SPOPlus(), OF_PREDICTION)
