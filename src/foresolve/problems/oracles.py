"""From the solvers that users have to functions from parameters to a decision."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from types import SimpleNamespace
from typing import Any

import numpy as np
from torch import Tensor

from foresolve._base import checks, signatures
from foresolve.problems.base import Sense

# How far, as a share, what an oracle reports may be from what its decision is worth: solvers stop at such gaps.
REPORTED = 1e-3
# Of how many instances of the first batch the decisions are compared.
COMPARED = 8
# PyEPO's `modelSense`, and what others write there.
SENSES: dict[Any, Sense] = {1: "min", -1: "max", "min": "min", "max": "max"}


class BadDecision(Exception):
    """What the oracle gave is not a decision; the message completes "the oracle failed for instance 3: it ..."."""


class FirstTime:
    """True when first asked, False from then on; shared by copies of its owner.

    It is no part of the owner's state: the fingerprint and the pickle of a problem are the same before and after.
    """

    _due = True

    def __call__(self) -> bool:
        due, self._due = self._due, False
        return due

    def __getstate__(self) -> dict[str, Any]:
        return {}


@dataclass(frozen=True)
class Answer:
    """A decision `(n,)`, or several `(B, n)`, and the value that the oracle reports beside it, if it does."""

    decision: Any
    value: Any = None


@dataclass(frozen=True)
class Oracle:
    """A solver as a function of `theta`: called, by its method `solve`, or as a PyEPO-like model.

    Attributes
    ----------
    solver: what the user has.
    kind: "function", "method" or "model".
    """

    solver: Any
    kind: str

    def __call__(self, theta: np.ndarray) -> Any:
        """What the solver gives for `theta`; it may change what it is given, and reuse the memory of what it gives."""
        return owned(self._asked(theta.copy()))

    def _asked(self, theta: np.ndarray) -> Any:
        if self.kind == "model":
            self.solver.setObj(theta)
            return self.solver.solve()
        return self.solver.solve(theta) if self.kind == "method" else self.solver(theta)

    @property
    def name(self) -> str:
        """For people."""
        return getattr(self.solver, "__qualname__", type(self.solver).__name__)

    @property
    def sense(self) -> Sense | None:
        """What a PyEPO-like model says of itself."""
        stated = getattr(self.solver, "modelSense", None) if self.kind == "model" else None
        if stated is None:
            return None
        for known, sense in SENSES.items():
            if stated == known:
                return sense
        got = f"{self.name}, whose `modelSense` is {stated!r}"
        raise checks.fail("solve", "a model whose `modelSense` is 1 (min) or -1 (max)", got)

    def sense_or(self, given: Any) -> Sense:
        """The sense that the user gave, the model states, or "max"."""
        if given not in ("max", "min", None):
            raise checks.fail("sense", '"max" or "min"', repr(given))
        if given is not None and self.sense is not None and given != self.sense:
            raise checks.fail("sense", f"{self.sense!r}, as `modelSense` of {self.name} says", repr(given))
        return given or self.sense or "max"

    @property
    def size(self) -> int | None:
        """The number of costs that a PyEPO-like model says it has."""
        count = getattr(self.solver, "num_cost", None) if self.kind == "model" else None
        return None if count is None else int(count)

    @classmethod
    def of(cls, solver: Any) -> Oracle:
        """Whatever can turn parameters into a decision."""
        expected = "a function of `theta`, an object with `solve(theta)`, or one with `setObj(c)` and `solve()`"
        if inspect.isclass(solver):
            name = solver.__name__
            raise checks.fail("solve", expected, f"the class {name}", f"Did you mean an object of it, `{name}(...)`?")
        method, setter = getattr(solver, "solve", None), getattr(solver, "setObj", None)
        if callable(method) and callable(setter):
            return cls(solver, "model")
        if callable(solver):
            return cls(solver, "function")
        if not callable(method):
            raise checks.fail("solve", expected, type(solver).__name__)
        if not signatures.accepts(method, None):
            remedy = "Wrap it: a function that hands `theta` over and then calls `solve()`"
            got = f"{type(solver).__name__}, whose `solve()` takes none"
            raise checks.fail("solve", expected, got, remedy)
        return cls(solver, "method")


def attempt(oracle: Callable[[np.ndarray], Any], theta: np.ndarray) -> Any:
    """What the oracle gives, or the exception it raises."""
    try:
        return oracle(theta)
    except Exception as error:
        return error


def owned(given: Any) -> Any:
    """What a solver gave, in memory of its own; tuples become lists."""
    if isinstance(given, Tensor):
        return given.detach().cpu().numpy().copy()
    if isinstance(given, np.ndarray):
        return given.copy()
    if isinstance(given, tuple | list):
        return [owned(part) for part in given]
    if _is_result(given):
        said = {name: getattr(given, name, None) for name in ("success", "message", "fun")}
        return SimpleNamespace(x=owned(given.x), **said)
    return given


def _is_result(given: Any) -> bool:
    """Whether it is SciPy's `OptimizeResult`, or alike."""
    return hasattr(given, "success") and hasattr(given, "x")


