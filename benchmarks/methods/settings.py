"""Six kinds of problems in two sizes, and fourteen methods; with defaults, from a two-stage start.

Pools are solved for one batch in ten, as their authors recommend (Mulamba et al., IJCAI 2021).
"""

from __future__ import annotations

from collections.abc import Callable

import torch

from benchmarks.defaults.methods import own_layer
from benchmarks.defaults.settings import LARGER, LINEAR, Setting, chosen, pairs, paths, rows
from benchmarks.defaults.settings import matches as matches_of_12
from foresolve import BipartiteMatching, DecisionDataset, DecisionLoss, Loss, SPOPlus, TopK
from foresolve.data import budget_data, facility_location_data, portfolio_data
from foresolve.layers import IMLE, BlackboxInterpolation, IdentityProjection, PerturbedAdditive
from foresolve.losses import (
    MSE,
    NCE,
    CaVE,
    FenchelYoung,
    ListwiseRanking,
    PerturbationGradient,
    ScoreFunction,
    SolutionPool,
)

TWO_STAGE = "two-stage"
SHARE = 0.1  # of batches for which a pool is solved
METHODS: dict[str, Callable[[DecisionDataset], Loss]] = {
    "two-stage, continued": lambda data: MSE(),  # as long as the others are trained
    "SPO+": lambda data: SPOPlus(),
    "decision loss": lambda data: DecisionLoss(own_layer(data)),
    "Fenchel-Young": lambda data: FenchelYoung(own_layer(data)),
    "Fenchel-Young, perturbed": lambda data: FenchelYoung(PerturbedAdditive()),
    "perturbed": lambda data: DecisionLoss(PerturbedAdditive(bounds=data.problem.theta_bounds)),
    "perturbation gradient": lambda data: PerturbationGradient(),
    "blackbox": lambda data: DecisionLoss(BlackboxInterpolation()),
    "identity": lambda data: DecisionLoss(IdentityProjection()),
    "I-MLE": lambda data: DecisionLoss(IMLE()),
    "NCE": lambda data: NCE(SolutionPool(SHARE)),
    "listwise ranking": lambda data: ListwiseRanking(SolutionPool(SHARE)),
    "CaVE": lambda data: CaVE(),
    "score function": lambda data: ScoreFunction(bounds=data.problem.theta_bounds),
}


def matches(side: int) -> Callable[[int, int], DecisionDataset]:
    """Of the pairs of 12 and 12, those of the first few."""
    draw = matches_of_12(1.0)

    def make(count: int, seed: int) -> DecisionDataset:
        data = draw(count, seed)
        features = {name: part[:, :side] for name, part in data.features.items()}
        theta = data.theta.reshape(-1, 12, 12)[:, :side, :side].flatten(1)
        return DecisionDataset(features, theta, BipartiteMatching(side, side))

    return make


def items(count: int, k: int) -> Callable[[int, int], DecisionDataset]:
    """The first of 50 items, or two times 50."""
    draw = chosen(True)

    def make(instances: int, seed: int) -> DecisionDataset:
        parts = [draw(instances, seed), draw(instances, 1000 + seed)]
        features = torch.cat([part.features for part in parts], 1)[:, :count]
        theta = torch.cat([part.theta for part in parts], 1)[:, :count]
        return DecisionDataset(features, theta, TopK(count, k))

    return make


def portfolios(assets: int) -> Callable[[int, int], DecisionDataset]:
    return lambda count, seed: portfolio_data(count, assets=assets, degree=8, seed=seed)


def budgets(channels: int, customers: int) -> Callable[[int, int], DecisionDataset]:
    return lambda count, seed: budget_data(count, channels=channels, customers=customers, k=channels // 8, seed=seed)


def facilities(sites: int, customers: int) -> Callable[[int, int], DecisionDataset]:
    return lambda count, seed: facility_location_data(count, sites=sites, customers=customers, k=sites // 5, seed=seed)


COVERAGE, SITES = rows("probability"), rows("non_negative")


def setting(name: str, what: str, data: Callable[[int, int], DecisionDataset], model: Callable = LINEAR) -> Setting:
    return Setting(name, what, data, 100, 50, model, True, LARGER, test=200)


SETTINGS = (
    setting("path 5x5", "40 arcs, degree 6", paths(6, 5)),
    setting("path 12x12", "264 arcs, degree 6", paths(6, 12)),
    setting("matching 6x6", "36 pairs, lognormal", matches(6), pairs(None)),
    setting("matching 12x12", "144 pairs, lognormal", matches(12), pairs(None)),
    setting("top 5 of 25", "fourth power, lognormal noise", items(25, 5)),
    setting("top 20 of 100", "fourth power, lognormal noise", items(100, 20)),
    setting("portfolio 20", "20 assets, degree 8", portfolios(20)),
    setting("portfolio 100", "100 assets, degree 8", portfolios(100)),
    setting("budget 16x50", "2 of 16 channels", budgets(16, 50), COVERAGE),
    setting("budget 24x75", "3 of 24 channels", budgets(24, 75), COVERAGE),
    setting("facilities 10x30", "2 of 10 sites", facilities(10, 30), SITES),
    setting("facilities 20x60", "4 of 20 sites", facilities(20, 60), SITES),
)
