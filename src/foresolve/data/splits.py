"""How a data set falls into parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed, as_generator


def random_order(count: int, seed: Seed) -> Tensor:
    """All positions, in an order that the seed draws."""
    return torch.randperm(count, generator=as_generator("seed", seed, cpu=True))


def split_sizes(parts: Sequence[Any], count: int) -> list[int]:
    """How many instances each part gets."""
    amounts = list(parts[0]) if len(parts) == 1 and isinstance(parts[0], Sequence) else list(parts)
    text = ", ".join(str(amount) for amount in amounts) or "none"
    total, limit = sum(amounts), 1.0 if any(isinstance(amount, float) for amount in amounts) else count
    if not amounts or min(amounts) < 0 or total > limit * (1 + 1e-9):
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
