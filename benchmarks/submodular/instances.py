"""Instances of budget allocation, from foresolve's generator."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve.data import generate_budget


def budget(count: int, channels: int, customers: int, generator: torch.Generator) -> Tensor:
    """`theta` (count, channels, customers), float32 as generated."""
    return generate_budget(count, channels=channels, customers=customers, features=1, generator=generator).theta
