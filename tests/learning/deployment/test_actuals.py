from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest
import torch

from foresolve.learning.deployment.actuals import read_actuals
from foresolve.problems.matching import BipartiteMatching

pandas = pytest.importorskip("pandas")
from foresolve.data.frames.keys import Keys  # noqa: E402
from learning.deployment.tables import NAMES, PROBLEM, made, tables  # noqa: E402
from mistakes import mistake  # noqa: E402


def test_frames_are_matched_by_key_and_name(tmp_path: Path) -> None:
    policy, (features, theta) = made(), tables(60, seed=3)
    expected = policy.monitor(features, theta).report.instances["regret"]
    shuffled = theta.sample(frac=1.0, random_state=0)[["rum", "day", "salt", "tea", "milk"]]
    long = shuffled.melt("day", var_name="item", value_name="gain").sample(frac=1.0, random_state=1)
    shuffled.to_csv(tmp_path / "actuals.csv", index=False)
    for monitoring in (
        policy.monitor(features, shuffled),
        policy.monitor(features, theta.set_index("day").iloc[::-1]),  # keys in the index
        policy.monitor(features, tmp_path / "actuals.csv"),
        policy.monitor(features, long, variable="item", value="gain"),
        policy.monitor(features, theta.drop(columns="day").to_numpy()),
    ):
        np.testing.assert_allclose(monitoring.report.instances["regret"], expected, atol=1e-6)


def test_more_is_known_than_was_decided() -> None:
    policy, (features, theta) = made(), tables(60, seed=3)
    assert len(policy.monitor(features.iloc[10:50], theta)) == 40


def test_what_does_not_match_is_named() -> None:
    policy, (features, theta) = made(), tables(60, seed=3)
    with mistake("actuals", "`features`", "'2021-01-06'"):
        policy.monitor(features, theta.drop(index=5))
    with mistake("actuals", "'rum'"):
        policy.monitor(features, theta.drop(columns="rum"))
    with mistake("actuals"):
        policy.monitor(features, theta.drop(columns="day"))
    holed = theta.copy()
    holed.loc[3, "milk"] = np.nan
    with mistake("actuals", "'milk'", "'2021-01-04'"):
        policy.monitor(features, holed)
    with mistake("actuals", "60", "`features`", "59"):
        policy.monitor(features, theta[NAMES].to_numpy()[1:])
    with mistake("actuals"):
        policy.monitor(torch.rand(60, 5), theta)


def test_pairs_have_two_columns_of_names() -> None:
    problem = BipartiteMatching(["ann", "bob"], ["dig", "cook"])
    long = pandas.DataFrame(
        [("k", "bob", "dig", 3.0), ("k", "ann", "dig", 1.0), ("k", "ann", "cook", 2.0), ("k", "bob", "cook", 4.0)],
        columns=["day", "who", "job", "score"],
    )
    keys = Keys.of("features", long.iloc[:1], ["day"])
    theta, places = read_actuals(long, problem, keys, 1, ("who", "job"), "score")
    assert places.tolist() == [0]
    assert theta.tolist() == [[1.0, 2.0, 3.0, 4.0]]
    assert PROBLEM.n == 4


def test_instances_without_their_whole_truth_are_left_out() -> None:
    policy, (features, theta) = made(), tables(60, seed=3)
    holed = theta.copy()
    holed.loc[3, "milk"] = np.nan
    holed = holed.drop(index=5)
    kept = [place for place in range(60) if place not in (3, 5)]
    expected = policy.monitor(features.iloc[kept], theta).report.instances["regret"]
    by_key = policy.monitor(features, holed, missing="drop")
    array = theta[NAMES].to_numpy(copy=True)
    array[3, 1] = array[5, 0] = np.nan
    by_place = policy.monitor(features, array, missing="drop")
    for monitoring in (by_key, by_place):
        assert len(monitoring) == 58
        assert monitoring.left_out == monitoring.to_dict()["left_out"] == 2
        assert "58 decisions (2 more without their whole truth are left out)" in str(monitoring)
        np.testing.assert_array_equal(monitoring.report.instances["regret"], expected)
    with mistake("actuals", "`features`"):
        policy.monitor(features, holed.assign(rum=np.nan), missing="drop")
    with mistake("missing"):
        policy.monitor(features, holed, missing="mean")
