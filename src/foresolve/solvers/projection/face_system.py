r"""The linear system of a face, solved until its rows hold to rounding.

With `F` the free variables and `A` the active rows, everything exact about a projection is one question: given `v`,
what is the nearest `w` that differs from it in `F` alone and has `C_AF w_F = b`? It is

    w = v - F C_A' z,    (C_AF C_AF') z = C_AF v_F - b,

where rows may depend on each other: `w` is unique all the same. The matrix is factorized once, with a shift on its
diagonal that lets dependent rows through. Refinement takes the shift out again where the rows are well apart. Rows that
nearly depend on each other leave a residual that the shift hides from refinement; there the shifted matrix is the
preconditioner of conjugate gradients (CGLS: the curvature `|F C_A' p|^2` is formed in the space of `w`,
so that the condition of the rows enters once and not squared), until every row holds to rounding in its own terms.
"""

from __future__ import annotations

from dataclasses import dataclass

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.rows import Rows

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
# Above this share of its terms a residual is a contradiction between the rows, not a weak direction of them.
CONTRADICTION = 1e-3


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
    """`C_AF C_AF'` of a batch of faces, factorized.

    Parameters
    ----------
    rows: those of the batch.
    free, active: `F` `(B, n)` and `A` `(B, m)`, as 0/1.
    even: give all rows the same shift, where their sizes allow it: among the `z` of dependent rows, that selects the
        one of least norm.
    """

    def __init__(self, rows: Rows, free: Array, active: Array, *, even: bool = False) -> None:
        xp = namespace(free)
        self.rows, self.free, self.active = rows, free, active
        weights = rows.diagonal(free)
        # A row without free variables cannot be met; its own size keeps its multiplier moderate.
        weights = xp.where(weights > 0, weights, rows.weights)
        if even:
            top = xp.at_least(xp.amax(weights * active, keepdims=True), 0.0)
            weights = xp.where(top <= 1e4 * weights, top, weights)
        self.weights = weights
        self._solve = rows.factor(free, (EVEN_SHIFT if even else SHIFT) * weights + (1 - active), active)

    def land(self, v: Array, right: Array | None = None) -> Landing:
        """The nearest `w` to `v` with `C_AF w_F = right` (0 unless given) on the active rows."""
        xp, rows = namespace(v), self.rows
        z, w = xp.zeros_like(self.active), v * self.free
        reach = rows.magnitudes.apply(self.free)
        left = self._left(w, right)
        share = xp.full_like(w.sum(-1), float("inf"))
        falling = share > 0
        for step in range(REFINEMENTS):
            change = self._solve(left)
            # An instance that is done stays as it is, whatever the others of its batch need.
            change = xp.where(falling[:, None], change, 0.0) if step > 1 else change
            z, w = z + change, w - rows.adjoint(change) * self.free
            left = self._left(w, right)
            if step:
                before, share = share, _share(left, self._terms(w, right, reach, v))
                falling = (share > ROUNDING) & (share < FAST * before)
                if not bool(falling.any()):
                    break
        landing = Landing(w, z, share, xp.full_like(share, 1.0))
        unsure = share > ROUNDING
        if right is not None:
            unsure = unsure & (share < CONTRADICTION)
        if not bool(unsure.any()):
            return landing
        return self._conjugate(landing, left, v, right, reach, unsure)

    def _left(self, w: Array, right: Array | None) -> Array:
        products = self.rows.apply(w)
        return (products if right is None else products - right) * self.active

    def _terms(self, w: Array, right: Array | None, reach: Array, v: Array) -> Array:
        """What the residual of a row is measured by.

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
        p, before = xp.zeros_like(left), xp.full_like(best, float("inf"))
        for _ in range(CONJUGATE_STEPS):
            solved = self._solve(left)
            power = (left * solved).sum(-1)
            p = solved + (power / before)[:, None] * p
            pull = rows.adjoint(p) * self.free
            curvature = (pull**2).sum(-1)
            # Multipliers of dependent rows pull on nothing, but for rounding.
            noise = ((NOISE * rows.magnitudes.adjoint(abs(p)) * self.free) ** 2).sum(-1)
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
