"""Which instances are trained on, validated on and tested on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import torch
from torch import Tensor

TEST, VALIDATION = 0.2, 0.2  # of all instances, and of the others


@dataclass(frozen=True)
class Split:
    """Positions of instances, ascending but for `shuffled`.

    Attributes
    ----------
    test: never trained on.
    train: all others; `shuffled` has them in random order.
    valid, part: `train` in two, for methods that choose on a validation part.
    """

    test: Tensor
    train: Tensor
    shuffled: Tensor
    valid: Tensor
    part: Tensor

    @classmethod
    def draw(cls, count: int, source: torch.Generator) -> Self:
        """A random split of `count` instances."""
        order = torch.randperm(count, generator=source)
        tests = max(1, round(TEST * count))
        shuffled = order[tests:]
        held = max(1, round(VALIDATION * len(shuffled)))
        parts = order[:tests], shuffled, shuffled[:held], shuffled[held:]
        test, train, valid, part = (positions.sort().values for positions in parts)
        return cls(test, train, shuffled, valid, part)
