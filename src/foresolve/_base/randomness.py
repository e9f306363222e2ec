"""Randomness that belongs to a run: generators by key, and the global ones put back."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator

import numpy as np
import torch


def generator(*key: int, device: torch.device | str = "cpu") -> torch.Generator:
    """A generator of its own for each key (a seed, an epoch, a process)."""
    state = np.random.SeedSequence([part % 2**64 for part in key]).generate_state(1, np.uint64)[0]
    return torch.Generator(device).manual_seed(int(state >> np.uint64(1)))


@contextlib.contextmanager
def own_randomness(device: torch.device) -> Iterator[None]:
    """The global generators (dropout draws from them) are put back as they were at the end."""
    with torch.random.fork_rng(devices=[device] if device.type == "cuda" else []):
        yield


def begin_epoch(device: torch.device, *key: int) -> None:
    """Within `own_randomness`: what dropout draws depends on the key alone, so that resuming needs no memory of it."""
    torch.set_rng_state(generator(*key).get_state())
    if device.type == "cuda":
        torch.cuda.set_rng_state(generator(*key, device=device).get_state(), device)
