"""Parts in the order of time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
import torch

import foresolve
from foresolve import DecisionDataset, ForesolveWarning
from mistakes import mistake
from tests.data.frames.tables import days, read


def test_dated_rows_are_split_in_time() -> None:
    features, minutes = days()
    data = read(features.sample(frac=1, random_state=0), minutes)
    train, valid, test = data.split(0.6, 0.2, 0.2)
    assert train.times is not None
    assert valid.times is not None
    assert test.times is not None
    assert train.times.max() < valid.times.min() <= valid.times.max() < test.times.min()
    assert [len(part) for part in (train, valid, test)] == [18, 6, 6]


def test_shuffling_them_is_warned_of() -> None:
    data = read(*days())
    with pytest.warns(ForesolveWarning, match="rows that are dated are shuffled"):
        train, _ = data.split(0.5, shuffle=True)
    assert train.times is not None
    assert (np.diff(train.times) < np.timedelta64(0, "ns")).any()
    with pytest.warns(ForesolveWarning, match="rows that are dated are shuffled"):
        data.folds(3, shuffle=True)


def test_instances_of_one_time_stay_together() -> None:
    times = pd.DatetimeIndex(np.repeat(pd.date_range("2024-01-01", periods=5), 4))
    index = pd.MultiIndex.from_arrays([times, list(range(20))], names=["day", "trip"])
    frame = pd.DataFrame({"f": np.arange(20.0)}, index)
    theta = pd.DataFrame(np.random.default_rng(0).random((20, 2)), index, columns=["a", "b"])
    data = DecisionDataset(frame, theta, foresolve.TopK(2, 1, names=["a", "b"]))
    first, second = data.split(10, 10)
    assert [len(first), len(second)] == [12, 8]
    with mistake("parts"):
        data.split(10, 1, 1)


def test_a_gap_and_its_limits() -> None:
    data = read(*days())
    train, test = data.split(0.5, gap=3)
    assert [len(train), len(test)] == [15, 12]
    assert int(test.positions[0]) == 18
    with mistake("gap"):
        data.split(0.5, gap=15)


def test_folds_go_forward_in_time() -> None:
    pairs = read(*days()).folds(4)
    assert len(pairs) == 4
    for train, valid in pairs:
        assert train.times is not None
        assert valid.times is not None
        assert train.times.max() < valid.times.min()
    assert sum(len(valid) for _, valid in pairs) == 24


def test_rows_without_dates_are_as_before() -> None:
    data = DecisionDataset(torch.arange(10.0)[:, None], torch.rand(10, 3), foresolve.TopK(3, 1))
    shuffled, kept = data.split(5, seed=0)[0], data.split(5, shuffle=False)[0]
    assert kept.positions.tolist() == [0, 1, 2, 3, 4]
    assert shuffled.positions.tolist() != kept.positions.tolist()
    assert sorted(int(i) for _, fold in data.folds(5) for i in fold.positions) == list(range(10))
