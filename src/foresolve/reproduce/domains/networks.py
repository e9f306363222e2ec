"""What experiments put around the reference models."""

from __future__ import annotations

import math
from typing import Any

import torch
from torch import Tensor, nn

from foresolve.models.mlp import MLP
from foresolve.models.pairs import pair


def start_at(model: MLP, mean: float) -> MLP:
    """The same network, whose first predictions are about `mean`.

    Probabilities that start near one half would have any few rows cover everything: there would be nothing to choose.
    """
    nn.init.constant_(model.layers[-1].bias, log_odds(mean))  # type: ignore[arg-type]
    return model


def log_odds(mean: float) -> float:
    """Of a probability, kept away from 0 and 1."""
    mean = min(max(mean, 1e-6), 1 - 1e-6)
    return math.log(mean / (1 - mean))


class EvenRows(nn.Module):
    """A model of pairs that sees each node's features scaled to a mean square of 1: long texts count as short ones."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Any) -> Tensor:
        sides = (side / side.square().mean(-1, keepdim=True).clamp_min(1e-12).sqrt() for side in pair(features))
        return self.model(tuple(sides))


class Calibrated(nn.Module):
    """A model's scores as probabilities, by a slope and an offset that are learned: what cross-entropy needs."""

    def __init__(self, model: nn.Module, mean: float) -> None:
        super().__init__()
        self.model = model
        self.slope = nn.Parameter(torch.tensor(math.log(10.0)))
        self.offset = nn.Parameter(torch.tensor(log_odds(mean) - 1.0))

    def forward(self, features: Any) -> Tensor:
        return (self.slope.exp() * self.model(features) + self.offset).sigmoid()


class Squashed(nn.Module):
    """A model with one more sigmoid, as the published code has it for 1-layer networks."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Any) -> Tensor:
        return self.model(features).sigmoid()


class Rectified(nn.Module):
    """A model whose output is rectified, as in the published code, and cut off at 1, where probabilities end."""

    def __init__(self, model: nn.Module) -> None:
        super().__init__()
        self.model = model

    def forward(self, features: Any) -> Tensor:
        return self.model(features).clamp(0.0, 1.0)


class Scaled(nn.Module):
    """A model whose predictions of size 1 are brought to the place and size of the parameters."""

    spread: Tensor

    def __init__(self, model: nn.Module, mean: float, spread: Tensor | float) -> None:
        super().__init__()
        self.model, self.mean = model, mean
        self.register_buffer("spread", torch.as_tensor(spread, dtype=torch.get_default_dtype()))

    def forward(self, features: Any) -> Tensor:
        return self.mean + self.spread * self.model(features)
