"""`torch.autograd.Function`: `apply`, which torch leaves without types, and a backward pass under `vmap`."""

from __future__ import annotations

import functools
from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor
from torch.autograd import Function
from torch.autograd.function import once_differentiable

from foresolve._base import functorch
from foresolve.errors import ForesolveError

Backward = Callable[..., Any]
Tensors = tuple[Tensor, ...]
Grads = Sequence[Tensor | None]


def apply(function: type[Function], *arguments: Any) -> Tensor:
    """`function.apply(*arguments)` of a function with one result.

    Example
    -------
    >>> import torch
    >>> class Double(torch.autograd.Function):
    ...     @staticmethod
    ...     def forward(ctx, x): return 2 * x
    ...     @staticmethod
    ...     def backward(ctx, g): return 2 * g
    >>> apply(Double, torch.tensor([1.0, 2.0]))
    tensor([2., 4.])
    """
    result: Any = function.apply(*arguments)
    return result


def sliceable(backward: Backward) -> Backward:
    """A `backward` on numbers that `vmap` may ask for many gradients at once: it answers one after the other.

    So does `torch.vmap` of `torch.autograd.grad`; `torch.autograd.functional.jacobian(vectorize=True)` and
    `torch.autograd.grad(is_grads_batched=True)` have an older `vmap` of their own, which knows no rules.
    """

    @functools.wraps(backward)
    def of_slices(ctx: Any, *grads: Tensor | None) -> Any:
        if any(g is not None and functorch.in_old_batch(g) for g in grads):
            return _per_old_slice(lambda *each: backward(ctx, *each), grads)
        return _per_slice(lambda *each: backward(ctx, *each), grads)

    return of_slices


NO_SECOND = (
    "the gradient of a layer, loss or set function was to be differentiated again, which it cannot be. "
    "QuadraticRelaxation, IdentityProjection and NegativeIdentity have second derivatives, and so has `DecisionLoss` "
    "with one of them; with others, leave `create_graph=True` out"
)


def first_order(backward: Backward) -> Backward:
    """A `backward` that is an error to differentiate again, with respect to what `ctx` has saved too.

    `once_differentiable` of torch cuts the graph there: `torch.autograd.grad` follows the other paths to a tensor, and
    gives a part of the derivative for the whole.
    """
    cut = once_differentiable(backward)

    @functools.wraps(backward)
    def once(ctx: Any, *grads: Tensor | None) -> Any:
        if not torch.is_grad_enabled() or functorch.active() or functorch.in_old_vmap():
            return cut(ctx, *grads)
        with torch.no_grad():
            results = backward(ctx, *grads)
        behind = [t for t in (*ctx.saved_tensors, *grads) if t is not None and t.requires_grad]
        form = _Form()
        tensors = _flat(results, form)
        return _shaped(_End.apply(len(tensors), *tensors, *behind) if behind else tensors, form)

    return once


class _End(Function):
    """Tensors that depend on those after them, in a way that nobody knows."""

    @staticmethod
    def forward(ctx: Any, count: int, *tensors: Tensor) -> Tensors:
        return tuple(tensor.detach() for tensor in tensors[:count])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise ForesolveError(NO_SECOND)


def held_fixed(*tensors: Tensor) -> Tensors:
    """The tensors, for a value whose gradient is right although decisions are held fixed in it, as an envelope's is.

    The gradient of the gradient is not: the decisions move. It is an error, in each of the tensors, where torch would
    take the decisions for constants.
    """
    moving = [tensor for tensor in tensors if tensor.requires_grad]
    if not moving or not torch.is_grad_enabled():
        return tensors
    through: Any = _Held.apply(*moving)
    remaining = iter(through)
    return tuple(next(remaining) if tensor.requires_grad else tensor for tensor in tensors)


