"""Greedy maximization of set functions for a batch of instances, lazily where that saves work.

Gains only shrink as a set grows, so a gain worked out earlier bounds the gain now: once the item of the largest old
gain is looked at again, only items whose old gain is no less than its new one need be (Minoux, "Accelerated greedy
algorithms for maximizing submodular set functions", 1978).

Gains that differ by less than `TIE` of an instance's largest count as equal, and the first of several equal items is
taken. So plain and lazy greedy, NumPy and torch, dense and sparse parameters give the same sets: sums in another order
differ by less.
"""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor

from foresolve.solvers.arrays import Array
from foresolve.solvers.submodular.increments import Increments

TIE = 1e-12

# Items of one instance that are looked at together.
BLOCK = 64


Addable = Callable[[Array], Array]


def lazy_greedy(increments: Increments, rank: int, addable: Addable | None = None) -> np.ndarray:
    """Sets `(B, n)` that grow `rank` times by the item of the largest gain, the first of several.

    `addable` says which items `(B, n)` may join sets `(B, n)`; without it, all that are not in them.
    """
    everyone = np.arange(increments.count)
    sets = np.zeros((increments.count, increments.n), dtype=bool)
    if increments.count == 0 or rank == 0:
        return sets
    states = increments.empty
    bounds = np.array(increments.batch_gains(states))
    band = TIE * np.abs(bounds).max(1, keepdims=True)
    if addable is not None:
        bounds[~addable(sets)] = -np.inf
    for size in range(rank):
        if size:
            _refresh(increments, states, bounds, band, everyone)
        chosen = (bounds >= bounds.max(1, keepdims=True) - band).argmax(1)
        sets[everyone, chosen] = True
        bounds[everyone, chosen] = -np.inf
        if size + 1 == rank:
            break
        if addable is not None:
            bounds[~addable(sets)] = -np.inf  # and for good: what a set cannot take, a larger one cannot
        states = increments.grown(states, chosen)
    return sets


def _refresh(
    increments: Increments, states: np.ndarray, bounds: np.ndarray, band: np.ndarray, everyone: np.ndarray
) -> None:
    """Work out the gains that may be the largest, or within `band` of it."""
    if increments.favor == 0:
        np.copyto(bounds, increments.batch_gains(states), where=bounds != -np.inf)
        return
    top = bounds.argmax(1)
    bounds[everyone, top] = fresh = increments.picked(states, everyone, top)
    open_ = bounds >= fresh[:, None] - 2 * band  # twice: for the choice, and for the rounding of old gains
    open_[everyone, top] = False
    number = np.count_nonzero(open_)
    if number > increments.favor * bounds.size:
        np.copyto(bounds, increments.batch_gains(states), where=bounds != -np.inf)
    elif number > BLOCK and len(bounds) == 1:
        _narrow(increments, states, bounds[0], open_[0].nonzero()[0], float(fresh[0]), 2 * float(band[0, 0]))
    elif number:
        instances, items = open_.nonzero()
        bounds[instances, items] = increments.picked(states, instances, items)


def _narrow(
    increments: Increments, states: np.ndarray, bounds: np.ndarray, items: np.ndarray, best: float, band: float
) -> None:
    """The same for one instance with many items to look at: the likeliest first, since they may rule out others."""
    while len(items):
        if len(items) > BLOCK:
            order = np.argpartition(-bounds[items], BLOCK)
            block, items = items[order[:BLOCK]], items[order[BLOCK:]]
        else:
            block, items = items, items[:0]
        bounds[block] = gains = increments.picked(states, np.zeros(len(block), dtype=np.int64), block)
        best = max(best, float(gains.max()))
        items = items[bounds[items] >= best - band]


def full_greedy(increments: Increments, rank: int, addable: Addable | None = None) -> Tensor:
    """Plain greedy, on a device that would rather work all gains out than wait for its host."""
    states = increments.empty
    gains = increments.batch_gains(states)
    band = TIE * gains.abs().amax(1, keepdim=True)
    sets = torch.zeros_like(gains, dtype=torch.bool)
    for size in range(rank):
        if size:
            gains = increments.batch_gains(states)
        gains = gains.masked_fill(sets if addable is None else ~addable(sets), -torch.inf)
        chosen = (gains >= gains.amax(1, keepdim=True) - band).byte().argmax(1)
        sets.scatter_(1, chosen[:, None], True)
        states = increments.grown(states, chosen)
    return sets
