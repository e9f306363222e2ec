"""Data, problem and model of every setting; all generated, nothing tuned."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
import torch
from torch import nn

from foresolve import MLP, BipartiteMatching, DecisionDataset, LinearProgram, TopK
from foresolve.data import (
    budget_data,
    facility_location_data,
    knapsack_data,
    portfolio_data,
    price_data,
    shortest_path_data,
    terrain_data,
)
from foresolve.models import BilinearPairs
from foresolve.problems import Affine

TEST = 500


@dataclass(frozen=True)
class Setting:
    """Where methods are compared.

    Attributes
    ----------
    name, what: for the table, and in a sentence.
    data: all instances for a seed: those of training, validation and test, in this order.
    train, valid: how many.
    model: made anew for a data set and a seed.
    misspecified: whether the model cannot represent the mean of the parameters.
    network: a larger model, for a two-stage reference.
    dated: whether instances follow each other in time.
    slow: whether an exact decision takes milliseconds.
    """

    name: str
    what: str
    data: Callable[[int, int], DecisionDataset]
    train: int
    valid: int
    model: Callable[[DecisionDataset, int], nn.Module]
    misspecified: bool
    network: Callable[[DecisionDataset, int], nn.Module]
    test: int = TEST
    dated: bool = False
    slow: bool = False

    def split(self, seed: int) -> tuple[DecisionDataset, ...]:
        """Training, validation and test data."""
        sizes = (self.train, self.valid, self.test)
        return tuple(self.data(sum(sizes), seed).split(*sizes, shuffle=False))


def rows(head: str = "free", hidden: tuple[int, ...] = ()) -> Callable[[DecisionDataset, int], nn.Module]:
    """A network from all features of an instance to all of its parameters, or from those of each item to its own."""

    def make(data: DecisionDataset, seed: int) -> nn.Module:
        inputs = data.features.shape[-1]
        items = data.features.ndim == 3
        outputs = None if items and data.theta.ndim == 2 else data.theta.shape[-1]
        return MLP(inputs, outputs, hidden, head, seed)  # type: ignore[arg-type]

    return make


def pairs(hidden: int | None) -> Callable[[DecisionDataset, int], nn.Module]:
    """Inner products of embeddings, linear or not."""

    def make(data: DecisionDataset, seed: int) -> nn.Module:
        left, right = (data.features[side].shape[-1] for side in ("left", "right"))
        return BilinearPairs(left, right, 4, hidden, head="free", seed=seed)

    return make


def paths(degree: int, grid: int) -> Callable[[int, int], DecisionDataset]:
    return lambda count, seed: shortest_path_data(count, grid=(grid, grid), degree=degree, seed=seed)


def skewed_paths(count: int, seed: int) -> DecisionDataset:
    """Costs of a 5 x 5 grid whose logarithms are linear in the features, with lognormal noise."""
    draws = torch.Generator().manual_seed(seed)
    weights = torch.randn(5, 40, generator=draws) / math.sqrt(5)
    features = torch.randn(count, 5, generator=draws)
    noise = torch.randn(count, 40, generator=draws)
    problem = shortest_path_data(1).problem
    return DecisionDataset(features, torch.exp(features @ weights + 0.5 * noise), problem)


def knapsacks(dimensions: int, degree: int) -> Callable[[int, int], DecisionDataset]:
    return lambda count, seed: knapsack_data(count, items=20, dimensions=dimensions, degree=degree, seed=seed)


def cells(count: int, seed: int) -> DecisionDataset:
    """Maps of 12 x 12 cells; of each cell the mean color and its spread over the pixels."""
    data = terrain_data(count, seed=seed)
    tiles = (data.features.float() / 255).unflatten(2, (12, 8)).unflatten(4, (12, 8))  # (N, 3, 12, 8, 12, 8)
    tiles = tiles.permute(0, 2, 4, 1, 3, 5).flatten(4).flatten(1, 2)  # (N, 144, 3, 64)
    features = torch.cat([tiles.mean(-1), tiles.std(-1)], -1)
    return DecisionDataset(features, data.theta, data.problem)


def matches(spread: float) -> Callable[[int, int], DecisionDataset]:
    """Pairs of 12 and 12; the logarithm of their worth is bilinear in their features, the model is so itself."""

    def make(count: int, seed: int) -> DecisionDataset:
        draws = torch.Generator().manual_seed(seed)
        mix = torch.randn(4, 4, generator=draws) / 4
        a, b = (torch.randn(count, 12, 4, generator=draws) for _ in range(2))
        logarithm = spread * a @ mix @ b.mT
        noise = torch.randn(logarithm.shape, generator=draws)
        theta = torch.exp(logarithm + 0.5 * noise).flatten(1)
        return DecisionDataset({"left": a, "right": b}, theta, BipartiteMatching(12, 12))

    return make


def chosen(nonlinear: bool) -> Callable[[int, int], DecisionDataset]:
    """Ten of 50 items, each with five features; worth is linear in them, or a fourth power with skewed noise."""

    def make(count: int, seed: int) -> DecisionDataset:
        draws = torch.Generator().manual_seed(seed)
        weights = torch.randn(5, generator=draws) / math.sqrt(5)
        features = torch.randn(count, 50, 5, generator=draws)
        noise = torch.randn(count, 50, generator=draws)
        level = features @ weights
        theta = (level + 0.5) ** 4 * torch.exp(0.6 * noise) if nonlinear else level + noise
        return DecisionDataset(features, theta, TopK(50, 10))

    return make


def budgets(count: int, seed: int) -> DecisionDataset:
    return budget_data(count, channels=40, customers=100, k=5, seed=seed)


def facilities(count: int, seed: int) -> DecisionDataset:
    return facility_location_data(count, sites=20, customers=40, k=4, seed=seed)


def portfolios(count: int, seed: int) -> DecisionDataset:
    return portfolio_data(count, assets=20, seed=seed)


def battery() -> LinearProgram:
    """Charge, discharge and state of charge of 24 hours; each price is paid and earned, states earn nothing."""
    hours, efficiency = np.arange(24), 0.93
    balance = np.zeros((24, 72))
    balance[hours, hours], balance[hours, 24 + hours], balance[hours, 48 + hours] = efficiency, -1 / efficiency, -1.0
    balance[hours[1:], 47 + hours[1:]] = 1.0
    lower, upper = np.zeros(72), np.repeat([1.0, 1.0, 4.0], 24)
    lower[-1] = upper[-1] = 2.0
    plan = LinearProgram(A_eq=balance, b_eq=np.where(hours == 0, -2.0, 0.0), bounds=(lower, upper))
    which, sign = np.concatenate([hours, hours, np.full(24, -1)]), np.repeat([-1.0, 1.0, 0.0], 24)
    return plan.parametrized(Affine.tied(which, sign, known=np.repeat([0.0, -2.0, 0.0], 24)))


def plans(count: int, seed: int) -> DecisionDataset:
    return price_data(count, problem=battery(), seed=seed)


LINEAR, LARGER = rows(), rows(hidden=(64,))

SETTINGS = (
    Setting("path 5x5, linear", "costs linear in the features", paths(1, 5), 1000, 250, LINEAR, False, LARGER),
    Setting("path 5x5, degree 6", "much data", paths(6, 5), 1000, 250, LINEAR, True, LARGER),
    Setting("path 5x5, little data", "degree 6, 100 instances", paths(6, 5), 100, 50, LINEAR, True, LARGER),
    Setting("path 5x5, skewed noise", "lognormal costs", skewed_paths, 500, 150, LINEAR, True, LARGER),
    Setting("path 12x12, degree 6", "300 instances", paths(6, 12), 300, 100, LINEAR, True, LARGER, test=300),
    Setting("cells 12x12", "terrain, linear in colors", cells, 200, 60, LINEAR, True, LARGER, test=200, slow=True),
    Setting("knapsack 1-D", "degree 4, 20 items", knapsacks(1, 4), 200, 40, LINEAR, True, LARGER, test=150, slow=True),
    Setting("knapsack 2-D", "degree 4, 20 items", knapsacks(2, 4), 200, 40, LINEAR, True, LARGER, test=150, slow=True),
    Setting("matching 12x12", "very heavy tails", matches(2.0), 200, 60, pairs(None), True, pairs(32), test=300),
    Setting("matching 12x12, milder", "lognormal", matches(1.0), 200, 60, pairs(None), True, pairs(32), test=300),
    Setting("top 10 of 50, linear", "50 instances", chosen(False), 50, 25, LINEAR, False, LARGER),
    Setting("top 10 of 50, skewed", "fourth power, lognormal noise", chosen(True), 200, 60, LINEAR, True, LARGER),
    Setting(
        "budget", "coverage, 40 channels, 100 customers", budgets, 80, 20,
        rows("probability"), True, rows("probability", (64,)), test=100,
    ),
    Setting(
        "facility location", "20 sites, 40 customers", facilities, 100, 30,
        rows("non_negative"), True, rows("non_negative", (64,)), test=150,
    ),
    Setting("battery", "24 prices, 72 columns", plans, 700, 150, LINEAR, True, LARGER, test=350, dated=True),
    Setting("portfolio", "20 assets, degree 4", portfolios, 400, 100, LINEAR, True, LARGER, test=300),
)  # fmt: skip
