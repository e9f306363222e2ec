"""Losses that break one promise each, and are told which."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.losses import LODL
from foresolve.testing import ConformanceError, check_loss
from foresolve.testing.losses import LossSuite
from mistakes import mistake
from testing.test_layers import Scaled


class Squared(foresolve.Loss):
    """The squared error, as a user might write it."""

    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return (theta_hat - batch.theta).square().flatten(1).mean(1)


class Reduced(Squared):
    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return super().forward(theta_hat, batch).mean()


class Crowd(Squared):
    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return super().forward(theta_hat - theta_hat.mean(0) + batch.theta.mean(0), batch)


class TenPercentOff(Squared):
    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return super().forward(Scaled.apply(theta_hat, 0.9), batch)  # type: ignore[arg-type]


class Ascends(Squared):
    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return -super().forward(theta_hat, batch)


class Writes(Squared):
    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        batch.theta.sub_(batch.theta.mean())
        return super().forward(theta_hat, batch)


class AlwaysDouble(Squared):
    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return super().forward(theta_hat, batch).double()


class Learned(Squared):
    """A weight of its own makes the loss require grad, whatever the prediction."""

    def __init__(self) -> None:
        super().__init__()
        self.weight = torch.nn.Parameter(torch.ones(()))

    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return self.weight * super().forward(theta_hat, batch)


class GlobalNoise(Squared):
    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return super().forward(theta_hat, batch) * (1 + torch.rand(len(batch)))


class Infinite(Squared):
    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return super().forward(theta_hat, batch) / 0


class Believes(Squared):
    """Takes what the batch carries for something else."""

    def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        bonus = 0.0 if batch.value is None else batch.value
        return super().forward(theta_hat, batch) + bonus


class Nothing(Squared):
    """Looks at the first instance, whether there is one or not."""

    def __call__(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return super().__call__(theta_hat, batch) + 0 * batch.theta[0].sum()


class Forgets(Squared):
    """Says that it needs only decisions, and looks at the truth."""

    uses_theta = False


class TakesAnyShape(Squared):
    def __call__(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return theta_hat.square().flatten(1).mean(1)


class Flat(Squared):
    def gradient(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return super().gradient(theta_hat, batch).mean(0, keepdim=True).expand_as(theta_hat)


class Untransformed(Squared):
    """Past what makes a call one that `torch.func` knows, with a number that no transform can have."""

    def __call__(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
        return self.forward(theta_hat * (1.0 + 0.0 * float(theta_hat.detach().sum())), batch)


class TakesAnyProblem(Squared):
    needs = ("linear",)

    def check_problem(self, problem: foresolve.Problem) -> None:
        pass


NUMBERS, GRADIENT = "one finite number for each instance", "the gradient agrees with finite differences"


def test_a_sound_loss_passes() -> None:
    report = check_loss(Squared, foresolve.TopK(5, 2))
    assert report[GRADIENT].verdict == "passed"
    assert report["descent leads to good decisions"].verdict == "passed"


BROKEN = [
    (Reduced, NUMBERS, "8 instances have losses of the shape ()"),
    (Infinite, NUMBERS, "losses are not finite"),
    (Crowd, "a batch equals a loop", "the loss of instance 0 in a batch"),
    (TenPercentOff, GRADIENT, "40 of 40 slopes are wrong"),
    (Flat, "`loss.gradient` is that of each instance's own loss", "`loss.gradient`"),
    (Ascends, "it is never negative", "a loss of -"),
    (Ascends, "descent leads to good decisions", "of the regret of"),
    (Writes, "the truth is data", "`batch.theta` was written into"),
    (AlwaysDouble, "losses and gradients are finite, in the caller's dtype", "torch.float64 where predictions"),
    (Learned, "the truth is data", "losses require grad, the prediction does not"),
    (GlobalNoise, "equal calls give equal losses", "the loss, asked for again"),
    (GlobalNoise, "global state is left alone", "it changes torch's global generator"),
    (Believes, "what the batch carries need not be worked out", "the loss with decisions"),
    (Nothing, "an empty batch has no losses", "it raised IndexError"),
    (Forgets, "decisions alone are enough where it says so", "it raised NoThetaError"),
    (Untransformed, "`torch.func` transforms it", "it raised"),
    (TakesAnyShape, "a prediction of another shape is refused", "is taken without a word"),
    (TakesAnyProblem, "a problem it cannot serve is refused before any work", "SubmodularProblem"),
]


@pytest.mark.parametrize(("kind", "promise", "words"), BROKEN)
def test_a_broken_promise_is_named(kind: type[Squared], promise: str, words: str) -> None:
    report = check_loss(kind, foresolve.TopK(5, 2), raise_errors=False)
    assert report[promise].failed, str(report)
    assert words in report[promise].detail
    assert report[promise].remedy


def test_a_bound_on_the_regret_is_tested_where_it_is_claimed() -> None:
    problem = foresolve.TopK(5, 2)
    assert check_loss(foresolve.SPOPlus(), problem, bounds_regret=True)["it bounds the regret"].verdict == "passed"

    class Half(foresolve.SPOPlus):
        def forward(self, theta_hat: Tensor, batch: foresolve.Batch) -> Tensor:
            return 0.01 * super().forward(theta_hat, batch)

    report = check_loss(Half(), problem, bounds_regret=True, raise_errors=False)
    assert "the regret is above the loss" in report["it bounds the regret"].detail
    assert check_loss(Half(), problem)["it bounds the regret"].verdict == "not applicable"


def test_a_loss_is_prepared_first() -> None:
    assert check_loss(LODL(samples=20, steps=50), foresolve.TopK(4, 2))


def test_what_is_by_design_is_excused() -> None:
    with pytest.raises(ConformanceError) as caught:
        check_loss(TenPercentOff, foresolve.TopK(5, 2))
    (finding,) = caught.value.report.failures
    assert finding.promise == "the gradient agrees with finite differences"
    assert finding.measured == pytest.approx(0.1, abs=0.02)
    assert check_loss(TenPercentOff, foresolve.TopK(5, 2), smooth=False)
    assert check_loss(Ascends, foresolve.TopK(5, 2), nonnegative=False, learns=False)


def test_what_it_refuses() -> None:
    with mistake("loss", "MSELoss"):
        check_loss(torch.nn.MSELoss(), foresolve.TopK(5, 2))  # type: ignore[arg-type]


def test_every_promise_is_seen_to_be_broken() -> None:
    broken = {promise for _, promise, _ in BROKEN} | {"it bounds the regret"}  # below
    assert {promise.words for promise in LossSuite.promises()} - broken == {"devices agree"}
