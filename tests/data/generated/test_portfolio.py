from __future__ import annotations

import math

import pytest
import torch

import foresolve
from foresolve.data import PortfolioDataset, portfolio_data
from foresolve.data.generated.portfolio import LEVEL
from foresolve.problems import Portfolio
from mistakes import mistake


def known_covariance(data: PortfolioDataset) -> torch.Tensor:
    problem = data.problem
    assert isinstance(problem, Portfolio)
    return problem.Q / problem.risk_aversion


def test_returns_are_those_of_the_formula() -> None:
    data = portfolio_data(4000, assets=6, degree=3, noise=2.0, seed=1)
    rule, x = data.rule, data.features.double()
    means = (0.05 / math.sqrt(5) * x @ rule.coefficients.T + 0.1 ** (1 / 3)) ** 3
    torch.testing.assert_close(rule.expected(data.features), means)
    torch.testing.assert_close(rule.equivalent(data.features), means)
    assert set(rule.coefficients.unique().tolist()) == {0.0, 1.0}
    assert rule.loadings.abs().max() <= 0.0025 * 2.0
    covariance = rule.loadings @ rule.loadings.T + (0.01 * 2.0) ** 2 * torch.eye(6, dtype=torch.float64)
    torch.testing.assert_close(known_covariance(data), covariance)
    noise = data.theta.double() - means
    torch.testing.assert_close(noise.T @ noise / len(noise), covariance, rtol=0, atol=0.1 * float(covariance.max()))


def test_portfolios_are_diversified() -> None:
    data = portfolio_data(30, seed=0)
    held = (data.decisions > 1e-6).sum(-1)
    assert held.min() >= 4
    assert held.max() <= 30
    torch.testing.assert_close(data.decisions.sum(-1), torch.ones(30))
    bold, shy = (portfolio_data(10, seed=0, risk_aversion=price).decisions for price in (100.0, 10_000.0))
    assert (bold > 1e-6).sum() < (shy > 1e-6).sum()


@pytest.mark.parametrize(("predict", "size"), [("covariance", 5 + 10), ("both", 5 + 5 + 10)])
def test_risk_that_is_predicted(predict: str, size: int) -> None:
    data = portfolio_data(4000, assets=5, factors=2, predict=predict, volatility=0.3, seed=2)  # type: ignore[arg-type]
    assert data.theta.shape == (4000, size)
    theta = data.theta.double()
    specific, loadings = theta[:, -15:-10], theta[:, -10:].unflatten(1, (5, 2))
    assert (specific > 0).all()
    volatility = loadings / data.rule.loadings
    torch.testing.assert_close(volatility, volatility[:, :1].expand(-1, 5, -1), rtol=1e-5, atol=0.0)  # of factors
    means = data.rule.expected(data.features)
    torch.testing.assert_close((theta - means).mean(0) / theta.std(0), torch.zeros(size).double(), rtol=0, atol=0.06)
    gap = (loadings @ loadings.mT).mean(0)
    square = data.rule.equivalent(data.features)[:, -10:].unflatten(1, (5, 2))
    torch.testing.assert_close((square @ square.mT).mean(0), gap, rtol=0.05, atol=1e-8)
    torch.testing.assert_close(data.rule.equivalent(data.features)[:, :-10], means[:, :-10])


def test_the_rule_behind_the_data_decides_best_on_average() -> None:
    data = portfolio_data(150, assets=8, factors=2, predict="both", loading=0.02, seed=0)
    rule = data.rule
    regrets = [
        foresolve.evaluate(model, data, metrics=False, bootstrap=0).normalized_regret
        for model in (lambda a: rule.equivalent(a).to(a), lambda a: rule.equivalent(0 * a).to(a))
    ]
    assert regrets[0] < 0.5 * regrets[1]


def test_without_volatility_risk_is_what_it_was() -> None:
    data = portfolio_data(3, assets=4, factors=2, predict="covariance", volatility=0.0)
    torch.testing.assert_close(data.theta[:, 4:].double(), data.rule.loadings.flatten().expand(3, -1))
    torch.testing.assert_close(data.theta[:, :4], torch.full((3, 4), 1e-4))
    assert data.decisions.std(0).max() < 1e-6  # all alike


def test_further_instances_of_the_same_rule() -> None:
    first = portfolio_data(3, assets=4, factors=2, predict="both", seed=0)
    rule = first.rule
    more = portfolio_data(
        5, assets=4, factors=2, predict="both", seed=1,
        coefficients=rule.coefficients, loadings=rule.loadings, regimes=rule.regimes,
    )  # fmt: skip
    torch.testing.assert_close(more.rule.equivalent(first.features), rule.equivalent(first.features))
    assert not torch.equal(more.features[:3], first.features)
    assert first.subset([2, 0]).rule is rule  # type: ignore[attr-defined]
    zero = rule.returns(torch.zeros(1, 5))
    torch.testing.assert_close(zero, torch.full((1, 4), LEVEL).double())


def test_one_seed_one_data_set() -> None:
    assert torch.equal(portfolio_data(4, seed=5).theta, portfolio_data(4, seed=5).theta)
    assert not torch.equal(portfolio_data(4, seed=5).theta, portfolio_data(4, seed=6).theta)


def test_bad_arguments() -> None:
    with mistake("assets", ">= 1"):
        portfolio_data(3, assets=0)
    with mistake("noise", "> 0"):
        portfolio_data(3, noise=0.0)
    with mistake("predict", "'returns'", "got 'risk'"):
        portfolio_data(3, predict="risk")  # type: ignore[arg-type]
    with mistake("loadings", "(50, 4)", "(2, 2)"):
        portfolio_data(3, loadings=torch.ones(2, 2))
