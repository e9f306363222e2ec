from __future__ import annotations

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.errors import FeatureRangeWarning
from foresolve.learning import Policy
from foresolve.models import MLP
from foresolve.problems import TopK

pandas = pytest.importorskip("pandas")
from learning.deployment.tables import made, tables  # noqa: E402
from mistakes import caution, mistake  # noqa: E402


def test_frames_in_any_order_give_the_same_decisions_by_key() -> None:
    policy, frame = made(), tables(30, seed=5).features
    expected = policy(frame).frame("wide")
    assert expected["day"].astype(str).tolist() == frame["day"].tolist()  # in the caller's order
    shuffled = frame.sample(frac=1.0, random_state=0)[["wind", "rain", "day", "weekday"]]
    mixed = policy(shuffled)
    assert [mixed.keys[i] for i in range(30)] == shuffled["day"].tolist()
    assert mixed.frame("wide").sort_values("day", ignore_index=True).equals(expected)


def test_files_and_other_frames(tmp_path: Path) -> None:
    policy, frame = made(), tables(30, seed=5).features
    expected = policy(frame)
    frame.to_csv(tmp_path / "tomorrow.csv", index=False)
    for path in (tmp_path / "tomorrow.csv", str(tmp_path / "tomorrow.csv")):
        assert torch.equal(policy(path).x, expected.x)
    assert torch.equal(policy({name: frame[name].tolist() for name in frame.columns}).x, expected.x)
    arrow = pytest.importorskip("pyarrow")
    assert torch.equal(policy(arrow.Table.from_pandas(frame)).x, expected.x)
    plain = Policy(MLP(2, 4, seed=0), policy.problem, feature_names=["rain", "wind"])  # no training data: names alone
    frame[["wind", "rain"]].to_csv(tmp_path / "plain.csv", index=False)
    numbers = torch.tensor(frame[["rain", "wind"]].to_numpy())
    assert torch.equal(plain(tmp_path / "plain.csv").x, plain(numbers).x)


def test_names_that_do_not_match_are_refused_with_the_nearest() -> None:
    policy, frame = made(), tables(5).features
    with mistake("features", "'rain'", "'rainn'"):
        policy(frame.rename(columns={"rain": "rainn"}))


def test_the_index_of_a_frame_is_its_keys() -> None:
    policy = Policy(MLP(2, 4), TopK(4, 1))
    frame = pandas.DataFrame(np.zeros((2, 2)), index=pandas.Index(["x", "y"], name="shop"))
    decisions = policy(frame)
    assert (decisions.keys.names, decisions.keys[1]) == (("shop",), "y")
    assert policy(frame.reset_index(drop=True))._keys is None


def numbers_policy() -> Policy:
    features = torch.linspace(0, 1, 11).unsqueeze(-1) * torch.tensor([1.0, 10.0, 0.0]) + torch.tensor([0.0, 0.0, 7.0])
    train = DecisionDataset(features, torch.rand(11, 4), TopK(4, 1))
    return Policy(MLP(3, 4, seed=0), TopK(4, 1), train=train, feature_names=["a", "b", "c"])


def test_far_outside_of_training() -> None:
    policy = numbers_policy()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        policy(torch.tensor([[1.49, -4.9, 7.0]]))  # by less than half of the range
    with pytest.warns(FeatureRangeWarning) as told:
        policy(torch.tensor([[0.0, 15.2, 7.0], [0.0, 1.0, 7.5], [-3.0, 20.0, 7.0]]))
    (warning,) = told
    text = str(warning.message)
    assert "'a' is -3 in instance 2 (0 to 1 in training)" in text
    assert "'b' is 20 in instance 2 and 1 other instances (0 to 10 in training)" in text
    assert "'c' is 7.5 in instance 1 (7 to 7 in training)" in text
    assert "Predictions are guesses there" in text


def test_the_key_is_named() -> None:
    policy, frame = made(), tables(5).features
    frame.loc[3, "rain"] = 500.0
    with caution("'rain'", "500", "'2021-01-04'", kind=FeatureRangeWarning):
        policy(frame)


def test_another_width_is_refused() -> None:
    policy = numbers_policy()
    with mistake("features", "got 2"):
        policy(torch.zeros(4, 2))
    with mistake("features", "got 4"):
        policy(np.zeros((4, 4)))


def test_several_tables_and_several_rows_of_an_instance() -> None:
    features = {"shop": torch.rand(20, 2), "items": torch.rand(20, 4, 3)}
    train = DecisionDataset(features, torch.rand(20, 4), TopK(4, 1))
    policy = Policy(lambda parts: parts["items"].sum(-1), TopK(4, 1), train=train)
    policy(features)
    features["items"][3, 2, 1] = -9.0
    with caution("'3'", "-9", "instance 3", kind=FeatureRangeWarning):
        policy(features)


def test_decisions_are_as_exact_as_the_table_that_they_are_for() -> None:
    policy, frame = made(), tables(30, seed=5).features
    decisions = policy(frame)
    assert decisions.x.dtype == decisions.theta.dtype == torch.float64
    assert policy.reader is not None
    features = policy.reader.read(frame).features
    assert policy(features).x.dtype == torch.float32
    assert torch.equal(policy(features).theta.double(), decisions.theta)
