r"""Set functions and their multilinear extensions.

The multilinear extension of `f` at `x` in `[0, 1]^n` is the mean of `f(S)` over random sets that hold item `i` with
probability `x_i`, independently:

    F(x) = E f(S) = sum_S f(S) prod_{i in S} x_i prod_{i not in S} (1 - x_i).

It is linear in each coordinate, so `d F / d x_i = F(x | x_i = 1) - F(x | x_i = 0)` and the Hessian has a zero diagonal.
"""

from __future__ import annotations

import copy
import math
from abc import ABC, abstractmethod
from collections.abc import Callable
from typing import Any, Self

import torch
from torch import Tensor
from torch.autograd.function import once_differentiable

from foresolve._base import checks
from foresolve.errors import ForesolveError


class Local(ABC):
    """`F(., theta)` to second order around a flat batch of points `x` `(B, n)`: what solvers and layers ask for.

    Parameters have the shape `(B or 1, *shape)`; numbers are float64; nothing here is attached to a graph.
    """

    value: Tensor
    gradient: Tensor

    @abstractmethod
    def hessian(self, index: Tensor) -> Tensor:
        """`(B, f, f)`: the Hessian among the items `index` `(B, f)` of each instance."""

    @abstractmethod
    def product(self, v: Tensor) -> Tensor:
        """`(B, n)`: the Hessian times `v` `(B, n)`."""

    @abstractmethod
    def cross(self, v: Tensor) -> Tensor:
        """`(B, *shape)`: the derivative of `v' grad_x F` in `theta`."""

    def put_cross(self, v: Tensor, out: Tensor) -> Tensor:
        """`cross(v)`, written into zeros."""
        return out.copy_(self.cross(v))

    @abstractmethod
    def slope(self) -> Tensor:
        """`(B, *shape)`: the derivative of `F` in `theta`."""

    def merge(self, which: Tensor, other: Any) -> Local | None:
        """This one where `which` `(B,)` holds, `other` elsewhere; nothing where the parts cannot be mixed."""
        return None


