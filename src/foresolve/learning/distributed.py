"""The processes that train together, one or many."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import torch
from torch import Tensor, distributed, nn
from torch.nn.parallel import DistributedDataParallel

from foresolve._base.randomness import generator


@dataclass(frozen=True)
class TrainingGroup:
    """This process among those of `torch.distributed`, where it is initialized (`torchrun`); alone otherwise."""

    rank: int = 0
    world: int = 1

    @classmethod
    def here(cls) -> TrainingGroup:
        if distributed.is_available() and distributed.is_initialized():
            return cls(distributed.get_rank(), distributed.get_world_size())
        return cls()

    def wrap(self, module: nn.Module, device: torch.device) -> nn.Module:
        """With gradients averaged over the processes; weights start as those of the first."""
        trains = any(parameter.requires_grad for parameter in module.parameters())
        if self.world == 1 or not trains:
            return module
        return DistributedDataParallel(module, device_ids=[device] if device.type == "cuda" else None)

    def average(self, parameters: Sequence[nn.Parameter]) -> None:
        """Gradients averaged over the processes, of parameters that no wrapped module has."""
        for parameter in parameters if self.world > 1 else ():
            if parameter.grad is None:
                parameter.grad = torch.zeros_like(parameter)
            distributed.all_reduce(parameter.grad)
            parameter.grad /= self.world

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
        values = [None] * self.world
        distributed.gather_object(value, values if self.rank == 0 else None)
        return values

    def share_buffers(self, module: nn.Module) -> None:
        """Those of the first process, for all."""
        if self.world > 1:
            for buffer in module.buffers():
                distributed.broadcast(buffer, 0)

    def wait(self) -> None:
        """Until all are here."""
        if self.world > 1:
            distributed.barrier()

    def order(self, count: int, seed: int, epoch: int) -> Tensor:
        """The instances of this process in an epoch; all get as many, so a few may come twice."""
        order = torch.randperm(count, generator=generator(seed, epoch))
        missing = -count % self.world
        return torch.cat([order, order[:missing].repeat(missing)[:missing]])[self.rank :: self.world]


def original(model: Any) -> Any:
    """The user's module with its own names of weights: neither one of several processes' nor compiled."""
    inner = getattr(unwrap(model), "_orig_mod", unwrap(model))  # `torch.compile` keeps it there
    return model if inner is model else original(inner)


def unwrap(model: nn.Module) -> nn.Module:
    """The user's module."""
    return model.module if isinstance(model, DistributedDataParallel | nn.DataParallel) else model
