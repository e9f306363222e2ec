from __future__ import annotations

import math
from collections.abc import Callable

import numpy as np
import pytest

from foresolve._base.bootstrap import runs
from foresolve.learning.inference import mean_difference


def test_many_normal_differences_give_the_interval_of_student() -> None:
    stats = pytest.importorskip("scipy.stats")
    values = np.random.default_rng(0).normal(0.3, 1.0, 400)
    evidence = mean_difference(values)
    low, high = stats.t.interval(0.95, 399, values.mean(), stats.sem(values))
    assert evidence.mean == pytest.approx(values.mean())
    assert evidence.interval() == pytest.approx((low, high), abs=0.01)
    assert evidence.p_value() == pytest.approx(stats.ttest_1samp(values, 0).pvalue, abs=2e-3)


@pytest.mark.parametrize("seed", range(20))
@pytest.mark.parametrize("confidence", [0.8, 0.95, 0.99])
def test_p_values_agree_with_intervals(seed: int, confidence: float) -> None:
    """Exactly: also for random ties and draws, and for several comparisons at once."""
    rng = np.random.default_rng(seed)
    values = np.where(rng.random(60) < 0.5, 0.0, rng.lognormal(0, 1, 60) - 1.2)
    evidence = mean_difference(values)
    for together in (1, 4):
        low, high = evidence.interval(confidence, together)
        assert (low > 0 or high < 0) == (evidence.p_value(together) < 1 - confidence)
        assert low <= evidence.mean <= high


def test_a_few_that_differ_prove_nothing() -> None:
    """Of five equal signs, one in sixteen is all of one sign by chance, whatever the sizes."""
    values = np.zeros(200)
    values[:5] = 10.0
    assert mean_difference(values).p_value() > 0.05
    values[:12] = 10.0
    assert mean_difference(values).p_value() < 0.01


def test_nothing_differs() -> None:
    evidence = mean_difference(np.zeros(30))
    assert (evidence.mean, evidence.interval(), evidence.p_value()) == (0.0, (0.0, 0.0), 1.0)


def test_too_few_units_bound_nothing() -> None:
    assert mean_difference(np.array([1.0])).interval() == (-math.inf, math.inf)
    assert mean_difference(np.arange(1.0, 5.0)).interval() == (-math.inf, math.inf)  # four signs: at best one in eight
    assert mean_difference(np.ones(4)).p_value() == 2 / 2**4


def test_the_sign_turns_with_the_differences() -> None:
    values = np.random.default_rng(1).lognormal(0, 1, 50) - 1.4
    first, second = mean_difference(values), mean_difference(-values)
    (low, high), (other_low, other_high) = first.interval(), second.interval()
    assert (other_low, other_high) == pytest.approx((-high, -low))
    assert second.p_value() == pytest.approx(first.p_value())


def test_weights_and_blocks_are_sums_of_units() -> None:
    rng = np.random.default_rng(0)
    values, weights = rng.normal(0.2, 1, 90), rng.uniform(0.5, 2, 90)
    evidence = mean_difference(values, weights, 3)
    assert evidence.units == 30
    assert evidence.mean == pytest.approx(np.average(values, weights=weights))
    groups = mean_difference(values, weights, runs(90, 3))
    assert (groups.mean, groups.p_value()) == (evidence.mean, evidence.p_value())
    assert groups.interval() == evidence.interval()
    assert mean_difference(values, 2 * weights, 3).interval() == pytest.approx(evidence.interval())


def test_blocks_widen_intervals_of_what_depends() -> None:
    rng = np.random.default_rng(0)
    values = np.repeat(rng.normal(size=30), 7) + 0.1 * rng.normal(size=210)
    alone, together = mean_difference(values), mean_difference(values, block=7)
    assert np.diff(together.interval())[0] > 2 * np.diff(alone.interval())[0]


@pytest.mark.parametrize(
    "draw",
    [
        lambda rng, n: rng.normal(size=n),
        lambda rng, n: rng.lognormal(0, 0.8, n) - math.exp(0.32),
        lambda rng, n: (rng.random(n) < 0.1) * rng.standard_t(3, n),
    ],
    ids=["normal", "lognormal", "nine of ten are zero"],
)
def test_it_holds_its_level(draw: Callable[[np.random.Generator, int], np.ndarray]) -> None:
    """Of 300 samples whose mean is 0, about one in twenty is refused; 26 of 300 is the 99.8 % limit of 5 %."""
    rng = np.random.default_rng(0)
    refused = sum(mean_difference(draw(rng, 80), seed=i).p_value() < 0.05 for i in range(300))
    assert refused <= 26


def test_very_many_instances() -> None:
    evidence = mean_difference(np.random.default_rng(0).normal(0.1, 1.0, 20_000))
    assert evidence.p_value() < 0.01
