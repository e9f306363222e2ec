"""Promises that can be put to the test, and the measurements that decide."""

from __future__ import annotations

import contextlib
import copy
import math
import random
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from typing import Any, Self, TypeVar

import numpy as np
import torch
from torch import Tensor

from foresolve.errors import InvalidInputError
from foresolve.testing.report import ConformanceReport, Finding, Verdict

T = TypeVar("T")


class Inapplicable(Exception):
    """A promise says nothing about what is tested; the message says why."""


@dataclass(frozen=True)
class Measure:
    """One number beside what it may be at most, or a condition without a number.

    `detail` is said where it is broken, `note` where it is not.
    """

    broken: bool
    detail: str = ""
    amount: float | None = None
    tolerance: float | None = None
    note: str = ""

    @property
    def weight(self) -> float:
        """How near the number comes to its tolerance, which is 1; below all numbers where there is none."""
        if self.broken:
            return math.inf
        if self.amount is None:
            return -1.0
        return self.amount / self.tolerance if self.tolerance else 0.0


class Promise:
    """A promise of a suite: decorates a method that yields the measures to decide it by."""

    name: str

    def __init__(self, words: str, remedy: str) -> None:
        self.words, self.remedy = words, remedy

    def __call__(self, method: Callable[[Any], Iterator[Measure]]) -> Self:
        self.method = method
        return self

    def __set_name__(self, owner: type, name: str) -> None:
        self.name = name

    def test(self, suite: Suite) -> Finding:
        """What the suite's subject does with the promise; an error of its own is a failure, too."""
        worst = Measure(False)
        try:
            for measure in self.method(suite):
                worst = max(worst, measure, key=lambda candidate: candidate.weight)
                if measure.broken:
                    return self._finding("failed", measure, measure.detail)
        except Inapplicable as reason:
            return Finding(self.words, "not applicable", detail=str(reason))
        except Exception as error:
            return self._finding("failed", Measure(True), f"it raised {type(error).__name__}: {error}", error)
        return self._finding("passed", worst, worst.note)

    def _finding(self, verdict: Verdict, measure: Measure, detail: str, error: Exception | None = None) -> Finding:
        return Finding(self.words, verdict, measure.amount, measure.tolerance, detail, self.remedy, error)


class Suite:
    """A subject and the promises that it is held to, tested in the order in which they are written."""

    @classmethod
    def promises(cls) -> list[Promise]:
        """Those of the base classes first; one of the same name replaces another."""
        attributes: dict[str, Any] = {}
        for base in reversed(cls.__mro__):
            attributes |= vars(base)
        return [value for value in attributes.values() if isinstance(value, Promise)]

    def report(self, subject: str) -> ConformanceReport:
        """Every promise, tested."""
        return ConformanceReport(subject, tuple(promise.test(self) for promise in self.promises()))


# -- measures ----------------------------------------------------------------------------------------------------------


def holds(condition: Any, detail: str) -> Measure:
    """A condition without a number."""
    return Measure(not condition, detail)


def bounded(amount: float | Tensor, tolerance: float, detail: str) -> Measure:
    """A number that may be `tolerance` at most; NaN is too much."""
    amount = float(amount)
    return Measure(not amount <= tolerance, detail, amount, tolerance)


def near(actual: Tensor, expected: Tensor, what: str, *, atol: float = 0.0, rtol: float = 0.0) -> Measure:
    """Equal up to `atol + rtol |expected|`, entry by entry; the worst entry is named."""
    actual, expected = actual.detach(), expected.detach()
    if actual.shape != expected.shape:
        return holds(False, f"{what}: shape {tuple(actual.shape)} instead of {tuple(expected.shape)}")
    if actual.numel() == 0:
        return Measure(False)
    same = actual == expected  # infinities among them, whose difference is no number
    difference = torch.where(same, 0.0, (actual - expected).abs().double())
    allowed = torch.where(same, atol, atol + rtol * expected.abs().double())
    excess = (difference - allowed).nan_to_num(nan=math.inf)
    where = tuple(int(k) for k in np.unravel_index(int(excess.argmax()), tuple(excess.shape))) if excess.ndim else ()
    detail = f"{what}: {float(actual[where]):.8g} instead of {float(expected[where]):.8g}"
    detail += f" at {list(where)}" if where else ""
    return Measure(not float(excess[where]) <= 0, detail, float(difference[where]), float(allowed[where]))


