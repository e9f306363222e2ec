"""The demos' networks, filled by a generator of their own: the global random state is left alone."""

from __future__ import annotations

import math

import torch
from torch import Tensor, nn


def linear(width: int, out: int, generator: torch.Generator) -> nn.Linear:
    """A linear layer with torch's usual uniform weights."""
    layer = nn.Linear(width, out, device="meta").to_empty(device="cpu")
    with torch.no_grad():
        for parameter in layer.parameters():
            parameter.uniform_(-(width**-0.5), width**-0.5, generator=generator)
    return layer


class PairScorer(nn.Module):
    """From the features of a pair to its worth; two hidden layers of equal width."""

    def __init__(self, width: int, hidden: int, mean: float, generator: torch.Generator) -> None:
        super().__init__()
        self.first, self.second = linear(width, hidden, generator), linear(hidden, hidden, generator)
        self.last = linear(hidden, 1, generator)
        nn.init.constant_(self.last.bias, mean)

    def forward(self, pairs: Tensor) -> Tensor:
        """`(B, side, side, width)` to `(B, side * side)`."""
        return self.last(self.second(self.first(pairs).tanh()).tanh()).flatten(1)


class ReachPredictor(nn.Module):
    """From the features of a channel to the probabilities that it reaches each customer; one hidden layer.

    The bias of the output makes the first predictions small, about `mean`: probabilities that start near one half
    would have any ten channels reach everyone, and there would be nothing to choose. The hidden units leak: with
    plain rectified ones, mean squared error ends no better than random at larger learning rates.
    """

    def __init__(self, width: int, hidden: int, customers: int, mean: float, generator: torch.Generator) -> None:
        super().__init__()
        self.first, self.last = linear(width, hidden, generator), linear(hidden, customers, generator)
        nn.init.constant_(self.last.bias, math.log(mean / (1 - mean)))

    def forward(self, features: Tensor) -> Tensor:
        """`(B, channels, width)` to `(B, channels, customers)`, in [0, 1]."""
        return self.last(nn.functional.leaky_relu(self.first(features), 0.1)).sigmoid()
