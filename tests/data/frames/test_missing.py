"""What takes the place of missing entries, where it could come from another series."""

from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from foresolve import DecisionDataset, TopK
from foresolve.errors import ForesolveWarning
from tests.data.frames.tables import days, read

DAYS = pd.date_range("2024-01-01", periods=4)


def stock(depots: list[str]) -> DecisionDataset:
    """Of one depot or more on each day; an entry of the third day is missing in each table, of the last depot."""
    table = pd.MultiIndex.from_product([depots, DAYS], names=["depot", "day"]).to_frame(index=False)
    numbers = np.arange(float(len(table)))
    features, theta = table.assign(rain=numbers), table.assign(a=2 * numbers, b=-numbers)
    features.loc[len(table) - 2, "rain"] = theta.loc[len(table) - 2, "a"] = np.nan
    return DecisionDataset.from_frames(
        features, theta, TopK(2, 1, names=["a", "b"]), key=["depot", "day"], missing="previous"
    )


def test_what_is_filled_from_another_series_is_told() -> None:
    """A depot without an entry had another depot's, without a word."""
    told = r"what \('S', '2024-01-03'\) lacks is taken from \('N', '2024-01-03'\)"
    with pytest.warns(ForesolveWarning, match=told):
        data = stock(["N", "S"])
    assert data.reader is not None
    tomorrow = pd.DataFrame({"depot": ["N", "S"], "day": [DAYS[-1]] * 2, "rain": [5.0, np.nan]})
    with pytest.warns(ForesolveWarning, match=r"what \('S', '2024-01-04'\) lacks is taken from \('N', '2024-01-04'\)"):
        data.reader.read(tomorrow[::-1])


def test_one_series_is_filled_without_a_word() -> None:
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        data = stock(["S"])
    assert data.features[:, 0].tolist() == [0, 1, 1, 3]
    assert data.theta[:, 0].tolist() == [0, 2, 2, 6]


def test_none_is_a_word_among_words_and_missing_among_numbers(tmp_path: Path) -> None:
    """Days without an event had the event of most other days, where missing entries are filled."""
    features, minutes = days()
    places = np.arange(30)
    told = features.assign(
        event=np.where(places % 3, "None", "fair"),
        guests=np.where(places % 5, places.astype(str), "None"),
        since=np.where(places % 4, features["date"], "None"),
    )
    told.to_csv(tmp_path / "features.csv", index=False)
    data = read(tmp_path / "features.csv", minutes, missing="median")
    assert data.reader is not None
    assert str(data.reader.encoding) == (
        "event: category, guests: number, rain: number, since: date, weekday: category"
    )
    assert data.feature_names is not None
    assert data.feature_names[:2] == ("event = None", "event = fair")
    assert data.features[:, 0].tolist() == [float(place % 3 > 0) for place in places]
    assert data.origin is not None
    assert data.origin.missing is not None
    assert data.origin.missing.features == 6 + 8


def test_numbers_with_leading_zeros_are_names_as_features_too(tmp_path: Path) -> None:
    """Of "00114" and "20095" one was 175 times the other."""
    features, minutes = days()
    features.assign(zip=["00114", "20095"] * 15).to_csv(tmp_path / "features.csv", index=False)
    data = read(tmp_path / "features.csv", minutes)
    assert data.reader is not None
    assert "zip: category" in str(data.reader.encoding)
    tomorrow = tmp_path / "tomorrow.csv"
    features.iloc[:2].assign(zip=["20095", "00114"]).to_csv(tomorrow, index=False)
    np.testing.assert_array_equal(data.reader.read(tomorrow).features[:, -2:], torch.tensor([[0.0, 1.0], [1.0, 0.0]]))
    with pytest.warns(ForesolveWarning, match="'114' in 1 rows"):
        data.reader.read(features.iloc[:2].assign(zip=[20095, 114]))
    numbers = read(tmp_path / "features.csv", minutes, encode={"zip": "number"})
    assert numbers.features[0, -1] == 114
