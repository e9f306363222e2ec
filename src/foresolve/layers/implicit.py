r"""The derivative of a projection and of its multipliers, from their optimality conditions.

At the solution let `F` be the free variables and `A` the active rows (equalities, and inequalities that push). Locally

    H_FF x_F + H_FN x_N + C_AF' y = s_F,    C_A x = r_A,    x_N = its bound on the others.

For incoming gradients `g` of `x` and `k` of `y`, take `u` and `z` with

    H_FF u + C_AF' z = g_F,    C_AF u = k_A,

the same symmetric system. Multiply the differentials of the conditions by them:

    g'dx + k'dy = u'(ds_F - dH_F x - dC_AF' y) + z'(dr_A - dC_A x) + (g_N - C_AN' z - H_NF u)' dx_N

and the gradients can be read off: `u` for `s`, `-(u x' + x u') / 2` for a symmetric `H`, `z` for `r`, `-(y u' + z x')`
for the entries of `C`, and `g_N - C_AN' z - H_NF u` for the bound that holds. Gradients of data shared by a batch are
sums over it. Where active rows depend on each other `y` is not unique; its derivative is then the change of least norm,
which takes of `k` only what lies in the range of `C_AF`.
"""

from __future__ import annotations

from typing import Any, TypeVar

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply, sliceable
from foresolve.errors import ConvergenceWarning, ForesolveError
from foresolve.solvers.arrays import Array, namespace, to_array, to_tensor
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.tangent import Tangent

Product = TypeVar("Product")

# Above this share of a gradient its estimated error is worth a warning: half of the 1e-6 that is promised without one.
NOTABLE = 5e-7


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

    def split(self, g: Array, k: Array | None = None) -> tuple[Array, Array]:
        """As `Tangent.split`; warns where the product fails its check."""
        return self._checked(self.tangent.split(g, k))

    def _weakness(self) -> str:
        linear = self.tangent.polytope.metric.separable
        cause = "active rows nearly depend on each other" + ("" if linear else ", or Q is nearly singular")
        return f"{cause}. Drop rows that nearly repeat others, or raise gamma"

    def _checked(self, product: Product) -> Product:
        failed = (self.tangent.error > NOTABLE) & ~self._told
        if bool(failed.any()):
            self._told = self._told | failed
            where = to_tensor(failed).nonzero().flatten().tolist()
            checks.warn(
                f"the gradient of {checks.instance_names(where, self.batch)} is uncertain by up to "
                f"{float(self.tangent.error[failed].max()):.1e} of what it is made from: {self._weakness()}",
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
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return apply(_AlongFace, grads[0], ctx.derivative), None


class _PolytopeProjection(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, derivative: Derivative, point: Tensor, *data: Tensor) -> tuple[Tensor, Tensor]:
        ctx.derivative = derivative
        ctx.set_materialize_grads(False)
        face = derivative.tangent.face
        return to_tensor(face.x).clone(), to_tensor(face.y).clone()

    @staticmethod
    @sliceable
    def backward(ctx: Any, *grads: Tensor | None) -> tuple[Tensor | None, ...]:
        g, k = grads
        derivative: Derivative = ctx.derivative
        face, needs = derivative.tangent.face, ctx.needs_input_grad
        if g is None:
            if k is None:
                return (None,) * len(needs)
            g = torch.zeros_like(to_tensor(face.x))
        if k is None and not any(needs[2:]):
            return None, apply(_AlongFace, g, derivative), *(None,) * (len(needs) - 2)
        if g.requires_grad or (k is not None and k.requires_grad):
            raise ForesolveError(
                (
                    "double backward through predicted constraints, duals or the form of a quadratic program (a "
                    "predicted Q, a gamma that requires grad or follows theta) is not supported; it is for "
                    "decisions in `theta`, and in the gamma of a linear program"
                ),
                remedy="Detach the others, or drop create_graph=True",
            )
        incoming, metric = to_array(g), derivative.tangent.polytope.metric
        if k is None and not any(needs[2:6]):  # of the metric alone: multipliers of the rows are not asked for
            u = derivative.along(incoming)
            gradients = (u, None, None, None, None, *metric.gradients(u, face.x))
        else:
            u, z = derivative.split(incoming, None if k is None else to_array(k))
            of_constraints = _of_constraints(derivative.tangent, incoming, u, z, entries=needs[2])
            gradients = (u, *of_constraints, *(metric.gradients(u, face.x) if any(needs[6:]) else needs[6:]))
        return None, *(to_tensor(a) if need else None for need, a in zip(needs[1:], gradients, strict=True))


def _of_constraints(tangent: Tangent, g: Array, u: Array, z: Array, *, entries: bool) -> tuple[Array, ...]:
    """Gradients of the entries of the rows, right-hand sides and bounds."""
    face, polytope, xp = tangent.face, tangent.polytope, namespace(g)
    metric, outer = polytope.metric, polytope.rows.outer
    of_rows = -(outer(face.y * tangent.active, u) + outer(z, face.x)) if entries else None
    rest = g - polytope.rows.adjoint(z)
    rest = (rest if metric.separable else rest - metric.apply(u)) * (1 - tangent.free)
    # A fixed variable sits on both bounds, and either gradient is one-sided; each bound gets half.
    share = xp.where(polytope.lower == polytope.upper, 0.5, 1.0)
    lower = xp.where(face.x <= polytope.lower, share * rest, 0.0)
    upper = xp.where(face.x >= polytope.upper, share * rest, 0.0)
    return of_rows, z, lower, upper


def attach(point: Tensor, polytope: Polytope, derivative: Derivative) -> tuple[Tensor, Tensor]:
    """The solved `x` and `y`, as differentiable functions of the point and of the polytope's data."""
    solved: Any = apply(_PolytopeProjection, derivative, point, *polytope.tensors())
    return solved
