"""Rows, columns and costs in units in which HiGHS' absolute tolerances make sense.

HiGHS drops entries below 1e-9 and accepts rows and bounds that are broken by 1e-7, whatever their units. All factors
are powers of two, so that scaling rounds nothing and whole numbers stay multiples of one unit.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np
import scipy.sparse

# Rows and columns whose entries lie between 2^-10 and 2^10 are left as they are.
ORDINARY = 10
PASSES = 3
ROUNDING = 1e-14  # of a sum, as a share of its terms
# HiGHS judges reduced costs on an absolute scale (1e-7); costs are brought to this one, whatever their units.
COST_SCALE = 8192.0


def power_of_two(size: float) -> float:
    """The largest power of two up to `size > 0`, within the range of normal numbers."""
    return math.ldexp(1.0, max(-1000, min(math.frexp(size)[1] - 1, 1000)))


def cost_scale(costs: np.ndarray) -> float:
    """The power of two that brings the largest entry to between half of `COST_SCALE` and `COST_SCALE`."""
    largest = float(np.abs(costs).max(initial=0.0))
    return COST_SCALE / 2 / power_of_two(largest) if largest > 0 else 1.0


def scaled(costs: np.ndarray) -> np.ndarray:
    """The same direction on the scale of `COST_SCALE`; zero stays zero."""
    return costs * cost_scale(costs)


class Scaling(NamedTuple):
    """`C' = diag(rows) C diag(columns)` and `x = columns x'`."""

    rows: np.ndarray
    columns: np.ndarray
    needed: bool  # False where all factors are 1

    def same_as(self, other: Scaling) -> bool:
        """True if all factors are the same."""
        if not (self.needed or other.needed):
            return True
        return bool((self.rows == other.rows).all() and (self.columns == other.columns).all())

    def matrix(self, matrix: scipy.sparse.csr_array) -> scipy.sparse.csr_array:
        """`C'`."""
        if not self.needed:
            return matrix
        factors = np.repeat(self.rows, np.diff(matrix.indptr)) * self.columns[matrix.indices]
        return scipy.sparse.csr_array((matrix.data * factors, matrix.indices, matrix.indptr), matrix.shape)


def units_of(matrix: scipy.sparse.csr_array, rhs: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> np.ndarray:
    """The sizes `(n,)` that the variables have, as far as their bounds tell, or else the rows; NaN where nothing does.

    A bound far beyond the reach `|rhs_i / C_ij|` of every row is a number for "no limit". A right-hand side that is
    rounding beside the terms of its row is 0, and tells nothing.
    """
    largest = np.maximum(np.abs(lower), np.abs(upper))
    m, n = len(matrix.indptr) - 1, lower.shape[-1]
    row, sizes = np.repeat(np.arange(m), np.diff(matrix.indptr)), np.abs(matrix.data)
    limits = np.where(largest <= 2.0 ** (2 * ORDINARY), largest, 0.0)
    terms = np.bincount(row, sizes * limits[matrix.indices], minlength=m)
    side = np.where(np.abs(rhs) > ROUNDING * terms, np.abs(rhs), 0.0)[row]
    telling = (side > 0) & (sizes > 0)
    reach = np.full(n, np.inf)
    np.minimum.at(reach, matrix.indices[telling], side[telling] / sizes[telling])
    unlimited = ~np.isfinite(largest) | ((largest > 2.0 ** (2 * ORDINARY)) & (reach < largest))
    units = np.where(unlimited, reach, largest)
    return np.where(np.isfinite(units) & (units > 0), units, np.nan)


def equilibrate(
    matrix: scipy.sparse.csr_array, n: int, fixed: np.ndarray | None = None, units: np.ndarray | None = None
) -> Scaling:
    """Factors that bring variables to sizes near 1, and the middle of the entries of rows near 1.

    Where the unit of a variable is not known (NaN, see `units_of`), the middle of its column comes near 1. The middle
    is the geometric mean of the largest and smallest entry, since a row such as `x <= 10^6 z` means something at both
    ends. Columns of `fixed` (integer variables) keep their unit.
    """
    m = len(matrix.indptr) - 1
    sizes = np.abs(matrix.data)
    known = np.zeros(n, dtype=bool) if units is None else np.isfinite(units)
    powers = np.zeros(n) if units is None else np.log2(np.where(known, units, 1.0))
    powers = np.where(np.abs(powers) <= ORDINARY, 0.0, np.floor(powers))
    if fixed is not None:
        known, powers = known | fixed.astype(bool), np.where(fixed, 0.0, powers)
    ordinary = sizes.max(initial=0.0) <= 2.0**ORDINARY and sizes.min(initial=1.0) >= 2.0**-ORDINARY
    if ordinary and not powers.any():
        return Scaling(np.ones(m), np.ones(n), needed=False)
    used = np.flatnonzero(sizes)
    row, column, logs = (
        np.repeat(np.arange(m), np.diff(matrix.indptr))[used],
        matrix.indices[used],
        np.log2(sizes[used]),
    )
    of_rows, of_columns = np.zeros(m), powers
    for _ in range(PASSES):
        of_rows += _middle(logs + of_rows[row] + of_columns[column], row, m)
        change = _middle(logs + of_rows[row] + of_columns[column], column, n)
        of_columns = of_columns + np.where(known, 0.0, change)
    rows, columns = (np.ldexp(1.0, np.clip(part, -1000, 1000).astype(np.int64)) for part in (of_rows, of_columns))
    return Scaling(rows, columns, needed=True)


def _middle(logs: np.ndarray, group: np.ndarray, count: int) -> np.ndarray:
    """Shifts that bring the middle of each group's logarithms to 0, in whole numbers; 0 for ordinary groups or none."""
    low, high = np.full(count, np.inf), np.full(count, -np.inf)
    np.minimum.at(low, group, logs)
    np.maximum.at(high, group, logs)
    ordinary = (low >= -ORDINARY) & (high <= ORDINARY)  # an empty group, too: inf and -inf
    return -np.where(ordinary, 0.0, np.round((np.where(ordinary, 0.0, low) + np.where(ordinary, 0.0, high)) / 2))