def unpacked(given: Any) -> Answer:
    """The decision in what an oracle gave: itself, `(decision, value)`, or SciPy's `OptimizeResult`."""
    if _is_result(given):
        if not given.success or given.x is None:
            raise BadDecision(f"it did not succeed ({getattr(given, 'message', None) or 'no message'})")
        return Answer(given.x, getattr(given, "fun", None))
    if _is_pair(given, 1) and (given[1] is None or np.size(given[1]) == 1):
        return Answer(*given)
    return Answer(given)


def _is_pair(given: Any, depth: int) -> bool:
    """Whether it is a decision of that many dimensions and numbers beside it, or `None` in their place."""
    if not isinstance(given, tuple | list) or len(given) != 2 or _depth(given[0]) != depth:
        return False
    return given[1] is None or _depth(given[1]) is not None


def as_answer(outcome: Any) -> Any:
    """An `Answer`, or the exception in its place."""
    if isinstance(outcome, Exception):
        return outcome
    try:
        return unpacked(outcome)
    except BadDecision as error:
        return error


def _depth(part: Any) -> int | None:
    """The number of dimensions of numbers; `None` for what holds none."""
    try:
        array = np.asarray(part)
    except (TypeError, ValueError):
        return None
    return array.ndim if array.dtype.kind in "biuf" else None


def as_decision(value: Any, width: int | None) -> np.ndarray:
    """One decision as `(n,)` finite numbers."""
    if value is None:
        raise BadDecision("it gave None instead of a decision")
    try:
        row = np.asarray(value, dtype=np.float64)
    except (TypeError, ValueError) as error:
        raise BadDecision(f"it gave {_kind(value)} instead of an array of numbers, or `(decision, value)`") from error
    if row.ndim != 1 or (width is not None and len(row) != width):
        expected = "(n,)" if width is None else f"({width},)"
        raise BadDecision(f"a decision must be {expected}; it gave {row.shape}")
    if not np.isfinite(row).all():
        raise BadDecision(f"it gave {row[~np.isfinite(row)][0]} at {int(np.flatnonzero(~np.isfinite(row))[0])}")
    return row


def _kind(value: Any) -> str:
    """What it is, in a message; of a few things side by side, what each is."""
    if isinstance(value, tuple | list) and 1 < len(value) <= 4:
        return f"({', '.join(type(part).__name__ for part in value)})"
    return type(value).__name__


def as_rows(given: Any, count: int) -> list[Any]:
    """What a batched oracle gave, instance by instance; with the values beside, if it reports them."""
    rows, values = given if _is_pair(given, 2) else (given, None)
    parts = {"decision": rows} | ({} if values is None else {"value": np.ravel(values)})
    for what, part in parts.items():
        length = len(part) if hasattr(part, "__len__") else None
        if length != count:
            size = type(part).__name__ if length is None else f"{length} of them"
            reason = f"a batched oracle must give a {what} for each of the {count} instances; it gave {size}"
            return [BadDecision(reason) for _ in range(count)]
    return list(rows) if values is None else list(zip(rows, parts["value"], strict=True))


def as_row(outcome: Any) -> Any:
    """The decision in a batch of one."""
    return outcome if isinstance(outcome, Exception) else as_rows(outcome, 1)[0]


def doubts(seen: np.ndarray, x: np.ndarray, reported: Any, constant: float, sense: Sense, exact: bool) -> Iterator[str]:
    """What in the first decisions `x` `(B, n)` for coefficients `seen` speaks against a linear objective or its sense.

    `reported` is the value that the oracle gives for the first; it may hold the `constant` of the objective, or not. A
    wrong sense shows without it: over one feasible set the best decision of an instance is at least as good for it as
    that of any other, and the worst is not.
    """
    worth = float(seen[0] @ x[0])
    value = worth if reported is None or _depth(reported) is None else float(np.ravel(reported)[0])
    if all(abs(value - known) > REPORTED * max(abs(value), abs(known), 1e-9) for known in (worth, worth + constant)):
        yield (
            f"the oracle reports the value {value:g} for a decision of which theta'x is {worth:g}: its objective has "
            "another sign, or terms that theta'x lacks (`parametrized(coefficients, constant=...)` states them)"
        )
    some, made = seen[:COMPARED], x[:COMPARED]
    gains = (some if sense == "max" else -some) @ made.T
    margin = REPORTED * np.abs(gains).max()
    if exact and len(some) > 1 and (gains.max(1) > np.diag(gains) + margin).all():
        other = "min" if sense == "max" else "max"
        yield (
            f"each of the first {len(some)} instances would be better off with the decision of another: is the sense "
            f"{other!r} instead of {sense!r}? Pass sense={other!r}, or exact=False for a heuristic"
        )
