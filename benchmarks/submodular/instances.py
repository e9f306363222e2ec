"""Instances of budget allocation, from foresolve's generator."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve.data import budget_data


def budget(count: int, channels: int, customers: int, generator: torch.Generator) -> Tensor:
    """`theta` (count, channels, customers), float32 as generated."""
    return budget_data(count, channels=channels, customers=customers, features=1, seed=generator).theta
