r"""The derivative of a Euclidean projection, from its optimality conditions.

At the solution let `F` be the free variables and `A` the active rows (equalities, and inequalities that push). Locally

    x_F = s_F - C_AF' y,    C_A x = r_A,    x_N = its bound on the others.

Split an incoming gradient as `g_F = u + C_AF' z` with `C_AF u = 0`, that is `z = (C_AF C_AF')^+ C_AF g_F`. Then

    g'dx = u'(ds_F - dC_AF' y) + z'(dr_A - dC_A x) + (g_N - C_AN' z)' dx_N

and the gradients can be read off: `u` for `s`, `z` for `r`, `-(y u' + z x')` for the entries of `C`, and
`g_N - C_AN' z` for the bound that holds. Gradients of data shared by a batch are sums over it.
"""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor
from torch.autograd.function import FunctionCtx

from foresolve._base.autograd import apply
from foresolve.errors import ForesolveError
from foresolve.solvers.arrays import Array, namespace, to_array, to_tensor
from foresolve.solvers.projection.active_set import Face
from foresolve.solvers.projection.polytope import Polytope

# Tikhonov shift for the pseudo-inverse; refinement removes it (error (shift / lambda)^k), and what rounding leaves in
# the null space of C_AF' is of relative size 1e-16 / shift.
SHIFT = 1e-8
REFINEMENTS = 3
ENOUGH = 1e-13


class Tangent:
    """The linear map `g -> (u, z)` of one solved batch; its matrix is factorised once."""

    def __init__(self, polytope: Polytope, face: Face) -> None:
        xp, rows = namespace(face.x), polytope.rows
        self.polytope, self.face = polytope, face
        self.free, self.active = xp.real(face.free), xp.real(face.active)
        top = xp.at_least(xp.amax(rows.weights, keepdims=True), 0.0)
        # Equal shifts give the minimum-norm z; rows of very different size need shifts of their own size.
        shift = xp.where(top <= 1e4 * rows.weights, top, rows.weights)
        self._solve = rows.factor(self.free, SHIFT * shift + (1 - self.active), self.active)

    def split(self, g: Array) -> tuple[Array, Array]:
        """`g_F = u + C_AF' z`: the part along the face, and the multipliers of the rest."""
        rows = self.polytope.rows
        u = g * self.free
        z = 0.0 * self.face.y
        first = left = rows.apply(u) * self.active
        for _ in range(REFINEMENTS):
            z = z + self._solve(left)
            u = (g - rows.adjoint(z)) * self.free
            left = rows.apply(u) * self.active
            if not isinstance(g, Tensor) and not (abs(left) > ENOUGH * abs(first).max(initial=0.0)).any():
                break  # the next correction would be rounding; a GPU is not asked, for the answer would take longer
        return u, z

    def movable(self) -> Array:
        """How many coordinates can move along the face: those where the image of a random vector is not zero."""
        probe = np.random.default_rng(0).standard_normal(tuple(self.free.shape))
        image, _ = self.split(torch.from_numpy(probe).to(self.free) if isinstance(self.free, Tensor) else probe)
        return (abs(image) > 1e-7).sum(-1)


class _AlongFace(torch.autograd.Function):
    """`g -> u`, linear and self-adjoint, so differentiable any number of times."""

    @staticmethod
    def forward(ctx: Any, g: Tensor, tangent: Tangent) -> Tensor:
        ctx.tangent = tangent
        return to_tensor(tangent.split(to_array(g))[0])

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return apply(_AlongFace, grads[0], ctx.tangent), None


class _Projected(torch.autograd.Function):
    @staticmethod
    def forward(
        ctx: Any, point: Tensor, values: Tensor, rhs: Tensor, lower: Tensor, upper: Tensor, tangent: Tangent
    ) -> Tensor:
        ctx.tangent = tangent
        return to_tensor(tangent.face.x).clone()

    @staticmethod
    def backward(ctx: FunctionCtx, *grads: Tensor) -> tuple[Tensor | None, ...]:
        (g,) = grads
        tangent: Tangent = ctx.tangent  # type: ignore[attr-defined]
        needs = ctx.needs_input_grad  # type: ignore[attr-defined]
        if not any(needs[1:5]):
            return apply(_AlongFace, g, tangent), None, None, None, None, None
        if g.requires_grad:
            raise ForesolveError(
                "double backward through predicted constraints is not supported; it is for `theta` and `gamma` alone. "
                "Detach the constraints, or drop create_graph=True"
            )
        g = to_array(g)
        u, z = tangent.split(g)
        face, polytope, xp = tangent.face, tangent.polytope, namespace(g)
        entries = None
        if needs[1]:
            entries = -(polytope.rows.outer(face.y * tangent.active, u) + polytope.rows.outer(z, face.x))
        rest = (g - polytope.rows.adjoint(z)) * (1 - tangent.free)
        # A fixed variable sits on both bounds, and either gradient is one-sided; each bound gets half.
        share = xp.where(polytope.lower == polytope.upper, 0.5, 1.0)
        lower = xp.where(face.x <= polytope.lower, share * rest, 0.0)
        upper = xp.where(face.x >= polytope.upper, share * rest, 0.0)
        found = (u, entries, z, lower, upper)
        return *(to_tensor(a) if need else None for need, a in zip(needs, found)), None


def attach(point: Tensor, polytope: Polytope, tangent: Tangent) -> Tensor:
    """The solved `x`, as a differentiable function of the point and of the polytope's data."""
    return apply(_Projected, point, *polytope.tensors(), tangent)
