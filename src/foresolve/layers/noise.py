"""Layers that draw samples."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.layers.base import Layer


class RandomLayer(Layer):
    """A layer that draws samples from a generator of its own.

    Every call goes on where the last one stopped. The generator's state is part of `state_dict()`, so that training
    resumed from a checkpoint draws the same samples; `reset(seed)` starts afresh. On the CPU generator (the default)
    the samples are the same whatever the device of `theta`.
    """

    def __init__(self, samples: int, seed: int | torch.Generator) -> None:
        super().__init__()
        self.samples = checks.positive_int("samples", samples)
        if isinstance(seed, torch.Generator):
            self.generator = seed
        else:
            self.generator = torch.Generator().manual_seed(checks.positive_int("seed", seed, zero=True))

    def reset(self, seed: int = 0) -> None:
        """Start the samples afresh."""
        self.generator.manual_seed(seed)

    def get_extra_state(self) -> Tensor:
        """The state of the generator."""
        return self.generator.get_state()

    def set_extra_state(self, state: Tensor) -> None:
        """Go on from a state of the generator."""
        self.generator.set_state(state.cpu())
