"""Features that hold the truth of earlier rows."""

from __future__ import annotations

from pathlib import Path

import pandas as pd
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.top_k import TopK
from mistakes import mistake


def rows(count: int = 10, **options: object) -> DecisionDataset:
    generator = torch.Generator().manual_seed(0)
    features, theta = torch.randn(count, 2, generator=generator), torch.randn(count, 3, generator=generator)
    return DecisionDataset(features, theta, TopK(3, 1), **options)  # type: ignore[arg-type]


@given(st.lists(st.integers(1, 9), min_size=1, max_size=4, unique=True))
def test_the_truth_of_earlier_rows_stands_beside_the_features(lags: list[int]) -> None:
    data = rows()
    lagged = data.lagged(*lags)
    assert torch.equal(lagged.positions, torch.arange(max(lags), 10))
    assert torch.equal(lagged.theta, data.theta[max(lags) :])
    for i, position in enumerate(lagged.positions.tolist()):
        expected = [data.features[position], *(data.theta[position - lag] for lag in lags)]
        assert torch.equal(lagged.features[i], torch.cat(expected))


def test_everything_follows_its_instance(tmp_path: Path) -> None:
    labels, weights = {"day": torch.arange(10)}, torch.arange(10.0)
    data = rows(labels=labels, weights=weights, cache=tmp_path / "best.npz")
    lagged = data.lagged(2)
    assert lagged.solved  # with a cache, before it is cut
    assert lagged.cache is None
    assert torch.equal(lagged.decisions, data.decisions[2:])
    assert torch.equal(lagged.values, data.values[2:])
    assert torch.equal(lagged.labels["day"], torch.arange(2, 10))
    assert lagged.weights is not None
    assert torch.equal(lagged.weights, weights[2:])
    assert data.features.shape == (10, 2)
    capacities = torch.arange(1.0, 11.0).unsqueeze(-1)
    each = DecisionDataset(data.features, data.theta.abs(), Knapsack([1.0, 2.0, 3.0], capacities)).lagged(1)
    assert each.problem.batch_shape == (9,)
    assert not each.solved
    assert torch.equal(each.decisions, Knapsack([1.0, 2.0, 3.0], capacities[1:]).solve(each.theta))


def test_names() -> None:
    problem = LinearProgram(A_ub=[[1.0, 1.0]], b_ub=[1.0], names=["a", "b"])
    frame = pd.DataFrame({"x": [0.0, 1.0, 2.0, 3.0]})
    theta = torch.rand(4, 2)
    data = DecisionDataset(frame, theta, problem)
    assert data.lagged(2, 1).feature_names == ("x", "a lag 2", "b lag 2", "a lag 1", "b lag 1")
    assert DecisionDataset(frame, torch.rand(4, 3), TopK(3, 1)).lagged(1).feature_names is None
    assert DecisionDataset(torch.zeros(4, 1), theta, problem).lagged(1).feature_names is None
    assert data.lagged(1).lagged(2).feature_names == ("x", "a lag 1", "b lag 1", "a lag 2", "b lag 2")
    with mistake("lags", "'a lag 1'"):
        data.lagged(1).lagged(1)


def test_dtypes_of_features_are_kept_unless_they_are_integers() -> None:
    theta = torch.rand(5, 2, dtype=torch.float64)
    assert DecisionDataset(torch.zeros(5, 1), theta, TopK(2, 1)).lagged(1).features.dtype == torch.float32
    whole = DecisionDataset(torch.arange(5).unsqueeze(1), theta, TopK(2, 1)).lagged(1)
    assert torch.equal(whole.features[:, 1:], theta[:-1])


def test_rows_out_of_order_are_refused() -> None:
    data = rows()
    message = "`data` must be rows in their order, without gaps, for `lagged`; got position {}"
    for part, got in ((data.subset([0, 1, 3]), "3 after 1"), (data.subset([1, 0]), "0 after 1")):
        with pytest.raises(InvalidInputError, match=message.format(got) + r"\. Call `lagged` on the data before"):
            part.lagged(1)
    with mistake("data"):
        data.split(0.8)[0].lagged(1)
    train, test = data.split(0.5, shuffle=False)
    assert torch.equal(test.lagged(1).positions, torch.arange(6, 10))
    assert len(train.lagged(4)) == 1


def test_bad_input() -> None:
    data = rows()
    with mistake("lags"):
        data.lagged()
    with mistake("lags", "2"):
        data.lagged(2, 2)
    with mistake("lags", "1", "0"):
        data.lagged(0)
    with mistake("lags", "(10)"):
        data.lagged(1, 10)
    pairs = DecisionDataset((data.features, data.features), data.theta, data.problem)
    for other in (pairs, DecisionDataset(data.features.unsqueeze(-1), data.theta, data.problem)):
        with mistake("features", "`lagged`"):
            other.lagged(1)
    decided = DecisionDataset(data.features, decisions=data.decisions, problem=data.problem)
    with pytest.raises(ForesolveError, match="theta"):
        decided.lagged(1)


def test_dated_rows_must_follow_each_other_in_time() -> None:
    """The row before is no earlier one where several have the same time, or where the latest comes first."""
    names = ["p", "q"]
    frame = pd.DataFrame({"day": pd.date_range("2024-01-01", periods=5).repeat(2), "depot": ["x", "y"] * 5, "a": 1.0})
    theta = frame[["day", "depot"]].assign(p=range(10), q=1.0)
    data = DecisionDataset.from_frames(frame, theta, TopK(2, 1, names=names), key=["depot", "day"])
    with mistake("data", "2024-01-01T00:00:00 after 2024-01-01T00:00:00"):
        data.lagged(1)
    falling = pd.DataFrame({"a": range(5)}, index=pd.date_range("2024-01-01", periods=5)[::-1])
    with mistake("data", "2024-01-04T00:00:00 after 2024-01-05T00:00:00"):
        DecisionDataset(falling, torch.rand(5, 2), TopK(2, 1)).lagged(1)
