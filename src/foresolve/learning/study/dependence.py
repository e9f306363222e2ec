r"""The length of blocks that are nearly independent.

The variance of a mean over `T` times, estimated from blocks in a row, is nearest to the truth for blocks of

.. math::
    L = \Bigl( \frac{|G|}{g} \Bigr)^{2/3} T^{1/3}, \qquad G = \sum_k |k| \, R(k), \quad g = \sum_k R(k),

with the autocovariances :math:`R(k)` (Carlstein, 1986). :math:`G / g` is estimated in two ways, and the larger counts:

- :math:`2 \varphi / (1 - \varphi^2)`, an autoregressive series of first order, with the correlation :math:`\varphi` of
  neighbors, raised by :math:`(1 + 3 \varphi) / T`, by which short series underestimate it;
- sums over all lags up to twice the last one whose correlation is more than chance, with weights that fall to zero in
  the second half (Politis and White, 2004). They see what lasts under noise, where neighbors are hardly alike.
"""

from __future__ import annotations

import math

import numpy as np

MOST = 0.97  # the largest correlation of neighbors that is believed
QUIET = 5  # lags in a row that are no more than chance: those beyond are taken to be


def dependence_length(series: np.ndarray) -> int:
    """The length of blocks for a mean of `series` `(T,)`, in the order of time.

    >>> rng = np.random.default_rng(0)
    >>> dependence_length(rng.normal(size=1000)) < 10 < dependence_length(rng.normal(size=100).repeat(10))
    True
    """
    count, centered = len(series), series - series.mean()
    if count < 2 * QUIET or np.abs(centered).max() <= 1e-12 * np.abs(series).max():
        return 1
    spectrum = np.fft.rfft(centered / np.abs(centered).max(), 2 * count)  # of twice the length: nothing wraps round
    covariance = np.fft.irfft(np.abs(spectrum) ** 2)[:count] / count
    correlation = covariance / covariance[0]
    ratio = max(_of_neighbors(float(correlation[1]), count), _of_all_lags(correlation))
    return max(1, math.ceil(round(ratio ** (2 / 3) * count ** (1 / 3), 9)))


def _of_neighbors(correlation: float, count: int) -> float:
    raised = min(max(correlation + (1 + 3 * correlation) / count, 0.0), MOST)
    return 2 * raised / (1 - raised**2)


def _of_all_lags(correlation: np.ndarray) -> float:
    count = len(correlation)
    chance = 2 * math.sqrt(math.log10(count) / count)
    quiet = np.abs(correlation[1:]) < chance
    last = next((m for m in range(len(quiet)) if quiet[m : m + QUIET].all()), len(quiet))
    most = min(max(1, 2 * last), count // 3)
    lags = np.arange(1, most + 1)
    weighted = np.minimum(1.0, 2 * (1 - lags / most)) * correlation[1 : most + 1]
    variance = 1 + 2 * weighted.sum()
    return max(0.0, 2 * float((lags * weighted).sum()) / variance) if variance > 0 else 0.0
