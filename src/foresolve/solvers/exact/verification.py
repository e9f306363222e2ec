"""Verification of decisions, and of proofs that there is none: in each row's own terms, whoever found them.

Row `i` holds if it is broken by no more than `FEASIBLE` of its terms, `sum_j |c_ij| |x_j| + |rhs_i|`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
import scipy.sparse
import torch
from torch import Tensor

from foresolve.solvers.arrays import Array
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.rows import Rows

FEASIBLE = 1e-10
# A sum of products is known to this share of its terms.
ROUNDING = 1e-13
# Of the largest variable: closer to a bound than this, a variable is there but for rounding.
NEAR = 1e-14


def as_numpy(polytope: Polytope) -> Polytope:
    """The same polytope in NumPy arrays on the CPU."""
    return polytope.detach().to(torch.device("cpu")).numeric() if isinstance(polytope.rhs, Tensor) else polytope


def whole_bounds(polytope: Polytope, integer: np.ndarray | None) -> Polytope:
    """The polytope with bounds of integer variables at the last integer within: rounding stays inside."""
    if integer is None:
        return polytope
    lower, upper = (np.asarray(bound, dtype=np.float64) for bound in (polytope.lower, polytope.upper))
    least = np.where(integer, np.ceil(lower - FEASIBLE * np.abs(lower)), lower)
    most = np.where(integer, np.floor(upper + FEASIBLE * np.abs(upper)), upper)
    with_error = np.isfinite(lower), np.isfinite(upper)
    return replace(polytope, lower=np.where(with_error[0], least, lower), upper=np.where(with_error[1], most, upper))


def excess(product: np.ndarray, rhs: np.ndarray, equality: np.ndarray) -> np.ndarray:
    """Amounts by which rows are broken, from `C x`."""
    amount = product - rhs
    return np.where(equality, np.abs(amount), np.maximum(amount, 0.0))


def share(amount: np.ndarray, terms: np.ndarray) -> np.ndarray:
    """Shares of amounts in their terms; a row without terms cannot be broken."""
    return amount / np.where(terms > 0, terms, 1.0)


class RowCheck:
    """Checks decisions of a batch of instances of a polytope, in one or two products."""

    def __init__(self, polytope: Polytope) -> None:
        self.polytope = polytope

    @cached_property
    def _sizes(self) -> Rows:
        rows = self.polytope.rows
        return rows.with_values(np.abs(rows.values))

    def broken(self, x: np.ndarray, model_of: np.ndarray) -> np.ndarray:
        """A mask `(B,)` of decisions `(B, n)` that break a row of instance `model_of[b]` by more than `FEASIBLE`."""
        rhs = self._of(self.polytope.rhs, model_of)
        amount = excess(self._rows(self.polytope.rows, model_of).apply(x), rhs, self.polytope.equality)
        # The right-hand side alone settles most rows.
        doubtful = np.asarray((amount > FEASIBLE * np.abs(rhs)).any(-1))
        if doubtful.any():
            some, which = np.flatnonzero(doubtful), model_of[doubtful]
            sizes = self._rows(self._sizes, which).apply(np.abs(x[some]))
            terms = sizes + np.abs(self._of(self.polytope.rhs, which))
            doubtful[some] = (amount[some] > FEASIBLE * terms).any(-1)
        return doubtful

    def snapped(self, x: np.ndarray, model_of: np.ndarray) -> np.ndarray:
        """The decisions `(B, n)` with what is near a bound on it.

        A row all of whose terms are such leftovers is broken by its own measure, and holds once they are gone.
        """
        near = NEAR * np.abs(x).max(-1, keepdims=True, initial=0.0)
        for bound in (self._of(self.polytope.lower, model_of), self._of(self.polytope.upper, model_of)):
            x = np.where(np.abs(x - bound) <= near, bound, x)
        return x

    @staticmethod
    def _of(array: np.ndarray, model_of: np.ndarray) -> np.ndarray:
        return array[model_of] if len(array) > 1 else array

    @staticmethod
    def _rows(rows: Rows, model_of: np.ndarray) -> Rows:
        everything = rows.batched and np.array_equal(model_of, np.arange(len(rows.values)))
        return rows if everything else rows.select(model_of)


@dataclass(frozen=True)
class Program:
    """One instance of a polytope: `C x = rhs` on `equality`, `C x <= rhs` elsewhere, `lower <= x <= upper`."""

    matrix: scipy.sparse.csr_array
    rhs: np.ndarray
    equality: np.ndarray
    lower: np.ndarray
    upper: np.ndarray

    @classmethod
    def of(cls, polytope: Polytope, i: int) -> Program:
        """Instance `i` of a polytope in NumPy."""

        def entry(array: Array) -> np.ndarray:
            return np.asarray(array[i if len(array) > 1 else 0], dtype=np.float64)

        matrix = polytope.rows.scipy(i if polytope.rows.batched else 0)
        return cls(matrix, entry(polytope.rhs), polytope.equality, entry(polytope.lower), entry(polytope.upper))

    def fixed(self, which: np.ndarray, x: np.ndarray) -> Program:
        """The program with some variables held at their value in `x`."""
        return replace(self, lower=np.where(which, x, self.lower), upper=np.where(which, x, self.upper))

    def broken(self, x: np.ndarray) -> np.ndarray:
        """Shares of their terms by which rows are broken, `(m,)`."""
        terms = abs(self.matrix) @ np.abs(x) + np.abs(self.rhs)
        return share(excess(self.matrix @ x, self.rhs, self.equality), terms)

    def row_name(self, row: int) -> str:
        """The name of a row by its place in `A_eq` or `A_ub`."""
        kind = self.equality[row]
        return f"{'A_eq' if kind else 'A_ub'} row {int((self.equality[:row] == kind).sum())}"

    def refuted_by(self, y: np.ndarray) -> bool:
        """True if the multipliers prove that no `x` satisfies rows and bounds (Farkas).

        With `y >= 0` on inequalities, every solution has `y'C x <= y'rhs`; there is none where the least of `y'C x`
        within the bounds is larger.
        """
        y = np.where(self.equality, y, np.maximum(y, 0.0))
        slope, noise = self.matrix.T @ y, ROUNDING * (abs(self.matrix).T @ np.abs(y))
        clear = np.abs(slope) > noise  # the rest is zero, as far as rounding tells
        bound = np.where(clear, np.where(slope > 0, self.lower, self.upper), 0.0)
        least = slope * bound
        if not np.isfinite(least).all() or (self.lower > self.upper).any():
            return bool((self.lower > self.upper).any())
        error = noise @ np.abs(bound) + ROUNDING * np.abs(y * self.rhs).sum()
        return bool(least.sum() - y @ self.rhs > error)
