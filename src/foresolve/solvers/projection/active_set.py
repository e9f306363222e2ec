"""The last digits: Newton's method on the dual, which is exact once the active set is right.

With multipliers `y` of the rows, the projection is `x = clip(s - C'y, lower, upper)`, so `y` alone is unknown, and the
natural residual `rhs - C x` (its minimum with `y` on inequalities) is piecewise linear in it. For a guess of the free
variables and active rows, one solve with `C_AF C_AF'` lands on the solution of that piece.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.certificate import TRUSTED, certify, size_of
from foresolve.solvers.projection.face_system import FaceSystem
from foresolve.solvers.projection.polytope import Polytope

# Rows with nothing that gives them a size (rhs 0, bounds 0 or none) hold by chance only, in their own terms, while
# their variables are noise. In the last steps what is this near to a bound or to zero, in units of `tol` and the size
# of x, is put there.
SNAP = 0.1
SNAPPED_STEPS = 3
# Of a row's terms: rounding, with room for long rows.
EXACT = 1e-13


@dataclass
class Face:
    """A guess of the solution's face, with the multipliers it was read from."""

    y: Array
    free: Array  # variables strictly between their bounds
    active: Array  # rows that hold with equality and push
    x: Array
    residual: Array  # (B,) of the optimality conditions; this and the rest as in `Certificate`
    broken: Array
    rounding: Array
    of_input: Array

    def settled(self, tol: float) -> Array:
        """Whether there is nothing left to do, `(B,)`: it is exact, or as exact as its input.

        On the right face rows hold to rounding; where they hold to `tol` only, nearly dependent rows may hide a
        wrong `x`.
        """
        exact = (self.residual <= tol) & (namespace(self.x).amax(self.broken) <= EXACT)
        return exact & ((self.rounding <= TRUSTED) | (self.of_input > TRUSTED))

    def select(self, index: Array) -> Face:
        return Face(*(getattr(self, field.name)[index] for field in fields(self)))

    def put(self, index: Array, part: Face) -> None:
        for field in fields(self):
            getattr(self, field.name)[index] = getattr(part, field.name)


def face_at(point: Array, polytope: Polytope, y: Array, t: Array | None = None, snap: float = 0.0) -> Face:
    """What multipliers `y` say: the decision, its face and the largest violation of optimality.

    `t = s - C'y` may be given where it is known to more digits; that it still is what it says is part of the residual.
    What is within `snap` of a bound or of zero, in units of the size of `x`, is put there.
    """
    xp = namespace(point)
    anew = point - polytope.rows.adjoint(y)
    t = anew if t is None else t
    if snap:
        reach = snap * size_of(xp.minimum(xp.maximum(t, polytope.lower), polytope.upper), point, polytope)[:, None]
        for place in (xp.zeros_like(t), polytope.lower, polytope.upper):
            t = xp.where(abs(t - place) <= reach, place, t)
    x = xp.minimum(xp.maximum(t, polytope.lower), polytope.upper)
    free = (t > polytope.lower) & (t < polytope.upper)
    certificate = certify(point, polytope, y, anew, x)
    return Face(y, free, certificate.active, x, *certificate.figures())


def newton_step(point: Array, polytope: Polytope, face: Face, snap: float = 0.0) -> Face:
    """The solution if the free variables and active rows of `face` are the right ones.

    `t` follows `y` by increments: where near-dependent rows make `y` huge, `s - C'y` would have lost the digits that
    the rows need.
    """
    xp, rows = namespace(point), polytope.rows
    mask, free = xp.real(face.active), xp.real(face.free)
    y = face.y * mask
    t = point - rows.adjoint(y)
    right = polytope.rhs - rows.apply(xp.where(face.free, 0.0, face.x))
    landing = FaceSystem(rows, free, mask).land(t, right)
    t = xp.where(face.free, landing.w, t - rows.adjoint(landing.z))
    return face_at(point, polytope, y + landing.z, t, snap)


def polish(point: Array, polytope: Polytope, face: Face, tol: float, max_iter: int) -> tuple[Face, Array]:
    """Newton steps until one is exact; returns the best face seen and the steps taken per instance.

    The residual need not fall from step to step: on its way to the right face the method passes worse ones.
    """
    xp = namespace(point)
    best, spent = newton_step(point, polytope, face), xp.counts(point) + 1
    index = xp.nonzero(~best.settled(tol))
    if len(index) == 0:
        return best, spent
    before = face_at(point[index], polytope.select(index), face.y[index])
    guess = best.select(index)
    astray = xp.nonzero(~(guess.residual < before.residual))
    best.put(index[astray], before.select(astray))
    for step in range(1, max_iter + SNAPPED_STEPS):
        if len(index) == 0:
            break
        # Multipliers that dependent rows made large explain x, but not to enough digits: the least ones may.
        guess.y = xp.where((guess.residual <= tol)[:, None], 0.0, guess.y)
        guess = newton_step(point[index], polytope.select(index), guess, SNAP * tol if step >= max_iter else 0.0)
        spent[index] += 1
        better = xp.nonzero(guess.settled(tol) | (guess.residual < best.residual[index]))
        best.put(index[better], guess.select(better))
        going = xp.nonzero(~guess.settled(tol) & xp.isfinite(guess.residual))
        index, guess = index[going], guess.select(going)
    return best, spent
