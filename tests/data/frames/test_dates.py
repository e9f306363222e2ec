"""Dates with and without a time zone do not mix; what columns are does not depend on how pandas stores them."""

from __future__ import annotations

import warnings
from decimal import Decimal
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pytest
import torch

from foresolve import BipartiteMatching, DecisionDataset, InvalidInputError
from foresolve.data.frames.encoding import Encoding
from foresolve.data.frames.keys import Keys
from foresolve._base.table_files import TableWriter
from tests.data.frames.tables import days, read

HOURS = pd.date_range("2024-10-26", periods=48, freq="h", tz="Europe/Berlin")  # one hour comes twice on the clock


def hourly(dates: Any) -> tuple[pd.DataFrame, pd.DataFrame]:
    features, minutes = days(len(dates))
    return features.assign(date=dates), minutes.assign(date=dates)


def test_the_hour_that_comes_twice_is_two_points_in_time() -> None:
    data = read(*hourly(HOURS))
    assert data.keys is not None
    assert data.keys[0] == "2024-10-25T22:00:00Z"
    assert data.keys.frame()["date"].tolist() == HOURS.to_list()
    texts = read(*hourly([date.isoformat() for date in HOURS]))
    assert texts.keys is not None
    assert texts.keys.frame().equals(data.keys.frame())
    with pytest.raises(InvalidInputError, match="more than once"):
        read(*hourly(HOURS.tz_localize(None)))


@pytest.mark.parametrize("missing", ["refuse", "drop"])
def test_clocks_with_and_without_a_zone_are_not_compared(missing: str) -> None:
    """They would match hours apart."""
    features, minutes = hourly(HOURS)
    clock = pd.date_range("2024-10-26", periods=48, freq="h")
    with pytest.raises(InvalidInputError, match="with a time zone in all tables, or in none"):
        read(features.assign(date=clock), minutes, missing=missing)
    with pytest.raises(InvalidInputError, match="with a time zone in all tables, or in none"):
        DecisionDataset(
            features[["rain"]].set_index(clock), minutes.drop(columns="date").set_index(HOURS), read(*days()).problem
        )


@pytest.mark.parametrize("text", [True, False])
def test_a_column_of_both_is_refused(text: bool) -> None:
    both = [date if place % 2 else date.replace(tzinfo=None) for place, date in enumerate(HOURS.to_pydatetime())]
    dates = [date.isoformat() for date in both] if text else pd.Series(both, dtype=object)
    with pytest.raises(InvalidInputError, match="all with a time zone, or all without, in the column 'date'"):
        read(*hourly(dates))


@pytest.mark.parametrize("kind", ["date", "trend"])
def test_features_keep_to_the_zone_of_training(kind: str) -> None:
    encoding = Encoding.of(pd.DataFrame({"when": HOURS}), ["when"], {"when": kind})
    clock = pd.DataFrame({"when": HOURS.tz_localize(None)})
    for stored in (encoding, Encoding.from_config(encoding.config())):
        with pytest.raises(InvalidInputError, match="dates with a time zone in their column 'when', as in training"):
            stored.numbers(clock)
        assert len(stored.numbers(pd.DataFrame({"when": [str(date) for date in HOURS]}))) == 48
    before = [{name: entry for name, entry in part.items() if name != "zoned"} for part in encoding.config()]
    assert len(Encoding.from_config(before).numbers(clock)) == 48  # versions before did not ask


def test_files_of_keys_say_that_they_are_in_utc(tmp_path: Path) -> None:
    path = tmp_path / "decisions.csv"
    with TableWriter(path, {"date": "time"}) as writer:
        writer.write(pd.DataFrame({"date": HOURS}))
    table = pd.read_csv(path)
    assert table["date"].to_list()[0] == "2024-10-25 22:00:00Z"
    assert Keys.of("table", table, ["date"]).frame()["date"].tolist() == HOURS.to_list()


def test_keys_within_a_second_stay_different(tmp_path: Path) -> None:
    dates = pd.date_range("2024-01-01", periods=3, freq="250ms")
    keys = Keys.of("table", pd.DataFrame({"date": dates}), ["date"])
    assert [keys[place] for place in range(3)] == ["2024-01-01", "2024-01-01T00:00:00.250", "2024-01-01T00:00:00.500"]
    features, minutes = days(3)
    with pytest.raises(InvalidInputError, match=r"none for '2024-01-01', '2024-01-01T00:00:00\.250'"):
        read(features.assign(date=dates), minutes.assign(date=["x", "y", "z"]))
    with TableWriter(tmp_path / "keys.csv", {"date": "time"}) as writer:
        writer.write(pd.DataFrame({"date": dates}))
    assert (tmp_path / "keys.csv").read_text().splitlines()[2] == "2024-01-01 00:00:00.250"


