r"""The saddle point systems of a projection: variables in a metric, rows; factorized once and solved often.

With `H` the metric, `w >= 0` what a method adds to its diagonal, `F` the variables that may move, `C` the rows (those
of a 0/1 mask), `e > 0` a diagonal:

    (H + w)_FF dx + C_F' dy = r_F,      C_F dx - e dy = p,      dx = 0 off F.

Let `D` be the inverse of `(H + w)_FF`, zero elsewhere. Then `(C D C' + e) dy = C D r - p` and `dx = D (r - C'dy)`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.rows import Rows


@dataclass(frozen=True)
class SaddleTerms:
    """The terms of a system that a method asks for; every array is `(B, ...)`.

    Attributes
    ----------
    rows: `C`.
    free: `F` as 0/1, `(B, n)`.
    e: on the rows, `(B, m)`.
    weight: `w`, `(B, n)`; `None` for zero.
    mask: the rows that count, as 0/1; `None` for all.
    lift: a share of the diagonal of `C D C'` that is added to it, which lets dependent rows through.
    """

    rows: Rows
    free: Array
    e: Array
    weight: Array | None = None
    mask: Array | None = None
    lift: float = 0.0

    def on_cpu(self) -> SaddleTerms:
        """The same in NumPy, from a GPU."""
        rows = self.rows.with_values(self.rows.values.cpu().numpy())
        free, e = self.free.cpu().numpy(), self.e.cpu().numpy()
        weight, mask = (None if part is None else part.cpu().numpy() for part in (self.weight, self.mask))
        return SaddleTerms(rows, free, e, weight, mask, self.lift)

    def common(self) -> SaddleTerms:
        """The terms of one instance, if all of a batch have the same rows and faces; themselves otherwise."""
        if self.weight is not None or self.rows.batched or len(self.free) <= 1:
            return self
        parts = [part for part in (self.free, self.mask, self.e) if part is not None]
        if not all(bool((part == part[:1]).all()) for part in parts):
            return self
        mask = None if self.mask is None else self.mask[:1]
        return SaddleTerms(self.rows, self.free[:1], self.e[:1], None, mask, self.lift)

    def inverse(self, h: Array) -> Array:
        """`1 / (h + w)` on `F`, 0 elsewhere."""
        if self.weight is not None:
            return self.free / (h + self.weight)
        return self.free if isinstance(h, float) and h == 1.0 else self.free / h

    def masked(self, products: Array) -> Array:
        """Products with the rows, 0 on those that do not count."""
        return products if self.mask is None else products * self.mask


class Saddle(ABC):
    """A factorized system; every array is `(B, ...)`."""

    def __init__(self, terms: SaddleTerms) -> None:
        self.terms = terms

    @abstractmethod
    def step(self, r: Array, p: Array) -> tuple[Array, Array]:
        """`dx` and `dy`."""

    def push(self, left: Array) -> tuple[Array, Array]:
        """The multipliers `z` that take `left` off the rows, and `D C' z`, by which they move the variables."""
        dx, dy = self.step(namespace(left).zeros_like(self.terms.free), -left)
        return dy, -dx


class SeparableSaddle(Saddle):
    """`H = diag(h)`: `D` is diagonal, and the rows' own factorization is all there is."""

    def __init__(self, terms: SaddleTerms, h: Array) -> None:
        super().__init__(terms)
        self.d = terms.inverse(h)
        self._solve = terms.rows.factor(self.d, terms.e, terms.mask, terms.lift)

    def step(self, r: Array, p: Array) -> tuple[Array, Array]:
        rows = self.terms.rows
        dy = self._solve(self.terms.masked(rows.apply(self.d * r)) - p)
        return self.d * (r - rows.adjoint(dy)), dy

    def push(self, left: Array) -> tuple[Array, Array]:
        z = self._solve(left)
        return z, self.terms.rows.adjoint(z) * self.d


def filled(rows: Rows) -> Array:
    """The rows with all their zeros, `(1 or B, m, n)`."""
    return rows.filled if rows.batched else rows.filled[None]
