r"""The tangent of a projection: how an incoming gradient splits along the face that holds the solution.

With `F` the free variables and `A` the active rows, `g_F = H_FF u + C_AF' z` with `C_AF u = 0`: `u` is what moves along
the face, `z` what pushes against its rows. Rows may depend on each other; `u` is unique all the same, and `z` the one
of least norm. `layers/implicit.py` reads gradients off both.
"""

from __future__ import annotations

from contextlib import AbstractContextManager
from functools import cached_property, lru_cache

import numpy as np
import torch
from torch import Tensor

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.active_set import Face
from foresolve.solvers.projection.face_system import ROUNDING, FaceSystem, Landing
from foresolve.solvers.projection.metric import IDENTITY
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.threads import one_blas_thread

# Of the random vector that asks what can move. Unlike the seeds that people choose: with theirs, the vector could be a
# row of their own random constraints, and all of it orthogonal to the face.
PROBE_SEED = 0x5EED_0F_A_FACE
CANCELLED = 1e-2
TINY = 1e-300


class Tangent:
    """The linear map `g -> (u, z)` of one solved batch; its matrix is factorized once.

    Every product is checked: `C_AF u` must vanish. `error` `(B,)` is the largest estimate so far of how far one is off,
    in units of `g`: what is left of a row, over the weakest direction of the rows.

    Parameters
    ----------
    polytope, face: where the solutions are.
    system: that of the face, where it is factorized already.
    """

    def __init__(self, polytope: Polytope, face: Face, system: FaceSystem | None = None) -> None:
        xp = namespace(face.x)
        self.polytope, self.face = polytope, face
        self.free, self.active = xp.real(face.free), xp.real(face.active)
        self._system = FaceSystem(polytope.rows, self.free, self.active, polytope.metric) if system is None else system
        if polytope.rows.unimodular and polytope.metric is IDENTITY:
            self.error = xp.real(face.residual < 0)
            self.weakest = self.error + 1.0
        else:
            self.error, self.weakest = self._probed.error, self._probed.weakest
        if not polytope.metric.separable:
            self.error = xp.maximum(self.error, ROUNDING * self.stretch)

    def along(self, g: Array) -> Array:
        """`u`, the part of `g` along the face; what is below its own error is zero."""
        with self._one_blas_thread():
            landing = self._checked(self._system.land(g))
        xp, metric = namespace(g), self.polytope.metric
        size = metric.divided(abs(g) * self.free) if metric.separable else abs(landing.w)
        if not metric.separable:
            self.error = xp.maximum(self.error, self._relative_error(landing, g))
        noise = xp.at_least(landing.error, ROUNDING) * xp.amax(size)
        return xp.where(abs(landing.w) <= noise[:, None], 0.0, landing.w)

    def _relative_error(self, landing: Landing, g: Array) -> Array:
        """The error of `u`, and what rounding of `g` does to it where the metric is nearly singular, `(B,)`.

        In units of `u`, unless most of `g` cancels in it (`CANCELLED`): then of `g`, as everything else.
        """
        xp = namespace(g)
        share = xp.amax(abs(landing.w)) / xp.at_least(xp.amax(self.polytope.metric.divided(abs(g) * self.free)), TINY)
        error = xp.maximum(landing.error, ROUNDING * self.stretch) / xp.at_most(xp.at_least(share, CANCELLED), 1.0)
        return xp.where(xp.isnan(error), 0.0, error)

    def split(self, g: Array, k: Array | None = None) -> tuple[Array, Array]:
        """`g_F = H_FF u + C_AF' z`: the part along the face, and the multipliers of the rest.

        With `k` `(B, m)`, `C_AF u = k` instead of 0, as far as that can be: of `k` what lies in the range of `C_AF`.
        """
        with self._one_blas_thread():
            if k is None:
                return self.along(g), self._checked(self._even.land(g)).z
            landing = self._checked(self._even.land(g, self._even.within_range(k)))
            return landing.w, landing.z

    def _one_blas_thread(self) -> AbstractContextManager[None]:
        return one_blas_thread(self.polytope.matrix_side)

    @cached_property
    def _even(self) -> FaceSystem:
        """The system with equal shifts, large enough for the noise of dependent rows: `z` has the least norm."""
        return FaceSystem(self.polytope.rows, self.free, self.active, self.polytope.metric, even=True)

    def _checked(self, landing: Landing) -> Landing:
        xp, error = namespace(self.error), landing.error
        # What came in as NaN went out as NaN, which is not the tangent's doing.
        self.error = xp.maximum(self.error, xp.where(xp.isnan(error), 0.0, error))
        return landing

    @cached_property
    def _probed(self) -> Landing:
        """The landing of a random vector: it shows weak directions, and what can move at all."""
        probe = _probe(self.free.shape[-1])
        probe = torch.from_numpy(probe).to(self.free) if isinstance(self.free, Tensor) else probe
        return self._system.land(probe * self.polytope.metric.h)

    @cached_property
    def stretch(self) -> Array:
        """The factor by which a gradient moves `x` more than a coordinate's own `h` says, as a random one shows."""
        xp = namespace(self.free)
        return xp.at_least(xp.amax(abs(self._probed.w)) / abs(_probe(self.free.shape[-1])).max(), 1.0)

    def correction(self, gradient: Array) -> Array:
        """The part that `x` lacks where `gradient` is left of stationarity on the free variables, `(B, n)`."""
        return self._system.land(gradient * self.free).w

    def movable(self) -> Array:
        """The number of coordinates that can move along the face: where the image of a random vector is not zero."""
        return (abs(self._probed.w) > 1e-7).sum(-1)


@lru_cache(maxsize=8)
def _probe(n: int) -> np.ndarray:
    return np.random.default_rng(PROBE_SEED).standard_normal((1, n))
