"""Intervals and p-values of a mean difference that is paired, skewed, and often exactly zero."""

from __future__ import annotations

import importlib
import math
from dataclasses import dataclass
from typing import Any

import numpy as np

from foresolve._base.bootstrap import Block, Interval, runs

DRAWS, LEAST_DRAWS = 9_999, 1_999  # of subsets and of resamples: fewer where there are very many units
MOST_NUMBERS = 2 * 10**7
LEAST_UNITS = 2
CHUNK = 2**22  # numbers in memory at a time
EVERYTHING = (-math.inf, math.inf)


@dataclass(frozen=True)
class Evidence:
    """What instances say of the mean of their differences.

    Attributes
    ----------
    mean: weighted where instances are.
    interval: two-sided, at the level that was asked for; an end that the data does not bound is infinite.
    p_value: two-sided, of a mean of 0: below `1 - confidence` exactly where 0 lies outside of the interval.
    units: how many instances, blocks or groups were counted.
    """

    mean: float
    interval: Interval
    p_value: float
    units: int


def mean_difference(
    differences: np.ndarray,
    weights: np.ndarray | None = None,
    block: Block = None,
    *,
    confidence: float = 0.95,
    seed: int = 0,
) -> Evidence:
    r"""Test the mean of paired differences, and give its interval.

    Instances (or blocks in a row, or groups) are the units `u`, with sums :math:`D_u = \sum w_i d_i` and
    :math:`W_u = \sum w_i`; the mean is :math:`\bar d = \sum D_u / \sum W_u`. Two tests have to agree, each two-sided:

    - **Sign flips**: were :math:`\delta` the mean, and differences around it symmetric, each :math:`D_u - \delta W_u`
      would as soon have the other sign. :math:`\delta` is refused where the observed sum is extreme among those with
      random signs. This is exact for any number of units and of zeros: two or three instances that differ are never
      enough. Its interval are quantiles of the means over random subsets of units (Hartigan's typical values).
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
    >>> evidence.p_value < 0.01, 0.6 < evidence.interval[0] < 1.0 < evidence.interval[1] < 1.4
    (True, True)
    >>> mean_difference(np.r_[np.zeros(97), 1.0, 2.0, 3.0]).p_value > 0.2  # three of a hundred differ
    True
    """
    sums, totals = unit_sums(differences, weights, block)
    mean = float(sums.sum() / totals.sum())
    if not sums.any():
        return Evidence(0.0, (0.0, 0.0), 1.0, len(sums))
    if len(sums) < LEAST_UNITS:
        return Evidence(mean, EVERYTHING, 1.0, len(sums))
    tail = round((1 - confidence) / 2, 12)
    rng = np.random.default_rng(seed)
    flips = _subset_means(sums, totals, rng)
    student = _Student.of(sums, totals)
    # Of both tests, how likely a mean that is as far above 0 or more, and as far below.
    above = max(_share(flips <= 0), student.above(0.0))
    below = max(_share(flips >= 0), student.below(0.0))
    ends = zip(_ends(np.sort(flips), tail), student.ends(tail))
    (low, other_low), (high, other_high) = ends
    interval = min(low, other_low), max(high, other_high)
    return Evidence(mean, interval, float(min(1.0, 2 * min(above, below))), len(sums))


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
        lean = (residual**3).mean() / spread**3 / np.sqrt(size)
        return cls(float(mean), float(error), float(lean), size - 1)

    def _corrected(self, delta: float) -> float:
        if self.error == 0:
            return math.copysign(math.inf, self.mean - delta) if self.mean != delta else 0.0
        t, a = (self.mean - delta) / self.error, self.lean
        return t + a * t**2 / 3 + a**2 * t**3 / 27 + a / 6

    def above(self, delta: float) -> float:
        """How likely so large a mean is, were `delta` the true one."""
        return float(_stats().t.sf(self._corrected(delta), self.freedom))

    def below(self, delta: float) -> float:
        return float(_stats().t.cdf(self._corrected(delta), self.freedom))

    def ends(self, tail: float) -> Interval:
        """Where `above` and `below` are `tail`."""
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
    """Of draws, the observed one counted too: a p-value that is never too small."""
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


def holm(p_values: dict[str, float]) -> dict[str, float]:
    """Holm's correction: the smallest times their number, the next times one less, never falling.

    >>> holm({"a": 0.01, "b": 0.04, "c": 0.03})
    {'a': 0.03, 'b': 0.06, 'c': 0.06}
    """
    corrected, largest = {}, 0.0
    for rank, name in enumerate(sorted(p_values, key=lambda name: p_values[name])):
        largest = max(largest, min(1.0, (len(p_values) - rank) * p_values[name]))
        corrected[name] = largest
    return {name: corrected[name] for name in p_values}
