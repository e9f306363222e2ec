"""The last digits: Newton's method on the dual, which is exact once the active set is right.

With multipliers `y` of the rows, the projection is `x = clip(s - C'y, lower, upper)`, so `y` alone is unknown, and the
natural residual `rhs - C x` (its minimum with `y` on inequalities) is piecewise linear in it. For a guess of the free
variables and active rows, one solve with `C_AF C_AF'` lands on the solution of that piece.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.polytope import Polytope

# Shift of C_AF C_AF' in units of the squared row norms: dependent rows make that matrix singular, and one
# refinement takes the shift's effect out again wherever the system can be solved at all.
SHIFT = 1e-9


@dataclass
class Face:
    """A guess of the solution's face, with the multipliers it was read from."""

    y: Array
    free: Array  # variables strictly between their bounds
    active: Array  # rows that hold with equality and push
    x: Array
    residual: Array

    def select(self, index: Array) -> Face:
        return Face(*(getattr(self, field.name)[index] for field in fields(self)))

    def put(self, index: Array, part: Face) -> None:
        for field in fields(self):
            getattr(self, field.name)[index] = getattr(part, field.name)


def face_at(polytope: Polytope, y: Array, t: Array) -> Face:
    """What multipliers `y` with `t = s - C'y` say: the decision, its face and the largest violation of optimality."""
    xp = namespace(t)
    x = xp.minimum(xp.maximum(t, polytope.lower), polytope.upper)
    free = (t > polytope.lower) & (t < polytope.upper)
    slack = polytope.rhs - polytope.rows.apply(x)
    pushes = y * polytope.rows.weights
    active = polytope.equality | (pushes > slack)
    residual = abs(xp.where(polytope.equality, slack, xp.minimum(slack, pushes))) / polytope.rows.norms
    worst = xp.at_least(xp.amax(residual), 0.0)
    return Face(y, free, active, x, xp.where(xp.isnan(worst), float("inf"), worst))  # NaN is as bad as can be


def newton_step(point: Array, polytope: Polytope, face: Face) -> Face:
    """The solution if the free variables and active rows of `face` are the right ones.

    `t` follows `y` by increments: where near-dependent rows make `y` huge, `s - C'y` would have lost the digits that
    the rows need.
    """
    xp, rows = namespace(point), polytope.rows
    mask, free = xp.real(face.active), xp.real(face.free)
    solve = rows.factor(free, SHIFT * rows.weights + (1 - mask), mask)
    y = face.y * mask
    t = point - rows.adjoint(y)
    for _ in range(2):
        change = solve((rows.apply(xp.where(face.free, t, face.x)) - polytope.rhs) * mask)
        y, t = y + change, t - rows.adjoint(change)
    return face_at(polytope, y, t)


def polish(point: Array, polytope: Polytope, face: Face, tolerance: Array, max_iter: int) -> tuple[Face, Array]:
    """Newton steps while they help; returns the best face seen and the steps taken per instance."""
    xp = namespace(point)
    best, spent = newton_step(point, polytope, face), xp.counts(point) + 1
    index = xp.nonzero(best.residual > tolerance)
    if len(index) == 0:
        return best, spent
    s, set_, y = point[index], polytope.select(index), face.y[index]
    before = face_at(set_, y, s - set_.rows.adjoint(y))
    helped = best.residual[index] < before.residual
    astray = xp.nonzero(~helped)
    best.put(index[astray], before.select(astray))
    index = index[xp.nonzero(helped)]
    guess = best.select(index)
    for _ in range(max_iter - 1):
        if len(index) == 0:
            break
        guess = newton_step(point[index], polytope.select(index), guess)
        spent[index] += 1
        better = xp.nonzero(guess.residual < best.residual[index])
        index, guess = index[better], guess.select(better)
        best.put(index, guess)
        going = xp.nonzero(guess.residual > tolerance[index])
        index, guess = index[going], guess.select(going)
    return best, spent
