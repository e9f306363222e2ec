"""How a data set falls into parts."""

from __future__ import annotations

from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import torch
from torch import Tensor

from foresolve._base import checks


def random_order(count: int, seed: int) -> Tensor:
    """All positions, in an order that the seed draws."""
    return torch.randperm(count, generator=torch.Generator().manual_seed(seed))


def split_sizes(parts: Sequence[Any], count: int) -> list[int]:
    """How many instances each part gets."""
    given = list(parts[0]) if len(parts) == 1 and isinstance(parts[0], Sequence) else list(parts)
    listed = ", ".join(str(part) for part in given) or "none"
    shares = any(isinstance(part, float) for part in given)
    total, whole = sum(given), 1.0 if shares else count
    if not given or min(given) < 0 or total > whole * (1 + 1e-9):
        expected = f"shares (floats) that sum to at most 1, or counts that sum to at most {count}"
        raise checks.fail("parts", expected, listed)
    if total < whole * (1 - 1e-9):
        given.append(whole - total)
    ends = [0, *(round(sum(given[: i + 1]) / whole * count) for i in range(len(given)))]
    sizes = [end - start for start, end in pairwise(ends)]
    if len(sizes) < 2 or min(sizes) == 0:
        found = f"{listed}, so sizes {', '.join(map(str, sizes))}"
        raise checks.fail("parts", f"such that no side of the {count} instances is empty", found)
    return sizes
