"""Features that are the truth itself are refused, or told."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

import foresolve
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveWarning
from mistakes import mistake

pandas = pytest.importorskip("pandas")
NAMES = ["a", "b", "c"]
PROBLEM = foresolve.TopK(3, 1, names=NAMES)


def wide(count: int = 8) -> tuple[Any, Any]:
    rng = np.random.default_rng(0)
    theta = pandas.DataFrame(rng.random((count, 3)), columns=NAMES).assign(day=range(count))
    return pandas.DataFrame({"day": range(count), "rain": rng.random(count)}), theta


def long(count: int = 8) -> Any:
    rng = np.random.default_rng(0)
    frame = pandas.DataFrame({"day": np.repeat(range(count), 3), "item": NAMES * count})
    return frame.assign(price=rng.random(3 * count), profit=rng.random(3 * count))


def test_a_table_with_both_is_no_table_of_features() -> None:
    features, theta = wide()
    both = features.merge(theta, on="day")
    with mistake("features", "'a'"):
        DecisionDataset.from_frames(both, theta, PROBLEM, key="day")
    with mistake("features", "'profit'"):
        DecisionDataset.from_frames(long(), long(), PROBLEM, key="day", variable="item", value="profit")
    data = DecisionDataset.from_frames(both, theta, PROBLEM, key="day", columns=["rain"])
    assert data.feature_names == ("rain",)
    data = DecisionDataset.from_frames(long(), problem=PROBLEM, key="day", variable="item", value="profit")
    assert data.feature_names == ("price",)


def test_under_another_name_it_is_told() -> None:
    features, theta = wide()
    with pytest.warns(ForesolveWarning, match="the feature 'toll' is the parameter 'b' in every instance"):
        DecisionDataset.from_frames(features.assign(toll=theta["b"]), theta, PROBLEM, key="day")
    table = long()
    with pytest.warns(ForesolveWarning, match="the feature 'copy' is the parameter 'profit'"):
        DecisionDataset.from_frames(
            table.assign(copy=table["profit"]), problem=PROBLEM, key="day", variable="item", value="profit"
        )


def test_a_hole_hides_nothing() -> None:
    features, theta = wide()
    both = features.merge(theta, on="day")
    both.loc[3, "b"] = np.nan
    with mistake("features", "'b'"):
        DecisionDataset.from_frames(both.drop(columns=["a", "c"]), theta, PROBLEM, key="day", missing="mean")


@pytest.mark.parametrize("digits", [15, 2])
def test_other_units_hide_nothing(digits: int) -> None:
    """Minutes where the truth has seconds, also as a table rounds them."""
    features, theta = wide(40)
    theta[NAMES] = 100 + 3600 * theta[NAMES]
    minutes = (theta["c"] / 60).round(digits)
    with pytest.warns(ForesolveWarning, match="the feature 'trip' is the parameter 'c', in other units, in every inst"):
        DecisionDataset.from_frames(features.assign(trip=minutes), theta, PROBLEM, key="day")


def test_peaks_that_are_rare_are_seen() -> None:
    count = 3000
    features, theta = wide(count)
    theta["b"] = np.where(np.arange(count) % 1000 == 501, 7.0, 0.0)
    with pytest.warns(ForesolveWarning, match="'storm' is the parameter 'b' in every instance"):
        DecisionDataset.from_frames(features.assign(storm=theta["b"]), theta, PROBLEM, key="day")


def test_what_agrees_by_chance_or_nearly_is_no_truth() -> None:
    features, theta = wide(40)
    rng = np.random.default_rng(1)
    theta["a"] = np.repeat([0.0, 1.0], 20)
    near = theta["b"] * (1 + 1e-2 * rng.standard_normal(40))
    data = DecisionDataset.from_frames(
        features.assign(weekend=1 - theta["a"], forecast=near), theta, PROBLEM, key="day"
    )
    assert data.feature_names == ("forecast", "rain", "weekend")


def test_columns_of_the_same_name_and_other_numbers_are_features() -> None:
    """Forecasts, say, or the prices of the day before; and constants say nothing either way."""
    _, theta = wide()
    before = theta.assign(**{name: theta[name].shift(fill_value=0.0) for name in NAMES})
    assert DecisionDataset.from_frames(before, theta, PROBLEM, key="day").feature_names == tuple(NAMES)
    constant = theta.assign(a=1.0)
    data = DecisionDataset.from_frames(before.assign(a=1.0), constant, PROBLEM, key="day")
    assert data.feature_names == tuple(NAMES)


def test_an_instance_has_one_date() -> None:
    table = long().assign(
        date=lambda frame: pandas.Timestamp("2024-01-01") + pandas.to_timedelta(frame["day"], unit="D")
    )
    options: dict[str, Any] = {"problem": PROBLEM, "key": "day", "variable": "item", "value": "profit", "dates": "date"}
    times = DecisionDataset.from_frames(table, **options).times
    assert times is not None
    assert len(np.unique(times)) == 8
    table.loc[4, "date"] += pandas.Timedelta("1D")
    for frame in (table, table[::-1]):
        with mistake("features", "'1'"):
            DecisionDataset.from_frames(frame, **options)
