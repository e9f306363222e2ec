from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from foresolve.learning.inference import mean_difference
from foresolve.learning.study.dates import block_length
from foresolve.learning.study.dependence import dependence_length


def autoregressive(rng: np.random.Generator, count: int, correlation: float) -> np.ndarray:
    values, noise = np.zeros(count + 100), rng.normal(size=count + 100)
    for t in range(1, count + 100):
        values[t] = correlation * values[t - 1] + noise[t]
    return values[100:] * np.sqrt(1 - correlation**2)


def test_independent_series_need_short_blocks() -> None:
    rng = np.random.default_rng(0)
    assert np.median([dependence_length(rng.normal(size=400)) for _ in range(50)]) <= block_length(400, 1.0)
    assert dependence_length(np.zeros(50)) == dependence_length(np.full(50, 0.1)) == dependence_length(np.ones(3)) == 1


@pytest.mark.parametrize("correlation", [0.6, 0.8, 0.9])
def test_autoregressive_series_need_the_length_of_the_formula(correlation: float) -> None:
    rng, count = np.random.default_rng(0), 2000
    found = np.median([dependence_length(autoregressive(rng, count, correlation)) for _ in range(20)])
    expected = (2 * correlation / (1 - correlation**2)) ** (2 / 3) * count ** (1 / 3)
    assert 0.8 * expected <= found <= 1.5 * expected


def test_units_do_not_matter() -> None:
    series = autoregressive(np.random.default_rng(0), 300, 0.8)
    assert dependence_length(series) == dependence_length(1e-200 * series) == dependence_length(-1e200 * series + 1e200)


def test_what_lasts_under_noise_is_seen() -> None:
    """Neighbors are hardly more alike than those of a series that forgets at once, but all of a month are."""
    rng = np.random.default_rng(0)
    lasting = [autoregressive(rng, 1000, 0.95) + rng.normal(size=1000) for _ in range(20)]
    forgetting = [autoregressive(rng, 1000, 0.475) for _ in range(20)]
    assert np.median([*map(dependence_length, lasting)]) > 2 * np.median([*map(dependence_length, forgetting)])


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng: autoregressive(rng, 1000, 0.8),
        lambda rng: autoregressive(rng, 1000, 0.9),
        lambda rng: autoregressive(rng, 1000, 0.95) + rng.normal(size=1000),
        lambda rng: np.where(rng.random(1000) < 0.7, 0.0, autoregressive(rng, 1000, 0.9)),
    ],
    ids=["0.8", "0.9", "0.95 under noise", "0.9, mostly zero"],
)
def test_tests_on_such_blocks_hold_their_level(draw: Callable[[np.random.Generator], np.ndarray]) -> None:
    """Of 150 series whose mean is 0, one in twenty is refused; 17 is the 99.9 % limit of 5 %. Blocks of 10 refuse 20
    to 50."""
    rng = np.random.default_rng(0)
    refused = 0
    for seed in range(150):
        series = draw(rng)
        length = max(block_length(1000, 1.0), dependence_length(series))
        refused += mean_difference(series, block=length, seed=seed).p_value() < 0.05
    assert refused <= 17
