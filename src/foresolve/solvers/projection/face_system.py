r"""The linear system of a face, solved until its rows hold to rounding.

With `F` the free variables and `A` the active rows, everything exact about a projection is one question: given `r`
and `b`, which `w` has

    H_FF w_F + C_AF' z = r_F,    C_AF w_F = b,    w = 0 off F,

where rows may depend on each other: `w` is unique all the same. With `H = I` it is the nearest point to `r` on the
face, and `(C_AF C_AF') z = C_AF r_F - b`. The matrix is factorized once, with a shift on its
diagonal that lets dependent rows through. Refinement takes the shift out again where the rows are well apart. Rows that
nearly depend on each other leave a residual that the shift hides from refinement; there the shifted matrix is the
preconditioner of conjugate gradients (CGLS: the curvature `|F C_A' p|^2` is formed in the space of `w` and its metric,
so that the condition of the rows enters once and not squared), until every row holds to rounding in its own terms.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.metric import IDENTITY, Metric
from foresolve.solvers.projection.rows import Rows
from foresolve.solvers.projection.saddle import SaddleTerms

# In units of a row's squared norm over the free variables: what rounding leaves in dependent rows is 1e-16 / SHIFT.
SHIFT = 1e-11
EVEN_SHIFT = 1e-9
REFINEMENTS = 8
# Refinement goes on while it takes this much off a residual at each step.
FAST = 0.1
CONJUGATE_STEPS = 30
# Rounding of a row's residual, in units of its terms.
ROUNDING = 4e-15
# Of what multipliers pull on, in units of the terms that cancel.
NOISE = 2e-15
# A step that changes less than this share is not counted as a direction of its own.
MATTERS = 1e-9
TINY = 1e-300
# Terms below this share of the size of `w` are noise.
NEGLIGIBLE = 1e-10
# Above this share of `r`, what the last correction found of the first equation says that `w` is not known.
ASTRAY = 1e-6
# Above this share of its terms a residual is a contradiction between the rows, not a weak direction of them.
CONTRADICTION = 1e-3
# Of the projection onto the range of the rows: steps, and what rounding does to it.
RANGE_STEPS = 4
ROUNDED = 1e-8


@dataclass(frozen=True)
class Landing:
    """`w` on the face.

    Attributes
    ----------
    w: `(B, n)`.
    z: the multipliers `(B, m)`.
    residual: `(B,)` what is left of the rows, the largest in units of its own terms.
    weakest: `(B,)` the smallest singular value of the scaled rows `C_AF` that showed, 1 where none did: `w` is known to
        about `1e-16 / weakest` of its size.
    """

    w: Array
    z: Array
    residual: Array
    weakest: Array

    @property
    def error(self) -> Array:
        """An estimate of how far `w` is off, in units of its size, `(B,)`."""
        return self.residual / self.weakest


class FaceSystem:
    """The saddle point system of a batch of faces, factorized.

    Parameters
    ----------
    rows: those of the batch.
    free, active: `F` `(B, n)` and `A` `(B, m)`, as 0/1.
    metric: `H`.
    even: give all rows the same shift, where their sizes allow it: among the `z` of dependent rows, that selects the
        one of least norm.
    """

    def __init__(
        self, rows: Rows, free: Array, active: Array, metric: Metric = IDENTITY, *, even: bool = False
    ) -> None:
        xp = namespace(free)
        self.rows, self.free, self.active, self.metric = rows, free, active, metric
        weights = rows.diagonal(self.metric.divided(free))
        # A row without free variables cannot be met; its own size keeps its multiplier moderate.
        weights = xp.where(weights > 0, weights, rows.weights / self.metric.unit)
        if even:
            top = xp.at_least(xp.amax(weights * active, keepdims=True), 0.0)
            weights = xp.where((top > 0) & (top <= 1e4 * weights), top, weights)
        self.weights = weights
        # Rows that are not active, and have no weight, keep to themselves.
        idle = 1 - active if self.metric.separable else (1 - active) * weights
        shift = (EVEN_SHIFT if even else SHIFT) * weights + idle
        self._saddle = self.metric.system(SaddleTerms(rows, free, shift, mask=active))

    def land(self, r: Array, right: Array | None = None) -> Landing:
        """`w` and `z` for `r`, with `C_AF w_F = right` (0 unless given) on the active rows."""
        xp, rows = namespace(r), self.rows
        z, w, v = xp.zeros_like(self.active), *self._unbound(r)
        reach = rows.magnitudes.apply(self.free)
        left = self._left(w, right)
        share = xp.full_like(w.sum(-1), float("inf"))
        falling, astray = share > 0, None
        for step in range(REFINEMENTS):
            dw, dz, astray = self._correction(r, w, z, left)
            if step > 1:
                # An instance that is done stays as it is, whatever the others of its batch need.
                dw, dz = (xp.where(falling[:, None], part, 0.0) for part in (dw, dz))
            z, w = z + dz, w + dw
            left = self._left(w, right)
            if step:
                before, share = share, _share(left, self._terms(w, right, reach, v))
                falling = (share > ROUNDING) & (share < FAST * before)
                if not bool(falling.any()):
                    break
        # The last correction should have had next to nothing to do; else factors are not what they should be.
        if astray is not None and bool((astray > ASTRAY).any()):
            share = xp.where(astray > ASTRAY, xp.maximum(share, astray), share)
        landing = Landing(w, z, share, xp.full_like(share, 1.0))
        unsure = share > ROUNDING
        if right is not None:
            unsure = unsure & (share < CONTRADICTION)
        if not bool(unsure.any()):
            return landing
        with np.errstate(over="ignore", invalid="ignore"):  # what overflows is no better than what was there
            return self._conjugate(landing, left, v, right, reach, unsure)

    def within_range(self, k: Array) -> Array:
        """The part of `k` `(B, m)` on the active rows that some `C_AF w` is.

        With `N = C_AF D C_AF'` and its shift, `N (N + shift)^{-1} k` is nearly that; repeated on what is left of `k`,
        it brings back what the shift took of weak directions.
        """
        xp = namespace(k)
        inside = xp.zeros_like(k)
        for _ in range(RANGE_STEPS):
            _, pull = self._saddle.push(k * self.active - inside)
            inside = inside + self.rows.apply(pull) * self.active
        return xp.where(abs(inside - k * self.active) <= ROUNDED * abs(k), k * self.active, inside)

    def _unbound(self, r: Array) -> tuple[Array, Array]:
        """The start of a landing, and the size of things there: without rows, in a separable metric."""
        v = self.metric.divided(r) * self.free
        return (v, v) if self.metric.separable else (0.0 * v, v)

    def _correction(self, r: Array, w: Array, z: Array, left: Array) -> tuple[Array, Array, Array | None]:
        """A step of refinement, and how far the first equation was from holding, `(B,)`.

        That is in units of `r`, and of what the diagonal of `H` makes of `w`; `None` in a separable metric, where it
        always holds.
        """
        if self.metric.separable:
            dz, pull = self._saddle.push(left)
            return -pull, dz, None
        xp = namespace(r)
        astray = (r - self.metric.apply(w) - self.rows.adjoint(z)) * self.free
        size = xp.amax(abs(r) * self.free) + xp.amax(abs(w) * self.metric.h)
        return *self._saddle.step(astray, -left), xp.amax(abs(astray)) / xp.at_least(size, TINY)

    def _left(self, w: Array, right: Array | None) -> Array:
        products = self.rows.apply(w)
        return (products if right is None else products - right) * self.active

    def _terms(self, w: Array, right: Array | None, reach: Array, v: Array) -> Array:
        """The terms that the residual of a row is measured by.

        Without a right-hand side it is a matter of directions, and of `v` as a whole; with one it is the row's own
        terms, unless they are noise.
        """
        xp = namespace(w)
        if right is None:
            return reach * xp.amax(abs(v) * self.free, keepdims=True)
        floor = NEGLIGIBLE * reach * xp.amax(abs(w), keepdims=True)
        return xp.maximum(self.rows.magnitudes.apply(abs(w)) + abs(right), floor)

    def _conjugate(
        self, landing: Landing, left: Array, v: Array, right: Array | None, reach: Array, running: Array
    ) -> Landing:
        xp, rows = namespace(left), self.rows
        w, z = landing.w, landing.z
        notable = MATTERS * (xp.amax(abs(v) * self.free) + xp.amax(abs(w)))
        best_w, best_z, best = w, z, landing.residual
        weakest = passed = landing.weakest  # of the best, and of all directions up to now
        p, pull, before = xp.zeros_like(left), xp.zeros_like(w), xp.full_like(best, float("inf"))
        for _ in range(CONJUGATE_STEPS):
            solved, moved_by = self._saddle.push(left)
            power = (left * solved).sum(-1)
            ratio = (power / before)[:, None]
            p = solved + ratio * p
            slope = rows.adjoint(p) * self.free
            pull = self.metric.divided(slope) if self.metric.separable else moved_by + ratio * pull
            curvature = xp.at_least((slope * pull).sum(-1), 0.0)
            # Multipliers of dependent rows pull on nothing, but for rounding.
            noise = NOISE * rows.magnitudes.adjoint(abs(p)) * self.free
            noise = (noise * self.metric.divided(noise)).sum(-1)
            running = running & (power > 0) & (curvature > noise)
            length = xp.where(running, power / xp.where(running, curvature, 1.0), 0.0)
            z, w = z + length[:, None] * p, w - length[:, None] * pull
            left, before = self._left(w, right), xp.where(running, power, 1.0)
            share = _share(left, self._terms(w, right, reach, v))
            quotient = curvature / xp.at_least((self.weights * p**2).sum(-1), TINY)
            better = share < best
            moved = running & (xp.amax(abs(length[:, None] * pull)) > notable)
            passed = xp.where(moved, xp.minimum(passed, quotient**0.5), passed)
            weakest = xp.where(better, passed, weakest)
            best_w, best_z = xp.where(better[:, None], w, best_w), xp.where(better[:, None], z, best_z)
            best = xp.minimum(best, share)
            running = running & (share > ROUNDING)
            if not bool(running.any()):
                break
        return Landing(best_w, best_z, best, weakest)


def _share(left: Array, terms: Array) -> Array:
    """The largest residual of a row in units of its terms, `(B,)`."""
    xp = namespace(left)
    return xp.at_least(xp.amax(abs(left) / xp.where(terms > 0, terms, 1.0)), 0.0)
