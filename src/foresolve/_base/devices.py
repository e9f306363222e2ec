"""Devices that tensors live on."""

from __future__ import annotations

from typing import Any

import torch
from torch import nn

from foresolve._base import checks
from foresolve._base.text import line_of


def canonical(device: torch.device | str) -> torch.device:
    """A device with its number, so that "cuda" equals "cuda:0"; an error where it is not there."""
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        available = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        expected = f"one that is available ({', '.join(available)})"
        raise checks.fail("device", expected, f"{device!r}: {line_of(error)}") from error


def find_device(device: Any, model: nn.Module) -> torch.device:
    """The device that was asked for, or that of the model."""
    if device is not None:
        return canonical(device)
    first = next(iter([*model.parameters(), *model.buffers()]), None)
    return torch.device("cpu") if first is None else first.device
