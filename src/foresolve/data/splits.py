"""How a data set falls into parts."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator
from foresolve.errors import ForesolveWarning


def random_order(count: int, seed: Seed) -> Tensor:
    """All positions, in an order that the seed draws."""
    return torch.randperm(count, generator=as_generator("seed", seed, cpu=True))


def split_sizes(parts: Sequence[Any], count: int) -> list[int]:
    """How many instances each part gets."""
    amounts = list(parts[0]) if len(parts) == 1 and isinstance(parts[0], Sequence) else list(parts)
    text = ", ".join(str(amount) for amount in amounts) or "none"
    total, limit = sum(amounts), 1.0 if any(isinstance(amount, float) for amount in amounts) else count
    if not amounts or not all(map(math.isfinite, amounts)) or min(amounts) < 0 or total > limit * (1 + 1e-9):
        expected = f"shares (floats) that sum to at most 1, or counts that sum to at most {count}"
        raise checks.fail("parts", expected, text)
    if total < limit * (1 - 1e-9):
        amounts.append(limit - total)
    ends = [0, *(round(sum(amounts[: i + 1]) / limit * count) for i in range(len(amounts)))]
    sizes = [end - start for start, end in pairwise(ends)]
    if len(sizes) < 2 or min(sizes) == 0:
        result = f"{text}, so sizes {', '.join(map(str, sizes))}"
        raise checks.fail("parts", f"such that no side of the {count} instances is empty", result)
    return sizes


def shuffles(shuffle: bool | None, times: np.ndarray | None) -> bool:
    """Whether rows are shuffled: those that are not dated, unless something else is asked for."""
    if shuffle and times is not None:
        message = "rows that are dated are shuffled: a model will train on days after those that it is tested on. "
        checks.warn(message + "Leave `shuffle` out to split them in the order of time", ForesolveWarning)
    return times is None if shuffle is None else bool(shuffle)


def cuts_in_time(times: np.ndarray, sizes: Sequence[int]) -> list[Tensor]:
    """Positions of each part in the order of time; a part ends with the last instance of its last time.

    >>> times = np.array(["2024-01-02", "2024-01-01", "2024-01-02", "2024-01-03"], dtype="datetime64[ns]")
    >>> [part.tolist() for part in cuts_in_time(times, [2, 2])]
    [[1, 0, 2], [3]]
    """
    order = np.argsort(times, kind="stable")
    ordered = times[order]
    ends = [0]
    for end in np.cumsum(sizes):
        ends.append(int(np.searchsorted(ordered, ordered[end - 1], side="right")))
    counts = [end - start for start, end in pairwise(ends)]
    if min(counts) == 0:
        told = f"sizes {', '.join(map(str, counts))}, with instances of the same time in one part"
        raise checks.fail("parts", f"such that no side of the {len(times)} instances is empty", told)
    return list(torch.from_numpy(order).split(counts))


def without_gaps(indices: Sequence[Tensor], gap: int) -> list[Tensor]:
    """Parts of which all but the first lack their first `gap` instances."""
    if gap and min(len(index) for index in indices[1:]) <= gap:
        expected = "smaller than each part but the first"
        raise checks.fail("gap", expected, f"{gap}, with parts of {', '.join(str(len(index)) for index in indices)}")
    return [indices[0], *(index[gap:] for index in indices[1:])]
