from __future__ import annotations

import itertools

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


def ar(count: int, rng: np.random.Generator, phi: float = 0.6) -> np.ndarray:
    noise, values = rng.normal(size=count + 50), np.zeros(count + 50)
    for i in range(1, len(values)):
        values[i] = phi * values[i - 1] + noise[i]
    return values[50:]


def by_hand(values: np.ndarray, length: int, resamples: int) -> np.ndarray:
    rng, size, means = np.random.default_rng(8), len(values), []
    for _ in range(resamples):
        starts = rng.integers(size, size=-(-size // length))
        drawn = np.concatenate([(start + np.arange(length)) % size for start in starts])[:size]
        means.append(values[drawn].mean())
    return np.array(means)


@pytest.mark.parametrize("length", [2, 7, 10, 25])
def test_blocks_are_those_drawn_by_hand(length: int) -> None:
    values = ar(50, np.random.default_rng(1))
    expected = np.quantile(by_hand(values, length, 20_000), (0.025, 0.975))
    ours = intervals({"": (values, None)}, resamples=20_000, block=length)[""]
    assert ours == pytest.approx(tuple(expected), abs=0.03)


@pytest.mark.parametrize(("size", "length"), [(10, 2), (10, 3), (10, 10), (7, 5), (12, 1)])
def test_every_resample_is_of_whole_blocks_but_one(size: int, length: int) -> None:
    counts = size * bootstrap._circular(np.random.default_rng(0), size, 4000, length)
    assert np.array_equal(counts, counts.round())
    assert (counts >= 0).all()
    assert (counts.sum(1) == size).all()
    assert counts.mean(0) == pytest.approx(np.ones(size), abs=0.1)  # the ends as often as the middle
    changes = np.abs(np.diff(counts, axis=1, append=counts[:, :1])).sum(1)
    assert (changes <= 2 * -(-size // length)).all()


def test_blocks_of_one_are_instances_in_distribution() -> None:
    counts = 12 * bootstrap._circular(np.random.default_rng(0), 12, 200_000, 1)
    assert np.cov(counts.T) == pytest.approx(np.eye(12) - 1 / 12, abs=0.02)  # standard errors are below 0.004
    for times in range(5):
        assert (counts == times).mean() == pytest.approx(stats.binom.pmf(times, 12, 1 / 12), abs=0.002)
    values = RNG.normal(size=40)
    one, none = (intervals({"": (values, None)}, resamples=1000, block=block) for block in (1, None))
    assert one == none


def test_blocks_cover_the_mean_of_an_autoregression() -> None:
    """Of 200 series, the mean is zero; instances alone would have it in about 65 % of the intervals."""
    covered, widths = {None: 0, 25: 0}, {None: 0.0, 25: 0.0}
    rng = np.random.default_rng(4)
    for _ in range(200):
        values = ar(500, rng)
        for block in covered:
            low, high = intervals({"": (values, None)}, resamples=400, block=block)[""]
            covered[block] += low <= 0 <= high
            widths[block] += high - low
    assert covered[None] < 160
    assert 176 <= covered[25] <= 198
    assert widths[25] > 1.6 * widths[None]  # at best twice as wide: (1 + phi) / (1 - phi) = 4


@pytest.mark.parametrize("ratio", [False, True])
def test_groups_are_those_of_all_draws(ratio: bool) -> None:
    """Four groups of unequal size: all 256 draws, each as likely."""
    groups = np.array([0, 1, 1, 2, 2, 2, 3, 0, 3, 3, 3])
    above, below = RNG.exponential(size=11), 1 + RNG.random(11)
    everything = []
    for draw in itertools.product(range(4), repeat=4):
        rows = np.concatenate([np.flatnonzero(groups == g) for g in draw])
        everything.append(above[rows].sum() / below[rows].sum() if ratio else above[rows].mean())
    for level in (0.5, 0.8, 0.95):
        tail = (1 - level) / 2
        expected = np.quantile(everything, (tail, 1 - tail), method="inverted_cdf")
        found = intervals({"": (above, below if ratio else None)}, resamples=40_000, confidence=level, block=groups)[""]
        assert found == pytest.approx(tuple(expected), abs=0.03)


def test_groups_of_one_are_instances() -> None:
    values, weight = RNG.normal(size=30), RNG.random(30)
    for below in (None, weight):
        alone = intervals({"": (values, below)}, resamples=300, block=np.arange(30))[""]
        assert alone == pytest.approx(intervals({"": (values, below)}, resamples=300)[""])


@pytest.mark.parametrize("block", [5, np.arange(40) // 5])
def test_in_blocks_instances_without_a_number_take_no_part(block: int | np.ndarray) -> None:
    values = RNG.normal(size=40)
    holed = np.where(np.arange(40) % 4 == 0, np.nan, values)
    found = intervals({"mean": (holed, None), "ratio": (holed, np.ones(40))}, resamples=500, block=block)
    assert found["mean"] == found["ratio"]
    assert found["mean"][0] < np.nanmean(holed) < found["mean"][1]
    one_block = np.where(np.arange(40) < 5, values, np.nan)
    assert intervals({"": (one_block, None)}, resamples=100, block=block) == {}


def test_large_samples_in_blocks_in_parts_are_the_same(monkeypatch: pytest.MonkeyPatch) -> None:
    values = RNG.normal(size=50)
    expected = intervals({"": (values, None)}, resamples=101, block=7)[""]
    monkeypatch.setattr(bootstrap, "MOST_KEPT", 0)
    monkeypatch.setattr(bootstrap, "MOST", 700)
    assert intervals({"": (values, None)}, resamples=101, block=7)[""] == pytest.approx(expected, rel=1e-12)


def test_fewer_than_two_blocks_have_none() -> None:
    values = RNG.normal(size=10)
    for block in (6, 10, np.zeros(10, dtype=int)):
        assert intervals({"": (values, None)}, resamples=100, block=block) == {}
    assert intervals({"": (values, None)}, resamples=100, block=5) != {}


def test_runs() -> None:
    assert bootstrap.runs(6, 2).tolist() == [0, 0, 1, 1, 2, 2]
    assert bootstrap.runs(7, 3).tolist() == [0, 0, 0, 1, 1, 1, 1]
    assert bootstrap.runs(3, 2).tolist() == [0, 0, 0]