class _Held(Function):
    """Tensors as they are; their gradients depend on all of them, in a way that nobody knows."""

    @staticmethod
    def forward(ctx: Any, *tensors: Tensor) -> Tensors:
        ctx.save_for_backward(*tensors)
        ctx.set_materialize_grads(False)
        return tuple(tensor.view_as(tensor) for tensor in tensors)

    @staticmethod
    def backward(ctx: Any, *grads: Tensor | None) -> Any:
        if not torch.is_grad_enabled():
            return grads
        return tuple(
            g if g is None else g + _Unknown.apply(t, *ctx.saved_tensors) for g, t in zip(grads, ctx.saved_tensors)
        )


class _Unknown(Function):
    """Zeros that depend on tensors in a way that nobody knows; what they are added to may be known otherwise."""

    generate_vmap_rule = True

    @staticmethod
    def forward(like: Tensor, *behind: Tensor) -> Tensor:
        return torch.zeros_like(like)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Nothing is kept: there is no derivative."""

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise ForesolveError(NO_SECOND)


def cut(node: Any) -> bool:
    """True for a node of the graph that passes nothing: `_End`, or the node of `once_differentiable`."""
    return type(node).__name__ in {f"{_End.__name__}Backward", "Error"}


def ended(node: Any) -> bool:
    """True for such a node, unless another one beside it may pass something."""
    return cut(node) or type(node).__name__ == f"{_Unknown.__name__}Backward"


def _per_slice(function: Backward, grads: Grads) -> Any:
    if not functorch.active():
        return function(*grads)
    form = _Form()
    return _shaped(_Slices.apply(function, form, *grads), form)


class _Form:
    """The form of a `backward`: whether it has one result, and which of them are there; a list would be copied."""

    single = True
    there: tuple[bool, ...] = ()


class _Slices(Function):
    """`function` of gradients; `form` is filled in."""

    @staticmethod
    def forward(function: Backward, form: _Form, *grads: Tensor | None) -> Tensors:
        return _flat(function(*grads), form)

    @staticmethod
    def setup_context(ctx: Any, inputs: tuple[Any, ...], output: Any) -> None:
        """Nothing is kept: there is no further derivative."""

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> Any:
        raise ForesolveError(
            "gradients that `vmap` has asked for at once cannot be differentiated again",
            remedy=(
                "Apply `torch.func` to the whole function, as in `torch.func.hessian(f)`, or ask for them one by one"
            ),
        )

    @staticmethod
    def vmap(  # type: ignore[override]
        info: Any, in_dims: tuple[Any, ...], function: Backward, form: _Form, *grads: Tensor | None
    ) -> tuple[Tensors, tuple[int, ...]]:
        parts = []
        for i in range(info.batch_size):
            each = tuple(g if g is None or dim is None else g.select(dim, i) for dim, g in zip(in_dims[2:], grads))
            parts.append(_flat(_per_slice(function, each), form))
        return stacked(parts), (0,) * len(parts[0])


def _per_old_slice(function: Backward, grads: Grads) -> Any:
    form = _Form()
    batched = [g is not None and functorch.in_old_batch(g) for g in grads]

    def work(whole: Callable[[Tensor], Tensor]) -> Tensors:
        columns = [whole(g) if many and g is not None else g for g, many in zip(grads, batched)]
        count = next(len(column) for column, many in zip(columns, batched) if many and column is not None)
        slices = (
            [column[i] if many and column is not None else column for column, many in zip(columns, batched)]
            for i in range(count)
        )
        return stacked([_flat(function(*each), form) for each in slices])

    return _shaped(functorch.outside_old_vmap(work), form)


def _flat(results: Any, form: _Form) -> Tensors:
    """The tensors among the results of a `backward`."""
    several = results if isinstance(results, tuple) else (results,)
    form.single, form.there = not isinstance(results, tuple), tuple(result is not None for result in several)
    return tuple(result for result in several if result is not None)


def _shaped(tensors: Any, form: _Form) -> Any:
    """The results again that the tensors were among."""
    remaining = iter(tensors)
    results = tuple(next(remaining) if there else None for there in form.there)
    return results[0] if form.single else results


def stacked(parts: Sequence[Tensors]) -> Tensors:
    """The slices of several tensors, as these."""
    return tuple(torch.stack(tensors) for tensors in zip(*parts))
