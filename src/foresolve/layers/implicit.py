r"""The derivative of a Euclidean projection, from its optimality conditions.

At the solution let `F` be the free variables and `A` the active rows (equalities, and inequalities that push). Locally

    x_F = s_F - C_AF' y,    C_A x = r_A,    x_N = its bound on the others.

Split an incoming gradient as `g_F = u + C_AF' z` with `C_AF u = 0`, that is `z = (C_AF C_AF')^+ C_AF g_F`. Then

    g'dx = u'(ds_F - dC_AF' y) + z'(dr_A - dC_A x) + (g_N - C_AN' z)' dx_N

and the gradients can be read off: `u` for `s`, `z` for `r`, `-(y u' + z x')` for the entries of `C`, and
`g_N - C_AN' z` for the bound that holds. Gradients of data shared by a batch are sums over it.
"""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply
from foresolve.errors import ConvergenceWarning, ForesolveError
from foresolve.solvers.arrays import Array, namespace, to_array, to_tensor
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.tangent import Tangent

Product = TypeVar("Product")

# Above this share of an incoming gradient, what is left of `C_AF u = 0` is worth a warning.
NOTABLE = 1e-6


class Derivative:
    """The derivative of one solved batch, which checks every product it is asked for.

    Parameters
    ----------
    tangent: of the solved faces.
    batch: the shape that the batch has for the caller.
    """

    def __init__(self, tangent: Tangent, batch: torch.Size) -> None:
        self.tangent, self.batch = tangent, batch
        self._told = tangent.error < 0  # instances that a warning has named

    def error(self) -> Tensor:
        """The largest error estimate of a product so far, in units of the incoming gradient, `(*batch,)`."""
        return to_tensor(self.tangent.error).reshape(self.batch)

    def along(self, g: Array) -> Array:
        """As `Tangent.along`; warns where the product fails its check."""
        return self._checked(self.tangent.along(g))

    def split(self, g: Array) -> tuple[Array, Array]:
        """As `Tangent.split`; warns where the product fails its check."""
        return self._checked(self.tangent.split(g))

    def _checked(self, product: Product) -> Product:
        failed = (self.tangent.error > NOTABLE) & ~self._told
        if bool(failed.any()):
            self._told = self._told | failed
            where = to_tensor(failed).nonzero().flatten().tolist()
            checks.warn(
                f"the gradient of {checks.instance_names(where, self.batch)} is uncertain by up to "
                f"{float(self.tangent.error[failed].max()):.1e} of what it is made from: active rows nearly depend on "
                "each other. Drop rows that nearly repeat others, or raise gamma",
                ConvergenceWarning,
            )
        return product


class _AlongFace(torch.autograd.Function):
    """`g -> u`, linear and self-adjoint, so differentiable any number of times."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, derivative: Derivative) -> Tensor:
        ctx.derivative = derivative
        return to_tensor(derivative.along(to_array(g)))

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return apply(_AlongFace, grads[0], ctx.derivative), None


class _PolytopeProjection(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, point: Tensor, values: Tensor, rhs: Tensor, lower: Tensor, upper: Tensor, derivative: Derivative
    ) -> Tensor:
        ctx.derivative = derivative
        return to_tensor(derivative.tangent.face.x).clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        derivative: Derivative = ctx.derivative
        needs = ctx.needs_input_grad
        if not any(needs[1:5]):
            return apply(_AlongFace, g, derivative), None, None, None, None, None
        if g.requires_grad:
            raise ForesolveError(
                "double backward through predicted constraints is not supported; it is for `theta` and `gamma` alone. "
                "Detach the constraints, or drop create_graph=True"
            )
        g = to_array(g)
        u, z = derivative.split(g)
        tangent = derivative.tangent
        face, polytope, xp = tangent.face, tangent.polytope, namespace(g)
        entries = None
        if needs[1]:
            entries = -(polytope.rows.outer(face.y * tangent.active, u) + polytope.rows.outer(z, face.x))
        rest = (g - polytope.rows.adjoint(z)) * (1 - tangent.free)
        # A fixed variable sits on both bounds, and either gradient is one-sided; each bound gets half.
        share = xp.where(polytope.lower == polytope.upper, 0.5, 1.0)
        lower = xp.where(face.x <= polytope.lower, share * rest, 0.0)
        upper = xp.where(face.x >= polytope.upper, share * rest, 0.0)
        gradients = (u, entries, z, lower, upper)
        return *(to_tensor(a) if need else None for need, a in zip(needs, gradients)), None


def attach(point: Tensor, polytope: Polytope, derivative: Derivative) -> Tensor:
    """The solved `x`, as a differentiable function of the point and of the polytope's data."""
    return apply(_PolytopeProjection, point, *polytope.tensors(), derivative)
