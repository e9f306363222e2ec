r"""Whether a decision is the projection, in terms that no other number of the program can loosen.

With multipliers `y` of the rows, `x = clip(s - C'y, lower, upper)` is the projection of `s` if every row holds, those
with `y_i > 0` with equality, and `y >= 0` on inequalities. Two things are measured, each in its own units:

- a row is broken by a share of its terms, `|C_i| |x| + |rhs_i|`; what rounding of `x` alone makes of it is taken off;
- multipliers that do not push, or pull the wrong way, move `x` by `|y_i| |C_i|`, and so does the difference between
  `x` and `clip(s - C'y)`: with the rows exact, `x` is no farther from the projection than that. It is measured in
  units of `x`, never of `s`.

`x_j = s_j - C_j'y` carries the rounding of its terms, `|s_j| + |C_j|'|y|`, unless it sits at a bound. Where that exceeds
`TRUSTED` of the size of `x` (`theta / gamma` of 1e14, multipliers of nearly dependent rows), no status but
ILL_CONDITIONED is true.
"""

from __future__ import annotations

from dataclasses import dataclass

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.polytope import Polytope

UNIT = 2.3e-16  # of float64
# What CONVERGED promises of x at least, relative to its size, whatever rounding does.
TRUSTED = 1e-7


def size_of(x: Array, point: Array, polytope: Polytope) -> Array:
    """The size of `x` `(B,)`, or of what bounds it where it is zero."""
    xp = namespace(x)
    size = xp.at_least(xp.amax(abs(x)), 0.0)
    if bool((size > 0).all()):
        return size
    infinity = float("inf")
    width, reach = polytope.upper - polytope.lower, abs(polytope.rhs) / polytope.rows.norms
    least = [-xp.amax(-xp.where(a > 0, a, infinity)) for a in (width, reach)]
    bound = xp.minimum(*least)
    bound = xp.where(xp.isfinite(bound), bound, xp.at_least(xp.amax(abs(point)), 0.0))
    return xp.where(size > 0, size, xp.where(bound > 0, bound, 1.0))


@dataclass(frozen=True)
class Certificate:
    """How far a decision is from the projection, as far as one can tell; every array is `(B, ...)`."""

    active: Array  # rows that count as equalities: they push
    broken: Array  # (B, m) by how much, in units of the row's terms
    astray: Array  # (B,) how far the multipliers are from explaining x, in units of its size
    rounding: Array  # (B,) what rounding does to x, in units of its size
    of_input: Array  # (B,) the part of it that rounding of `point` alone does

    @property
    def residual(self) -> Array:
        """The largest violation of the optimality conditions, `(B,)`; NaN is as bad as can be."""
        xp = namespace(self.astray)
        worst = xp.maximum(xp.at_least(xp.amax(self.broken), 0.0), self.astray)
        return xp.where(xp.isnan(worst), float("inf"), worst)

    def figures(self) -> tuple[Array, Array, Array, Array]:
        """What a face keeps of it."""
        return self.residual, self.broken, self.rounding, self.of_input


def certify(point: Array, polytope: Polytope, y: Array, t: Array, x: Array) -> Certificate:
    """Measure a decision `x` and the multipliers `y` that are to explain it; `t` is `s - C'y`."""
    xp, rows, magnitudes = namespace(point), polytope.rows, polytope.rows.magnitudes
    size = size_of(x, point, polytope)
    of_input = 2 * UNIT * abs(point)
    of_terms = of_input + 2 * UNIT * magnitudes.adjoint(abs(y))
    movable = (t > polytope.lower - of_terms) & (t < polytope.upper + of_terms) & (polytope.lower < polytope.upper)
    of_x = xp.where(movable, of_terms, 0.0)
    slack = polytope.rhs - rows.apply(x)
    terms = magnitudes.apply(abs(x)) + abs(polytope.rhs)
    active = polytope.equality | (y * rows.weights > slack)
    amount = xp.at_least(xp.where(active, abs(slack), -slack) - magnitudes.apply(of_x), 0.0)
    idle = xp.at_least(xp.amax(xp.where(active, 0.0, abs(y)) * rows.norms), 0.0)
    nearest = xp.minimum(xp.maximum(t, polytope.lower), polytope.upper)
    apart = xp.at_least(xp.amax(abs(x - nearest) - of_terms), 0.0)
    return Certificate(
        active,
        amount / xp.where(terms > 0, terms, 1.0),
        (idle + apart) / size,
        xp.at_least(xp.amax(of_x), 0.0) / size,
        xp.at_least(xp.amax(xp.where(movable, of_input, 0.0)), 0.0) / size,
    )
