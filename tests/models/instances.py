"""Small data sets whose rows are items, and pairs."""

from __future__ import annotations

import torch

from foresolve.data import DecisionDataset
from foresolve.problems import BipartiteMatching, SubmodularProblem
from foresolve.sets import ProbabilisticCoverage, UniformMatroid


def item_data(count: int = 12) -> DecisionDataset:
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(count, 4, 3, generator=generator, dtype=torch.float64)
    theta = (features @ torch.randn(3, 2, generator=generator, dtype=torch.float64)).sigmoid()
    return DecisionDataset(features, theta, SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(4, 2)))


def pair_data(count: int = 6) -> DecisionDataset:
    generator = torch.Generator().manual_seed(0)
    a, b = torch.randn(count, 3, 2, generator=generator), torch.randn(count, 2, 2, generator=generator)
    theta = (a.sum(-1)[:, :, None] - b.sum(-1)[:, None, :]).flatten(1)
    return DecisionDataset((a, b), theta, BipartiteMatching(3, 2))
