from __future__ import annotations

import numpy as np
import pytest
from scipy import stats

from foresolve._base import bootstrap
from foresolve._base.bootstrap import interval, intervals

RNG = np.random.default_rng(0)


def test_the_interval_of_a_mean_is_that_of_scipy_up_to_resampling() -> None:
    values = RNG.exponential(size=80)
    expected = stats.bootstrap((values,), np.mean, method="percentile", n_resamples=20_000).confidence_interval
    ours = interval(values, resamples=20_000)
    assert ours == pytest.approx((expected.low, expected.high), abs=0.02)


def test_the_interval_of_a_ratio_is_that_of_scipy_up_to_resampling() -> None:
    above, below = RNG.exponential(size=80), 1 + RNG.random(80)
    expected = stats.bootstrap(
        (above, below), lambda a, b, axis=-1: a.sum(axis) / b.sum(axis), paired=True, method="percentile"
    ).confidence_interval
    ours = intervals({"ratio": (above, below)}, resamples=10_000)["ratio"]
    assert ours == pytest.approx((expected.low, expected.high), abs=0.02)


def test_all_statistics_see_the_same_draws_and_a_wider_level_holds_a_narrower_one() -> None:
    values = RNG.normal(size=30)
    together = intervals({"a": (values, None), "b": (2 * values, None)}, resamples=500, seed=3)
    assert together["a"] == interval(values, resamples=500, seed=3)
    assert together["b"] == pytest.approx(tuple(2 * np.array(together["a"])))
    wide, narrow = (interval(values, resamples=500, confidence=level) for level in (0.99, 0.8))
    assert wide is not None
    assert narrow is not None
    assert wide[0] < narrow[0] < values.mean() < narrow[1] < wide[1]


def test_large_samples_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = RNG.normal(size=50)
    expected = interval(values, resamples=101)
    monkeypatch.setattr(bootstrap, "MOST_KEPT", 0)
    monkeypatch.setattr(bootstrap, "MOST", 700)
    assert interval(values, resamples=101) == pytest.approx(expected, rel=1e-12)


def test_instances_without_a_number_take_no_part() -> None:
    values = RNG.normal(size=40)
    holed = np.where(np.arange(40) % 4 == 0, np.nan, values)
    known = holed[~np.isnan(holed)]
    ours = intervals({"mean": (holed, None), "ratio": (holed, np.ones(40))}, resamples=5000)
    assert ours["mean"] == ours["ratio"]
    assert ours["mean"] == pytest.approx(interval(known, resamples=5000), abs=0.05)


def test_few_known_instances_still_have_an_interval() -> None:
    low, high = intervals({"a": (np.array([1.0, np.nan, 2.0]), None)}, resamples=200)["a"]
    assert (low, high) == (1.0, 2.0)


@pytest.mark.parametrize("values", [[], [1.0], [np.nan, np.nan], [1.0, np.nan]])
def test_fewer_than_two_have_none(values: list[float]) -> None:
    assert interval(np.array(values), resamples=100) is None


def test_none_where_none_is_asked_for_or_nothing_to_divide_by() -> None:
    assert interval(np.arange(5.0), resamples=0) is None
    assert intervals({}, resamples=100) == {}
    assert intervals({"a": (np.ones(4), np.zeros(4))}, resamples=100) == {}
