"""Set functions made of others: weighted sums, and functions of a part of the parameters.

A sum of monotone submodular functions with weights >= 0 is monotone and submodular, and its extension is the sum of
theirs.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.sets.functions.extension import Local
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.registry import describe, restore_function


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
    def batch_shape(self) -> torch.Size:
        """That of the terms together."""
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

    def local(self, x: Tensor, theta: Tensor) -> SumLocal:
        """The extension around `x` `(B, n)`, for parameters `(B or 1, *shape)`, both float64."""
        return SumLocal(self.weights, [term.local(x, theta) for term in self.terms])

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


class Selected(SetFunction):
    r"""`f(S, select(theta))`; what `f.of(select)` makes.

    Parameters
    ----------
    function: the function of `select(theta)`.
    select: any function that torch differentiates, from `(*batch, *shape)` to `(*batch, *inner)`, instance by instance,
        for any batch shape; a lambda keeps the function from being pickled. Or one that ignores `theta` and returns
        fixed data `(*inner)`.
    theta_dims: how many trailing dimensions of the outer `theta` belong to one instance; those of `function` where
        not given.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import FacilityLocation
    >>> near, far = (FacilityLocation().of(lambda t, k=k: t[..., k, :, :], theta_dims=3) for k in (0, 1))
    >>> (near + 0.5 * far).value(torch.tensor([1.0, 0.0]), torch.tensor([[[4.0], [9.0]], [[1.0], [2.0]]]))
    tensor(4.5000)
    """

    def __init__(
        self, function: SetFunction, select: Callable[[Tensor], Tensor], theta_dims: int | None = None
    ) -> None:
        if not callable(select):
            raise checks.fail("select", "a function of theta", type(select).__name__)
        self.function, self.select_from = function, select
        dims = function.theta_dims if theta_dims is None else theta_dims
        self.theta_dims = checks.positive_int("theta_dims", dims, zero=True)

    @property
    def sampled(self) -> bool:
        return self.function.sampled

    @property
    def batch_shape(self) -> torch.Size:
        """That of the function."""
        return self.function.batch_shape

    def select(self, index: int | slice | Tensor, batch: torch.Size) -> Selected:
        """With the function of some instances of a flattened batch."""
        return Selected(self.function.select(index, batch), self.select_from, self.theta_dims)

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        """`f(S)` `(*batch,)` for sets given as 0/1 `(*batch, n)`."""
        return self.function.value(mask, self.select_from(theta))

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        """`F(x, theta)` `(*batch,)`, as differentiable as the function."""
        return self.function.multilinear(x, self.select_from(theta))

    def local(self, x: Tensor, theta: Tensor) -> SelectedLocal:
        """The extension around `x` `(B, n)`, for parameters `(B or 1, *shape)`, both float64."""
        return SelectedLocal(self, x, theta)

    def with_seed(self, seed: int) -> Selected:
        """The same function with other random draws."""
        return Selected(self.function.with_seed(seed), self.select_from, self.theta_dims)

    def check_theta(self, theta: Any, n: int) -> Tensor:
        """`theta` as a floating tensor such that `select(theta)` suits `function`, or an error."""
        theta = super().check_theta(theta, n)
        try:
            self.function.check_theta(self.select_from(theta), n)
        except InvalidInputError as error:
            raise InvalidInputError(f"select(theta) does not suit {self.function!r}: {error}") from error
        return theta

    def to(self, device: torch.device | str) -> Selected:
        """The same function on another device; data that `select` holds stay where they are."""
        return Selected(self.function.to(device), self.select_from, self.theta_dims)

    def config(self) -> dict[str, Any]:
        """An error: a Python function cannot be kept in a file of numbers."""
        raise ForesolveError(
            f"{self!r} cannot be written to a file: its `select` is code. "
            "Select from `theta` in the model instead, or keep the code that makes the function"
        )

    def __repr__(self) -> str:
        return f"{self.function!r}.of({getattr(self.select_from, '__name__', type(self.select_from).__name__)})"


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


class SelectedLocal(Local):
    """The derivatives in `theta` are those of the function, pulled back through `select`."""

    def __init__(self, outer: Selected, x: Tensor, theta: Tensor, inner: Local | None = None) -> None:
        self.outer, self.x, self.theta = outer, x, theta
        self.inner = inner or outer.function.local(x, self._selected(theta.detach()).detach())

    def _selected(self, theta: Tensor) -> Tensor:
        selected = self.outer.select_from(theta).double()
        dims = self.outer.function.theta_dims
        if selected.ndim == dims:
            selected = selected.unsqueeze(0)  # data of its own
        if selected.ndim != dims + 1 or len(selected) not in (1, len(theta)):
            expected = f"a function to ({len(theta)}, ...) with {dims} dimensions for each instance"
            raise checks.fail("select", expected, f"one to {tuple(selected.shape)}", "It may not touch the batch")
        return selected

    @property
    def value(self) -> Tensor:  # type: ignore[override]
        return self.inner.value

    @property
    def gradient(self) -> Tensor:  # type: ignore[override]
        return self.inner.gradient

    def hessian(self, index: Tensor) -> Tensor:
        return self.inner.hessian(index)

    def product(self, v: Tensor) -> Tensor:
        return self.inner.product(v)

    def cross(self, v: Tensor) -> Tensor:
        return self._pull(lambda: self.inner.cross(v))

    def slope(self) -> Tensor:
        return self._pull(self.inner.slope)

    def _pull(self, gradient: Callable[[], Tensor]) -> Tensor:
        leaf = self.theta.detach().expand(len(self.x), *self.theta.shape[1:]).clone().requires_grad_()
        with torch.enable_grad():
            selected = self._selected(leaf)
        if not selected.requires_grad:
            return torch.zeros_like(leaf)
        (pulled,) = torch.autograd.grad(selected, leaf, gradient().sum_to_size(selected.shape), allow_unused=True)
        return torch.zeros_like(leaf) if pulled is None else pulled

    def merge(self, which: Tensor, fallback: SelectedLocal) -> SelectedLocal | None:
        inner = self.inner.merge(which, fallback.inner)
        return None if inner is None else SelectedLocal(self.outer, self.x, self.theta, inner)


def _weight(weight: Any) -> float:
    if isinstance(weight, str) or not hasattr(weight, "__float__"):
        raise checks.fail("weight", "a number >= 0", type(weight).__name__)
    number = float(weight)
    if not 0 <= number < math.inf:
        raise checks.fail("weight", "a finite number >= 0", str(number), "A negative term is not submodular")
    return number


def _total(weights: Sequence[float], parts: Sequence[Tensor]) -> Tensor:
    total = weights[0] * parts[0]
    for weight, part in zip(weights[1:], parts[1:]):
        total = total + weight * part
    return total
