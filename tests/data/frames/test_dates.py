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

from foresolve import BipartiteMatching, DecisionDataset
from foresolve.data import TableFile
from foresolve.data.frames.dates import clock_texts, written_otherwise
from foresolve.data.frames.encoding import Encoding
from foresolve.data.frames.keys import Keys
from mistakes import mistake
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
    with mistake("theta"):
        read(*hourly(HOURS.tz_localize(None)))


@pytest.mark.parametrize("missing", ["refuse", "drop"])
def test_clocks_with_and_without_a_zone_are_not_compared(missing: str) -> None:
    """They would match hours apart."""
    features, minutes = hourly(HOURS)
    clock = pd.date_range("2024-10-26", periods=48, freq="h")
    with mistake("key"):
        read(features.assign(date=clock), minutes, missing=missing)
    with mistake("key"):
        DecisionDataset(
            features[["rain"]].set_index(clock), minutes.drop(columns="date").set_index(HOURS), read(*days()).problem
        )


@pytest.mark.parametrize("text", [True, False])
def test_a_column_of_both_is_refused(text: bool) -> None:
    both = [date if place % 2 else date.replace(tzinfo=None) for place, date in enumerate(HOURS.to_pydatetime())]
    dates = [date.isoformat() for date in both] if text else pd.Series(both, dtype=object)
    with mistake("dates", "'date'"):
        read(*hourly(dates))


@pytest.mark.parametrize("kind", ["date", "trend"])
def test_features_keep_to_the_zone_of_training(kind: str) -> None:
    encoding = Encoding.of(pd.DataFrame({"when": HOURS}), ["when"], {"when": kind})
    clock = pd.DataFrame({"when": HOURS.tz_localize(None)})
    for stored in (encoding, Encoding.from_config(encoding.config())):
        with mistake("features", "'when'"):
            stored.numbers(clock)
        assert len(stored.numbers(pd.DataFrame({"when": [str(date) for date in HOURS]}))) == 48
    before = [{name: entry for name, entry in part.items() if name != "zoned"} for part in encoding.config()]
    assert len(Encoding.from_config(before).numbers(clock)) == 48  # versions before did not ask


def test_points_in_time_are_written_alike() -> None:
    texts = clock_texts(pd.Series(HOURS))
    assert texts[0] == "2024-10-25 22:00:00Z"
    assert Keys.of("table", pd.DataFrame({"date": texts}), ["date"]).frame()["date"].tolist() == HOURS.to_list()
    parts = pd.Series(pd.to_datetime(["2024-01-01", "2024-01-01T00:00:00.250"], format="ISO8601"))
    assert clock_texts(parts).tolist() == ["2024-01-01 00:00:00.000", "2024-01-01 00:00:00.250"]


def test_keys_within_a_second_stay_different() -> None:
    dates = pd.date_range("2024-01-01", periods=3, freq="250ms")
    keys = Keys.of("table", pd.DataFrame({"date": dates}), ["date"])
    assert [keys[place] for place in range(3)] == ["2024-01-01", "2024-01-01T00:00:00.250", "2024-01-01T00:00:00.500"]
    features, minutes = days(3)
    with mistake("theta", "'2024-01-01'", "'2024-01-01T00:00:00.250'"):
        read(features.assign(date=dates), minutes.assign(date=["x", "y", "z"]))


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
    with mistake("theta", "'r2'"):
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
    with mistake("features"):
        read({"date": [1, 2, 3], "rain": [1.0]}, minutes)


def test_a_key_that_is_a_column_and_another_index_is_refused() -> None:
    """Which of them was meant was a guess."""
    features, minutes = days(3)
    same = features.set_index("date", drop=False)
    assert len(read(same, minutes)) == 3
    with mistake("features", "'date'"):
        read(same.set_axis(same.index[::-1].rename("date"), axis=0), minutes)


# -- dates that are written otherwise ----------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "entries",
    [
        ("27.05.2024", "3.6.2024"), ("05/27/2024", "06/03/2024"), ("27.05.24", "28.05.24"),
        ("2024/05/27", "2024/05/28"),
        ("27.05.2024 08:00", "27.05.2024 09:00"), ("27-May-2024", "28-Jun-2024"), ("May 27, 2024", "June 3, 2024"),
        ("20240527", "20240603"), ("2024_05_27", "2024_06_03"),
        ("2024-5-27", "2024-6-3"), ("2024-05-27", "2024-05-28", "29.05.2024"),
        ("2024-05", "2024-06"), ("2024-Q1", "2024-Q2"), ("May 2024", "June 2024"),
        ("Mon 27 May 2024", "Tue 28 May 2024"), ("27 May 2024 08:00", "28 May 2024 08:00"),
    ],
)  # fmt: skip
def test_dates_that_are_written_otherwise(entries: tuple[str, ...]) -> None:
    assert written_otherwise(entries) in entries


@pytest.mark.parametrize(
    "entries",
    [("a", "b"), ("1", "2"), ("1.2", "3.4"), ("20249999", "20240101"), ("27.05.2024", "none"),
     ("1.2.2024", "1.2.2024"), ("192.168.1", "192.168.2"), ("20241", "20242"), ("room 2024", "room 2025")],
)  # fmt: skip
def test_other_names(entries: tuple[str, ...]) -> None:
    assert written_otherwise(entries) is None


@pytest.mark.parametrize("odd", ["Total", "2024-02-30", "n. a.", "29.05.2024"])
def test_the_entry_that_is_otherwise_is_told(odd: str) -> None:
    """The total below a table, or a slip, would have shuffled the days."""
    assert written_otherwise(["2024-02-28", "2024-02-29", odd]) == odd


def test_undated_keys_that_look_like_dates_are_refused(tmp_path: Path) -> None:
    """Their parts would mix yesterday with tomorrow."""
    features, minutes = days()
    expected = read(features, minutes)
    for frame in (features, minutes):
        frame["date"] = pd.to_datetime(frame["date"]).dt.strftime("%d.%m.%Y")
    with mistake("dates", "'date'", "'01.01.2023'", "date_format"):
        read(features, minutes)
    assert read(features, minutes, dates=False).times is None
    paths = [tmp_path / "features.csv", tmp_path / "minutes.csv"]
    for frame, path in zip((features, minutes), paths, strict=True):
        frame.to_csv(path, sep=";", decimal=",", index=False)
    data = read(*(TableFile(path, decimal=",", date_format="%d.%m.%Y") for path in paths))
    assert torch.equal(data.features, expected.features)
    assert torch.equal(data.theta, expected.theta)
    assert data.times is not None
    assert (data.times == expected.times).all()


def test_features_that_look_like_dates_are_no_categories() -> None:
    features, minutes = days()
    ordered = features.assign(ordered=pd.to_datetime(features["date"]).dt.strftime("%d.%m.%Y"))
    with mistake("features", "'ordered'", "'01.01.2023'", "date_format"):
        read(ordered, minutes)
    assert "ordered: category" in str(read(ordered, minutes, encode={"ordered": "category"}).reader.encoding)
