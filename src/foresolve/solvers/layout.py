"""What the interior point method and its fused kernel agree on."""

from __future__ import annotations

from dataclasses import dataclass

from foresolve.solvers.arrays import Array

# A diagonal that keeps M positive definite where a row has no weight at all, relative to the squared row norm.
FLOOR = 1e-20
# Added to the diagonal of C D C' in proportion to it: far above rounding (1e-16 m), far below what a Newton step
# notices, and what lets dependent rows through a Cholesky factorisation.
LIFT = 1e-11
# Below this share of the multipliers' size, mu is rounding.
VANISHED = 1e-18


@dataclass(frozen=True)
class Layout:
    """Which blocks `S` and `Z` have, each of `n` columns: `x - l` (sign 1), `u - x` (sign -1); then `w` if `rows`."""

    n: int
    signs: tuple[int, ...]
    rows: bool
    full: bool  # every pair of every block exists, in every instance
    bounds_full: bool  # every pair of the bounds' blocks does

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
