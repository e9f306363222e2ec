from __future__ import annotations

import warnings
from typing import Any

import numpy as np
import pandas as pd
import pytest

from foresolve.data.frames.foreign_dates import warn_of_foreign_dates
from foresolve.data.frames.keys import Keys
from foresolve.errors import ForesolveWarning
from tests.data.frames.tables import days, read


def keys(*entries: Any) -> Keys:
    return Keys.of("data", pd.DataFrame({"day": entries}), ["day"])


@pytest.mark.parametrize(
    "entries",
    [
        ("27.05.2024", "3.6.2024"), ("05/27/2024", "06/03/2024"), ("27.05.24", "28.05.24"),
        ("2024/05/27", "2024/05/28"),
        ("27.05.2024 08:00", "27.05.2024 09:00"), ("27-May-2024", "28-Jun-2024"), ("May 27, 2024", "June 3, 2024"),
        (20240527, 20240603), ("20240527", "20240603"), ("2024_05_27", "2024_06_03"),
        ("2024-5-27", "2024-6-3"), ("2024-05-27", "2024-05-28", "29.05.2024"),
        ("2024-05", "2024-06"), ("2024-Q1", "2024-Q2"), ("May 2024", "June 2024"),
        ("Mon 27 May 2024", "Tue 28 May 2024"), ("27 May 2024 08:00", "28 May 2024 08:00"),
    ],
)  # fmt: skip
def test_dates_of_other_countries(entries: tuple[Any, ...]) -> None:
    with pytest.warns(ForesolveWarning, match="the key 'day' looks like dates .*split at random"):
        warn_of_foreign_dates(keys(*entries))


@pytest.mark.parametrize(
    "entries",
    [("2024-05-27", "2024-05-28"), ("a", "b"), (1, 2), ("1.2", "3.4"), (20249999, 20240101), ("27.05.2024", "none"),
     ("1.2.2024", "1.2.2024"), ("192.168.1", "192.168.2"), ("20241", "20242"), ("room 2024", "room 2025")],
)  # fmt: skip
def test_other_keys(entries: tuple[Any, ...]) -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_foreign_dates(keys(*entries))


@pytest.mark.parametrize("odd", ["Total", "2024-02-30", "n. a."])
def test_one_row_that_is_no_date_makes_none_of_them_one(odd: str) -> None:
    """The total below a table, or a slip, would have shuffled the days."""
    with pytest.warns(ForesolveWarning, match=rf"looks like dates .*{odd}"):
        warn_of_foreign_dates(keys("2024-02-28", "2024-02-29", odd))


def test_the_entry_that_is_otherwise_is_shown() -> None:
    with pytest.warns(ForesolveWarning, match=r"looks like dates \('29.05.2024'\)"):
        warn_of_foreign_dates(keys("2024-05-27", "2024-05-28", "29.05.2024"))


def test_a_data_set_tells() -> None:
    """Its parts would mix yesterday with tomorrow."""
    features, minutes = days()
    for frame in (features, minutes):
        frame["date"] = pd.to_datetime(frame["date"]).dt.strftime("%d.%m.%Y")
    with pytest.warns(ForesolveWarning, match="looks like dates"):
        data = read(features, minutes)
    assert data.times is None
    assert read(features, minutes, dates=False).times is None
    assert np.isfinite(data.theta.numpy()).all()


def test_dates_of_other_countries_as_features() -> None:
    features, minutes = days()
    ordered = features.assign(ordered=pd.to_datetime(features["date"]).dt.strftime("%d.%m.%Y"))
    with pytest.warns(ForesolveWarning, match=r"the column 'ordered' looks like dates \('01\.01\.2023'\)"):
        read(ordered, minutes)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        read(ordered, minutes, encode={"ordered": "category"})
