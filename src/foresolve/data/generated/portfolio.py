"""Portfolios whose returns, or whose risks, depend on features."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, get_args

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import Seed
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.polynomial import PolynomialDraws, given_or_drawn
from foresolve.problems.base import Problem
from foresolve.problems.portfolio import Portfolio, Predicted

LEVEL, SENSITIVITY = 0.1, 0.05  # of mean returns: where features are 0, and to features
SPECIFIC, LOADING = 0.01, 0.0025  # standard deviations that factors leave, and the largest loading; times `noise`
RISK = 0.1  # the risk aversion, times the mean variance, at which about ten assets are held
UNEXPLAINED = 0.5  # of what moves volatility, beside 1 of features


@dataclass(frozen=True)
class MarketRule:
    """How features `x` `(N, p)` become what is predicted; the formulas are those of `portfolio_data`.

    Attributes
    ----------
    coefficients: `B` `(assets, p)`, of the returns.
    loadings: `L` `(assets, factors)`.
    regimes: `C` over `D`, `(factors + assets, p)`, of the volatilities.
    specific: the standard deviation that factors leave.
    """

    predict: Predicted
    degree: int
    coefficients: Tensor
    loadings: Tensor
    regimes: Tensor
    specific: float
    volatility: float

    def expected(self, features: Tensor) -> Tensor:
        """The mean of the parameters given the features: the best prediction by squares."""
        return self._parameters(features, moment=1)

    def equivalent(self, features: Tensor) -> Tensor:
        """The parameters whose decisions are the best on average: those of mean returns and of the mean covariance.

        They are the mean ones where no loadings are predicted. A covariance is a square of loadings, whose mean is
        larger than the square of their mean.
        """
        return self._parameters(features, moment=2)

    def sample(self, features: Tensor, draws: PolynomialDraws) -> Tensor:
        """Parameters with their noise."""
        n, k = self.loadings.shape
        shocks, own = draws.normal(len(features), k), draws.normal(len(features), n)
        if self.predict == "returns":
            return self.returns(features) + shocks @ self.loadings.T + self.specific * own
        moved = draws.normal(len(features), k + n)
        logarithm = self.volatility * (self._drift(features) + UNEXPLAINED * moved)
        loadings, variances = self._risks(logarithm)
        returns = self.returns(features) + torch.einsum("bnk,bk->bn", loadings, shocks) + variances.sqrt() * own
        return self._joined(returns, variances, loadings)

    def returns(self, features: Tensor) -> Tensor:
        """Mean returns `(N, assets)`."""
        products = self._rows(features) @ self.coefficients.T / math.sqrt(features.shape[-1])
        return (SENSITIVITY * products + LEVEL ** (1.0 / self.degree)) ** self.degree

    def _parameters(self, features: Tensor, moment: int) -> Tensor:
        returns = self.returns(features)
        if self.predict == "returns":
            return returns
        # E exp(s z) = exp(s^2 / 2): variances are squares of volatilities, whose second moment is their mean.
        spread = (self.volatility * UNEXPLAINED) ** 2 / 2
        k = self.loadings.shape[1]
        drift = self.volatility * self._drift(features)
        loadings, variances = self._risks(torch.cat([drift[:, :k] + moment * spread, drift[:, k:] + 2 * spread], -1))
        return self._joined(returns, variances, loadings)

    def _drift(self, features: Tensor) -> Tensor:
        return self._rows(features) @ self.regimes.T / math.sqrt(features.shape[-1])

    def _risks(self, logarithm: Tensor) -> tuple[Tensor, Tensor]:
        """Loadings `(N, n, k)` and specific variances `(N, n)`, from the logarithms of volatilities `(N, k + n)`."""
        volatility, k = logarithm.exp(), self.loadings.shape[1]
        return self.loadings * volatility[:, None, :k], (self.specific * volatility[:, k:]).square()

    def _joined(self, returns: Tensor, variances: Tensor, loadings: Tensor) -> Tensor:
        risks = torch.cat([variances, loadings.flatten(1)], -1)
        return risks if self.predict == "covariance" else torch.cat([returns, risks], -1)

    def _rows(self, features: Tensor) -> Tensor:
        return features.to(self.coefficients)


class PortfolioDataset(DecisionDataset):
    """A data set that keeps the rule behind its parameters, in all its parts.

    Attributes
    ----------
    rule: `data.rule.expected(data.features)` are the means of the parameters, `data.rule.equivalent(data.features)`
        those whose decisions are best on average.
    """

    def __init__(self, features: Any, theta: Any, problem: Problem, rule: MarketRule) -> None:
        super().__init__(features, theta, problem)
        self.rule = rule


def portfolio_data(
    count: int,
    *,
    assets: int = 50,
    factors: int = 4,
    features: int = 5,
    degree: int = 4,
    noise: float = 1.0,
    loading: float = LOADING,
    risk_aversion: float | None = None,
    predict: Predicted = "returns",
    volatility: float = 0.5,
    seed: Seed = 0,
    coefficients: Any = None,
    loadings: Any = None,
    regimes: Any = None,
) -> PortfolioDataset:
    r"""Long-only portfolios: returns depend on the features by a polynomial, with noise that a few factors share.

    .. math::
        r_i = \left(\tfrac{0.05}{\sqrt p} (B x)_i + 0.1^{1/\deg}\right)^{\deg} + (L f)_i + 0.01 \tau \varepsilon_i,
        \qquad \Sigma = L L^\top + (0.01 \tau)^2 I, \quad
        x \sim N(0, I_p), \; f, \varepsilon \sim N(0, I), \; B_{ij} \sim \text{Bernoulli}(\tfrac12), \;
        L_{ij} \sim U[-0.0025 \tau, 0.0025 \tau]

    Elmachtoub and Grigas, "Smart predict, then optimize" (Management Science, 2022, section 6.2); there risk has a
    limit, here a price: `problem` is a `Portfolio`, :math:`\max_w r^\top w - \frac{\lambda}{2} w^\top \Sigma w`. The
    covariance is known, and `theta` are the returns.

    With `predict="covariance"` or `"both"` risk depends on the features too, and is predicted: factor :math:`j` and
    asset :math:`i` have volatilities :math:`e^{s u_j}` and :math:`e^{s v_i}`,

    .. math::
        \text{loadings}_{ij} = L_{ij} \, e^{s u_j}, \quad \text{specific}_i = (0.01 \tau \, e^{s v_i})^2, \qquad
        (u, v) = \tfrac{1}{\sqrt p} (C, D) \, x + \tfrac12 \eta, \quad C_{ij}, D_{ij}, \eta_i \sim N(0, 1)

    so that it is calm in some instances and stormy in others, and the covariance is positive whatever is drawn. With
    "covariance" alone the returns of all assets are the same, and the portfolio of least risk is looked for.

    Parameters
    ----------
    count: how many instances, of training and test together.
    noise: :math:`\tau`.
    loading: the largest loading, 0.0025 in the formula; larger ones make factors count in diversified portfolios.
    risk_aversion: :math:`\lambda`; by default 0.1 over the mean variance, with which about ten assets are held.
    predict: what `theta` is, as in `Portfolio`: returns; specific variances, then loadings; or all three.
    volatility: :math:`s`.
    seed: of all randomness, a number or a generator on the CPU.
    coefficients, loadings, regimes: `B` `(assets, features)`, `L` `(assets, factors)` and `C` over `D`
        `(factors + assets, features)` of an earlier call, for further instances of the same rule (`data.rule`).

    Returns
    -------
    A data set of features `(count, features)` and theta `(count, assets)`, `(count, assets + assets * factors)` for the
    covariance, in torch's default dtype, with the rule behind them.

    Examples
    --------
    >>> from foresolve.data import portfolio_data
    >>> data = portfolio_data(20, seed=0)
    >>> data.features.shape, data.theta.shape, data.problem.Q.shape
    (torch.Size([20, 5]), torch.Size([20, 50]), torch.Size([50, 50]))
    >>> portfolio_data(20, assets=10, factors=2, predict="both").theta.shape
    torch.Size([20, 40])
    """
    draws = PolynomialDraws(count, features, degree, 0.0, seed)
    n, k = checks.positive_int("assets", assets), checks.positive_int("factors", factors)
    noise, loading = checks.positive("noise", noise), checks.between("loading", loading, "[0, inf)")
    checks.one_of("predict", predict, get_args(Predicted))
    drawn = noise * loading * (2.0 * draws.uniform(n, k) - 1.0)
    rule = MarketRule(
        predict, degree, given_or_drawn("coefficients", coefficients, draws.bernoulli(n)),
        given_or_drawn("loadings", loadings, drawn), given_or_drawn("regimes", regimes, draws.normal(k + n, features)),
        SPECIFIC * noise, checks.between("volatility", volatility, "[0, inf)"),
    )  # fmt: skip
    table = draws.normal(count, features)
    theta, dtype = rule.sample(table, draws), torch.get_default_dtype()
    problem = _problem(rule, risk_aversion)
    return PortfolioDataset(table.to(dtype), theta.to(dtype), problem, rule)


def _problem(rule: MarketRule, risk_aversion: float | None) -> Portfolio:
    """That of the covariance at volatilities of 1, known or to be replaced by what is predicted."""
    specific = torch.full((len(rule.loadings),), rule.specific**2, dtype=torch.float64)
    variance = float((specific + rule.loadings.square().sum(-1)).mean())
    price = RISK / variance if risk_aversion is None else risk_aversion
    return Portfolio(loadings=rule.loadings, specific=specific, risk_aversion=price, predict=rule.predict)
