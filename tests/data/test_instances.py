"""Decisions alone, weights, positions: what follows instances wherever they go."""

from __future__ import annotations

import pickle
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd
import pytest
import torch

from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.problems.black_box import OracleProblem
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.top_k import TopK
from foresolve.problems.travelling_salesman import TravellingSalesman
from mistakes import mistake


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def recorded(count: int = 20, **options: object) -> DecisionDataset:
    """Two of five, without the parameters that they are best for."""
    features = torch.randn(count, 3, generator=seeded())
    chosen = TopK(5, 2).solve(torch.randn(count, 5, generator=seeded(1)))
    return DecisionDataset(features, decisions=chosen, problem=TopK(5, 2), **options)  # type: ignore[arg-type]


PARTS: dict[str, Callable[[DecisionDataset], DecisionDataset]] = {
    "subset": lambda data: data.subset([3, 1, 1]),
    "split": lambda data: data.split(0.5, seed=2)[1],
    "fold": lambda data: data.folds(4, seed=1)[2][1],
    "part of a part": lambda data: data.split(0.5, seed=2)[0].subset(slice(2, 5)),
    "device": lambda data: data.to("cpu"),
    "solved": lambda data: data.solve(on_failure="skip", progress=False),
    "features": lambda data: data.with_features(data.features),
    "problem": lambda data: data.with_problem(TopK(5, 2)),
    "pickled": lambda data: pickle.loads(pickle.dumps(data)),
}


@pytest.mark.parametrize("way", PARTS)
def test_what_follows_instances(way: str) -> None:
    whole = recorded(weights=torch.arange(20.0), labels={"row": torch.arange(20)})
    part = PARTS[way](whole)
    assert not part.has_theta
    assert part.solved
    assert torch.equal(part.positions, part.labels["row"])
    assert torch.equal(part.decisions, whole.decisions[part.positions])
    assert part.weights is not None
    assert part.weights.tolist() == part.positions.tolist()
    assert torch.equal(part[:].features, whole.features[part.positions])
    assert torch.equal(part[:].target(), part.decisions)


def test_folds_say_where_they_come_from() -> None:
    folds = recorded().folds(4)
    assert sorted(torch.cat([valid.positions for _, valid in folds]).tolist()) == list(range(20))
    for train, valid in folds:
        assert not set(train.positions.tolist()) & set(valid.positions.tolist())


def test_the_truth_is_asked_for_in_vain() -> None:
    data = recorded()
    for ask in (lambda: data.theta, lambda: data.values, data.robust, lambda: data.loader(4, unpacked=True)):
        with pytest.raises(ForesolveError, match="this data set holds decisions alone"):
            ask()
    assert "no theta, TopK(" in repr(data)
    assert repr(data).endswith("decisions on record)")
    assert repr(recorded(weights=torch.ones(20))).endswith("decisions on record, weighted)")


def test_formats_of_decisions() -> None:
    frame = pd.DataFrame([[1, 0, 0], [0, 1, 0]], columns=["a", "b", "c"])
    for decisions in (frame, frame.to_numpy(), torch.tensor([[1, 0, 0], [0, 1, 0]]), frame.to_numpy().tolist()):
        data = DecisionDataset(np.zeros((2, 1)), decisions=decisions, problem=TopK(3, 1))
        assert data.decisions.tolist() == [[1.0, 0.0, 0.0], [0.0, 1.0, 0.0]]
        assert data.decisions.dtype == torch.get_default_dtype()


def test_a_cache_is_not_written(tmp_path: Path) -> None:
    data = recorded(cache=tmp_path / "best.npz").solve()
    data.split(0.5)
    assert not list(tmp_path.iterdir())


def test_one_feasible_set_for_each() -> None:
    problem = Knapsack([2.0, 3.0, 4.0], torch.tensor([[5.0], [4.0]]))
    chosen = torch.tensor([[1.0, 1.0, 0.0], [0.0, 0.0, 1.0]])
    data = DecisionDataset(torch.zeros(2, 1), decisions=chosen, problem=problem)
    assert data[1:].problem.batch_shape == (1,)
    with mistake("decisions", "1"):
        DecisionDataset(torch.zeros(2, 1), decisions=chosen[[0, 0]], problem=problem)


TWO_TRIANGLES = [1.0 if {a, b} <= {0, 1, 2} or {a, b} <= {3, 4, 5} else 0.0 for a in range(6) for b in range(a + 1, 6)]


@pytest.mark.parametrize(
    ("problem", "decision", "message"),
    [
        (TopK(3, 1), [1.0, 1.0, 0.0], "instance 1: A_eq row 0"),
        (TopK(3, 1), [0.7, 0.7, 0.0], "instance 1: A_eq row 0"),
        (ShortestPath.grid(2, 2), [1.0, 0.0, 0.0, 0.0], "instance 1: A_eq row"),
        (TravellingSalesman(6), TWO_TRIANGLES, "subtours"),
        (LinearProgram([[1.0, 1.0]], [1.0]), [2.0, 0.0], "A_ub row 0"),
    ],
)
def test_decisions_that_are_not_feasible_are_named(problem, decision: list[float], message: str) -> None:
    good = problem.solve(torch.ones(problem.n)).tolist()
    features = torch.zeros(2, 1)
    with mistake("decisions") as raised:
        DecisionDataset(features, decisions=[good, decision], problem=problem)
    assert message in str(raised.value)
    assert "check=False" in str(raised.value)
    assert len(DecisionDataset(features, decisions=[good, decision], problem=problem, check=False)) == 2


