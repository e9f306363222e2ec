"""Frames with an index go by its labels."""

from __future__ import annotations

import numpy as np
import pandas as pd
import torch
from hypothesis import given
from hypothesis import strategies as st

import foresolve
from foresolve import DecisionDataset
from foresolve.learning import evaluate
from mistakes import mistake
from tests.data.frames.tables import days, road_problem


def indexed() -> tuple[pd.DataFrame, pd.DataFrame]:
    features, minutes = days()
    return features.set_index("date")[["rain"]], minutes.set_index("date")


@given(st.integers(0, 2**32 - 1), st.booleans())
def test_rows_and_columns_in_any_order(seed: int, named: bool) -> None:
    features, minutes = indexed()
    if not named:
        features, minutes = features.reset_index(drop=True), minutes.reset_index(drop=True)
    whole = DecisionDataset(features, minutes, road_problem())
    rng = np.random.default_rng(seed)
    mixed = features.iloc[rng.permutation(len(features))], minutes.iloc[rng.permutation(len(minutes)), ::-1]
    other = DecisionDataset(*mixed, road_problem())
    assert torch.equal(whole.features, other.features)
    assert torch.equal(whole.theta, other.theta)


def test_reversed_truth_is_put_right() -> None:
    """What once reported 3 % of regret for decisions that had 45 %."""
    features, minutes = indexed()
    features, minutes = features.reset_index(drop=True), minutes.reset_index(drop=True)
    data = DecisionDataset(features, minutes.iloc[::-1, ::-1], road_problem())
    np.testing.assert_allclose(data.theta.numpy(), minutes.to_numpy(), rtol=1e-6)


def test_other_labels_are_refused_and_named() -> None:
    features, minutes = indexed()
    with mistake("theta", "'2023-01-01'"):
        DecisionDataset(features, minutes.iloc[1:], road_problem())
    with mistake("theta", "'2023-01-01'"):
        DecisionDataset(features, minutes.reset_index(drop=True), road_problem())
    twice = pd.concat([minutes.iloc[:-1], minutes.iloc[:1]])
    with mistake("theta", "'2023-01-01'"):
        DecisionDataset(features, twice, road_problem())
    assert DecisionDataset(features.to_numpy(), minutes.reset_index(drop=True), road_problem()).keys is None


def test_an_array_goes_by_the_rows_of_the_frame_beside_it() -> None:
    features, minutes = indexed()
    data = DecisionDataset(features.iloc[::-1], minutes.to_numpy()[::-1].copy(), road_problem())
    np.testing.assert_allclose(data.theta[0].numpy(), minutes.to_numpy()[-1], rtol=1e-6)
    assert data.keys is not None
    assert data.keys[0] == "2023-01-30"


def test_keys_and_dates_follow_the_instances() -> None:
    data = DecisionDataset(*indexed(), road_problem())
    assert data.keys is not None
    assert data.keys.names == ("date",)
    assert data.times is not None
    part = data.subset([3, 1])
    assert part.keys is not None
    assert [part.keys[0], part.keys[1]] == ["2023-01-04", "2023-01-02"]
    assert data.with_features(torch.zeros(30, 2)).reader is None
    report = evaluate(lambda features: torch.ones(len(features), 5), part)
    assert report.table().index.strftime("%Y-%m-%d").tolist() == ["2023-01-04", "2023-01-02"]


def test_labels_of_blocks_go_by_key() -> None:
    features, minutes = indexed()
    mixed = features.sample(frac=1, random_state=0)
    data = DecisionDataset(mixed, minutes, road_problem())
    weeks = pd.Series(np.arange(30) // 7, index=features.index)

    def model(features: torch.Tensor) -> torch.Tensor:
        return torch.ones(len(features), 5)

    report = evaluate(model, data, block=weeks.sample(frac=1, random_state=1))
    assert isinstance(report.block, np.ndarray)
    assert report.block.tolist() == (np.arange(30) // 7).tolist()
    with mistake("block"):
        evaluate(model, data, block=weeks.to_numpy())
    with mistake("block", "'2023-01-30'"):
        evaluate(model, data, block=weeks[:-1])


def test_weights_decisions_and_labels_go_along() -> None:
    problem = foresolve.TopK(2, 1, names=["a", "b"])
    index = pd.Index(["y", "x"], name="who")
    features, theta = pd.DataFrame({"f": [1.0, 0.0]}, index), pd.DataFrame({"b": [3.0, 1.0], "a": [2.0, 5.0]}, index)
    weights = pd.Series([0.25, 0.75], index=["x", "y"])
    decisions = pd.DataFrame({"a": [1.0, 0.0], "b": [0.0, 1.0]}, index=["x", "y"])
    labels = {"size": pd.Series([7, 9], index=["x", "y"])}
    data = DecisionDataset(features, theta, problem, weights=weights, decisions=decisions, labels=labels)
    assert data.features.flatten().tolist() == [0.0, 1.0]
    assert data.theta.tolist() == [[5.0, 1.0], [2.0, 3.0]]
    assert data.weights is not None
    assert data.weights.tolist() == [0.25, 0.75]
    assert data.decisions.tolist() == [[1.0, 0.0], [0.0, 1.0]]
    assert data.labels["size"].tolist() == [7, 9]