class SetFunction(ABC):
    r"""A monotone submodular function of sets of `n` items, with parameters `theta` `(*batch, *shape)`.

    Subclass it and give `value`: this is all that greedy choices, layers and rounding need. Call `super().__init__`
    only to choose how the extension is estimated. There are three ways to have the extension:

    - nothing more: it is the mean over `samples` random sets, `S_s = {i : u_si < x_i}`, and its derivatives are the
      means of differences, `dF/dx_i = E[f(S + i) - f(S - i)]`, unbiased and, at 0/1 points `x`, exact for `F`;
    - override `multilinear` with a formula in torch: derivatives then come from autograd, exactly;
    - derive from `ClosedForm` and give `local`, with every derivative by hand: the fastest.

    **Randomness.** The `u_si` come from a fresh generator at each call, seeded with the function's `seed`: equal calls
    give equal numbers, all instances and all points share the draws (so differences between them are less noisy than
    the values), and no global state is touched. `with_seed` gives the same function with other draws.

    Parameters
    ----------
    samples: random sets per estimate; the error falls as `1 / sqrt(samples)`.
    generator: where the seed is drawn from; the seed is 0 where there is none.

    Attributes
    ----------
    theta_dims: how many trailing dimensions of `theta` belong to one instance.
    theta_bounds: between which each parameter must lie.
    batch_shape: `()` unless the function holds data of its own for each instance.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import SetFunction
    >>> class Diminishing(SetFunction):
    ...     def value(self, mask, theta):
    ...         return (mask * theta).sum(-1).sqrt()
    >>> f, x, theta = Diminishing(samples=4000), torch.tensor([0.5, 0.5]), torch.tensor([1.0, 4.0])
    >>> f.value(torch.tensor([1.0, 1.0]), theta)
    tensor(2.2361)
    >>> bool((f.multilinear(x, theta) - (1 + 2 + 5**0.5) / 4).abs() < 0.1)
    True
    """

    theta_dims: int = 1
    theta_bounds: tuple[float, float] = (-math.inf, math.inf)
    samples: int = 128
    seed: int = 0

    def __init__(self, samples: int = 128, generator: torch.Generator | None = None) -> None:
        self.samples = checks.positive_int("samples", samples)
        if generator is not None:
            self.seed = int(torch.randint(2**62, (), generator=generator, device=generator.device))

    @abstractmethod
    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        """`f(S)` `(*batch,)` for sets given as 0/1 `(*batch, n)`.

        The batch shapes of `mask` and `theta` broadcast; what foresolve's estimates pass has equal ones, `theta` as a
        view that is never copied, and the mask in the dtype of `theta`. For gradients in `theta`, compute it with
        operations that torch differentiates.
        """

    @property
    def batch_shape(self) -> torch.Size:
        """`()` unless the function holds data of its own for each instance."""
        return torch.Size()

    def select(self, index: int | slice | Tensor, batch: torch.Size) -> SetFunction:
        """The function of some instances of a flattened batch; itself where it holds no data for each instance."""
        return self

    @property
    def sampled(self) -> bool:
        """Whether `F` is estimated at random sets: then, with fixed draws, `multilinear` is a step function of `x`, and
        its derivatives agree with it only on average; a solver should take averaged steps with fresh draws."""
        kind = type(self)
        return kind.multilinear is SetFunction.multilinear and kind.local is SetFunction.local

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        """`F(x, theta)` `(*batch,)`, differentiable twice in `x`, once in `theta`, and once in each."""
        x, flat, parameters, batch = _flatten(self, x, theta)
        return _Value.apply(flat, parameters, self).to(x.dtype).reshape(batch)  # type: ignore[union-attr]

    def local(self, x: Tensor, theta: Tensor) -> Local:
        """The extension around `x` `(B, n)`, for parameters `(B or 1, *shape)`, both float64."""
        from foresolve.sets.functions.sampled import AutogradLocal, SampledLocal

        return SampledLocal(self, x, theta) if self.sampled else AutogradLocal(self, x, theta)

    def with_seed(self, seed: int) -> Self:
        """The same function with other random draws; itself where it draws none."""
        if not self.sampled:
            return self
        twin = copy.copy(self)
        twin.seed = checks.positive_int("seed", seed, zero=True)
        return twin

    def check_theta(self, theta: Any, n: int) -> Tensor:
        """`theta` as a floating tensor, or an error that says why it does not suit `n` items."""
        theta = checks.as_tensor("theta", theta)
        if theta.ndim < self.theta_dims:
            raise checks.fail("theta", f"a batch of {self.theta_dims}-dimensional arrays", str(tuple(theta.shape)))
        checks.finite("theta", theta)
        return theta

    def to(self, device: torch.device | str) -> SetFunction:
        """The same function on another device."""
        return self

    def gradient(self, x: Tensor, theta: Tensor) -> Tensor:
        """`grad_x F` `(*batch, n)`, differentiable once more in both."""
        x, flat, parameters, batch = _flatten(self, x, theta)
        return _Gradient.apply(flat, parameters, self).to(x.dtype).reshape(*batch, flat.shape[-1])  # type: ignore[union-attr]

    def hessian_product(self, x: Tensor, theta: Tensor, v: Tensor) -> Tensor:
        """The Hessian of `F` in `x` times `v`, `(*batch, n)`."""
        x, flat, parameters, batch = _flatten(self, x, theta)
        found = self.local(flat.detach(), parameters.detach()).product(v.double().expand(*batch, -1).reshape_as(flat))
        return found.to(x.dtype).reshape(*batch, flat.shape[-1])

    def cross_product(self, x: Tensor, theta: Tensor, v: Tensor) -> Tensor:
        """The derivative of `v' grad_x F` in `theta`, `(*batch, *shape)`; the tensor of all of them is never built."""
        x, flat, parameters, batch = _flatten(self, x, theta)
        found = self.local(flat.detach(), parameters.detach()).cross(v.double().expand(*batch, -1).reshape_as(flat))
        return found.to(theta.dtype).reshape(*batch, *found.shape[1:])

    def of(self, select: Callable[[Tensor], Tensor], theta_dims: int | None = None) -> SetFunction:
        """The function `S -> f(S, select(theta))`; see `foresolve.sets.functions.sums.Selected`."""
        from foresolve.sets.functions.sums import Selected

        return Selected(self, select, theta_dims)

    def __add__(self, other: Any) -> SetFunction:
        from foresolve.sets.functions.sums import WeightedSum

        return WeightedSum([self, other]) if isinstance(other, SetFunction) else NotImplemented

    def __mul__(self, weight: Any) -> SetFunction:
        from foresolve.sets.functions.sums import WeightedSum

        return NotImplemented if isinstance(weight, SetFunction) else WeightedSum([self], [weight])

    __rmul__ = __mul__