def refused(call: Callable[[], Any], what: str, argument: str, *facts: str) -> Measure:
    """`call` must raise an `InvalidInputError` about the argument, as `checks.fail` makes it, that tells the facts."""
    try:
        call()
    except InvalidInputError as error:
        if error.argument != argument:
            return holds(False, f"{what} is refused, but the error is about {error.argument!r}: {error}")
        absent = [fact for fact in facts if fact not in str(error)]
        return holds(not absent, f"{what} is refused, but the message does not say {absent}: {error}")
    except Exception as error:
        return holds(False, f"{what} ends in {type(error).__name__}: {error}")
    return holds(False, f"{what} is taken without a word")


def decided(finding: Finding) -> Measure:
    """What another test came to."""
    if finding.verdict == "not applicable":
        raise Inapplicable(finding.detail)
    return Measure(finding.failed, finding.detail, finding.measured, finding.tolerance, finding.detail)


# -- what must be left alone -------------------------------------------------------------------------------------------


def untouched(tensors: dict[str, Tensor], work: Callable[[], Any]) -> Iterator[Measure]:
    """`work` must not write into its arguments."""
    before = {name: tensor.detach().clone() for name, tensor in tensors.items()}
    work()
    for name, tensor in tensors.items():
        yield near(tensor, before[name], f"`{name}` was written into")


@contextlib.contextmanager
def watched() -> Iterator[list[str]]:
    """The global settings that the block changes, in words; the generators are as before afterwards.

    They are moved on first: otherwise `torch.manual_seed(0)` would go unseen where the seed is 0 already.
    """
    changed: list[str] = []
    saved = (torch.get_rng_state(), np.random.get_state(), random.getstate())  # noqa: NPY002
    for advance in (lambda: torch.rand(1), np.random.random, random.random):
        advance()
    before = _settings()
    try:
        yield changed
    finally:
        changed += [name for name, value in _settings().items() if value != before[name]]
        torch.set_rng_state(saved[0])
        np.random.set_state(saved[1])  # noqa: NPY002
        random.setstate(saved[2])


def quiet(work: Callable[[], Any]) -> Measure:
    """`work` must leave generators and settings that all share as they are."""
    with watched() as changed:
        work()
    return holds(not changed, f"it changes {' and '.join(changed)}")


def _settings() -> dict[str, Any]:
    legacy: Any = np.random.get_state()  # noqa: NPY002
    return {
        "torch's global generator": torch.get_rng_state().numpy().tobytes(),
        "NumPy's global generator": (legacy[1].tobytes(), legacy[2]),
        "the global generator of `random`": random.getstate(),
        "torch's default dtype": torch.get_default_dtype(),
        "torch's number of threads": torch.get_num_threads(),
        "whether torch builds graphs": torch.is_grad_enabled(),
    }


# -- subjects and parameters -------------------------------------------------------------------------------------------


def factory(subject: T | type[T]) -> Callable[[], T]:
    """A new subject in the same state at each call: from a class without arguments, or copies of the one given."""
    return subject if isinstance(subject, type) else lambda: copy.deepcopy(subject)


def rows(examples: Tensor, dims: int) -> Callable[[tuple[int, ...], int], Tensor]:
    """Parameters of any batch shape, drawn from examples `(*batch, *shape)` with `dims` dimensions of their own."""
    flat = examples.detach().reshape(-1, *examples.shape[examples.ndim - dims :])

    def draw(batch: tuple[int, ...], seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        count = math.prod(batch)
        order = torch.cat([torch.randperm(len(flat), generator=generator) for _ in range(1 + count // len(flat))])
        return flat[order[:count].to(flat.device)].reshape(*batch, *flat.shape[1:]).clone()

    return draw


def inside(theta: Tensor, bounds: tuple[float, float], seed: int) -> Tensor:
    """`theta` moved a tenth of the way to random values between its own extremes: off its bounds, and without ties."""
    low, high = float(theta.min()), float(theta.max())
    if low == high:
        low, high = max(low - 1.0, bounds[0]), min(high + 1.0, bounds[1])
    spread = torch.rand(theta.shape, generator=torch.Generator().manual_seed(seed), dtype=theta.dtype).to(theta.device)
    return 0.9 * theta + 0.1 * (low + (high - low) * spread)
