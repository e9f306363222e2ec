"""Paired comparisons: one sign, one rounding, one rule of intervals, p-values that belong to them."""

from __future__ import annotations

import json
import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as arrays

from foresolve._base.table import Cell, Table
from foresolve.learning import PairedComparison
from foresolve.learning.paired import IntervalRule, PairedTable, Standing, bounded, gains, paired

ENDS = st.one_of(st.floats(-1e6, 1e6), st.just(-math.inf), st.just(math.inf))
NUMBERS = st.one_of(st.just(0.0), st.sampled_from([-2.0, -1.0, 1.0, 3.0]), st.floats(-100, 100))


@settings(max_examples=60, deadline=None)
@given(
    arrays.arrays(np.float64, st.integers(1, 40), elements=NUMBERS),
    st.one_of(st.sampled_from([0.5, 0.75, 0.8, 0.9, 0.95, 0.99]), st.floats(0.5, 0.999)),
    st.integers(1, 20),
    st.sampled_from([None, 3]),
)
def test_zero_is_outside_of_the_interval_exactly_where_p_is_small(
    gained: np.ndarray, confidence: float, together: int, block: int | None
) -> None:
    """Also where ties put the p-value on the level itself, and for intervals that hold at once."""
    block = None if block is not None and block > len(gained) else block
    alone = paired("a", "b", gained, None, block, confidence=confidence)
    for pair in (alone, alone.among(together)):
        low, high = pair.interval or (-math.inf, math.inf)
        assert pair.p_value is not None
        assert (low > 0 or high < 0) == (pair.p_value < 1 - confidence)
        assert (pair.standing in (Standing.AHEAD, Standing.BEHIND)) == (low > 0 or high < 0)
    assert alone.among(together) == paired("a", "b", gained, None, block, confidence=confidence, together=together)


@settings(max_examples=30, deadline=None)
@given(arrays.arrays(np.float64, st.integers(2, 30), elements=NUMBERS), st.integers(2, 10))
def test_intervals_that_hold_at_once_are_wider_and_their_p_values_larger(gained: np.ndarray, together: int) -> None:
    alone = paired("a", "b", gained)
    both = alone.among(together)
    assert both.gained == alone.gained
    assert both.p_value == min(1.0, together * (alone.p_value or 0.0))
    low, high = alone.interval or (-math.inf, math.inf)
    wide_low, wide_high = both.interval or (-math.inf, math.inf)
    assert wide_low <= low
    assert high <= wide_high


@settings(max_examples=30, deadline=None)
@given(arrays.arrays(np.float64, st.integers(2, 30), elements=NUMBERS))
def test_the_sign_turns_with_the_two_methods(gained: np.ndarray) -> None:
    first, second = paired("a", "b", gained), paired("b", "a", -gained)
    assert second.gained == -first.gained
    assert second.p_value == pytest.approx(first.p_value)
    if first.interval is not None:
        assert second.interval == pytest.approx((-first.interval[1], -first.interval[0]))


@pytest.mark.parametrize("dtype", [np.float32, np.float64])
def test_equal_decisions_gain_nothing_in_the_precision_of_their_values(dtype: type) -> None:
    rounding = float(np.finfo(dtype).eps)
    values = np.full(50, 1e6)
    noise = np.random.default_rng(0).uniform(-1, 1, 50)
    same = gains(values + 3 * rounding * 1e6 * noise, values, values, rounding, more_is_better=True)
    assert not same.any()
    other = gains(values + 1e4 * max(rounding, 1e-12) * 1e6, values, values, rounding, more_is_better=True)
    assert (other > 0).all()
    pair = paired("a", "b", same)
    assert (pair.gained, pair.interval, pair.p_value, pair.standing) == (0.0, (0.0, 0.0), 1.0, Standing.LEVEL)


@pytest.mark.parametrize("more", [True, False])
def test_better_is_above_zero(more: bool) -> None:
    own, reference = np.full(40, 2.0), np.full(40, 1.0)
    pair = paired("a", "b", gains(own, reference, 3.0, 1e-16, more_is_better=more))
    assert pair.gained == (1.0 if more else -1.0)
    assert pair.standing is (Standing.AHEAD if more else Standing.BEHIND)


def test_instances_without_a_number_take_no_part() -> None:
    gained = np.array([1.0, np.nan, 2.0, 3.0, np.nan, 1.0, 2.0, 3.0])
    some = paired("a", "b", gained)
    assert some == paired("a", "b", gained[~np.isnan(gained)])
    assert some.units == 6
    nothing = paired("a", "b", np.full(4, np.nan))
    assert math.isnan(nothing.gained)
    assert (nothing.interval, nothing.units, nothing.standing) == (None, 0, Standing.UNKNOWN)


def test_an_interval_is_there_where_it_bounds_a_side() -> None:
    assert bounded((-math.inf, math.inf)) is None
    assert bounded((-math.inf, 2.0)) == (-math.inf, 2.0)
    few = paired("a", "b", np.array([1.0, 2.0, 4.0]))
    assert (few.interval, few.standing) == (None, Standing.UNKNOWN)


@given(ENDS, ENDS, st.floats(-5, 5), st.one_of(st.none(), st.floats(0, 1)))
def test_json_gives_the_same_record(first: float, second: float, gained: float, p: float | None) -> None:
    interval = bounded((min(first, second), max(first, second)))
    interval = None if interval in ((math.inf, math.inf), (-math.inf, -math.inf)) else interval
    pair = PairedComparison(
        name="a", reference="b", gained=gained, interval=interval, p_value=p, together=3, units=7,
        rule=IntervalRule.BOOTSTRAP,
    )  # fmt: skip
    document = json.loads(json.dumps(pair.to_dict(), allow_nan=False))
    again = PairedComparison.from_dict(document)
    assert again == pair
    assert again.among(5) == pair  # nothing is known any more of what was tested


class Plain(PairedTable[PairedComparison]):
    def _table(self) -> Table:
        return self.table({"twice": lambda row: f"{2 * row.gained:g}"}, bold="best")


def test_rows_are_the_best_first_and_the_reference_apart() -> None:
    sizes = {"ridge": 0.0, "worse": -1.0, "nobody knows": math.nan, "best": 2.0}
    rows = tuple(PairedComparison(name=name, reference="ridge", gained=size) for name, size in sizes.items())
    table = Plain(reference="ridge", confidence=0.95, instances=9, units=9, rows=rows)
    assert [row.name for row in table] == list(sizes)
    assert [row.name for row in table.others] == ["best", "worse", "nobody knows"]
    assert table["best"].gained == 2.0
    shown = table._table()
    assert [row[0].text for row in shown.rows] == ["best", "worse", "nobody knows", "ridge"]
    assert shown.apart == 1
    assert [cell.bold for cell, *_ in shown.rows] == [True, False, False, False]
    assert shown.rows[-1][2:] == (Cell(), Cell())  # nothing is gained over itself
