from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve.data import PortfolioDataset, portfolio_data
from foresolve.models import ConstantMean, LinearRegression, NearestNeighbors
from foresolve.problems import Portfolio
from foresolve.reproduce import NetworkMethod, plan
from foresolve.reproduce.domains import portfolio
from reproduce import tiny


def full_data(seed: int = 0, *, quick: bool = False) -> PortfolioDataset:
    data = portfolio.data(plan("portfolio", seed=seed, quick=quick))
    assert isinstance(data, PortfolioDataset)
    return data


def test_the_true_means_are_between_a_mean_and_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.shrink(monkeypatch)
    records = tiny.done(tiny.config("portfolio", methods=["Mean", "True means", "Random", "OPT"], splits=1))
    chance, mean, true, best = (records[0, name, None].value for name in ("Random", "Mean", "True means", "OPT"))
    assert chance < mean < true < best
    assert records[0, "True means", None].validation is None  # it is not one to choose


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_nothing_that_is_learned_beats_the_true_means(seed: int) -> None:
    """The objective is linear in returns, so that their means decide best on average; noise leaves little room."""
    data = portfolio_data(300, assets=6, degree=portfolio.DEGREE, noise=portfolio.NOISE, seed=seed)
    train, test = data.split(0.5, 0.5, seed=seed)
    true = foresolve.evaluate(portfolio.TrueMeans(data.rule), test, metrics=False, bootstrap=0)
    for model in (ConstantMean(), LinearRegression(), NearestNeighbors(10)):
        report = foresolve.evaluate(model.fit(train), test, metrics=False, bootstrap=0)
        gap = true.instances["value"] - report.instances["value"]
        assert gap.mean() > -3 * gap.std() / len(gap) ** 0.5
        assert report.value < true.value


def test_predictions_start_at_the_size_of_the_noise() -> None:
    data = tiny.data("portfolio")
    assert isinstance(data.problem, Portfolio)
    spread = portfolio.deviations(data)
    assert spread.shape == (data.problem.assets,)
    assert (spread >= 0.01).all()
    method = portfolio.methods(plan("portfolio"))["NN2-2Stage"]
    assert isinstance(method, NetworkMethod)
    theta_hat = method.model(data, torch.Generator().manual_seed(0), 0.1)(data.features)
    assert (theta_hat - 0.1).abs().max() < 5 * spread.max()


def test_the_sizes_of_the_domain() -> None:
    data, small = full_data(), full_data(quick=True)
    assert (data.features.shape, data.theta.shape) == ((500, 5), (500, 50))
    assert (small.features.shape, small.theta.shape) == ((120, 5), (120, 20))


def test_one_seed_one_data_set() -> None:
    first, again, other = (full_data(seed) for seed in (3, 3, 4))
    assert torch.equal(first.theta, again.theta)
    assert torch.equal(first.features, again.features)
    assert torch.equal(first.rule.coefficients, again.rule.coefficients)
    assert not torch.equal(first.theta, other.theta)
    assert not torch.equal(first.rule.loadings, other.rule.loadings)


@pytest.mark.parametrize("seed", [0, 1])
def test_the_noise_has_the_known_covariance_and_nothing_of_the_features(seed: int) -> None:
    data = full_data(seed)
    assert isinstance(data.problem, Portfolio)
    covariance = data.problem.Q.double() / data.problem.risk_aversion
    noise = data.theta.double() - data.rule.expected(data.features)
    white = torch.linalg.solve_triangular(torch.linalg.cholesky(covariance), noise.T, upper=False).T
    assert white.square().mean() == pytest.approx(1.0, abs=0.05)
    assert white.mean(0).abs().max() < 5 / len(white) ** 0.5
    products = white.T @ data.features.double() / len(white)
    assert products.abs().max() < 5 / len(white) ** 0.5


def test_the_means_are_far_from_linear_and_larger_than_the_noise() -> None:
    data = full_data()
    means, noise = data.rule.expected(data.features), portfolio.deviations(data).double()
    assert (means.std(0) > 2 * noise).double().mean() > 0.9
    line = LinearRegression().fit(foresolve.data.DecisionDataset(data.features, means.float(), data.problem))
    missed = (line(data.features).double() - means).square().mean(0).sqrt()
    assert missed.mean() > noise.mean()
