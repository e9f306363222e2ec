"""Percentile bootstrap intervals of means, and of ratios of means."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from functools import lru_cache

import numpy as np

Interval = tuple[float, float]
Block = int | np.ndarray | None
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
    block: Block = None,
) -> dict[str, Interval]:
    """The intervals of several statistics of the same instances, which are drawn once for all of them.

    Parameters
    ----------
    samples: by name `(above, below)`, a number for each instance: the statistic is `mean(above) / mean(below)`, or
        `mean(above)` where `below` is `None`. NaN in `above`: the instance takes no part.
    confidence: the share of the resampled statistics between the two ends.
    block: what is drawn as one. `None`: an instance. A length: that many instances in a row, from any of them on, round
        the end to the first (the circular block bootstrap; the last block of a resample is cut so that there are as
        many instances as before). Numbers `(N,)` from 0: the instances with the same one (the cluster bootstrap).

    Returns
    -------
    `(low, high)` by name, over the resamples whose denominator is not zero. Where fewer than two instances (or groups,
    or `runs` of the length of a block) take part, or have a denominator other than zero, there is no interval.
    """
    prepared = {name: _without_nan(*pair) for name, pair in samples.items()}
    prepared = {name: pair for name, pair in prepared.items() if _enough(*pair, block)}
    if not prepared or resamples < 1:
        return {}
    if isinstance(block, np.ndarray):
        prepared = {name: _sums(*pair, block) for name, pair in prepared.items()}
    length = block if isinstance(block, int) else 1
    (size,) = {len(above) for above, _ in prepared.values()}
    drawn: dict[str, list[np.ndarray]] = {name: [] for name in prepared}
    for weights in _weights(size, seed, resamples, length):
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


def runs(size: int, length: int) -> np.ndarray:
    """The numbers of consecutive runs of `length` instances, what is left over in the last of them.

    >>> runs(7, 3)
    array([0, 0, 0, 1, 1, 1, 1])
    """
    return np.minimum(np.arange(size) // length, max(size // length - 1, 0))


def _enough(above: np.ndarray, below: np.ndarray | None, block: Block) -> bool:
    counted = np.arange(len(above)) if below is None else np.flatnonzero(below)
    if block is None:
        return len(counted) > 1
    groups = runs(len(above), block) if isinstance(block, int) else block
    return len(np.unique(groups[counted])) > 1


def _sums(above: np.ndarray, below: np.ndarray | None, groups: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """Sums of each group: groups differ in size, and a mean over those drawn is a ratio."""
    return np.bincount(groups, above), np.bincount(groups, below)


def _weights(size: int, seed: int, resamples: int, length: int) -> Iterator[np.ndarray]:
    """Shares of the `size` instances in each resample, by how often they are drawn: resampled means are one product."""
    if size * resamples <= MOST_KEPT:
        yield _kept(size, seed, resamples, length)
        return
    rng, rows = np.random.default_rng(seed), max(1, MOST // size)
    for start in range(0, resamples, rows):
        yield _shares(rng, size, min(rows, resamples - start), length)


@lru_cache(maxsize=4)
def _kept(size: int, seed: int, resamples: int, length: int) -> np.ndarray:
    weights = _shares(np.random.default_rng(seed), size, resamples, length)
    weights.flags.writeable = False  # it is shared by all who ask
    return weights


def _shares(rng: np.random.Generator, size: int, rows: int, length: int) -> np.ndarray:
    if length > 1:
        return _circular(rng, size, rows, length)
    return rng.multinomial(size, np.full(size, 1 / size), size=rows) / size


def _circular(rng: np.random.Generator, size: int, rows: int, length: int) -> np.ndarray:
    """Draws of blocks in a row: each adds one where it begins and takes it back where it ends, past the end first."""
    lengths = np.full(-(-size // length), length)
    lengths[-1] -= lengths.sum() - size
    width = size + length
    starts = rng.integers(size, size=(rows, len(lengths)))
    flat = starts + width * np.arange(rows)[:, None]
    steps = np.bincount(flat.ravel(), minlength=rows * width)
    steps -= np.bincount((flat + lengths).ravel(), minlength=rows * width)
    counts = steps.reshape(rows, width).cumsum(1)
    counts[:, :length] += counts[:, size:]
    return counts[:, :size] / size
