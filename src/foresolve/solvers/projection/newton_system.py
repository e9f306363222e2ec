"""An iterate of the interior point method, and the linear system of a step from it (`interior.py` derives both)."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import NamedTuple

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.saddle import SaddleTerms

# A diagonal that keeps M positive definite where a row has no weight at all, relative to the squared row norm.
FLOOR = 1e-20
# Added to the diagonal of C D C' in proportion to it: far above rounding (1e-16 m), far below what a Newton step
# notices, and what lets dependent rows through a Cholesky factorization.
LIFT = 1e-13
# Gondzio's correctors: by how much a step is to become longer, and between which multiples of the aim products may lie.
REACH, LEAST, MOST = 0.3, 0.1, 10.0


@dataclass(frozen=True)
class Layout:
    """The blocks of `S` and `Z`, each of `n` columns: `x - l` (sign 1), `u - x` (sign -1); then `w` if `rows`."""

    n: int
    signs: tuple[int, ...]
    rows: bool
    full: bool  # every pair of every block exists, in every instance

    def bounds(self, pairs: Array) -> Array:
        """The columns of the bounds."""
        return pairs[:, : len(self.signs) * self.n]

    def slack(self, pairs: Array) -> Array:
        """The columns of the rows."""
        return pairs[:, len(self.signs) * self.n :]

    def parts(self, pairs: Array) -> list[tuple[int, Array]]:
        """The blocks of the bounds with their signs."""
        return [(sign, pairs[:, i * self.n : (i + 1) * self.n]) for i, sign in enumerate(self.signs)]

    def signed_sum(self, pairs: Array, start: Array) -> Array:
        """`start` plus the block of the lower bounds minus that of the upper ones."""
        for sign, block in self.parts(pairs):
            start = start + block if sign > 0 else start - block
        return start


@dataclass
class InteriorState:
    """Iterates of a batch, and what stays fixed along them."""

    layout: Layout
    x: Array
    y: Array
    S: Array
    Z: Array
    live: Array  # pairs that exist, as 0/1: a finite bound of a variable that is not fixed, an inequality row
    count: Array  # how many they are, (B, 1)
    movable: Array  # variables that are not fixed, as 0/1
    unit: Array  # a typical size of x, (B, 1)
    scale: Array  # the size of the multipliers, (B, 1)
    error: Array  # (B,)
    lowest: Array  # mu so far, (B, 1)
    idle: Array  # iterations since it fell, (B, 1)

    def select(self, index: Array) -> InteriorState:
        return InteriorState(self.layout, *(getattr(self, field.name)[index] for field in fields(self)[1:]))

    def put(self, index: Array, part: InteriorState) -> None:
        """Take over the iterates of a part; what is fixed along them stays."""
        for name in ("x", "y", "S", "Z", "error", "lowest", "idle"):
            getattr(self, name)[index] = getattr(part, name)


class Move(NamedTuple):
    """A step of full length, and its inverse length up to the first pair that would turn negative, `(B, 1)`."""

    dx: Array
    dy: Array
    dS: Array
    dZ: Array
    blocking: Array


class NewtonSystem:
    """The linear system of one iterate, factorized, for steps toward any `c`; `ratio` is `Z / S`."""

    def __init__(self, polytope: Polytope, state: InteriorState, dual: Array, primal: Array, ratio: Array) -> None:
        self.layout, self.rows, self.state, self._ratio = state.layout, polytope.rows, state, ratio
        self.dual, self.primal = dual, primal
        weight = None
        for _, block in self.layout.parts(ratio):
            weight = block if weight is None else weight + block
        if self.layout.rows:
            # Rows that are equalities have no pair: a multiplier of 1 in its place keeps the arithmetic finite.
            live = self.layout.slack(state.live)
            inverse = 1 / (self.layout.slack(state.Z) + (1 - live))
            self.e = live * self.layout.slack(state.S) * inverse
        else:
            self.e = namespace(primal).zeros_like(primal)
        floor = FLOOR * self.rows.weights / polytope.metric.unit
        terms = SaddleTerms(self.rows, state.movable, self.e + floor, weight, lift=LIFT)
        self._saddle = polytope.metric.system(terms)

    def existing(self, pairs: Array) -> Array:
        return pairs if self.layout.full else pairs * self.state.live

    def direction(self, aim: Array) -> tuple[Array, Array, Array]:
        """The step `dx`, `dy`, `dS` for `c / S`."""
        row_pull = self.layout.slack(aim) * self.e if self.layout.rows else None
        gap = self.primal if row_pull is None else self.primal - row_pull
        dx, dy = self._saddle.step(self.layout.signed_sum(aim, self.dual), gap)
        parts = [dx if sign > 0 else -dx for sign in self.layout.signs]
        parts += [] if row_pull is None else [row_pull - self.e * dy]
        return dx, dy, self.existing(namespace(dx).cat(parts)) if parts else self.state.S

    def move(self, aim: Array) -> Move:
        """The whole step for `c / S`."""
        layout, state, xp = self.layout, self.state, namespace(aim)
        dx, dy, dS = self.direction(aim)
        dZ = layout.bounds(aim) - layout.bounds(self._ratio) * layout.bounds(dS)
        if layout.rows:
            dZ = xp.cat([dZ, dy * layout.slack(state.live)])
        Z = state.Z if layout.full else state.Z + (1 - state.live)
        return Move(dx, dy, dS, dZ, -xp.minimum(xp.amin(dS / state.S), xp.amin(dZ / Z)))

    def corrected(self, move: Move, aim: Array, centering: Array) -> tuple[Move, Array, bool]:
        """A longer step, where products that would stray from `centering` are called back (Gondzio, 1996).

        Products `S Z` at a trial point further ahead are put between `LEAST` and `MOST` times the aim, and the
        difference is added to `c`. It is worth a solve where that is cheap beside a factorization. Also returns whether
        any step became longer.
        """
        xp, state = namespace(aim), self.state
        step = 1 / xp.at_least(move.blocking, 1.0)
        trial = xp.at_most(step + REACH, 1.0)
        product = (state.S + trial * move.dS) * (state.Z + trial * move.dZ)
        wanted = xp.minimum(xp.maximum(product, LEAST * centering), MOST * centering)
        change = self.existing(xp.maximum(wanted - product, -MOST * centering))
        other_aim = aim + change / state.S
        other = self.move(other_aim)
        longer = 1 / xp.at_least(other.blocking, 1.0) >= step + 0.1 * REACH
        parts = (xp.where(longer, ahead, before) for ahead, before in zip(other, move, strict=True))
        return Move(*parts), xp.where(longer, other_aim, aim), bool(longer.any())
