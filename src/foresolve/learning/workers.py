"""The processes that train together, one or many; and randomness that belongs to a run."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from foresolve import _check


@dataclass(frozen=True)
class Workers:
    """This process among those of `torch.distributed`, where it is initialised (`torchrun`); alone otherwise."""

    rank: int = 0
    world: int = 1

    @classmethod
    def here(cls) -> Workers:
        if distributed.is_available() and distributed.is_initialized():
            return cls(distributed.get_rank(), distributed.get_world_size())
        return cls()

    def wrap(self, module: nn.Module, device: torch.device) -> nn.Module:
        """With gradients averaged over the processes; weights start as those of the first."""
        trains = any(parameter.requires_grad for parameter in module.parameters())
        if self.world == 1 or not trains:
            return module
        return DistributedDataParallel(module, device_ids=[device] if device.type == "cuda" else None)

    def total(self, numbers: list[float], device: torch.device) -> list[float]:
        """Sums over the processes."""
        if self.world == 1:
            return numbers
        on = device if distributed.get_backend() == "nccl" else torch.device("cpu")
        table = torch.tensor(numbers, dtype=torch.float64, device=on)
        distributed.all_reduce(table)
        return table.tolist()

    def gather(self, value: Any) -> list[Any]:
        """The value of every process, at the first; at the others nothing that matters."""
        if self.world == 1:
            return [value]
        found = [None] * self.world
        distributed.gather_object(value, found if self.rank == 0 else None)
        return found

    def wait(self) -> None:
        """Until all are here."""
        if self.world > 1:
            distributed.barrier()

    def order(self, count: int, seed: int, epoch: int) -> Tensor:
        """The instances of this process in an epoch; all get as many, so a few may come twice."""
        order = torch.randperm(count, generator=generator(seed, epoch))
        missing = -count % self.world
        return torch.cat([order, order[:missing].repeat(missing)[:missing]])[self.rank :: self.world]


def unwrap(model: nn.Module) -> nn.Module:
    """The user's module."""
    return model.module if isinstance(model, DistributedDataParallel | nn.DataParallel) else model


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


def find_device(device: Any, model: nn.Module) -> torch.device:
    """The device that was asked for, or that of the model; an error where it is not there."""
    if device is None:
        first = next(iter([*model.parameters(), *model.buffers()]), None)
        return torch.device("cpu") if first is None else first.device
    try:
        return torch.empty(0, device=device).device
    except (RuntimeError, AssertionError, TypeError, NotImplementedError) as error:
        there = ["cpu", *(f"cuda:{i}" for i in range(torch.cuda.device_count()))]
        reason = str(error).splitlines()[0]
        raise _check.fail("device", f"one that is there ({', '.join(there)})", f"{device!r}: {reason}") from error
