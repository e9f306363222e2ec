"""Training as the paper's published code does it: a fixed number of steps of Adam on drawn instances."""

from __future__ import annotations

import math
from collections.abc import Iterator

import torch
from torch import Tensor, nn

from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning.prediction import predict
from foresolve.reproduce.domains.methods import RecipeMethod


def follow(method: RecipeMethod, model: nn.Module, train: DecisionDataset, source: torch.Generator) -> None:
    """Train a model, in place, on whole instances or on rows of them."""
    optimizer = torch.optim.Adam(model.parameters(), lr=method.lr)
    loss = method.loss()
    loss.check_problem(train.problem)
    device = next(model.parameters()).device
    model.train()
    for number, batch in enumerate(_batches(method, train, source)):
        batch = batch.to(device)
        optimizer.zero_grad()
        mean = loss(predict(model, batch.features), batch).mean()
        if not math.isfinite(mean.item()):
            raise ForesolveError(f"the loss is {mean.item()} in step {number} of the recipe")
        mean.backward()
        optimizer.step()


def _batches(method: RecipeMethod, train: DecisionDataset, source: torch.Generator) -> Iterator[Batch]:
    for i in _visits(method, len(train), source):
        instance = train[i.reshape(1)]
        if method.minibatch is None:
            yield instance
            continue
        # Rows of a table are items; pairs have no table, each parameter is one.
        order = torch.randperm(instance.theta.shape[1], generator=source)
        size = min(method.minibatch.size, len(order))
        for part in order[: len(order) // size * size].split(size):
            yield method.minibatch.take(instance, part)


def _visits(method: RecipeMethod, count: int, source: torch.Generator) -> Tensor:
    """Positions of training instances in the order in which they are visited."""
    if method.draws is not None:
        return torch.randint(count, (method.draws,), generator=source)
    return torch.cat([torch.randperm(count, generator=source) for _ in range(method.epochs)])
