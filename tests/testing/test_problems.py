"""Problems that break one promise each, and are told which."""

from __future__ import annotations

import threading
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.problems import Feasibility, OracleProblem
from foresolve.problems.feasibility import inspect
from foresolve.testing import ConformanceError, check_problem
from foresolve.testing.programs import ProgramSuite
from mistakes import mistake


class Best(foresolve.Problem):
    """The `k` best of `n` items, written as a user might."""

    exact = True
    linear = True

    def __init__(self, n: int = 6, k: int = 2) -> None:
        self.size, self.k = n, k

    @property
    def n(self) -> int:
        return self.size

    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        return (self.gain(theta) * x).sum(-1)

    def argmax(self, gains: Tensor) -> Tensor:
        gains = gains.detach()
        return torch.zeros_like(gains).scatter(-1, gains.topk(self.k, -1).indices, 1.0)

    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        excesses = {
            "A_eq": (x.sum(-1, keepdim=True) - self.k).abs(),
            "lower": -x,
            "upper": x - 1,
            "integrality": torch.zeros_like(x) if relaxed else (x - x.round()).abs(),
        }
        return inspect(excesses, tol, x.shape[:-1], lambda kind, index: "")

    def config(self) -> dict[str, Any]:
        return {"n": self.size, "k": self.k}


class TurnedGain(Best):
    def gain(self, theta: Tensor) -> Tensor:
        return -theta

    def solve(self, theta: Tensor) -> Tensor:
        return self.argmax(self.check_theta(theta))


class OneTooMany(Best):
    def argmax(self, gains: Tensor) -> Tensor:
        return torch.zeros_like(gains.detach()).scatter(-1, gains.topk(self.k + 1, -1).indices, 1.0)


class SecondBest(Best):
    def argmax(self, gains: Tensor) -> Tensor:
        return torch.zeros_like(gains.detach()).scatter(-1, gains.topk(self.k + 1, -1).indices[..., 1:], 1.0)


class Crowd(Best):
    """Decides for the mean of the batch."""

    def argmax(self, gains: Tensor) -> Tensor:
        return super().argmax(gains.mean(0, keepdim=True).expand_as(gains) if gains.ndim > 1 else gains)


class Writes(Best):
    def solve(self, theta: Tensor) -> Tensor:
        x = super().solve(theta)
        theta.mul_(2)
        return x


class Seeds(Best):
    def solve(self, theta: Tensor) -> Tensor:
        torch.manual_seed(0)
        return super().solve(theta)


class Double(Best):
    def solve(self, theta: Tensor) -> Tensor:
        return super().solve(theta).double()


class FlatBatch(Best):
    def solve(self, theta: Tensor) -> Tensor:
        return super().solve(theta).reshape(-1, self.size)


class Careless(Best):
    def solve(self, theta: Tensor) -> Tensor:
        return self.argmax(theta)


class Forgets(Best):
    def config(self) -> dict[str, Any]:
        return {"n": self.size}


class Drifts(Best):
    """Another decision at each call."""

    calls = 0

    def argmax(self, gains: Tensor) -> Tensor:
        self.calls += 1
        return super().argmax(gains).roll(self.calls, -1)


class Crooked(Best):
    """Not linear, though it says so."""

    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        return (self.gain(theta) * x.square()).sum(-1)


class Rounds(Best):
    """Loses small parameters."""

    def argmax(self, gains: Tensor) -> Tensor:
        return super().argmax(gains.round(decimals=1))


class Positive(Best):
    """Leaves out what does not pay, though `k` must be chosen."""

    def argmax(self, gains: Tensor) -> Tensor:
        return super().argmax(gains) * (gains > 0)


class Detached(Best):
    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        return super().objective(x.detach(), theta)


class Attached(Best):
    def solve(self, theta: Tensor) -> Tensor:
        return super().solve(theta) + 0 * theta


class PerInstance(Best):
    """A number of items for each instance."""

    def __init__(self, counts: Tensor) -> None:
        super().__init__()
        self.counts, self.batch_shape = counts, counts.shape

    def argmax(self, gains: Tensor) -> Tensor:
        rank = gains.detach().argsort(-1, descending=True).argsort(-1)
        return (rank < self.counts[:, None]).to(gains)

    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        excesses = {"A_eq": (x.sum(-1) - self.counts).abs().unsqueeze(-1), "lower": -x, "upper": x - 1}
        return inspect(excesses, tol, x.shape[:-1], lambda kind, index: "")

    def select(self, index: Tensor) -> PerInstance:
        return PerInstance(self.counts[index])

    def config(self) -> dict[str, Any]:
        return {"counts": self.counts}


