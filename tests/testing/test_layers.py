"""Layers that break one promise each, and are told which."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.layers import PerturbedAdditive
from foresolve.testing import ConformanceError, check_layer
from foresolve.testing.layers import LayerSuite
from mistakes import mistake


class Soft(foresolve.Layer):
    """The largest of `n`, by a softmax: what a user might write for `TopK(n, 1)`."""

    needs = ("linear",)

    def forward(self, theta: Tensor, problem: foresolve.Problem) -> Tensor:
        flat, batch = problem.flatten(theta)
        return self.smoothed(problem.gain(flat)).reshape(*batch, flat.shape[-1]).to(theta.dtype)

    def smoothed(self, gains: Tensor) -> Tensor:
        return gains.softmax(-1)


class Scaled(torch.autograd.Function):
    """The identity, with a gradient that is multiplied."""

    @staticmethod
    def forward(ctx, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return x.clone()

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor, None]:
        return ctx.factor * gradients[0], None


class Untransformed(Soft):
    """Past what makes a call one that `torch.func` knows, with a number that no transform can have."""

    def __call__(self, theta: Tensor, problem: foresolve.Problem) -> Tensor:
        return self.forward(theta * (1.0 + 0.0 * float(theta.detach().sum())), problem)


class Forgetful(Soft):
    """A copy is colder."""

    temperature = 1.0

    def smoothed(self, gains: Tensor) -> Tensor:
        return super().smoothed(gains / self.temperature)

    def __deepcopy__(self, memo: dict) -> Forgetful:
        other = Forgetful()
        other.temperature = self.temperature / 2
        return other


class TenPercentOff(Soft):
    def smoothed(self, gains: Tensor) -> Tensor:
        return super().smoothed(Scaled.apply(gains, 1.1))  # type: ignore[arg-type]


class Turned(Soft):
    def smoothed(self, gains: Tensor) -> Tensor:
        return super().smoothed(Scaled.apply(gains, -1.0))  # type: ignore[arg-type]


class TooMuch(Soft):
    def smoothed(self, gains: Tensor) -> Tensor:
        return 1.01 * super().smoothed(gains)


class Crowd(Soft):
    """Smoothed in units of the batch."""

    def smoothed(self, gains: Tensor) -> Tensor:
        return super().smoothed(gains / gains.std().detach()) if len(gains) else super().smoothed(gains)


class OneBatch(Soft):
    def forward(self, theta: Tensor, problem: foresolve.Problem) -> Tensor:
        return super().forward(theta, problem).reshape(-1, theta.shape[-1])


class Nothing(Soft):
    def forward(self, theta: Tensor, problem: foresolve.Problem) -> Tensor:
        if theta.numel() == 0:
            raise IndexError("no instances")
        return super().forward(theta, problem)


class AlwaysDouble(Soft):
    def forward(self, theta: Tensor, problem: foresolve.Problem) -> Tensor:
        return super().forward(theta, problem).double()


class Cut(Soft):
    def smoothed(self, gains: Tensor) -> Tensor:
        return super().smoothed(gains).detach()


class Singular(Soft):
    """0 * infinity on the way back."""

    def smoothed(self, gains: Tensor) -> Tensor:
        return super().smoothed(gains + 0 * (gains - gains).sqrt())


class GlobalNoise(Soft):
    def smoothed(self, gains: Tensor) -> Tensor:
        return super().smoothed(gains + torch.rand_like(gains))


class Attached(Soft):
    def __init__(self) -> None:
        super().__init__()
        self.scale = torch.nn.Parameter(torch.ones(()))

    def smoothed(self, gains: Tensor) -> Tensor:
        return super().smoothed(self.scale * gains)


class Writes(Soft):
    def forward(self, theta: Tensor, problem: foresolve.Problem) -> Tensor:
        x = super().forward(theta, problem)
        theta.data.add_(1.0)
        return x


class TakesAnything(Soft):
    """Says that it needs a linear objective, and works with every problem all the same."""

    def check_problem(self, problem: foresolve.Problem) -> None:
        pass


GRADIENT, LOOP = "the gradient agrees with finite differences", "a batch equals a loop"
FINITE = "decisions and gradients are finite, in the caller's dtype"


def test_a_sound_layer_passes() -> None:
    report = check_layer(Soft, foresolve.TopK(5, 1))
    assert report[GRADIENT].verdict == "passed"
    assert report[GRADIENT].measured is not None
    assert report[GRADIENT].measured <= 1e-6


BROKEN = [
    (TenPercentOff, GRADIENT, "most at entry"),
    (Turned, GRADIENT, "20 of 20 slopes are wrong"),
    (TooMuch, "decisions are feasible", "is broken by 0.01"),
    (Crowd, LOOP, "instance 0 in a batch"),
    (OneBatch, "leading dimensions are kept", "theta (2, 4, 5) gives decisions (8, 5)"),
    (Nothing, "an empty batch has no decisions", "it raised IndexError: no instances"),
    (AlwaysDouble, FINITE, "decisions are torch.float64 where theta is torch.float32"),
    (Cut, FINITE, "no gradient reaches theta"),
    (Singular, FINITE, "gradients are not finite"),
    (GlobalNoise, "equal calls give equal numbers", "decisions of a new layer, asked for again"),
    (GlobalNoise, "global state is left alone", "it changes torch's global generator"),
    (Attached, "no graph is built where no gradient is asked for", "decisions require grad, theta does not"),
    (Writes, "arguments are not written into", "`theta` was written into"),
    (Untransformed, "`torch.func` transforms it", "it raised RuntimeError"),
    (Forgetful, "a deep copy decides alike", "decisions of a deep copy"),
    (TakesAnything, "a problem it cannot serve is refused before any work", "SubmodularProblem"),
]


@pytest.mark.parametrize(("kind", "promise", "words"), BROKEN)
def test_a_broken_promise_is_named(kind: type[Soft], promise: str, words: str) -> None:
    report = check_layer(kind(), foresolve.TopK(5, 1), raise_errors=False)
    assert report[promise].failed, str(report)
    assert words in report[promise].detail
    assert report[promise].remedy


def test_ten_percent_are_measured_as_ten_percent() -> None:
    finding = check_layer(TenPercentOff, foresolve.TopK(5, 1), raise_errors=False)[GRADIENT]
    assert finding.measured == pytest.approx(0.1 / 1.1, rel=1e-3)
    assert check_layer(TenPercentOff, foresolve.TopK(5, 1), smooth=False)[GRADIENT].verdict == "not applicable"


def test_samples_are_excused_where_they_are_announced() -> None:
    with pytest.raises(ConformanceError) as caught:
        check_layer(PerturbedAdditive(3), foresolve.TopK(5, 1), smooth=False)
    assert caught.value.report[LOOP].failed
    assert "`random=True`" in caught.value.report[LOOP].remedy
    report = check_layer(PerturbedAdditive(3), foresolve.TopK(5, 1), smooth=False, random=True)
    assert report[LOOP].verdict == "not applicable"


def test_a_feasible_set_for_each_instance() -> None:
    limited = foresolve.Knapsack([2, 3, 4, 5], torch.tensor([[4.0], [5.0], [9.0]]))
    report = check_layer(foresolve.QuadraticRelaxation(0.5), limited)
    assert report[LOOP].verdict == "passed"


def test_what_it_refuses() -> None:
    with mistake("layer", "Linear"):
        check_layer(torch.nn.Linear(2, 2), foresolve.TopK(2, 1))  # type: ignore[arg-type]
    with mistake("problem", "int"):
        check_layer(Soft, 3)  # type: ignore[arg-type]
    with mistake("theta", "(2, 2, 2)"):
        check_layer(Soft, foresolve.TopK(2, 1), torch.zeros(2, 2, 2))


def test_every_promise_is_seen_to_be_broken() -> None:
    broken = {promise for _, promise, _ in BROKEN}
    assert {promise.words for promise in LayerSuite.promises()} - broken == {"devices agree"}