class ClosedForm(SetFunction):
    """A set function whose extension has a formula; subclasses give `value` and `local`."""


def _flatten(function: SetFunction, x: Tensor, theta: Tensor) -> tuple[Tensor, Tensor, Tensor, torch.Size]:
    """`x` as given and flat, `theta` flat (one row where all instances share it), and the batch shape."""
    x = checks.as_tensor("x", x)
    theta = function.check_theta(theta, x.shape[-1])
    cut = theta.ndim - function.theta_dims
    batch = checks.broadcast_batch({"`x`": x.shape[:-1], "`theta`": theta.shape[:cut]})
    flat = x.double().expand(*batch, -1).reshape(-1, x.shape[-1])
    parameters = theta.double()
    if cut == 0 or theta.shape[:cut].numel() == 1:
        parameters = parameters.reshape(1, *theta.shape[cut:])
    else:
        parameters = parameters.expand(*batch, *theta.shape[cut:]).reshape(-1, *theta.shape[cut:])
    return x, flat, parameters, batch


def _fit(gradient: Tensor, like: Tensor) -> Tensor:
    """Summed over the batch where the parameters are shared by it."""
    return gradient if gradient.shape[0] == like.shape[0] else gradient.sum(0, keepdim=True)


def _rows(g: Tensor, array: Tensor) -> Tensor:
    """Each instance's array times its number."""
    return g.reshape(-1, *[1] * (array.ndim - 1)) * array


class _Value(torch.autograd.Function):
    """`F` with its first derivatives; those of `x` can be differentiated again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, theta: Tensor, function: SetFunction) -> Tensor:
        ctx.function, ctx.local = function, function.local(x, theta)
        ctx.save_for_backward(x, theta)
        return ctx.local.value.clone()  # the node must not hold its own output: such a circle is freed late

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        x, theta = ctx.saved_tensors
        by_x = by_theta = None
        if torch.is_grad_enabled() and (x.requires_grad or theta.requires_grad):  # create_graph
            if ctx.needs_input_grad[0]:
                by_x = g[:, None] * _Gradient.apply(x, theta, ctx.function)
            if ctx.needs_input_grad[1]:
                by_theta = _fit(_Slope.apply(g, x, theta, ctx.function), theta)
            return by_x, by_theta, None
        if ctx.needs_input_grad[0]:
            by_x = g[:, None] * ctx.local.gradient
        if ctx.needs_input_grad[1]:
            by_theta = _fit(_rows(g, ctx.local.slope()), theta)
        return by_x, by_theta, None


class _Slope(torch.autograd.Function):
    """`g dF/dtheta`, the end of the line: `x` can be differentiated twice, `theta` once."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, x: Tensor, theta: Tensor, function: SetFunction) -> Tensor:
        return _rows(g, function.local(x, theta).slope())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        raise ForesolveError(
            "a second derivative through d/dtheta of a set function is not offered; x alone can be differentiated "
            "twice. Detach theta, or drop create_graph=True"
        )


class _Gradient(torch.autograd.Function):
    """`grad_x F`: its derivatives are the Hessian product and the cross derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, theta: Tensor, function: SetFunction) -> Tensor:
        ctx.local = function.local(x, theta)
        ctx.save_for_backward(theta)
        return ctx.local.gradient.clone()

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        (v,) = grads
        (theta,) = ctx.saved_tensors
        by_x = ctx.local.product(v) if ctx.needs_input_grad[0] else None
        by_theta = _fit(ctx.local.cross(v), theta) if ctx.needs_input_grad[1] else None
        return by_x, by_theta, None
