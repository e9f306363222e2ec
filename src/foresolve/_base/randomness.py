"""The one rule for randomness: everything that draws takes a seed or a generator, and leaves the global ones alone."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from typing import Any

import numpy as np
import torch
from torch import nn

from foresolve._base import checks

Seed = int | torch.Generator


def as_generator(name: str, seed: Any, *, cpu: bool = False) -> torch.Generator:
    """A seed as a new generator on the CPU; a generator as itself, which then advances with every draw.

    Parameters
    ----------
    name: of the argument, for the message.
    seed: an integer >= 0 or a `torch.Generator`.
    cpu: refuse generators of other devices, whose draws would be others.
    """
    if isinstance(seed, torch.Generator):
        if cpu and seed.device.type != "cpu":
            raise checks.fail(name, "an integer >= 0 or a torch.Generator on the CPU", f"one on {seed.device}")
        return seed
    if isinstance(seed, bool | np.bool_) or not isinstance(seed, int | np.integer) or not 0 <= seed < 2**64:
        raise checks.fail(name, "an integer >= 0 or a torch.Generator", repr(seed))
    return torch.Generator().manual_seed(int(seed))


def as_seed(name: str, seed: Any) -> int:
    """An integer for what draws otherwise than with torch: the seed itself, or one that the generator draws."""
    if isinstance(seed, torch.Generator):
        return int(torch.randint(2**63 - 1, (), generator=seed, device=seed.device))
    as_generator(name, seed)
    return int(seed)


class Seeded(nn.Module):
    """A module that draws from a generator of its own.

    Every call continues where the last one stopped. The generator's state is part of `state_dict()`, so that training
    resumed from a checkpoint draws the same; `reset(seed)` starts over. Draws of a CPU generator (that of a seed) are
    the same whatever the device of the data.

    A subclass names this class first, calls `_seed(seed)` in its `__init__`, and draws with `self.generator`; one with
    more state adds it to that of `super().get_extra_state()`.
    """

    generator: torch.Generator

    def _seed(self, seed: Seed) -> None:
        """Draw from a seed's generator, or from the one that is given."""
        self.generator = as_generator("seed", seed)

    def reset(self, seed: int = 0) -> None:
        """Start the draws over."""
        self.generator.manual_seed(seed)

    def get_extra_state(self) -> dict[str, Any]:
        """The state of the draws."""
        return {"generator": self.generator.get_state()}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        """Continue from `get_extra_state`."""
        self.generator.set_state(state["generator"].cpu())


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