class WrongSelect(PerInstance):
    def select(self, index: Tensor) -> PerInstance:
        return WrongSelect(self.counts[: len(index)])


class Misnamed(Best):
    names = ("one", "two")


class KeepsSingle(Best):
    def flatten(self, theta: Any) -> tuple[Tensor, torch.Size]:
        flat, batch = super().flatten(theta)
        return flat.to(theta.dtype), batch


class Shallow(Best):
    """Forgets its `k` when it is copied."""

    def __deepcopy__(self, memo: Any) -> Best:
        return Best(self.size, 1)


class Locked(Best):
    """Holds what cannot be pickled."""

    def __init__(self, n: int = 6, k: int = 2) -> None:
        super().__init__(n, k)
        self.lock = threading.Lock()

    def __deepcopy__(self, memo: Any) -> Locked:
        return Locked(self.size, self.k)


class Stateless(Best):
    """Its own `__getstate__` is wrong, which is no reason to excuse it."""

    def __getstate__(self) -> dict[str, Any]:
        return {"lost": self.lost}  # type: ignore[attr-defined]

    def __deepcopy__(self, memo: Any) -> Stateless:
        return Stateless(self.size, self.k)

    def __copy__(self) -> Stateless:
        return Stateless(self.size, self.k)


class Moves(Best):
    def to(self, device: torch.device | str) -> Moves:
        return Moves(self.size, self.k)


class AtMost(foresolve.LinearProgram):
    """At most `k` of `n` items."""

    def __init__(self, n: int = 5, k: int = 2, names: Any = None) -> None:
        self.items, self.k = n, k
        super().__init__(np.ones((1, n)), [float(k)], bounds=(0, 1), names=names)

    def config(self) -> dict[str, Any]:
        return {"n": self.items, "k": self.k, "names": self.names}

    @classmethod
    def from_config(cls, config: Any) -> AtMost:
        return cls(**config)


class TakesAll(AtMost):
    """By an algorithm of its own that always takes `k`, whether it pays or not."""

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        return torch.zeros_like(gains).scatter(-1, gains.topk(self.k, -1).indices, 1.0)


class Blind(AtMost):
    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        return inspect({"lower": 0 * x}, tol, x.shape[:-1], lambda kind, index: "")


class Modest(AtMost):
    @property
    def traits(self) -> frozenset[str]:
        return super().traits - {"exact"}


class Nameless(AtMost):
    def __init__(self, n: int = 5, k: int = 2, names: Any = None) -> None:
        super().__init__(n, k)


