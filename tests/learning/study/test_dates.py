from __future__ import annotations

from types import SimpleNamespace
from typing import cast

import numpy as np
import pytest
import torch

from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning.study.dates import Last, block_length, neighbors, spacing, study_block
from foresolve.learning.study.facts import Facts
from foresolve.problems.top_k import TopK
from learning.study.instances import dated, paths
from mistakes import mistake


def days(*numbers: int) -> np.ndarray:
    return np.datetime64("2024-01-01", "ns") + np.array(numbers) * np.timedelta64(1, "D")


def test_only_strictly_earlier_rows_are_looked_at() -> None:
    data = dated(10)
    assert data.times is not None
    last = Last(data.times, data.theta)
    seen = last.seen(data.subset(slice(7, 10)), {"lag": "previous"})
    assert torch.equal(seen.features, data.theta[6:9])
    seen = last.seen(data.subset(slice(7, 10)), {"lag": "week"})
    assert torch.equal(seen.features, data.theta[:3])
    with mistake("", "1 rows", kind=ForesolveError):
        last.seen(data, {"lag": "previous"})


def test_rows_of_the_same_time_do_not_tell_each_other() -> None:
    data = dated(4)
    last = Last(days(0, 1, 1, 1), data.theta)
    assert data.times is not None
    seen = last.seen(data.subset(slice(1, 2)), {"lag": "previous"})
    assert torch.equal(seen.features, data.theta[:1])


def test_lags_follow_the_calendar() -> None:
    def lags(step: float) -> list[str]:
        times = np.datetime64("2024-01-01", "ns") + (np.arange(20) * step * 86400).astype("timedelta64[s]")
        facts = Facts("instance", False, (None, None), "free", ((),))
        return [choice["lag"] for choice in Last(times, torch.zeros(20, 2)).settings(facts)]

    assert lags(1) == ["previous", "week"]
    assert lags(1 / 24) == ["previous", "week", "day"]
    assert lags(7) == lags(30) == ["previous"]


def test_blocks() -> None:
    assert [block_length(60, 1.0), block_length(1000, 1.0), block_length(27, 30.0)] == [7, 10, 3]
    assert spacing(days(0, 0, 1, 3, 4)) == 1.0
    assert study_block("auto", paths(30)) is None
    assert study_block(5, paths(30)) == 5
    data = dated(31)
    labels = study_block("auto", data)
    assert isinstance(labels, np.ndarray)
    assert np.bincount(labels).tolist() == [7, 7, 7, 10]
    with mistake("block", "'weekly'"):
        study_block("weekly", data)


def test_blocks_in_words() -> None:
    """What is left over belongs to the last block; rows of one time are one."""
    for count, words in ((28, "4 groups of 7"), (31, "4 groups of at least 7"), (7, "1 group of 7")):
        data = dated(count)
        assert neighbors(study_block("auto", data), data) == f"{words} neighboring days"
    for times, words in (
        (days(0) + np.arange(72).repeat(2) * np.timedelta64(1, "h"), "3 groups of 24 neighboring hours"),
        (days(*range(0, 27 * 30, 30)), "9 groups of 3 neighboring times"),
    ):
        other = cast("DecisionDataset", SimpleNamespace(times=times))
        assert neighbors(study_block("auto", other), other) == words
    assert neighbors(None, paths(30)) == ""


def test_blocks_are_as_long_as_differences_last() -> None:
    data, rng = dated(200), np.random.default_rng(0)
    lasting = rng.normal(size=10).repeat(20)
    for alone in ([], [rng.normal(size=200)], [np.zeros(200)]):
        usual = study_block("auto", data, alone)
        assert isinstance(usual, np.ndarray)
        assert np.bincount(usual)[0] == 7
    longer = study_block("auto", data, [np.zeros(200), lasting])
    assert isinstance(longer, np.ndarray)
    assert np.bincount(longer)[0] > 14
    assert study_block(5, data, [lasting]) == 5


def test_labels_by_key_follow_their_instances() -> None:
    pandas = pytest.importorskip("pandas")
    generator, index = np.random.default_rng(0), pandas.date_range("2024-01-01", periods=12)
    tables = [pandas.DataFrame(generator.normal(size=(12, k)), index=index) for k in (2, 3)]
    shuffled = generator.permutation(12)
    features, theta = (table.iloc[shuffled] for table in tables)
    data = DecisionDataset(features, theta, TopK(3, 1))
    labels = pandas.Series(np.arange(12) // 4, index=index)
    expected = [0] * 4 + [1] * 4 + [2] * 4
    for given in (labels, labels.iloc[shuffled]):
        block = study_block(given, data)
        assert isinstance(block, np.ndarray)
        assert block.tolist() == expected
    with mistake("block", "by key"):
        study_block(np.arange(12) // 4, data)
    assert isinstance(study_block("auto", data), np.ndarray)
