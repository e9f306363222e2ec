r"""Certificates of projections, in terms that no other number of the program can loosen.

With multipliers `y` of the rows, `x = clip(s - C'y, lower, upper)` is the projection of `s` if every row holds, those
with `y_i > 0` with equality, and `y >= 0` on inequalities. In a metric `H` with the diagonal `h`, `s - C'y` becomes
`t = x + (s - C'y - H x) / h`. Two things are measured, each in its own units:

- a row is broken by a share of its terms, `|C_i| |x| + |rhs_i|`;
- multipliers that do not push, or pull the wrong way, move `x_j` by `sum_i |c_ij| |y_i|`, and so does the difference
  between `x` and `clip(s - C'y)`: with the rows exact, `x` is about that far from the projection at most. It is
  measured in units of `x`, never of `s`.

`s_j - C_j'y` carries the rounding of its terms, `|s_j| + |C_j|'|y|`. The projection does not stretch distances, so that
`x` is uncertain by no more than that, and only in the directions of its face and of what rounding could add to it: a
vertex with large multipliers is exact. What is left of it must not exceed `TRUSTED` of the size of `x`, nor all of it
`BLIND` (`theta / gamma` of 1e14: then the multipliers explain nothing), or no status but ILL_CONDITIONED is true.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.face_system import FaceSystem
from foresolve.solvers.projection.polytope import Polytope

UNIT = 2.3e-16  # of float64
# What CONVERGED promises of x at least, relative to its size, whatever rounding does.
TRUSTED = 1e-7
BLIND = 1e-2
# x of this share of s may be zero.
NOTHING = 1e-11


def size_of(x: Array, point: Array, polytope: Polytope) -> Array:
    """The size of `x` `(B,)`, or of what bounds it where `x` is zero for all that rounding tells."""
    xp = namespace(x)
    size = xp.at_least(xp.amax(abs(x)), 0.0)
    origin = xp.at_least(xp.amax(polytope.metric.divided(abs(point))), 0.0)
    vanishing = size <= NOTHING * origin
    if not bool(vanishing.any()):
        return xp.where(size > 0, size, 1.0)
    infinity = float("inf")
    width, reach = polytope.upper - polytope.lower, abs(polytope.rhs) / polytope.rows.norms
    least = [-xp.amax(-xp.where(a > 0, a, infinity)) for a in (width, reach)]
    bound = xp.minimum(*least)
    bound = xp.where(xp.isfinite(bound), bound, origin)
    size = xp.where(vanishing, xp.maximum(size, bound), size)
    return xp.where(size > 0, size, 1.0)


@dataclass(frozen=True)
class Certificate:
    """Distances of a decision from the projection, as far as one can tell; every array is `(B, ...)`."""

    active: Array  # rows that count as equalities: they push
    broken: Array  # (B, m) by how much, in units of the row's terms
    astray: Array  # (B,) how far the multipliers are from explaining x, in units of its size
    rounding: Array  # (B,) what rounding does to s - C'y where x may move, in units of the size of x
    of_input: Array  # (B,) the part of it that rounding of `point` alone does

    @property
    def residual(self) -> Array:
        """The largest violation of the optimality conditions, `(B,)`; NaN is as bad as can be."""
        xp = namespace(self.astray)
        worst = xp.maximum(xp.at_least(xp.amax(self.broken), 0.0), self.astray)
        return xp.where(xp.isnan(worst), float("inf"), worst)

    def figures(self) -> tuple[Array, Array, Array, Array]:
        """The arrays that a face keeps of it."""
        return self.residual, self.broken, self.rounding, self.of_input


class Rounding:
    """The rounding of `t`, `of_t`, and the coordinates that it could move, for all that one can tell."""

    def __init__(self, point: Array, polytope: Polytope, y: Array, t: Array, x: Array) -> None:
        metric = polytope.metric
        self.of_input = metric.divided(2 * UNIT * (abs(point) + metric.rounding(x)))
        self.of_t = self.of_input + metric.divided(2 * UNIT * polytope.rows.magnitudes.adjoint(abs(y)))
        inside = (t > polytope.lower - self.of_t) & (t < polytope.upper + self.of_t)
        self.movable = inside & (polytope.lower < polytope.upper)


def certify(point: Array, polytope: Polytope, y: Array, t: Array, x: Array) -> Certificate:
    """Measure a decision `x` and the multipliers `y` that are to explain it; `t` is the target of each coordinate."""
    xp, rows, magnitudes = namespace(point), polytope.rows, polytope.rows.magnitudes
    size = size_of(x, point, polytope)
    rounding = Rounding(point, polytope, y, t, x)
    slack = polytope.rhs - rows.apply(x)
    terms = magnitudes.apply(abs(x)) + abs(polytope.rhs)
    active = polytope.equality | (y * (rows.weights / polytope.metric.unit) > slack)
    amount = xp.at_least(xp.where(active, abs(slack), -slack), 0.0)
    idle = polytope.metric.divided(magnitudes.adjoint(xp.where(active, 0.0, abs(y))))
    idle = xp.at_least(xp.amax(idle), 0.0)
    nearest = xp.minimum(xp.maximum(t, polytope.lower), polytope.upper)
    apart = xp.at_least(xp.amax(abs(x - nearest) - rounding.of_t), 0.0)
    return Certificate(
        active,
        amount / xp.where(terms > 0, terms, 1.0),
        (idle + apart) / size,
        *(xp.at_least(xp.amax(xp.where(rounding.movable, a, 0.0)), 0.0) / size
          for a in (rounding.of_t, rounding.of_input)),
    )  # fmt: skip


def uncertainty(point: Array, polytope: Polytope, face: Any) -> Array:
    """Bounds `(B,)` on how far rounding may move `x`, in units of its size.

    Rounding is projected onto the directions of the face that is left when all that could change sides within it is let
    go: variables at a bound, rows that push.
    """
    xp, rows = namespace(point), polytope.rows
    size = size_of(face.x, point, polytope)[:, None]
    metric, pull = polytope.metric, rows.adjoint(face.y)
    rounding = Rounding(point, polytope, face.y, metric.target(point, pull, face.x), face.x)
    of_t = xp.where(rounding.movable | face.free, rounding.of_t, 0.0)
    doubtful = abs(face.y) * rows.norms <= rows.magnitudes.apply(rounding.of_t) / rows.norms * metric.unit
    active = face.active & (polytope.equality | ~doubtful)
    loose = FaceSystem(rows, xp.real(face.free | rounding.movable), xp.real(active), metric)
    signs = 1.0 - 2.0 * (xp.arange(point.shape[-1], point) % 2)
    moved = xp.at_least(xp.amax(abs(loose.land(of_t * signs * metric.h).w) / size), 0.0)
    all_of_it = xp.at_least(xp.amax(of_t / size), 0.0)
    return xp.where(all_of_it <= BLIND, moved, all_of_it)