# -- how pandas stores a column ----------------------------------------------------------------------------------------


def test_arrow_columns_are_read_as_others_are() -> None:
    """In pandas' Arrow columns NaN counts as known: text was taken for numbers, all of which were missing."""
    pytest.importorskip("pyarrow")
    features, minutes = days()
    expected = read(features, minutes)
    for date in ("string[pyarrow]", "date32[pyarrow]", "timestamp[us][pyarrow]"):
        arrows = [frame.convert_dtypes(dtype_backend="pyarrow") for frame in (features, minutes)]
        dated = [frame.assign(date=pd.to_datetime(frame["date"]).astype(date)) if date != "string[pyarrow]" else frame
                 for frame in arrows]  # fmt: skip
        data = read(*dated)
        assert data.feature_names == expected.feature_names
        assert data.keys is not None
        assert data.keys[0] == "2023-01-01"
        assert torch.equal(data.features, expected.features)
        assert torch.equal(data.theta, expected.theta)
    indexed = [frame.astype({"date": "string[pyarrow]"}).set_index("date") for frame in (features, minutes)]
    assert torch.equal(read(*indexed).theta, expected.theta)


def test_categoricals_of_dates_are_dates() -> None:
    features, minutes = days()
    dates = pd.to_datetime(features["date"])
    for column in (dates.astype("category"), features["date"].astype("category")):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            data = read(features.assign(date=column), minutes)
        assert data.times is not None


@pytest.mark.parametrize(
    "column",
    [
        pd.Series(pd.date_range("2024-01-01", periods=30)).astype("category"),
        pd.Series(pd.period_range("2024-01-01", periods=30)),
    ],
)
def test_dates_are_no_parameters(column: pd.Series) -> None:
    """They became nanoseconds since 1970."""
    features, minutes = days()
    with pytest.raises(InvalidInputError, match="numbers in the column 'r2'"):
        read(features, minutes.assign(r2=column))


def test_whole_numbers_are_the_same_in_every_type() -> None:
    features, minutes = days(3)
    expected = ["1", "2", "3"]
    for column in ([1, 2, 3], [1.0, 2.0, 3.0], ["1", "2", "3"], [Decimal(1), Decimal(2), Decimal(3)]):
        data = read(features.assign(date=column), minutes.assign(date=[1, 2, 3]))
        assert data.keys is not None
        assert [data.keys[place] for place in range(3)] == expected
    mixed = [1.0, 2.0, 2.5]
    assert len(read(features.assign(date=mixed), minutes.assign(date=["1", "2", "2.5"]))) == 3


def test_keys_beyond_signed_integers_keep_their_digits() -> None:
    """They became negative numbers."""
    features, minutes = days(3)
    numbers = np.uint64(2**63) + np.arange(3, dtype=np.uint64)
    data = read(features.assign(date=numbers), minutes.assign(date=[str(number) for number in numbers]))
    assert data.keys is not None
    assert data.keys[0] == "9223372036854775808"


def test_columns_of_several_levels_are_pairs() -> None:
    problem = BipartiteMatching(["ann", "bob"], ["dig", "cook"])
    columns = pd.MultiIndex.from_product([["bob", "ann"], ["cook", "dig"]])
    scores = pd.DataFrame([[1.0, 2.0, 3.0, 4.0]], columns=columns, index=pd.Index([1], name="day"))
    rain = pd.DataFrame({"day": [1], "rain": [0.5]})
    for table in (scores, scores.reset_index()):
        data = DecisionDataset.from_frames(rain, table, problem, key="day")
        assert data.theta.flatten().tolist() == [4.0, 3.0, 2.0, 1.0]


def test_columns_of_several_lengths_are_refused() -> None:
    minutes = days(3)[1]
    with pytest.raises(InvalidInputError, match="`features` must be a dict of columns of one length"):
        read({"date": [1, 2, 3], "rain": [1.0]}, minutes)


def test_a_key_that_is_a_column_and_another_index_is_refused() -> None:
    """Which of them was meant was a guess."""
    features, minutes = days(3)
    same = features.set_index("date", drop=False)
    assert len(read(same, minutes)) == 3
    with pytest.raises(InvalidInputError, match="a frame with one 'date'; got two"):
        read(same.set_axis(same.index[::-1].rename("date"), axis=0), minutes)
