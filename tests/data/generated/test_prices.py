from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve.data import price_data
from foresolve.data.generated.prices import MOST, SUN, WIND
from mistakes import mistake


def test_the_past_stands_in_the_features() -> None:
    data = price_data(40, seed=3)
    torch.testing.assert_close(data.features[1:, :24], data.theta[:-1])
    torch.testing.assert_close(data.features[7:, 24:48], data.theta[:-7])
    assert torch.equal(data.labels["day"], torch.arange(7, 47))
    assert torch.equal(data.features[:, 120:127].argmax(-1), data.labels["day"] % 7)


@pytest.mark.parametrize("seed", [0, 1, 2])
def test_prices_have_what_markets_have(seed: int) -> None:
    """A daily and a weekly profile, a level that wanders, spikes upwards, a few negative hours."""
    data = price_data(1460, seed=seed)
    prices = data.theta.double()
    assert prices.abs().max() <= MOST
    assert prices[:, 19].mean() > 1.3 * prices[:, 3].mean()
    weekend = data.labels["day"] % 7 >= 5
    assert prices[weekend].mean() < prices[~weekend].mean()
    level = torch.asinh(prices.median(-1).values / 20.0)  # spikes aside
    level = (level - level.mean()) / level.std()
    assert (level[1:] * level[:-1]).mean() > 0.4
    assert 0.001 < float((prices < 0).double().mean()) < 0.05
    assert prices.quantile(0.999) > 4 * prices.median()
    assert prices.mean() > prices.median()


def test_forecasts_explain_prices() -> None:
    """More wind and sun make an hour cheaper, more load dearer."""
    data = price_data(730, seed=0)
    load, wind, sun = data.features[:, 48:120].double().unflatten(1, (3, 24)).unbind(1)
    assert wind.max() < 1.4 * WIND
    assert sun.max() < 1.6 * SUN
    assert (sun[:, :3] == 0).all()
    rank = data.theta.double().flatten().argsort().argsort().double()
    pairs = torch.stack([rank, (load - wind - sun).flatten()])
    assert torch.corrcoef(pairs)[0, 1] > 0.6


def test_one_seed_one_data_set() -> None:
    assert torch.equal(price_data(9, seed=5).features, price_data(9, seed=5).features)
    assert not torch.equal(price_data(9, seed=5).theta, price_data(9, seed=6).theta)
    assert price_data(9).decisions.sum(-1).eq(4).all()


def test_bad_arguments() -> None:
    with mistake("days", ">= 1"):
        price_data(-1)
    with mistake("theta", "(*batch, 5)", "(3, 24)"):
        price_data(3, problem=foresolve.TopK(5, 1))
