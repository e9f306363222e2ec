"""Weighted sums of set functions.

A sum of monotone submodular functions with weights >= 0 is monotone and submodular, and its extension, its increments
and its cuts are the sums of theirs.
"""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import cached_property
from itertools import pairwise
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.sets.functions.extension import Local
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.functions.sparse import is_sparse
from foresolve.sets.registry import describe, restore_function
from foresolve.solvers.arrays import Array
from foresolve.solvers.submodular.cuts import Cut, Parts
from foresolve.solvers.submodular.increments import Increments


class WeightedSum(SetFunction):
    r"""`f(S, theta) = sum_k w_k f_k(S, theta)`; what `2.0 * f + g` makes.

    All terms see the same `theta`; `f.of(select)` makes a term that looks at a part of it, or at data of its own.
    `with_seed` gives all terms one seed: those that are estimated see the same random sets, just as if their sum was.

    Parameters
    ----------
    terms: set functions with the same `theta_dims`.
    weights: numbers >= 0, one for each; 1 where not given.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import FacilityLocation
    >>> f = 2.0 * FacilityLocation() + FacilityLocation().of(torch.sqrt)
    >>> f.value(torch.tensor([1.0, 0.0]), torch.tensor([[4.0], [9.0]]))
    tensor(10.)
    """

    def __init__(self, terms: Sequence[SetFunction], weights: Sequence[float] | None = None) -> None:
        factors = [1.0] * len(terms) if weights is None else list(weights)
        if len(terms) == 0 or len(factors) != len(terms):
            raise checks.fail(
                "weights", f"one number for each of the {len(terms)} terms (at least 1)", str(len(factors))
            )
        self.terms: list[SetFunction] = []
        self.weights: list[float] = []
        for term, weight in zip(terms, map(_weight, factors)):
            inner = (term.terms, term.weights) if isinstance(term, WeightedSum) else ([term], [1.0])
            self.terms += inner[0]
            self.weights += [weight * part for part in inner[1]]
        dims = sorted({term.theta_dims for term in self.terms})
        if len(dims) > 1:
            remedy = "Give a term the part it needs with `f.of(select, theta_dims)`"
            raise checks.fail("terms", "functions with the same theta_dims", str(dims), remedy)
        self.theta_dims = dims[0]
        lows, highs = zip(*(term.theta_bounds for term in self.terms))
        self.theta_bounds = (max(lows), min(highs))

    @property
    def sampled(self) -> bool:
        return any(term.sampled for term in self.terms)

    @property
    def parallel(self) -> bool:  # type: ignore[override]
        return all(term.parallel for term in self.terms)

    @property
    def batch_shape(self) -> torch.Size:
        """The batch shape of the terms together."""
        return checks.broadcast_batch({f"term {i}": term.batch_shape for i, term in enumerate(self.terms)})

    def select(self, index: int | slice | Tensor, batch: torch.Size) -> WeightedSum:
        """The sum of the terms of some instances of a flattened batch."""
        return WeightedSum([term.select(index, batch) for term in self.terms], self.weights)

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        """`f(S)` `(*batch,)` for sets given as 0/1 `(*batch, n)`."""
        return _total(self.weights, [term.value(mask, theta) for term in self.terms])

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        """`F(x, theta)` `(*batch,)`, as differentiable as the terms."""
        return _total(self.weights, [term.multilinear(x, theta) for term in self.terms])

    def extension(self, x: Tensor, theta: Tensor) -> Tensor:
        """The same, with derivatives that are checked."""
        return _total(self.weights, [term.extension(x, theta) for term in self.terms])

    def local(self, x: Tensor, theta: Tensor) -> SumLocal:
        """The extension around `x` `(B, n)`, for parameters `(B or 1, *shape)`, both float64."""
        return SumLocal(self.weights, [term.local(x, theta) for term in self.terms])

    def increments(self, theta: Tensor, n: int) -> Increments:
        """Increments of the terms side by side, for as many instances as all give; sparse if all allow it."""
        terms = self._increments(theta, n, len(theta))
        if len({isinstance(term.empty, Tensor) for term in terms}) > 1:
            return super().increments(theta, n)  # some live on a GPU, others do not
        return SumIncrements(self.weights, terms)

    def _increments(self, theta: Tensor, n: int, count: int) -> list[Increments]:
        """Increments of all terms, for the first `count` instances, or fewer where a term gives fewer at once."""
        if is_sparse(theta):
            return [term.increments(theta, n) for term in self.terms]
        instances = [term.select(slice(count), theta.shape[:1]) for term in self.terms]
        terms = [term.increments(theta[:count], n) for term in instances]
        least = min(term.count for term in terms)
        return terms if all(term.count == least for term in terms) else self._increments(theta, n, least)

    def cuts(self, theta: Tensor, n: int) -> Parts:
        """The parts of the terms side by side."""
        return SumParts(self.weights, [term.cuts(theta, n) for term in self.terms])

    def with_seed(self, seed: int) -> WeightedSum:
        """The same function with other random draws."""
        return WeightedSum([term.with_seed(seed) for term in self.terms], self.weights)

    def check_theta(self, theta: Any, n: int) -> Tensor:
        """`theta` as a floating tensor, or the error of the first term that it does not suit."""
        for term in self.terms:
            theta = term.check_theta(theta, n)
        return theta

    def to(self, device: torch.device | str) -> WeightedSum:
        """The same function on another device."""
        return WeightedSum([term.to(device) for term in self.terms], self.weights)

    def config(self) -> dict[str, Any]:
        """The terms, each as `describe` gives it, and their weights."""
        return {"terms": [describe(term) for term in self.terms], "weights": list(self.weights)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The sum of the terms that the configuration names."""
        return cls([restore_function(term) for term in config["terms"]], config["weights"])

    def __repr__(self) -> str:
        return " + ".join(f"{weight:g} * {term!r}" for weight, term in zip(self.weights, self.terms))


class SumLocal(Local):
    """Weighted sums of everything."""

    def __init__(self, weights: Sequence[float], terms: Sequence[Local]) -> None:
        self.weights, self.terms = weights, terms

    @cached_property
    def value(self) -> Tensor:  # type: ignore[override]
        return _total(self.weights, [term.value for term in self.terms])

    @cached_property
    def gradient(self) -> Tensor:  # type: ignore[override]
        return _total(self.weights, [term.gradient for term in self.terms])

    def hessian(self, index: Tensor) -> Tensor:
        return _total(self.weights, [term.hessian(index) for term in self.terms])

    def product(self, v: Tensor) -> Tensor:
        return _total(self.weights, [term.product(v) for term in self.terms])

    def cross(self, v: Tensor) -> Tensor:
        return _total(self.weights, [term.cross(v) for term in self.terms])

    def slope(self) -> Tensor:
        return _total(self.weights, [term.slope() for term in self.terms])

    def merge(self, which: Tensor, fallback: SumLocal) -> SumLocal | None:
        merged = [term.merge(which, substitute) for term, substitute in zip(self.terms, fallback.terms)]
        locals_ = [local for local in merged if local is not None]
        return SumLocal(self.weights, locals_) if len(locals_) == len(merged) else None


class SumIncrements(Increments):
    """Weighted sums of the gains of terms; the state of a set is the states of all terms in a row."""

    def __init__(self, weights: Sequence[float], terms: Sequence[Increments]) -> None:
        self.weights, self.terms = weights, terms
        self.count, self.n = terms[0].count, terms[0].n
        self.empty = _joined([term.empty for term in terms])
        self.cost = sum(term.cost for term in terms)
        self.favor = sum(term.cost * term.favor for term in terms) / max(self.cost, 1.0)
        ends = np.cumsum([term.empty.shape[-1] for term in terms]).tolist()
        self._columns = [slice(start, end) for start, end in pairwise([0, *ends])]

    def _split(self, states: Array) -> list[tuple[Increments, Array]]:
        """Each term with its states."""
        return [(term, states[:, columns]) for term, columns in zip(self.terms, self._columns)]

    def gains(self, states: Array) -> Array:
        return _total(self.weights, [term.gains(part) for term, part in self._split(states)])

    def batch_gains(self, states: Array) -> Array:
        return _total(self.weights, [term.batch_gains(part) for term, part in self._split(states)])

    def grown(self, states: Array, items: Array) -> Array:
        return _joined([term.grown(part, items) for term, part in self._split(states)])

    def picked(self, states: np.ndarray, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        gains = [
            term.picked(part, instances, items) if term.favor else term.batch_gains(part)[instances, items]
            for term, part in self._split(states)
        ]
        return _total(self.weights, gains)


class SumParts(Parts):
    """The parts of all terms, one after the other, times the weights of the terms."""

    def __init__(self, weights: Sequence[float], terms: Sequence[Parts]) -> None:
        self.weights, self.terms = weights, terms
        self.count, self.n = sum(term.count for term in terms), terms[0].n

    def values(self, mask: np.ndarray) -> np.ndarray:
        return np.concatenate([weight * term.values(mask) for weight, term in zip(self.weights, self.terms)])

    def at_set(self, mask: np.ndarray) -> list[Cut]:
        return self._stacked([term.at_set(mask) for term in self.terms])

    def at_point(self, x: np.ndarray) -> list[Cut]:
        return self._stacked([term.at_point(x) for term in self.terms])

    def _stacked(self, cuts: Sequence[Sequence[Cut]]) -> list[Cut]:
        """The first bounds of all terms, then the second, and so on; a term that has no more has no bound there."""
        stacked = []
        for k in range(max(map(len, cuts))):
            constants, slopes = [], []
            for weight, term, bounds in zip(self.weights, self.terms, cuts):
                missing = np.full(term.count, np.inf), np.zeros((term.count, self.n))
                constant, slope = (weight * part for part in bounds[k]) if k < len(bounds) else missing
                constants.append(constant)
                slopes.append(slope)
            stacked.append((np.concatenate(constants), np.concatenate(slopes)))
        return stacked


def _weight(weight: Any) -> float:
    if isinstance(weight, str) or not hasattr(weight, "__float__"):
        raise checks.fail("weight", "a number >= 0", type(weight).__name__)
    number = float(weight)
    if not 0 <= number < math.inf:
        raise checks.fail("weight", "a finite number >= 0", str(number), "A negative term is not submodular")
    return number


def _joined(states: Sequence[Array]) -> Array:
    """States `(N, m)` of several terms in a row."""
    if len(states) == 1:
        return states[0]
    return torch.cat(list(states), 1) if isinstance(states[0], Tensor) else np.concatenate(states, 1)


def _total(weights: Sequence[float], parts: Sequence[Array]) -> Array:
    total = weights[0] * parts[0]
    for weight, part in zip(weights[1:], parts[1:]):
        total = total + weight * part
    return total
