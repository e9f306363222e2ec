r"""The tangent of a Euclidean projection: how an incoming gradient splits along the face that holds the solution.

With `F` the free variables and `A` the active rows, `g_F = u + C_AF' z` with `C_AF u = 0`, that is
`z = (C_AF C_AF')^+ C_AF g_F`: `u` is what moves along the face, `z` what pushes against its rows. Rows may depend on
each other; `u` is unique all the same, and `z` the one of least norm. `layers/implicit.py` reads gradients off both.
"""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.active_set import Face
from foresolve.solvers.projection.polytope import Polytope

# Tikhonov shift for the pseudo-inverse; refinement removes it (error (shift / lambda)^k), and what rounding leaves in
# the null space of C_AF' is of relative size 1e-16 / shift.
SHIFT = 1e-8
REFINEMENTS = 3
ENOUGH = 1e-13
# Of the random vector that asks what can move. Unlike the seeds that people choose: with theirs, the vector could be a
# row of their own random constraints, and all of it orthogonal to the face.
PROBE_SEED = 0x5EED_0F_A_FACE


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
        z = namespace(g).zeros_like(self.face.y)
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
        probe = np.random.default_rng(PROBE_SEED).standard_normal(tuple(self.free.shape))
        image, _ = self.split(torch.from_numpy(probe).to(self.free) if isinstance(self.free, Tensor) else probe)
        return (abs(image) > 1e-7).sum(-1)