def test_decisions_in_single_precision_are_fine() -> None:
    """Rounding of 1e-7 breaks a row of 600,000 by more than 1e-6."""
    plan = LinearProgram(A_ub=[[1.0, 0.6, 0.7]], b_ub=[600000.7], bounds=(0, 4e5))
    decisions = plan.solve(torch.rand(20, 3, generator=torch.Generator().manual_seed(0)))
    assert decisions.dtype == torch.float32
    assert plan.check(decisions)
    assert not plan.check(decisions.double())
    assert len(DecisionDataset(torch.zeros(20, 1), decisions=decisions, problem=plan)) == 20
    decisions[3] *= 1.00001
    with mistake("decisions", "3", "0"):
        DecisionDataset(torch.zeros(20, 1), decisions=decisions, problem=plan)


def test_means_of_decisions_are_fine() -> None:
    data = DecisionDataset(torch.zeros(1, 1), decisions=[[0.5, 0.5, 0.0]], problem=TopK(3, 1))
    assert data.decisions.tolist() == [[0.5, 0.5, 0.0]]
    relaxed = LinearProgram([[1.0, 1.0]], [1.0])
    assert len(DecisionDataset(torch.zeros(1, 1), decisions=[[0.1, 0.3]], problem=relaxed)) == 1
    whole = TopK(3, 1).solve(torch.eye(3))
    assert len(recorded().with_problem(TopK(5, 2))) == 20
    with mistake("decisions"):
        recorded().with_problem(TopK(5, 1))
    assert len(DecisionDataset(torch.zeros(3, 1), decisions=whole, problem=OracleProblem(lambda t: t, n=3))) == 3


def test_bad_arguments() -> None:
    features = torch.zeros(4, 1)
    chosen = TopK(3, 1).solve(torch.rand(4, 3, generator=seeded()))
    for arguments, message in (
        ({"problem": TopK(3, 1)}, "`theta` must be given where `decisions` are not"),
        ({"decisions": chosen}, "`problem` must be a foresolve Problem; got NoneType"),
        ({"decisions": chosen[:3], "problem": TopK(3, 1)}, r"`features` must be as long as `decisions` \(3 instances"),
        ({"decisions": chosen[:0], "problem": TopK(3, 1)}, "`decisions` must be at least one instance"),
        ({"decisions": chosen, "problem": TopK(4, 1)}, r"`decisions` must be \(4, 4\) to match the problem"),
        ({"decisions": chosen, "values": torch.ones(4), "problem": TopK(3, 1)}, "`values` must be left out"),
    ):
        with pytest.raises(InvalidInputError, match=message):
            DecisionDataset(features, **arguments)


@pytest.mark.parametrize(
    ("weights", "message"),
    [
        ([1.0] * 3, r"`weights` must be as long as `decisions` \(20 instances\); got 3"),
        (np.ones((20, 1)), r"`weights` must be \(20,\); got \(20, 1\)"),
        ([-1.0] + [1.0] * 19, "`weights` must be"),
        ([np.nan] + [1.0] * 19, "`weights` must be finite"),
        (np.zeros(20), "`weights` must be such that at least one instance has a positive weight"),
    ],
)
def test_bad_weights(weights: object, message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        recorded(weights=weights)


def test_weights_beside_the_truth() -> None:
    data = DecisionDataset(torch.zeros(3, 1), torch.eye(3), TopK(3, 1), weights=[1, 2, 3])
    assert data[1].weight is not None
    assert data[1].weight.item() == 2.0
    assert [batch.weight.tolist() for batch in data.loader(2, shuffle=False)] == [[1.0, 2.0], [3.0]]  # type: ignore[union-attr]
    assert data.with_problem(TopK(3, 2)).weights is not None
    assert DecisionDataset(torch.zeros(3, 1), torch.eye(3), TopK(3, 1))[:].weight is None


def test_names_of_features_follow_them(tmp_path: Path) -> None:
    frame = pd.DataFrame(np.arange(12.0).reshape(4, 3), columns=["a", "b", "c"])
    data = DecisionDataset(frame, torch.rand(4, 3, generator=seeded()), TopK(3, 1))
    parts = [data.subset([1, 2]), *data.split(0.5), data.to("cpu"), data.with_problem(TopK(3, 2)), data.robust(1)]
    for part in (data, *parts):
        assert part.feature_names == ("a", "b", "c")
    assert data.with_features(frame[["c", "a"]]).feature_names == ("c", "a")
    for unnamed in (frame.to_numpy(), {"left": frame}, (frame, frame), pd.DataFrame(frame.to_numpy())):
        assert data.with_features(unnamed).feature_names is None


def test_frames_are_matched_with_the_names_of_the_problem() -> None:
    problem = LinearProgram([[1.0, 1.0, 1.0]], [1.0], bounds=(0, 1), names=["x", "y", "z"])
    theta = pd.DataFrame([[1.0, 2.0, 3.0], [6.0, 5.0, 4.0]], columns=["x", "y", "z"])
    data = DecisionDataset(np.zeros((2, 1)), theta[["z", "x", "y"]], problem)
    assert data.theta.tolist() == theta.to_numpy().tolist()
    chosen = pd.DataFrame([[0.0, 0.0, 1.0], [1.0, 0.0, 0.0]], columns=["x", "y", "z"])
    alone = DecisionDataset(np.zeros((2, 1)), decisions=chosen[["y", "z", "x"]], problem=problem)
    assert alone.decisions.tolist() == chosen.to_numpy().tolist()
    with mistake("theta", "'z'", "'w'"):
        DecisionDataset(np.zeros((2, 1)), theta.rename(columns={"z": "w"}), problem)


def test_what_was_not_checked_is_not_checked_with_another_problem() -> None:
    table = torch.rand(4, 3, generator=seeded())
    data = DecisionDataset(torch.zeros(4, 1), decisions=table, problem=TopK(3, 1), check=False)
    assert torch.equal(data.with_problem(TopK(3, 2)).decisions, table)
