"""Portfolios: which assets to hold, where returns are predicted and risk is known."""

from __future__ import annotations

from typing import Any, Self

from torch import Tensor

from foresolve._base.randomness import generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.portfolio import MarketRule, PortfolioDataset, portfolio_data
from foresolve.models.reference import Baseline
from foresolve.problems.portfolio import Portfolio
from foresolve.report.records import Config, DomainInfo, MethodInfo
from foresolve.reproduce.domains.domain import Domain
from foresolve.reproduce.domains.methods import METHODS, YARDSTICKS, ForestMethod, Method
from foresolve.reproduce.domains.quadratic import quadratic_methods

DEGREE, NOISE = 16, 1.0

INFO = DomainInfo(
    name="portfolio",
    title="Portfolio",
    story=(
        "The weights of assets, not negative and of sum 1, with the best return for their risk. Returns are a "
        "polynomial of degree 16 in five features, plus noise that a few factors share (Elmachtoub and Grigas 2022); "
        "the covariance is known. Values are the return less the price of risk. `True means` knows the polynomial: "
        "what it lacks of OPT is noise that nobody can predict.",
        "Not in the paper: generated, to show the same methods on a quadratic program.",
    ),
    ks=(),
    table2_k=None,
    measures=("mse",),
    rows="assets",
    columns="",
    figure_methods=("NN1-2Stage", "NN1-Decision"),
    methods={
        **METHODS,
        "True means": MethodInfo(
            "heuristic",
            words="knows the mean return of every asset; what it lacks of OPT is noise that nobody can predict",
        ),
    },
)


class TrueMeans(Baseline):
    """The means of the parameters by the rule that they were drawn from; it learns nothing."""

    def __init__(self, rule: MarketRule) -> None:
        super().__init__()
        self.rule = rule

    def fit(self, train: Any) -> Self:
        return self

    def forward(self, features: Any) -> Tensor:
        return self.rule.equivalent(features).to(features)


def data(config: Config) -> DecisionDataset:
    count, assets = (120, 20) if config.quick else (500, 50)
    return portfolio_data(count, assets=assets, degree=DEGREE, noise=NOISE, seed=generator(config.seed, 0))


def methods(config: Config) -> dict[str, Method]:
    rates = {1: (3e-2, 1e-1), 2: (3e-2, 1e-2)}
    table = quadratic_methods(config, deviations, rates=rates, weight=1e-2, epochs=12, batch_size=8)
    return table | {"True means": ForestMethod(lambda data, seed: TrueMeans(_rule(data))), **YARDSTICKS}


def deviations(data: DecisionDataset) -> Tensor:
    """Standard deviations `(assets,)` of returns, which are known."""
    problem = data.problem
    assert isinstance(problem, Portfolio)
    return (problem.Q.diagonal() / problem.risk_aversion).sqrt()


def _rule(data: DecisionDataset) -> MarketRule:
    assert isinstance(data, PortfolioDataset)
    return data.rule


DOMAIN = Domain(INFO, data, methods)
