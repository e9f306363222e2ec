from __future__ import annotations

import pytest
import torch

from foresolve.problems.portfolio import Portfolio
from foresolve.reproduce.domains import portfolio
from foresolve.reproduce.domains.methods import NetworkMethod
from foresolve.reproduce.runs.plan import plan
from reproduce import tiny


def test_the_true_means_are_between_a_mean_and_the_best(monkeypatch: pytest.MonkeyPatch) -> None:
    tiny.shrink(monkeypatch)
    records = tiny.done(tiny.config("portfolio", methods=["Mean", "True means", "Random", "OPT"], splits=1))
    chance, mean, true, best = (records[0, name, None].value for name in ("Random", "Mean", "True means", "OPT"))
    assert chance < mean < true < best
    assert records[0, "True means", None].validation is None  # it is not one to choose


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


def test_the_sizes_of_the_full_domain() -> None:
    data = portfolio.data(plan("portfolio"))
    assert (data.features.shape, data.theta.shape) == ((500, 5), (500, 50))
