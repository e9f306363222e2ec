"""Columns as numbers."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from foresolve import ForesolveWarning
from foresolve.data import Encoding, FrameReader, TableFile
from mistakes import mistake

FRAME = pd.DataFrame(
    {
        "day": pd.to_datetime(["2024-01-01 00:00", "2024-07-02 06:00", "2024-12-31 12:00"]),
        "sky": ["wet", "dry", "wet"],
        "warm": [True, False, True],
        "rain": [1, 2, 3],
    }
)


def test_kinds_by_type() -> None:
    encoding = Encoding.of(FRAME, list(FRAME.columns))
    assert str(encoding) == "day: date, sky: category, warm: number, rain: number"
    numbers = encoding.numbers(FRAME)
    named = dict(zip(encoding.names, numbers.T, strict=True))
    assert named["sky = wet"].tolist() == [1.0, 0.0, 1.0]
    assert named["warm"].tolist() == [1.0, 0.0, 1.0]
    assert named["day = Monday"].tolist() == [1.0, 0.0, 0.0]
    assert named["day = Tuesday"].tolist() == [0.0, 1.0, 1.0]
    np.testing.assert_allclose(named["day season cos"][0], 1.0)
    assert abs(named["day season sin"][2]) < 0.02  # the last day is next to the first
    np.testing.assert_allclose(named["day hour sin"], [0.0, 1.0, 0.0], atol=1e-12)


def test_stated_kinds_come_back_from_json() -> None:
    kinds = {"day": ["date", "trend"], "rain": "category", "warm": "ignore"}
    encoding = Encoding.of(FRAME, list(FRAME.columns), kinds)
    assert "rain = 2" in encoding.names
    assert "warm" not in encoding.names
    again = Encoding.from_config(json.loads(json.dumps(encoding.config())))
    np.testing.assert_array_equal(again.numbers(FRAME), encoding.numbers(FRAME))
    days = dict(zip(encoding.names, encoding.numbers(FRAME).T, strict=True))["day days"]
    np.testing.assert_allclose(days, [0.0, 183.25, 365.5])


def test_a_category_that_training_did_not_see_is_none_of_them() -> None:
    encoding = Encoding.of(FRAME, ["sky"])
    with pytest.warns(ForesolveWarning, match="'hail' in 1 rows. It saw 'dry', 'wet'"):
        numbers = encoding.numbers(pd.DataFrame({"sky": ["hail", "wet"]}))
    assert numbers.tolist() == [[0.0, 0.0], [0.0, 1.0]]


def test_missing_entries_are_nan_in_all_that_they_become() -> None:
    frame = FRAME.astype({"sky": object, "rain": float}).copy()
    frame.loc[1, ["day", "sky", "rain"]] = None
    numbers = Encoding.of(frame, ["day", "sky", "rain"]).numbers(frame)
    assert np.isnan(numbers[1]).all()
    assert not np.isnan(numbers[[0, 2]]).any()


@pytest.mark.parametrize(
    ("column", "kinds", "argument", "facts"),
    [
        ([f"c{i}" for i in range(60)], None, "features", ["50 categories", "60", "'a'"]),
        (["1.5", "2", "n/e"] * 20, None, "features", ["'a'", "'n/e' in row 2"]),
        (["x", "y", "z"] * 20, {"a": "date"}, "features", ["'a'", "'x'"]),
        (["x", "y", "z"] * 20, {"a": "number"}, "features", ["'a'", "'x'"]),
        (["x"] * 60, {"a": "catgory"}, "encode['a']", ["'catgory'", "'category'"]),
        (["x"] * 60, {"b": "category"}, "encode", ["'b'"]),
        (["x"] * 60, {"a": "ignore"}, "features", ["one column"]),
    ],
)
def test_what_cannot_be_encoded_is_named(
    column: list[str], kinds: dict[str, str] | None, argument: str, facts: list[str]
) -> None:
    with mistake(argument, *facts):
        Encoding.of(pd.DataFrame({"a": column}), ["a"], kinds)


def test_dates_as_text_or_with_a_zone_or_as_periods() -> None:
    for series in (
        pd.Series(["2024-05-01", "2024-05-02"]),
        pd.Series(pd.to_datetime(["2024-05-01", "2024-05-02"])).dt.tz_localize("UTC"),
        pd.Series(pd.period_range("2024-05-01", periods=2, freq="D")),
        pd.Series([pd.Timestamp("2024-05-01").date(), pd.Timestamp("2024-05-02").date()]),
    ):
        encoding = Encoding.of(pd.DataFrame({"day": series}), ["day"])
        assert encoding.columns[0].kind == "date"
        assert encoding.numbers(pd.DataFrame({"day": series}))[0, 2:9].tolist() == [0, 0, 1, 0, 0, 0, 0]


@pytest.mark.parametrize("entries", [("1,5", "2,5", "3,25"), ("1.234,50", "2,1", "3"), ("1,5e-3", "2,5", "3"),
                                     ("12 %", "7%", "9 %"), ("1'234.5", "2'000", "3'100")])  # fmt: skip
def test_numbers_that_are_written_otherwise_are_no_categories(entries: tuple[str, ...]) -> None:
    """A price of its own category each is a model of noise, without a word."""
    frame = pd.DataFrame({"price": entries})
    with mistake("features", "1234.5"):
        Encoding.of(frame, ["price"])
    assert len(Encoding.of(frame, ["price"], {"price": "category"}).names) == 3


def test_names_that_begin_with_digits_are_categories() -> None:
    frame = pd.DataFrame({"size": ["1-2", "3-4", "5+"], "code": ["1a", "2b", "3"]})
    assert str(Encoding.of(frame, ["size", "code"])) == "size: category, code: category"


def test_what_pandas_calls_a_category_is_one() -> None:
    frame = pd.DataFrame({"month": pd.Categorical([1, 2, 1])})
    encoding = Encoding.of(frame, ["month"])
    assert encoding.names == ("month = 1", "month = 2")
    assert encoding.numbers(pd.DataFrame({"month": [2]})).tolist() == [[0.0, 1.0]]


def test_lengths_of_time_need_a_unit() -> None:
    """pandas makes nanoseconds of them, and -9e18 of a missing one."""
    frame = pd.DataFrame({"wait": pd.to_timedelta([1.0, None, 2.0], unit="h")})
    with mistake("features"):
        Encoding.of(frame, ["wait"])


def test_a_few_rows_are_read_as_the_whole_table_was(tmp_path: Path) -> None:
    """A column of a small file can look like another type, or have no entry."""
    frame = pd.DataFrame({"code": ["2.0", "TRUE", "A", "1"], "day": ["2024-01-01", "2024-01-02", None, "2024-01-04"]})
    encoding = Encoding.of(frame, ["code", "day"])
    reader = FrameReader((), encoding)
    whole = encoding.numbers(frame)
    for row in range(4):
        frame[row : row + 1].to_csv(tmp_path / "part.csv", index=False)
        part = reader.raw("features", TableFile(tmp_path / "part.csv").frame(reader.text)).table
        np.testing.assert_array_equal(part, whole[row : row + 1])
    with pytest.warns(ForesolveWarning, match="'3' in 1 rows"):
        encoding.numbers(pd.DataFrame({"code": [3], "day": ["2024-01-01"]}))


@pytest.mark.parametrize(
    ("values", "got"),
    [
        (pd.to_datetime(["2024-01-01"] * 3), "Timestamp"),
        (np.array([1j, 2, 3]), "1j"),
        ([1.0, np.inf, 2.0], "inf in row 1"),
        ([1.0, "-inf", 2.0], "-inf in row 1"),
    ],
    ids=["dates", "complex", "infinite", "infinite text"],
)
def test_what_only_looks_like_numbers_is_refused(values: object, got: str) -> None:
    """Dates would be counted in nanoseconds, imaginary parts dropped."""
    with mistake("features", "'odd'", got):
        Encoding.of(FRAME.assign(odd=values), ["odd"], {"odd": "number"})
