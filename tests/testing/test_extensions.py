"""Set functions that break one promise each, and are told which."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.sets import ClosedForm, FacilityLocation, Increments, Local, Parts, SetFunction
from foresolve.testing import ConformanceError, check_set_function
from foresolve.testing.extensions import SetFunctionSuite
from mistakes import mistake


class Covered(SetFunction):
    """Coverage of one target, with the formula of its extension, as a user might write it."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return 1 - (1 - mask * theta).prod(-1)

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        missed = torch.ones((), dtype=x.dtype)
        for factor in (1 - x * theta).unbind(-1):
            missed = missed * factor
        return 1 - missed


class Root(SetFunction):
    """The root of a sum, whose extension is sampled."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return ((mask * theta).sum(-1) + 1e-3).sqrt() - 1e-3**0.5


class Squared(SetFunction):
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask * theta).sum(-1) ** 2


class Shifted(Covered):
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return 1 + super().value(mask, theta)

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return 1 + super().multilinear(x, theta)


class Cut(SetFunction):
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (theta * mask).sum(-1) * (theta * (1 - mask)).sum(-1)


class Elsewhere(Covered):
    """Another extension at sets."""

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return 0.9 * super().multilinear(x, theta)


class Between(Covered):
    """Another extension between sets: a derivative that is off, too."""

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return super().multilinear(x, theta) + 0.1 * (x * (1 - x)).sum(-1)


class Misannounced(Covered):
    def theta_shape(self, n: int) -> tuple[int | None, ...]:
        return (n + 1,)


class TakesNaN(Covered):
    def check_theta(self, theta: Any, n: int) -> Tensor:
        return theta


class Crowd(Covered):
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return super().value(mask, theta.mean(tuple(range(theta.ndim - 1))))


class Summed(Covered):
    """Sums over the batch instead of keeping it."""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return super().value(mask, theta).sum().expand(theta.shape[:-1])


class AlwaysDouble(Covered):
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return super().value(mask, theta).double()


class TwiceTheGains(Increments):
    def __init__(self, theta: np.ndarray) -> None:
        self.theta, self.n, self.empty = theta, len(theta), np.ones((1, 1))

    def gains(self, states: np.ndarray) -> np.ndarray:
        return 2 * states * self.theta

    def grown(self, states: np.ndarray, items: np.ndarray) -> np.ndarray:
        return states * (1 - self.theta[items, None])


class WrongIncrements(Covered):
    def increments(self, theta: Tensor, n: int) -> Increments:
        return TwiceTheGains(theta[0].numpy())


class LowBounds(Parts):
    """Half of the bounds that another one gives."""

    def __init__(self, parts: Parts) -> None:
        self.parts, self.count, self.n = parts, parts.count, parts.n

    def values(self, mask: np.ndarray) -> np.ndarray:
        return self.parts.values(mask)

    def at_set(self, mask: np.ndarray) -> list[Any]:
        return [(constants / 2, slopes / 2) for constants, slopes in self.parts.at_set(mask)]

    def at_point(self, x: np.ndarray) -> list[Any]:
        return self.parts.at_point(x)


class WrongCuts(Covered):
    def cuts(self, theta: Tensor, n: int) -> Parts:
        return LowBounds(super().cuts(theta, n))


class Counts(Covered):
    """Copies differ from what they are copies of."""

    weight = 1.0

    def __setstate__(self, state: dict[str, Any]) -> None:
        self.weight = 0.5

    def __reduce__(self) -> Any:
        return Counts, (), {"weight": 0.5}

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return self.weight * super().multilinear(x, theta)


class Locked(Covered):
    """Cannot be pickled."""

    def __init__(self) -> None:
        super().__init__()
        self.lock = threading.Lock()

    def __deepcopy__(self, memo: Any) -> Locked:
        return Locked()


class Writes(Covered):
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        value = super().value(mask, theta)
        if theta.is_leaf and not theta.requires_grad and theta.is_contiguous():
            theta.mul_(0.5)
        return value


class GlobalNoise(Covered):
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        torch.rand(1)
        return super().value(mask, theta)


class Biased(Root):
    """Sampled, with values of its own at the sets that samples are."""

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return 1.5 * super().multilinear(x, theta)

    @property
    def sampled(self) -> bool:
        return True

    def local(self, x: Tensor, theta: Tensor) -> Local:
        return SetFunction.local(self, x, theta)


class Altered(Local):
    """Another local, with one part altered."""

    def __init__(self, local: Local, part: str) -> None:
        self.local, self.part = local, part
        self.value, self.gradient = local.value, self.alter("gradient", local.gradient)

    def alter(self, part: str, tensor: Tensor) -> Tensor:
        return 1.1 * tensor if part == self.part else tensor

    def hessian(self, index: Tensor) -> Tensor:
        return self.alter("hessian", self.local.hessian(index))

    def product(self, v: Tensor) -> Tensor:
        return self.alter("product", self.local.product(v))

    def cross(self, v: Tensor) -> Tensor:
        return self.alter("cross", self.local.cross(v))

    def slope(self) -> Tensor:
        return self.alter("slope", self.local.slope())

    def merge(self, which: Tensor, fallback: Any) -> Local | None:
        return fallback if self.part == "merge" else None


class ByHand(ClosedForm):
    """Coverage with all its derivatives, of which one is off."""

    part = ""

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return 1 - (1 - mask * theta).prod(-1)

    def local(self, x: Tensor, theta: Tensor) -> Local:
        return Altered(Covered().local(x, theta), self.part)

    @classmethod
    def off(cls, part: str) -> ByHand:
        function = cls()
        function.part = part
        return function


class Quotient(Covered):
    """Divides by what vanishes at 1."""

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        rest = 1 - x
        return super().multilinear(x, theta) * (rest / rest).mean(-1)


class Keeps(Covered):
    """Gives the gradient of a shared theta once for each instance of the batch."""

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        value = super().multilinear(x, theta)
        if theta.ndim == 1 and x.ndim > 1:
            value = value.detach() + (value - value.detach()) / len(x)
        return value


class WrongMixed(Covered):
    """Its second derivatives are dropped."""

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return Once.apply(x, theta)  # type: ignore[return-value]


class Once(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x: Tensor, theta: Tensor) -> Tensor:
        ctx.save_for_backward(x, theta)
        return Covered().multilinear(x, theta)

    @staticmethod
    def backward(ctx, *gradients: Tensor) -> tuple[Tensor, Tensor]:
        x, theta = (part.detach().requires_grad_() for part in ctx.saved_tensors)
        with torch.enable_grad():
            value = Covered().multilinear(x, theta).sum()
            by_x, by_theta = torch.autograd.grad(value, (x, theta))
        zero = 0 * ctx.saved_tensors[0].sum() * ctx.saved_tensors[1].sum()
        return gradients[0][..., None] * by_x.detach() + zero, gradients[0][..., None] * by_theta.detach() + zero


DEFINITION = "extension and derivatives are those of the definition"
IN_X, IN_THETA = (f"autograd's derivatives in {name} agree with differences" for name in ("x", "theta"))
BROKEN = [
    (Shifted(), "the empty set is worth nothing", "f({}) = 1, not 0"),
    (Cut(), "it is monotone", "monotone is broken by"),
    (Squared(), "it is submodular", "submodular is broken by"),
    (Misannounced(), "theta has the shape that is announced", "`theta_shape(4)` is (5,)"),
    (TakesNaN(), "wrong theta is refused", "NaN in theta is "),
    (Crowd(), "a batch equals a loop", "`value` of instance 0"),
    (Summed(), "batches broadcast", "`value` of x (3,) and theta () gives (), not (3,)"),
    (AlwaysDouble(), "float32 is close to float64, and stays", "`value` gives torch.float64 for float32"),
    (WrongIncrements(), "increments are differences of values", "`batch_gains`"),
    (WrongCuts(), "cuts bound every set and touch their own", "a set is above its bound by"),
    (Counts(), "copies agree", "`multilinear` after copy.deepcopy"),
    (Locked(), "a pickle agrees", "cannot pickle"),
    (Writes(), "arguments are not written into", "`theta` was written into"),
    (GlobalNoise(), "global state is left alone", "it changes torch's global generator"),
    (Elsewhere(), "the extension is the value at sets", "F at a set"),
    (Between(), "the extension is the mean over random sets", "E f(S) ="),
    (Between(), DEFINITION, "F: "),
    (ByHand.off("gradient"), DEFINITION, "the gradient of F in x"),
    (ByHand.off("product"), DEFINITION, "the Hessian of F times a vector"),
    (ByHand.off("cross"), DEFINITION, "the derivative of grad F in theta"),
    (ByHand.off("slope"), DEFINITION, "the derivative of F in theta"),
    (Quotient(), "points next to 0 and 1 do no harm", "the gradient of F in x"),
    (Biased(), "samples average to the definition", "in standard errors"),
    (ByHand.off("hessian"), "the Hessian's columns are its products", "a column of the Hessian"),
    (ByHand.off("gradient"), IN_X, "Jacobian mismatch"),
    (ByHand.off("slope"), IN_THETA, "Jacobian mismatch"),
    (Keeps(), "a shared theta collects the gradients of its batch", "the gradient of a shared theta"),
    (WrongMixed(), "second derivatives through theta are refused or right", "the mixed derivative"),
    (ByHand.off("merge"), "points of two solves merge", "`value` after merging"),
]


def draw(n: int = 4) -> Tensor:
    return 0.1 + 0.8 * torch.rand(3, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


@pytest.mark.parametrize("function", [Covered(), ByHand(), Root(samples=40), Root(samples=40).of(lambda t: 2 * t)])
def test_sound_functions_pass(function: SetFunction) -> None:
    assert check_set_function(function, 4, draw())


def test_many_items_are_tested_at_random_sets() -> None:
    report = check_set_function(foresolve.ProbabilisticCoverage(), 15, draw(15).unsqueeze(-1))
    assert report[DEFINITION].verdict == "not applicable"
    assert "random sets" in report["it is submodular"].detail


@pytest.mark.parametrize(("function", "promise", "words"), BROKEN)
def test_a_broken_promise_is_named(function: SetFunction, promise: str, words: str) -> None:
    report = check_set_function(function, 4, draw(), raise_errors=False)
    assert report[promise].failed, str(report)
    assert words in report[promise].detail
    assert report[promise].remedy


def test_every_promise_is_seen_to_be_broken() -> None:
    broken = {promise for _, promise, _ in BROKEN}
    assert {promise.words for promise in SetFunctionSuite.promises()} - broken == {"devices agree"}


def test_data_of_each_instance() -> None:
    weights = torch.rand(3, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assert check_set_function(foresolve.ProbabilisticCoverage(weights), 4, draw().unsqueeze(-1).repeat(1, 1, 2))


def test_a_class_is_made_first_and_failures_raise() -> None:
    assert check_set_function(FacilityLocation, 3, draw(3).unsqueeze(-1).repeat(1, 1, 2))
    with pytest.raises(ConformanceError) as caught:
        check_set_function(Squared, 3, draw(3))
    assert caught.value.report["it is submodular"].failed
    assert caught.value.report["it is submodular"].detail in str(caught.value)


def test_what_it_refuses() -> None:
    with mistake("n", ">= 1"):
        check_set_function(Covered(), 0, draw())
    with mistake("theta", "nan at [0]"):
        check_set_function(Covered(), 3, torch.full((3,), torch.nan))
    with mistake("function", "SetFunction", "int"):
        check_set_function(3, 3, draw())  # type: ignore[arg-type]
