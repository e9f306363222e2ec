r"""The multilinear extension of a set function around a point, and as a differentiable operation."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import TYPE_CHECKING, Any, NamedTuple

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply, first_order, sliceable
from foresolve.errors import ForesolveError, SolverError
from foresolve.solvers.threads import one_torch_thread

TINY = 1e-100  # what stands for an exact zero in products that leave items out: it cancels where it is divided by

if TYPE_CHECKING:
    from foresolve.sets.functions.function import SetFunction


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

    def merge(self, which: Tensor, fallback: Any) -> Local | None:
        """This one where `which` `(B,)` holds, `fallback` elsewhere; nothing where the parts cannot be mixed."""
        return None


class FlatBatch(NamedTuple):
    """A function, points and parameters whose batch shapes broadcast, as one flat batch.

    Attributes
    ----------
    function: with its data of each instance of the flat batch, where it holds some.
    x: `(B, n)`, float64.
    theta: `(B, *shape)`, or `(1, *shape)` where all instances share it, float64.
    batch: the shape that the flat batch stands for.
    dtype: that of the points as they were given.
    """

    function: SetFunction
    x: Tensor
    theta: Tensor
    batch: torch.Size
    dtype: torch.dtype

    def local(self) -> Local:
        """The extension around the points, without a graph."""
        return self.function.local(self.x.detach(), self.theta.detach())

    def directions(self, v: Tensor) -> Tensor:
        """`v` `(*batch, n)`, flat, without a graph."""
        return v.detach().double().expand(*self.batch, -1).reshape_as(self.x)

    def restore(self, values: Tensor) -> Tensor:
        """Results `(B, ...)` in the shape of the batch, and in the dtype of the points."""
        return values.to(self.dtype).reshape((*self.batch, *values.shape[1:]))


def flatten(function: SetFunction, x: Tensor, theta: Tensor) -> FlatBatch:
    """The flat batch of points `(*batch, n)`, parameters `(*batch, *shape)` and what the function holds of its own."""
    x = checks.as_tensor("x", x)
    theta = function.check_theta(theta, x.shape[-1])
    cut = theta.ndim - function.theta_dims
    shapes = {"`x`": x.shape[:-1], "`theta`": theta.shape[:cut], "the function's data": function.batch_shape}
    batch = checks.broadcast_batch(shapes)
    flat = x.double().expand(*batch, -1).reshape(-1, x.shape[-1])
    parameters = theta.double()
    if cut == 0 or theta.shape[:cut].numel() == 1:
        parameters = parameters.reshape(1, *theta.shape[cut:])
    else:
        parameters = parameters.expand(*batch, *theta.shape[cut:]).reshape(-1, *theta.shape[cut:])
    return FlatBatch(function.select(slice(None), batch), flat, parameters, batch, x.dtype)


def cleaned(gradient: Tensor, size: Tensor | float) -> Tensor:
    """A gradient `(B, n)` with zeros where `TINY` is all that is left of them beside the size `(B or 1, 1)` of `F`."""
    return torch.where(gradient.abs() <= 1e20 * TINY * size, 0.0, gradient)


def rows(values: Tensor) -> Tensor:
    """`(B, ...)` as a matrix, a row for each instance."""
    return values.unsqueeze(-1).flatten(1)


def finite_rows(values: Tensor) -> Tensor:
    """`(B,)`: which instances of `(B, ...)` have finite entries only."""
    return torch.isfinite(rows(values)).all(-1)


def refuse_singular(singular: Tensor, name: str, by: str) -> None:
    """Refuse instances `(B,)` in which what bears the name has no finite derivative."""
    where = singular.nonzero().flatten().tolist()
    if where:
        raise SolverError(
            f"`{name}` has no finite derivative in {by} at {{instances}}: the root or the logarithm of 0, for example",
            where,
            checks.instance_names(where, (len(singular),)),
            remedy="Keep predictions away from there, by `softplus(.) + 1e-3`, or add a small number below the root",
        )


def _fit(gradient: Tensor, like: Tensor) -> Tensor:
    """Summed over the batch where the parameters are shared by it."""
    return gradient if gradient.shape[0] == like.shape[0] else gradient.sum(0, keepdim=True)


def _scaled(g: Tensor, array: Tensor) -> Tensor:
    """Each instance's array times its number."""
    return g.reshape(-1, *[1] * (array.ndim - 1)) * array


class Extension(torch.autograd.Function):
    """`F` with its first derivatives; those of `x` can be differentiated again."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, theta: Tensor, function: SetFunction) -> Tensor:
        with one_torch_thread(theta.numel()):
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
                by_x = g[:, None] * apply(ExtensionGradient, x, theta, ctx.function)
            if ctx.needs_input_grad[1]:
                by_theta = _fit(apply(_ThetaGradient, g, x, theta, ctx.function), theta)
            return by_x, by_theta, None
        with one_torch_thread(theta.numel()):
            if ctx.needs_input_grad[0]:
                by_x = g[:, None] * ctx.local.gradient
            if ctx.needs_input_grad[1]:
                by_theta = _fit(_scaled(g, ctx.local.slope()), theta)
        return by_x, by_theta, None


class _ThetaGradient(torch.autograd.Function):
    """`g dF/dtheta`, the end of the line: `x` can be differentiated twice, `theta` once."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, x: Tensor, theta: Tensor, function: SetFunction) -> Tensor:
        with one_torch_thread(theta.numel()):
            return _scaled(g, function.local(x, theta).slope())

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        raise ForesolveError(
            (
                "a second derivative through d/dtheta of a set function is not offered; x alone can be "
                "differentiated twice"
            ),
            remedy="Detach theta, or drop create_graph=True",
        )


class ExtensionGradient(torch.autograd.Function):
    """`grad_x F`: its derivatives are the Hessian product and the cross derivative."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, theta: Tensor, function: SetFunction) -> Tensor:
        with one_torch_thread(theta.numel()):
            ctx.local = function.local(x, theta)
        ctx.save_for_backward(theta, x)
        return ctx.local.gradient.clone()

    @staticmethod
    @first_order
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        (v,) = grads
        theta, _ = ctx.saved_tensors
        with one_torch_thread(theta.numel()):
            by_x = ctx.local.product(v) if ctx.needs_input_grad[0] else None
            by_theta = _fit(ctx.local.cross(v), theta) if ctx.needs_input_grad[1] else None
        return by_x, by_theta, None
