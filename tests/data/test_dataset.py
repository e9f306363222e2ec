from __future__ import annotations

import pickle
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd
import pyarrow as pa
import pytest
import torch
from torch import Tensor
from torch.utils.data import DataLoader, random_split

from foresolve.data import best
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveWarning, InfeasibleError, InvalidInputError, SolverError
from foresolve.problems.black_box import OracleProblem
from foresolve.problems.flow import MinCostFlow
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.matching import BipartiteMatching
from foresolve.problems.shortest_path import ShortestPath
from foresolve.problems.top_k import TopK
from mistakes import mistake


def seeded(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def top_k_data(count: int = 20, **options: object) -> DecisionDataset:
    generator = seeded()
    features, theta = torch.randn(count, 3, generator=generator), torch.randn(count, 5, generator=generator)
    return DecisionDataset(features, theta, TopK(5, 2), **options)  # type: ignore[arg-type]


def per_instance(count: int = 12) -> DecisionDataset:
    """Knapsacks with capacities and weights of their own."""
    generator = seeded(1)
    weights = torch.rand(count, 2, 6, generator=generator, dtype=torch.float64)
    capacity = 0.2 + torch.rand(count, 2, generator=generator, dtype=torch.float64)
    theta = torch.rand(count, 6, generator=generator, dtype=torch.float64)
    return DecisionDataset(torch.zeros(count, 1), theta, Knapsack(weights, capacity))


def refuses_negatives(theta: np.ndarray) -> np.ndarray:
    if (theta < 0).any():
        raise RuntimeError("negative")
    return (theta == theta.max()).astype(float)


class TestInput:
    def test_formats_agree(self) -> None:
        theta = np.arange(12.0).reshape(4, 3)
        frame = pd.DataFrame(theta, columns=["a", "b", "c"])
        table = pa.table({name: frame[name] for name in frame})
        lists = pa.array(theta.tolist(), type=pa.list_(pa.float64(), 3))
        column = pd.Series(list(theta))
        for value in (theta, theta.tolist(), torch.from_numpy(theta).float(), frame, table, lists, column):
            data = DecisionDataset(value, value, TopK(3, 1))
            assert data.features.dtype == data.theta.dtype == torch.float32
            assert torch.equal(data.theta, torch.from_numpy(theta).float())
            assert torch.equal(data.features, data.theta)
        series = DecisionDataset(pd.Series([1, 2, 3, 4]), theta, TopK(3, 1))
        assert series.features.tolist() == [1.0, 2.0, 3.0, 4.0]

    def test_tensors_keep_their_dtype(self) -> None:
        words = torch.tensor([[1, 2], [3, 4]])
        data = DecisionDataset(words, torch.ones(2, 3, dtype=torch.float64, requires_grad=True), TopK(3, 1))
        assert data.features.dtype == torch.int64
        assert data.theta.dtype == torch.float64
        assert not data.theta.requires_grad

    def test_features_in_parts(self) -> None:
        features = {"left": np.ones((4, 2)), "right": (np.ones((4, 3)), np.ones(4))}
        data = DecisionDataset(features, np.ones((4, 3)), TopK(3, 1))
        batch = data[1:3].to("cpu")
        assert batch.features["left"].shape == (2, 2)
        assert batch.features["right"][0].shape == (2, 3)
        assert next(iter(DataLoader(data, batch_size=2))).features["left"].shape == (2, 2)

    @pytest.mark.parametrize(
        ("features", "theta", "message"),
        [
            (np.zeros((0, 2)), np.zeros((0, 3)), "`theta` must be at least one instance.*The data set is empty"),
            (np.zeros((4, 2)), np.zeros((5, 3)), r"`features` must be as long as `theta` \(5 instances\); got 4"),
            (np.full((5, 2), np.nan), np.zeros((5, 3)), r"`features` must be finite; got nan at \[0, 0\]"),
            (np.zeros((5, 2)), np.full((5, 3), np.nan), "`theta` must be finite; got nan"),
            (np.zeros((5, 2)), np.zeros((5, 4)), r"`theta` must be \(\*batch, 3\) to match the problem; got \(5, 4\)"),
            (np.zeros((3, 2)), np.zeros(3), "one instance of the problem per entry"),
            (np.zeros((3, 2)), np.zeros((3, 2, 3)), "one instance of the problem per entry"),
            (np.zeros((3, 2)), 1.0, "`theta` must be .* an entry for each instance; got a single number"),
            (
                pd.DataFrame({"a": ["x", "y"]}),
                np.zeros((2, 3)),
                "`features` must be a frame of numbers; got DataFrame whose column 'a' holds 'x'",
            ),
            (pd.Series([1.0, None]), np.zeros((2, 3)), "`features` must be finite"),
        ],
    )
    def test_bad_data(self, features: object, theta: object, message: str) -> None:
        with pytest.raises(InvalidInputError, match=message):
            DecisionDataset(features, theta, TopK(3, 1))

    def test_bad_companions(self) -> None:
        with mistake("problem"):
            DecisionDataset(np.zeros((2, 1)), np.zeros((2, 3)), "knapsack")  # type: ignore[arg-type]
        with mistake("decisions", "(20, 5)", "(20, 4)"):
            top_k_data(decisions=np.zeros((20, 4)))
        with mistake("decisions", "`theta`", "3"):
            top_k_data(decisions=np.zeros((3, 5)))
        with mistake("values", "(20,)", "(20, 1)"):
            top_k_data(values=np.zeros((20, 1)))
        problem = Knapsack(torch.ones(3, 1, 5), torch.ones(3, 1))
        with mistake("problem", "(4,)", "(3,)"):
            DecisionDataset(np.zeros((4, 1)), np.zeros((4, 5)), problem)


class TestBatches:
    def test_indexing(self) -> None:
        data = top_k_data()
        last = data[-1]
        assert last.features.shape == (3,)
        assert last.theta.shape == (5,)
        assert last.index is not None
        assert last.index.item() == 19
        mask = torch.zeros(20, dtype=torch.bool)
        mask[[2, 4]] = True
        for index in (slice(2, 5, 2), [2, 4], torch.tensor([2, 4]), np.array([2, 4]), mask):
            batch = data[index]
            assert torch.equal(batch.theta, data.theta[[2, 4]])
            assert batch.index is not None
            assert batch.index.tolist() == [2, 4]
        with pytest.raises(IndexError, match="20 instances"):
            data[20]
        with mistake("index"):
            data[[0.5]]  # type: ignore[list-item]

    def test_decisions_come_along_once_they_are_known(self) -> None:
        data = top_k_data()
        assert data[:2].decision is None
        data.solve()
        decision, value = data[:2].best()
        assert data[:2].decision is not None
        assert torch.equal(decision, data.problem.solve(data.theta[:2]))
        assert torch.equal(value, data.values[:2])

    @pytest.mark.parametrize("workers", [0, 2])
    def test_torch_loads_it(self, workers: int) -> None:
        data = top_k_data().solve()
        seen = []
        for batch in DataLoader(data, batch_size=8, shuffle=True, num_workers=workers, generator=seeded()):
            assert isinstance(batch, Batch)
            assert batch.index is not None
            assert torch.equal(batch.theta, data.theta[batch.index])
            assert torch.equal(batch.best()[0], data.decisions[batch.index])
            seen += batch.index.tolist()
        assert sorted(seen) == list(range(20))

    def test_torch_splits_it(self) -> None:
        part, _ = random_split(top_k_data(), [12, 8], generator=seeded())
        assert [len(batch) for batch in DataLoader(part, batch_size=5)] == [5, 5, 2]
        single = DataLoader([top_k_data()[i] for i in range(3)], batch_size=3)  # type: ignore[arg-type]
        with mistake("problem"):
            next(iter(single))

    def test_single_instances_side_by_side(self) -> None:
        data = top_k_data().solve()
        batch = next(iter(DataLoader([data[i] for i in range(3)], batch_size=3)))  # type: ignore[arg-type]
        assert torch.equal(batch.theta, data.theta[:3])
        assert torch.equal(batch.decision, data.decisions[:3])
        assert batch.problem is data.problem

    def test_batches_keep_the_problem_and_what_it_holds(self) -> None:
        data = top_k_data()
        assert data[:3].problem is data.problem
        assert data[:3].to("cpu").problem is data.problem

    def test_to_and_pickle(self) -> None:
        data = top_k_data().solve()
        for twin in (data.to("cpu"), pickle.loads(pickle.dumps(data))):
            assert torch.equal(twin.decisions, data.decisions)
            assert torch.equal(twin[3].features, data[3].features)
        assert data.to("cpu") is data
        assert top_k_data().to("meta").problem.device.type == "meta"

    def test_labels_follow_their_instances(self) -> None:
        data = top_k_data(labels={"names": torch.arange(20)})
        first, second = data.split(12, 8, seed=1)
        assert sorted(torch.cat([first.labels["names"], second.labels["names"]]).tolist()) == list(range(20))
        assert torch.equal(first.theta, data.theta[first.labels["names"]])
        assert torch.equal(data.with_problem(TopK(5, 1)).labels["names"], data.labels["names"])
        with mistake("labels", "`theta`"):
            top_k_data(labels={"names": torch.arange(3)})

    def test_another_problem_has_decisions_of_its_own(self, tmp_path: Path) -> None:
        data = top_k_data(cache=tmp_path / "best.npz").solve()
        single = data.with_problem(TopK(5, 1))
        assert single.features.data_ptr() == data.features.data_ptr()
        assert not single.solved
        assert single.cache is None
        assert single.decisions.sum(-1).tolist() == [1.0] * 20
        assert data.decisions.sum(-1).tolist() == [2.0] * 20

    def test_with_features(self) -> None:
        data = top_k_data().solve()
        twin = data.with_features({"a": torch.ones(20, 7), "b": np.zeros((20, 2))})
        assert twin.features["a"].shape == (20, 7)
        assert twin.features["b"].dtype == torch.float32
        assert twin.decisions is data.decisions
        assert twin.problem is data.problem
        assert data.features.shape == (20, 3)
        with mistake("features", "`theta`", "(20 instances)", "3"):
            data.with_features(torch.ones(3, 2))

    def test_repr(self) -> None:
        data = top_k_data()
        assert repr(data).startswith("DecisionDataset(20 instances, features (3,), theta (5,), TopK(")
        assert "not yet known" in repr(data)
        assert "decisions known" in repr(data.solve())


class TestInstancesOfTheirOwn:
    def test_batches_select_their_constraints(self) -> None:
        data = per_instance()
        alone = [Knapsack(data.problem.weights[i], data.problem.capacity[i]).solve(data.theta[i])  # type: ignore[attr-defined]
                 for i in range(12)]  # fmt: skip
        torch.testing.assert_close(data.decisions, torch.stack(alone))
        for batch in data.loader(5):
            assert batch.problem.batch_shape == (len(batch),)
            torch.testing.assert_close(batch.problem.solve(batch.theta), batch.decision)
            assert batch.problem.check(batch.decision)  # type: ignore[attr-defined]
        assert data[4].problem.batch_shape == ()
        torch.testing.assert_close(data[4].problem.solve(data[4].theta), data.decisions[4])

    def test_parts_select_too(self) -> None:
        data = per_instance()
        for part in data.split(0.5):
            fresh = part.decisions
            torch.testing.assert_close(part.problem.objective(fresh, part.theta), part.values)
            assert part.problem.check(fresh)  # type: ignore[attr-defined]

    @pytest.mark.parametrize("name", ["matrix", "right-hand side", "bounds", "integer table", "flow", "sparse"])
    def test_select_of_every_kind_of_data(self, name: str) -> None:
        generator = seeded(2)

        def draw(*shape: int) -> Tensor:
            return torch.rand(*shape, generator=generator, dtype=torch.float64)

        arcs = [(0, 1), (0, 2), (1, 2)]
        pattern = torch.stack([torch.diag(row) for row in 0.5 + draw(6, 3)])
        problems = {
            "matrix": lambda: LinearProgram(A_ub=0.1 + draw(6, 2, 3), b_ub=[1.0, 2.0]),
            "right-hand side": lambda: LinearProgram(A_ub=[[1.0, 2.0, 1.0]], b_ub=draw(6, 1), bounds=(0, 1)),
            "bounds": lambda: LinearProgram(A_eq=[[1.0, 1.0, 1.0]], b_eq=[0.1], bounds=(0, 0.1 + draw(6, 3))),
            "integer table": lambda: Knapsack([2, 3, 4], (9 * draw(6, 1)).round()),
            "flow": lambda: MinCostFlow(arcs, draw(6, 1) * torch.tensor([1.0, 0.0, -1.0])),
            "sparse": lambda: LinearProgram(A_ub=pattern.to_sparse(), b_ub=[1.0, 2.0, 3.0]),
        }
        problem = problems[name]()
        theta = draw(6, 3)
        decisions = problem.solve(theta)
        index = torch.tensor([4, 1, 1])
        part = problem.select(index)
        assert part.batch_shape == (3,)
        torch.testing.assert_close(part.solve(theta[index]), decisions[index])
        assert part.check(decisions[index])
        single = problem.select(torch.tensor(3))
        assert single.batch_shape == ()
        torch.testing.assert_close(single.solve(theta[3]), decisions[3])
        assert TopK(3, 1).select(index).batch_shape == ()

    def test_select_wants_one_dimension(self) -> None:
        problem = LinearProgram(A_ub=[[1.0]], b_ub=torch.ones(2, 3, 1))
        with mistake("problem", "(2, 3)"):
            problem.select(torch.tensor([0]))


class TestSolutions:
    def test_once_and_lazily(self) -> None:
        calls = []

        def oracle(theta: np.ndarray) -> np.ndarray:
            calls.append(len(theta))
            return (theta == theta.max(-1, keepdims=True)).astype(float)

        data = DecisionDataset(torch.zeros(100, 1), torch.rand(100, 4), OracleProblem(oracle, n=4, batched=True))
        assert not calls
        torch.testing.assert_close(data.values, data.theta.amax(-1))
        assert sum(calls) == 100
        assert len(calls) > 1
        assert data.decisions.shape == (100, 4)
        assert sum(calls) == 100

    def test_progress(self, capsys: pytest.CaptureFixture[str]) -> None:
        seen: list[tuple[int, int]] = []
        top_k_data(100).solve(progress=lambda done, total: seen.append((done, total)))
        assert seen == [(32, 100), (96, 100), (100, 100)]
        top_k_data().solve()
        assert capsys.readouterr().err == ""
        top_k_data().solve(progress=True)
        assert "best decisions" in capsys.readouterr().err

    def test_known_decisions_are_taken(self) -> None:
        decisions = np.tile([1.0, 1.0, 0.0, 0.0, 0.0], (20, 1))
        data = top_k_data(decisions=decisions)
        assert data.solved
        torch.testing.assert_close(data.values, data.theta[:, :2].sum(-1))

    @pytest.mark.parametrize("batched", [False, True])
    def test_failures_are_named_or_skipped(self, batched: bool) -> None:
        theta = torch.rand(50, 4, generator=seeded())
        theta[[7, 40], 0] = -1.0

        def many(theta: np.ndarray) -> np.ndarray:
            return np.stack([refuses_negatives(row) for row in theta])

        problem = OracleProblem(many if batched else refuses_negatives, n=4, batched=batched)
        data = DecisionDataset(torch.arange(50.0), theta, problem)
        with mistake("", kind=SolverError, instances=[7, 40]) as caught:
            data.solve()
        assert caught.value.instances == (7, 40)
        assert isinstance(caught.value.__cause__, SolverError)
        with pytest.warns(ForesolveWarning, match="2 of 50 instances are skipped"):
            rest = data.solve(on_failure="skip")
        assert len(rest) == 48
        assert rest.skipped == (7, 40)
        assert 7.0 not in rest.features
        torch.testing.assert_close(rest.values, rest.theta.amax(-1))
        with mistake("on_failure"):
            data.solve(on_failure="ignore")  # type: ignore[arg-type]

    def test_infeasible_instances(self) -> None:
        rhs = torch.ones(6, 1)
        rhs[3] = -1.0
        data = DecisionDataset(torch.zeros(6, 1), torch.rand(6, 2), LinearProgram(A_ub=[[1.0, 1.0]], b_ub=rhs))
        with mistake("", kind=InfeasibleError, instances=[3]):
            data.solve()
        with pytest.warns(ForesolveWarning, match="1 of 6 instances"):
            rest = data.solve(on_failure="skip")
        assert rest.problem.batch_shape == (5,)
        assert rest.solved

    def test_when_all_fail(self) -> None:
        data = DecisionDataset(torch.zeros(3, 1), -torch.ones(3, 2), OracleProblem(refuses_negatives, n=2))
        with mistake("", kind=SolverError, instances=[0, 1, 2]):
            data.solve(on_failure="skip")


class TestCache:
    def test_kept_and_found_again(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        path = tmp_path / "new" / "decisions.npz"
        expected = top_k_data(cache=path).decisions
        assert [file.name for file in path.parent.iterdir()] == ["decisions.npz"]
        monkeypatch.setattr(TopK, "solve", lambda self, theta: pytest.fail("solved again"))
        assert torch.equal(top_k_data(cache=path).decisions, expected)
        train, _ = top_k_data(cache=path).split(0.5)
        assert train.solved
        assert train.cache is None

    def test_stale_ones_are_replaced(self, tmp_path: Path) -> None:
        path = tmp_path / "decisions.npz"
        top_k_data(cache=path).solve()
        another = DecisionDataset(torch.zeros(20, 1), top_k_data().theta, TopK(5, 3), cache=path)
        with pytest.warns(ForesolveWarning, match="another problem"):
            assert (another.decisions.sum(-1) == 3).all()
        again = DecisionDataset(torch.zeros(20, 1), top_k_data().theta, TopK(5, 3), cache=path)
        assert torch.equal(again.decisions, another.decisions)

    @pytest.mark.parametrize("content", [b"", b"city,cost\n1,2\n", b"PK\x03\x04 damaged"])
    def test_other_files_are_left_alone(self, tmp_path: Path, content: bytes) -> None:
        path = tmp_path / "mine"
        path.write_bytes(content)
        with mistake("cache"):
            top_k_data(cache=path).solve()
        assert path.read_bytes() == content

    def test_truncated_and_hostile_files(self, tmp_path: Path) -> None:
        path = tmp_path / "decisions.npz"
        top_k_data(cache=path).solve()
        path.write_bytes(path.read_bytes()[:-200])
        with mistake("cache"):
            top_k_data(cache=path).solve()
        np.savez(path, kind=np.array([print], dtype=object), allow_pickle=True)
        with mistake("cache"):
            top_k_data(cache=path).solve()

    @pytest.mark.parametrize(
        ("change", "message"),
        [
            (lambda a: a["decisions"].fill(np.nan), "not finite"),
            (lambda a: a["values"].fill(np.inf), "not finite"),
            (lambda a: a.update(decisions=np.zeros((9, 2), np.float32)), r"are \(9, 2\) and \(20,\) for 20 instances"),
            (lambda a: a.update(values=a["values"][:5]), r"and \(5,\) for 20 instances"),
            (lambda a: a["decisions"].fill(1), "its decisions for instances 0, 1, 2, .* are not feasible"),
            (lambda a: a.update(values=a["values"] + 1), "not worth what it says"),
            (lambda a: a.update(decisions=a["decisions"].astype(int)), "must be fractions"),
            (lambda a: a.update(decisions=a["decisions"].astype(str)), "must be fractions"),
            (lambda a: a.update(decisions=a["decisions"].astype(">f4")), "must be fractions"),
            (lambda a: a.pop("values"), "lacks values"),
            (lambda a: a.update(kind=np.array("another")), "is not a cache of decisions"),
        ],
    )
    @pytest.mark.parametrize("kind", ["foresolve decisions 1", "foresolve decisions 2"])
    def test_what_was_kept_is_verified(self, change: Any, message: str, kind: str, tmp_path: Path) -> None:
        path = tmp_path / "decisions.npz"
        top_k_data(cache=path).solve()
        with np.load(path) as stored:
            arrays = dict(stored) | {"kind": np.array(kind)}
        change(arrays)
        if {"decisions", "values"} <= set(arrays) and arrays["decisions"].dtype in best.FLOATS:
            arrays["sha256"] = np.array(best._checksum(arrays))  # damage that a checksum does not tell
        np.savez(path, **arrays)
        with pytest.raises(InvalidInputError, match=f"`cache` must be .*{message}"):
            top_k_data(cache=path).solve()

    def test_damaged_numbers_are_told_and_older_files_read(self, tmp_path: Path) -> None:
        path = tmp_path / "decisions.npz"
        expected = top_k_data(cache=path).decisions
        with np.load(path) as stored:
            arrays = dict(stored)
        np.savez(path, **arrays | {"values": arrays["values"] + np.float32(1e-4)})
        with mistake("cache"):
            top_k_data(cache=path).solve()
        old = {name: arrays[name] for name in ("key", "decisions", "values")}
        np.savez(path, kind=np.array("foresolve decisions 1"), **old)
        assert torch.equal(top_k_data(cache=path).decisions, expected)

    def test_a_failed_write_leaves_nothing(self, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        def broken(*args: object, **kwargs: object) -> None:
            raise OSError("disk full")

        monkeypatch.setattr(np, "savez", broken)
        with pytest.raises(OSError, match="disk full"):
            top_k_data(cache=tmp_path / "decisions.npz").solve()
        assert not list(tmp_path.iterdir())


def test_columns_whose_names_are_numbers_go_by_name() -> None:
    """As a pivoted table has them, in the order of numbers and not in that of the file."""
    roads = pd.DataFrame({"id": [11, 7, 9, 3], "from": ["A", "A", "B", "C"], "to": ["B", "C", "D", "D"]})
    problem = ShortestPath.from_frame(roads, "A", "D", name="id")
    long = pd.DataFrame({"day": [1] * 4 + [2] * 4, "id": [11, 7, 9, 3] * 2, "minutes": [1.0, 100.0, 1.0, 100.0] * 2})
    wide = long.pivot(index="day", columns="id", values="minutes")
    data = DecisionDataset(pd.DataFrame({5: [0.0, 1.0], 2: [2.0, 3.0]}, index=wide.index), wide, problem)
    assert data.theta[0].tolist() == [1.0, 100.0, 1.0, 100.0]
    assert data.feature_names == ("5", "2")
    with mistake("theta", "'11'", "'12'"):
        DecisionDataset(torch.zeros(2, 1), wide.rename(columns={11: 12}), problem)


def test_columns_of_two_levels_are_pairs() -> None:
    problem = BipartiteMatching(["bob", "ann"], ["dig", "cook"])
    pairs = pd.MultiIndex.from_tuples([("ann", "cook"), ("ann", "dig"), ("bob", "cook"), ("bob", "dig")])  # sorted
    wide = pd.DataFrame([[4.0, 3.0, 2.0, 1.0]] * 2, columns=pairs)
    assert DecisionDataset(torch.zeros(2, 1), wide, problem).theta[0].tolist() == [1.0, 2.0, 3.0, 4.0]
