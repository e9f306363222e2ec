from __future__ import annotations

import dataclasses
from collections.abc import Callable

import numpy as np
import pytest
import torch

from foresolve.learning.deployment.drift import regret_shift, spread_shifts
from foresolve.learning.deployment.spread import Spread
from foresolve.learning.deployment.training_statistics import Moments


def draw(rng: np.random.Generator, count: int) -> np.ndarray:
    """Twenty columns: bells, skewed ones, counts and flags."""
    bells, skewed = rng.normal(size=(count, 8)), rng.lognormal(size=(count, 6))
    return np.concatenate([bells, skewed, rng.poisson(2.0, (count, 3)), rng.random((count, 3)) < 0.2], 1)


@pytest.mark.parametrize("sizes", [(1000, 100), (200, 400), (60, 30)])
def test_false_alarms_are_rare(sizes: tuple[int, int]) -> None:
    """Each family has 1.25 % for all of its columns together: of 200 draws 2.5 on average, more than 8 once in 500."""
    rng = np.random.default_rng(0)
    alarms = {"features": 0, "regret": 0}
    for _ in range(200):
        before, now = draw(rng, sizes[0]), draw(rng, sizes[1])
        alarms["features"] += any(s.drifted for s in spread_shifts("feature", Spread.of(before), now))
        # Regret is zero for many and large for a few.
        regrets = [rng.exponential(size=(n, 1)) * (rng.random((n, 1)) < 0.4) for n in sizes]
        alarms["regret"] += regret_shift(*map(Moments.of, regrets)).drifted
    assert max(alarms.values()) <= 8, alarms


@pytest.mark.parametrize(
    "regret",
    [
        lambda rng, n: rng.lognormal(0, 1.5, (n, 1)),
        lambda rng, n: rng.exponential(size=(n, 1)) * (rng.random((n, 1)) < 0.1),
        lambda rng, n: rng.exponential(size=(n, 1)) * (rng.random((n, 1)) < 0.02),
    ],
    ids=["lognormal", "one in ten", "one in fifty"],
)
def test_a_few_held_out_without_the_rare_regrets_raise_no_alarm(
    regret: Callable[[np.random.Generator, int], np.ndarray],
) -> None:
    rng = np.random.default_rng(0)
    for now in (100, 500):
        alarms = sum(regret_shift(*(Moments.of(regret(rng, n)) for n in (30, now))).drifted for _ in range(200))
        assert alarms <= 8


@pytest.mark.parametrize("sizes", [(30, 500), (500, 500)])
def test_regret_four_times_as_large_is_found(sizes: tuple[int, int]) -> None:
    rng = np.random.default_rng(0)
    for _ in range(20):
        before, now = (Moments.of(rng.exponential(size=(n, 1)) * factor) for n, factor in zip(sizes, (1, 4)))
        assert regret_shift(before, now).drifted


def test_days_in_a_row_count_for_fewer() -> None:
    """Of autoregressive series, where the plain test would raise an alarm nearly always."""
    rng = np.random.default_rng(0)
    alarms = plain = 0
    for _ in range(100):
        series = np.zeros((700, 10))
        for t in range(1, 700):
            series[t] = 0.8 * series[t - 1] + rng.normal(size=10)
        before, now = Spread.of(series[:500]), series[-100:]
        alarms += any(s.drifted for s in spread_shifts("feature", before, now))
        unaware = dataclasses.replace(before, persistence=torch.zeros(10, dtype=torch.float64))
        plain += any(s.measure > 0.2 for s in spread_shifts("feature", unaware, now))
    assert alarms <= 5
    assert plain >= 50


@pytest.mark.parametrize(("shift", "count"), [(1.0, 100), (0.5, 400)])
def test_shifts_are_found(shift: float, count: int) -> None:
    rng = np.random.default_rng(1)
    for _ in range(20):
        before, now = rng.normal(size=(1000, 10)), rng.normal(size=(count, 10))
        now[:, 3] += shift
        shifts = spread_shifts("feature", Spread.of(before, [f"f{j}" for j in range(10)]), now)
        assert [s.name for s in shifts if s.drifted] == ["f3"]


def test_what_is_certain_but_does_not_matter_is_no_drift() -> None:
    rng = np.random.default_rng(2)
    before, now = rng.normal(size=(200_000, 1)), rng.normal(size=(200_000, 1)) + 0.05
    (shift,) = spread_shifts("feature", Spread.of(before), now)
    assert shift.threshold == 0.1
    assert not shift.drifted
    assert not regret_shift(Moments.of(np.abs(before)), Moments.of(np.abs(before) * 1.05)).drifted
    assert regret_shift(Moments.of(np.abs(before)), Moments.of(np.abs(before) * 1.2)).drifted
    assert not regret_shift(Moments.of(np.abs(before)), Moments.of(np.abs(before) * 0.5)).drifted  # less is good


def test_constants() -> None:
    still = Spread.of(torch.full((50, 1), 3.0))
    assert not spread_shifts("feature", still, torch.full((50, 1), 3.0))[0].drifted
    assert spread_shifts("feature", still, torch.full((50, 1), 3.1))[0].drifted
    same = Moments.of(torch.zeros(50, 1))
    assert not regret_shift(same, same).drifted
    shift = regret_shift(same, Moments.of(torch.ones(50, 1)))
    assert shift.drifted
    assert shift.to_dict()["drifted"]
