"""Percentile bootstrap intervals of means, and of ratios of means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

Interval = tuple[float, float]
# Numbers in memory at a time, and of what is remembered for the next call: the splits of a run, not large test sets.
MOST, MOST_KEPT = 2**22, 2**20


def interval(values: np.ndarray, *, resamples: int, confidence: float = 0.95, seed: int = 0) -> Interval | None:
    """The interval of a mean; `None` where there are fewer than two values, or no resamples.

    >>> low, high = interval(np.array([1.0, 2.0, 3.0]), resamples=1000)
    >>> 1.0 <= low < 2.0 < high <= 3.0
    True
    """
    return intervals({"": (values, None)}, resamples=resamples, confidence=confidence, seed=seed).get("")


def intervals(
    samples: Mapping[str, tuple[np.ndarray, np.ndarray | None]],
    *,
    resamples: int,
    confidence: float = 0.95,
    seed: int = 0,
) -> dict[str, Interval]:
    """The intervals of several statistics of the same instances, which are drawn once for all of them.

    Parameters
    ----------
    samples: by name `(above, below)`, a number for each instance: the statistic is `mean(above) / mean(below)`, or
        `mean(above)` where `below` is `None`. NaN in `above`: the instance takes no part.
    confidence: the share of the resampled statistics between the two ends.

    Returns
    -------
    `(low, high)` by name, over the resamples whose denominator is not zero. Where fewer than two instances take part,
    or have a denominator other than zero, there is no interval.
    """
    prepared = {name: _without_nan(*pair) for name, pair in samples.items()}
    prepared = {name: pair for name, pair in prepared.items() if _enough(*pair)}
    if not prepared or resamples < 1:
        return {}
    (size,) = {len(above) for above, _ in prepared.values()}
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in prepared}
    for weights in _weights(size, seed, resamples):
        for name, (above, below) in prepared.items():
            means = weights @ above
            if below is not None:
                total = weights @ below
                means = means[total != 0] / total[total != 0]
            drawn[name].append(means)
    tail = round((1 - confidence) / 2, 12)
    statistics = {name: np.concatenate(parts) for name, parts in drawn.items()}
    ends = {name: np.quantile(values, (tail, 1 - tail)) for name, values in statistics.items() if len(values)}
    return {name: (float(low), float(high)) for name, (low, high) in ends.items()}


def _without_nan(above: np.ndarray, below: np.ndarray | None) -> tuple[np.ndarray, np.ndarray | None]:
    above = np.asarray(above, dtype=np.float64)
    known = ~np.isnan(above)
    if known.all():
        return above, below
    return np.where(known, above, 0.0), np.where(known, 1.0 if below is None else below, 0.0)


def _enough(above: np.ndarray, below: np.ndarray | None) -> bool:
    return (len(above) if below is None else int(np.count_nonzero(below))) > 1


def _weights(size: int, seed: int, resamples: int) -> Iterator[np.ndarray]:
    """How often each of `size` instances is drawn in each resample, as shares: resampled means are one product."""
    if size * resamples <= MOST_KEPT:
        yield _kept(size, seed, resamples)
        return
    rng, rows = np.random.default_rng(seed), max(1, MOST // size)
    for start in range(0, resamples, rows):
        yield _shares(rng, size, min(rows, resamples - start))


@lru_cache(maxsize=4)
def _kept(size: int, seed: int, resamples: int) -> np.ndarray:
    weights = _shares(np.random.default_rng(seed), size, resamples)
    weights.flags.writeable = False  # it is shared by all who ask
    return weights


def _shares(rng: np.random.Generator, size: int, rows: int) -> np.ndarray:
    return rng.multinomial(size, np.full(size, 1 / size), size=rows) / size
