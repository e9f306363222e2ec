"""Set functions that tests share: one with increments of its own, and any one without."""

from __future__ import annotations

import numpy as np
import torch
from torch import Tensor

from foresolve.sets import Increments, SetFunction


class Modular(SetFunction):
    """The sum of all parameters of the items, as a user might write it: increments of one instance at a time."""

    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask * theta.sum(-1)).sum(-1)

    def multilinear(self, x: Tensor, theta: Tensor) -> Tensor:
        return (x * theta.sum(-1)).sum(-1)

    def increments(self, theta: Tensor, n: int) -> Increments:
        return ModularIncrements(theta[0].sum(-1).double().numpy())


class ModularIncrements(Increments):
    """Gains do not depend on the set: its state is empty but for a zero."""

    def __init__(self, worth: np.ndarray) -> None:
        self.worth, self.n, self.empty = worth, len(worth), np.zeros((1, 1))

    def gains(self, states: np.ndarray) -> np.ndarray:
        return np.repeat(self.worth[None], len(states), 0)

    def grown(self, states: np.ndarray, items: np.ndarray) -> np.ndarray:
        return states


class Slow(SetFunction):
    """Another function, known by its values alone."""

    def __init__(self, function: SetFunction) -> None:
        super().__init__()
        self.function, self.theta_dims = function, function.theta_dims

    @property
    def batch_shape(self) -> torch.Size:
        return self.function.batch_shape

    def select(self, index: int | slice | Tensor, batch: torch.Size) -> SetFunction:
        return Slow(self.function.select(index, batch))

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return self.function.value(mask, theta)


def slow(function: SetFunction) -> SetFunction:
    """The same function without its increments and cuts."""
    return Slow(function)
