"""Small data sets, models and losses."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from foresolve.data import Batch, DecisionDataset
from foresolve.errors import SolverError
from foresolve.losses import Loss
from foresolve.models import MLP
from foresolve.problems import TopK


def top_k_data(count: int = 32, seed: int = 0, n: int = 5, noise: float = 0.3) -> DecisionDataset:
    """Linear truth with noise, in single precision."""
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(3, n, generator=torch.Generator().manual_seed(99))
    features = torch.randn(count, 3, generator=generator)
    theta = features @ weights + noise * torch.randn(count, n, generator=generator)
    return DecisionDataset(features, theta, TopK(n, 2))


def model(seed: int = 0, **options: Any) -> MLP:
    """From the features of `top_k_data` to its parameters."""
    return MLP(3, 5, seed=seed, **options)


def same(first: nn.Module, second: nn.Module) -> bool:
    """Whether two models have the same weights and buffers, bit for bit."""
    states = first.state_dict().values(), second.state_dict().values()
    return all(torch.equal(a, b) for a, b in zip(*states, strict=True))


class NoisySquares(Loss):
    """A loss with randomness of its own, which counts its calls."""

    def __init__(self, seed: int = 0) -> None:
        super().__init__()
        self.generator, self.calls = torch.Generator().manual_seed(seed), 0

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        self.calls += 1
        noise = torch.randn(theta_hat.shape, generator=self.generator)
        return (theta_hat - batch.theta + 0.1 * noise).square().mean(-1)

    def get_extra_state(self) -> dict[str, Any]:
        return {"generator": self.generator.get_state(), "calls": self.calls, "kept": [(1, 2.5), None]}

    def set_extra_state(self, state: dict[str, Any]) -> None:
        assert state["kept"] == [(1, 2.5), None]
        self.generator.set_state(state["generator"])
        self.calls = state["calls"]


class Squares(Loss):
    """The mean squared error; where told so, it fails on some instances, or gives NaN."""

    def __init__(self, fails: tuple[int, ...] = (), nan: tuple[int, ...] = (), names: bool = True) -> None:
        super().__init__()
        self.fails, self.nan, self.names = fails, nan, names

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        index = [-1] * len(batch) if batch.index is None else batch.index.tolist()
        bad = [row for row, i in enumerate(index) if i in self.fails]
        if bad:
            raise SolverError("{instances} is beyond me", bad if self.names else (), f"instance {bad[0]}")
        losses = (theta_hat - batch.theta).square().mean(-1)
        scale = torch.tensor([float("nan") if i in self.nan else 1.0 for i in index])
        return losses * scale