def draw(n: int) -> Tensor:
    return torch.randn(9, n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


FEASIBLE, BEST, LOOP = "decisions are feasible", "no other decision is better", "a batch equals a loop"
SIGN, SIGNS = "a linear objective is gain'x + constant", "argmax takes gains of any sign"


@pytest.mark.parametrize("problem", [Best(), Best(4, 4), Best(1, 1), PerInstance(torch.tensor([1, 3, 2]))])
def test_a_sound_problem_passes(problem: Best) -> None:
    report = check_problem(problem)
    assert report
    assert report[FEASIBLE].verdict == "passed"
    assert report[BEST].verdict == "passed"


def test_a_class_is_made_first() -> None:
    assert check_problem(Best)


BROKEN = [
    (TurnedGain, SIGN, "the gain for sense='max'"),
    (OneTooMany, FEASIBLE, "A_eq row 0 is broken by 1"),
    (SecondBest, BEST, "`check` accepts a decision with the objective"),
    (Crowd, LOOP, "the value of instance 0 in a batch"),
    (Writes, "arguments are not written into", "`theta` was written into"),
    (Seeds, "global state is left alone", "it changes torch's global generator"),
    (Double, "the dtype is the caller's", "decisions are torch.float64 where theta is torch.float32"),
    (FlatBatch, "shapes are (*batch, n)", "decisions of a batch () have the shape (1, 6) instead of (6,)"),
    (Careless, "wrong theta is refused", "theta of the shape (2, 7) is taken without a word"),
    (Forgets, "`from_config(config())` makes the same problem", "the decision of what came back"),
    (Drifts, "equal calls give equal decisions", "the decision, asked for again"),
    (Crooked, SIGN, "gain'x + constant against the objective"),
    (Rounds, "scaling theta scales the value", "the value for 0.001 theta"),
    (Positive, SIGNS, "A_eq row 0 is broken"),
    (Detached, "the objective is differentiable", "no gradient reaches x"),
    (Attached, "the objective is differentiable", "attached to theta's graph"),
    (Misnamed, "theta is as the problem says", "`names` has 2 names for 6"),
    (KeepsSingle, "flatten gives one batch in float64", "torch.float32"),
    (Shallow, "copies decide alike", "the decision after copy.deepcopy"),
    (Locked, "a pickle decides alike", "cannot pickle"),
    (Stateless, "a pickle decides alike", "has no attribute 'lost'"),
    (Moves, "`to` gives itself where it is already", "made another problem"),
]


@pytest.mark.parametrize(("kind", "promise", "words"), BROKEN)
def test_a_broken_promise_is_named(kind: type[Best], promise: str, words: str) -> None:
    report = check_problem(kind(6, 3), draw(6), seed=1, raise_errors=False)
    assert report[promise].failed, str(report)
    assert words in report[promise].detail
    assert report[promise].remedy
    assert f"failed, {promise}: " in str(report)


PROGRAMS = [
    ("the value is that of its rows and bounds", TakesAll, "the value: "),
    ("`check` names what is broken", Blind, "instance 1 is far outside"),
    ("it offers rows, a linear objective and an exact oracle", Modest, "`traits` lacks {'exact'}"),
    ("variables are called by their names", Nameless, "`names` became"),
]


@pytest.mark.parametrize(("promise", "kind", "words"), PROGRAMS)
def test_a_broken_promise_of_programs_is_named(promise: str, kind: type[AtMost], words: str) -> None:
    report = check_problem(kind(), draw(5), raise_errors=False)
    assert report[promise].failed, str(report)
    assert words in report[promise].detail
    assert report[promise].remedy


def test_every_promise_is_seen_to_be_broken() -> None:
    broken = {promise for _, promise, _ in BROKEN} | {promise for promise, _, _ in PROGRAMS}
    kept = {promise.words for promise in ProgramSuite.promises()} - broken
    assert kept == {
        "devices agree",
        "the value is that of the reference",  # below
        "`select` takes instances with all that is theirs",
    }


def test_instances_that_get_the_data_of_others_are_caught() -> None:
    counts = torch.tensor([1, 3, 2, 4])
    report = check_problem(WrongSelect(counts), raise_errors=False)
    assert report["`select` takes instances with all that is theirs"].failed
    assert report[LOOP].failed


def test_a_reference_is_compared() -> None:
    def best(theta: Tensor) -> float:
        return float(theta.sort().values[-2:].sum())

    assert check_problem(Best(), best=best)["the value is that of the reference"].verdict == "passed"
    with pytest.raises(ConformanceError) as caught:
        check_problem(Best(), best=lambda theta: best(theta) + 1)
    assert [finding.promise for finding in caught.value.report.failures] == ["the value is that of the reference"]


def test_a_heuristic_need_not_be_best() -> None:
    class Heuristic(SecondBest):
        exact = False

    assert check_problem(Heuristic())[BEST].verdict == "not applicable"


def test_a_black_box_is_compared_with_its_own_decisions_alone() -> None:
    def largest(theta: np.ndarray) -> np.ndarray:
        return np.eye(len(theta))[theta.argmax()]

    def smallest(theta: np.ndarray) -> np.ndarray:
        return np.eye(len(theta))[theta.argmin()]

    report = check_problem(OracleProblem(largest, n=5))
    assert report["a pickle decides alike"].verdict == "not applicable"  # its oracle is defined inside of a function
    with pytest.raises(ConformanceError) as caught:
        check_problem(OracleProblem(smallest, n=5))
    assert caught.value.report["no other decision is better"].failed


def test_an_own_algorithm_is_held_to_the_rows() -> None:
    assert check_problem(AtMost(), draw(5))
    assert check_problem(TakesAll(), draw(5), raise_errors=False)[BEST].failed
    assert check_problem(TakesAll(), draw(5).abs(), any_gains=False)


def test_what_it_refuses() -> None:
    with mistake("problem", "int"):
        check_problem(3)  # type: ignore[arg-type]
    with mistake("theta", "batch ()"):
        check_problem(Best(), torch.zeros(6))
    coverage = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
    with mistake("theta", "(3, None)"):
        check_problem(coverage)
