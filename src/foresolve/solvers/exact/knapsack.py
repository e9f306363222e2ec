"""The 0/1 knapsack with integer weights, for a batch of worths."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

# Bytes for the table of choices; a larger batch is taken in parts.
TABLE_BYTES = 256_000_000


def fill(gains: Tensor, weights: np.ndarray, capacity: Tensor) -> Tensor:
    """Items of the largest total gain: gains `(B, n)`, integer weights `(n,)`, capacities `(B,)` to 0/1 `(B, n)`.

    `best[c]` is the largest gain within capacity `c` from the items so far; an item is taken where that is strictly
    better, so items of non-positive gain never are.
    """
    if len(gains) == 0:
        return torch.zeros_like(gains)
    size = int(capacity.max()) + 1
    part = max(1, TABLE_BYTES // (size * gains.shape[1]))
    parts = zip(gains.split(part), capacity.split(part), strict=True)
    return torch.cat([_fill(gains_part, weights, limits, size) for gains_part, limits in parts])


def _fill(gains: Tensor, weights: np.ndarray, capacity: Tensor, size: int) -> Tensor:
    count, n = gains.shape
    best = gains.new_zeros(size, count)
    taken = torch.zeros(n, size, count, dtype=torch.bool, device=gains.device)
    for i, weight in enumerate(weights.tolist()):
        if weight >= size:
            continue
        with_item = best[: size - weight] + gains[:, i]
        better = with_item > best[weight:]
        taken[i, weight:] = better
        best[weight:] = torch.where(better, with_item, best[weight:])
    x = torch.zeros_like(gains)
    lane, left = torch.arange(count, device=gains.device), capacity.clone()
    for i in reversed(range(n)):
        chosen = taken[i, left, lane]
        x[:, i] = chosen.to(x)
        left -= chosen * int(weights[i])
    return x
