"""Batches of a data set, one after the other."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any, Protocol

import torch
from torch import Tensor

from foresolve.data.batch import Batch


class Batched(Protocol):
    """What gives batches: a data set."""

    def __len__(self) -> int: ...

    def __getitem__(self, index: Tensor, /) -> Batch: ...


@dataclass(frozen=True)
class Loader:
    """Batches of a data set, in the orders that `generator` draws, or as it is without one."""

    data: Batched
    batch_size: int
    generator: torch.Generator | None
    drop_last: bool

    def __len__(self) -> int:
        count = len(self.data)
        return count // self.batch_size if self.drop_last else -(-count // self.batch_size)

    def __iter__(self) -> Iterator[Batch]:
        count = len(self.data)
        order = torch.arange(count)
        if self.generator is not None:
            order = torch.randperm(count, generator=self.generator, device=self.generator.device)
        for i in range(len(self)):
            yield self.data[order[i * self.batch_size : (i + 1) * self.batch_size]]


@dataclass(frozen=True)
class UnpackedLoader:
    """The same batches as tuples `(features, theta, decision, value)`, as PyEPO's loaders give them.

    `value` is `(B, 1)` and in the problem's own sense: a cost where costs are minimized.
    """

    loader: Loader

    def __len__(self) -> int:
        return len(self.loader)

    def __iter__(self) -> Iterator[tuple[Any, Tensor, Tensor, Tensor]]:
        for batch in self.loader:
            decision, value = batch.best()
            yield batch.features, batch.theta, decision, batch.problem.signed(value).unsqueeze(-1)
