"""Intervals and p-values of a mean difference that is paired, skewed, and often exactly zero."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from foresolve._base.bootstrap import Block, Interval, runs

DRAWS, LEAST_DRAWS = 9_999, 1_999  # of subsets and of resamples: fewer where there are very many units
MOST_NUMBERS = 2 * 10**7
LEAST_UNITS = 2
CHUNK = 2**22  # numbers in memory at a time
EVERYTHING = (-math.inf, math.inf)
LEAST = math.ulp(0.0)  # the smallest positive number


@dataclass(frozen=True, eq=False)
class Evidence:
    """The evidence of instances on the mean of their differences.

    Attributes
    ----------
    mean: weighted where instances are.
    units: how many instances, blocks or groups were counted.
    tests: what both tests know of the mean; `None` where there is nothing to test.
    """

    mean: float
    units: int
    tests: _Tests | None = field(default=None, repr=False)

    def p_value(self, together: int = 1) -> float:
        """The two-sided p-value of a mean of 0, times the number of comparisons that are made together (Bonferroni)."""
        return 1.0 if self.tests is None else min(1.0, together * 2 * min(self.tests.above, self.tests.below))

    def interval(self, confidence: float = 0.95, together: int = 1) -> Interval:
        """The two-sided interval; an end that the data does not bound is infinite.

        Intervals of `together` comparisons hold at once. Zero lies outside of an interval exactly where
        `p_value(together) < 1 - confidence`: where rounding or ties put an end on the other side of zero, the p-value
        decides.
        """
        if self.tests is None:
            return EVERYTHING if self.mean else (0.0, 0.0)
        low, high = self.tests.ends(round((1 - confidence) / together / 2, 12))
        if self.p_value(together) >= 1 - confidence:
            return min(low, 0.0), max(high, 0.0)
        if self.tests.above <= self.tests.below:
            return max(low, LEAST), high
        return low, min(high, -LEAST)


def mean_difference(
    differences: np.ndarray, weights: np.ndarray | None = None, block: Block = None, *, seed: int = 0
) -> Evidence:
    r"""Test the mean of paired differences.

    Instances (or blocks in a row, or groups) are the units `u`, with sums :math:`D_u = \sum w_i d_i` and
    :math:`W_u = \sum w_i`; the mean is :math:`\bar d = \sum D_u / \sum W_u`. Two tests have to agree, each two-sided:

    - **Sign flips**: if :math:`\delta` is the mean, and differences are symmetric around it, each
      :math:`D_u - \delta W_u` has either sign with the same probability. :math:`\delta` is rejected where the observed
      sum is extreme among those with random signs. This is exact for any number of units and of zeros: two or three
      instances that differ are never enough. Its interval are quantiles of the means over random subsets of units
      (Hartigan's typical values).
    - **Student's t, corrected for skewness** (Hall, 1992): with :math:`T = (\bar d - \delta) / s` and
      :math:`a = \gamma / \sqrt U`, :math:`\gamma` the skewness of the `U` units, it is
      :math:`T + a T^2 / 3 + a^2 T^3 / 27 + a / 6` that follows Student's distribution. It sees the skewness that signs
      hide.

    The interval reaches from the smaller of the two lower ends to the larger of the two upper ones; the p-value is the
    larger in each tail, the smaller tail doubled. Both are about the mean, in its own unit; ranks (Wilcoxon) would be
    about the median of differences, which may have the other sign.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> evidence = mean_difference(rng.normal(1.0, 1.0, 100))
    >>> low, high = evidence.interval(0.95)
    >>> evidence.p_value() < 0.01, 0.6 < low < 1.0 < high < 1.4
    (True, True)
    >>> mean_difference(np.r_[np.zeros(97), 1.0, 2.0, 3.0]).p_value() > 0.2  # three of a hundred differ
    True
    """
    sums, totals = unit_sums(differences, weights, block)
    if not sums.any():
        return Evidence(0.0, len(sums))
    mean = float(sums.sum() / totals.sum())
    if len(sums) < LEAST_UNITS:
        return Evidence(mean, len(sums))
    flips = np.sort(_subset_means(sums, totals, np.random.default_rng(seed)))
    return Evidence(mean, len(sums), _Tests(flips, _Student.of(sums, totals)))


class _Tests:
    """Both tests of one mean.

    Attributes
    ----------
    above, below: the probability of so large, and of so small a mean if the true one is 0: the larger of both tests.
    """

    def __init__(self, flips: np.ndarray, student: _Student) -> None:
        self.flips, self.student = flips, student
        self.above = max(_share(flips <= 0), student.above(0.0))
        self.below = max(_share(flips >= 0), student.below(0.0))

    def ends(self, tail: float) -> Interval:
        """The means whose probabilities, above and below, are `tail` in one of the tests and no less in the other."""
        (low, high), (other_low, other_high) = _ends(self.flips, tail), self.student.ends(tail)
        return min(low, other_low), max(high, other_high)


@dataclass(frozen=True)
class _Student:
    """Student's t for a mean, corrected for skewness."""

    mean: float
    error: float
    lean: float  # a, the skewness over the root of the number of units
    freedom: int

    @classmethod
    def of(cls, sums: np.ndarray, totals: np.ndarray) -> _Student:
        size, mean = len(sums), sums.sum() / totals.sum()
        residual = sums - mean * totals
        spread = np.sqrt(np.square(residual).mean())
        error = spread * size / np.sqrt(size - 1) / totals.sum()
        if spread <= 1e-12 * np.abs(sums).max():  # the same everywhere: no spread to compare it with
            return cls(float(mean), 0.0, 0.0, size - 1)
        lean = ((residual / spread) ** 3).mean() / np.sqrt(size)
        return cls(float(mean), float(error), float(lean), size - 1)

    def _corrected(self, delta: float) -> float:
        if self.error == 0:
            return math.copysign(math.inf, self.mean - delta) if self.mean != delta else 0.0
        t, a = (self.mean - delta) / self.error, self.lean
        return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6

    def above(self, delta: float) -> float:
        """The probability of so large a mean, if `delta` is the true one."""
        return float(_stats().t.sf(self._corrected(delta), self.freedom))

    def below(self, delta: float) -> float:
        return float(_stats().t.cdf(self._corrected(delta), self.freedom))

    def ends(self, tail: float) -> Interval:
        """The means at which `above` and `below` are `tail`."""
        quantile = float(_stats().t.isf(tail, self.freedom))
        return tuple(self.mean - self.error * self._inverse(q) for q in (quantile, -quantile))  # type: ignore[return-value]

    def _inverse(self, corrected: float) -> float:
        a = self.lean
        if abs(a) < 1e-9:
            return corrected
        inside = 1 + a * (corrected - a / 6)
        return 3 / a * (math.copysign(abs(inside) ** (1 / 3), inside) - 1)


def _stats() -> Any:
    return importlib.import_module("scipy.stats")  # slow to import


def unit_sums(differences: np.ndarray, weights: np.ndarray | None, block: Block) -> tuple[np.ndarray, np.ndarray]:
    """Sums of weighted differences and of weights, of instances, blocks or groups; without those of no weight."""
    weights = np.ones(len(differences)) if weights is None else np.asarray(weights, dtype=np.float64)
    sums, totals = weights * differences, weights
    if block is not None:
        groups = runs(len(differences), block) if isinstance(block, int) else block
        sums, totals = np.bincount(groups, sums), np.bincount(groups, totals)
    scale = np.abs(weights * differences).max(initial=0.0)
    sums = np.where(np.abs(sums) > 1e-12 * scale, sums, 0.0)  # what cancels up to rounding is zero
    return sums[totals > 0], totals[totals > 0]


def _draws(size: int) -> int:
    return max(LEAST_DRAWS, min(DRAWS, MOST_NUMBERS // size))


def _share(extreme: np.ndarray) -> float:
    """The share of extreme draws, the observed one counted too: a p-value that is never too small."""
    return (1 + int(extreme.sum())) / (1 + len(extreme))


def _ends(draws: np.ndarray, tail: float) -> Interval:
    """The ends that agree with `_share`: beyond them, less than a share `tail` of the (sorted) draws is extreme."""
    k = math.floor(tail * (len(draws) + 1) + 1e-9)
    return (float(draws[k - 1]), float(draws[-k])) if k else EVERYTHING


def _subset_means(sums: np.ndarray, totals: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    r"""Means over random subsets of units, which are not empty.

    With the signs of a subset `f` turned, the sum is at least the observed one,
    :math:`\sum (D - \delta W) \ge ...`, exactly where :math:`\delta` is at least the mean over `f`.
    """
    size = len(sums)
    if 2**size - 1 <= DRAWS:
        members = (np.arange(1, 2**size)[:, None] >> np.arange(size)) & 1
        return (members @ sums) / (members @ totals)
    parts, left = [], _draws(size)
    while left:
        members = rng.integers(0, 2, size=(min(left, max(1, CHUNK // size)), size), dtype=np.int8)
        members = members[members.any(1)].astype(np.float64)
        parts.append((members @ sums) / (members @ totals))
        left -= len(members)
    return np.concatenate(parts)
