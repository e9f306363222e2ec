"""What takes the place of missing entries, where it could come from another series."""

from __future__ import annotations

import warnings

import numpy as np
import pandas as pd
import pytest

from foresolve import DecisionDataset, TopK
from foresolve.errors import ForesolveWarning

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
