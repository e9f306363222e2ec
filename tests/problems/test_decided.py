"""How far a search goes, what it hands over, and who refuses what is not proven."""

from __future__ import annotations

import pickle
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.data import DecisionDataset
from foresolve.errors import ForesolveWarning, InfeasibleError, StoppedError
from foresolve.losses import SPOPlus
from foresolve.problems import BipartiteMatching, Ending, Knapsack, LinearProgram, ShortestPath, TravellingSalesman
from mistakes import mistake


@pytest.fixture(scope="module")
def hard() -> LinearProgram:
    """A knapsack of eight dimensions, which takes more than one node."""
    weights = np.random.default_rng(0).integers(1, 1000, (8, 50)).astype(float)
    return Knapsack(weights, weights.sum(1) / 2)


@pytest.fixture(scope="module")
def theta() -> Tensor:
    """The first instance takes more than one node, the second none."""
    worths = np.random.default_rng(1).integers(1, 1000, 50).astype(float)
    return torch.from_numpy(np.stack([worths, np.where(np.arange(50) < 2, worths, 0.0)]))


class TestSolution:
    def test_a_stopped_search_hands_over_what_it_has(self, hard: LinearProgram, theta: Tensor) -> None:
        known, best = hard.solution(theta, nodes=1), hard.solution(theta)
        assert known.status.tolist() == [Ending.NODE_LIMIT, Ending.OPTIMAL]
        assert best.optimal.all()
        assert hard.check(known.x)
        torch.testing.assert_close(known.value, hard.objective(known.x, theta))
        assert (known.value <= best.value).all()
        assert (best.value <= known.bound * (1 + 1e-9)).all()
        assert 0 < float(known.gap[0]) < 0.1
        assert float(known.gap[1]) == 0.0
        assert torch.equal(best.x, hard.solve(theta))

    def test_costs(self) -> None:
        problem = LinearProgram(A_ub=[[-1.0, -1.0]], b_ub=[-1.5], bounds=(0, 5), integrality=1, sense="min")
        costs = torch.tensor([2.0, 3.0])
        known = problem.solution(costs)
        assert (known.x.tolist(), float(known.value), float(known.bound)) == ([2.0, 0.0], -4.0, -4.0)

    def test_endings_do_not_stop_the_batch(self) -> None:
        problem = LinearProgram(A_ub=[[1.0, 1.0]], b_ub=[[1.0], [-1.0]])
        known = problem.solution(torch.tensor([1.0, 2.0]))
        assert known.status.tolist() == [Ending.OPTIMAL, Ending.INFEASIBLE]
        assert known.x[0].tolist() == [0.0, 1.0]
        with mistake(kind=InfeasibleError, instances=[1]):
            problem.solve(torch.tensor([1.0, 2.0]))

    @pytest.mark.parametrize(
        "problem",
        [
            BipartiteMatching(3, 3),
            ShortestPath.grid(3, 3),
            TravellingSalesman(5),
            Knapsack([1, 2, 3], 4),
            LinearProgram([[1.0, 2.0]], [2.0]),
        ],
        ids=lambda problem: type(problem).__name__,
    )
    def test_whatever_solves_it(self, problem: LinearProgram) -> None:
        theta = torch.rand(2, 2, problem.n, generator=torch.Generator().manual_seed(0))
        known = problem.solution(theta)
        assert known.optimal.all()
        assert torch.equal(known.x, problem.solve(theta))
        torch.testing.assert_close(known.value.float(), problem.objective(known.x, theta))

    def test_bad_limits(self, hard: LinearProgram, theta: Tensor) -> None:
        with mistake("nodes", ">= 1", "-1"):
            hard.solution(theta, nodes=-1)


class TestLimits:
    def test_solve_proves_or_raises(self, hard: LinearProgram, theta: Tensor) -> None:
        with mistake("", "nodes=1", kind=StoppedError, instances=[0]):
            hard.limited(nodes=1).solve(theta)
        assert hard.check(hard.solve(theta))

    def test_they_follow_the_problem(self, hard: LinearProgram) -> None:
        limited = hard.limited(nodes=7, seconds=60.0)
        assert hard.limits.nodes == 100_000
        for twin in (limited, pickle.loads(pickle.dumps(limited)), limited.limited(), limited.to("cpu")):
            assert (twin.limits.nodes, twin.limits.seconds) == (7, 60.0)
        several = LinearProgram([[1.0]], [[1.0], [2.0]], integrality=1).limited(nodes=7)
        assert several.select(torch.tensor([1])).limits.nodes == 7

    def test_losses_refuse_what_is_not_proven(self, hard: LinearProgram, theta: Tensor) -> None:
        data = DecisionDataset(torch.zeros(2, 1), theta, hard)
        batch = data.solve()[:]
        stopped = DecisionDataset(
            torch.zeros(2, 1), theta, hard.limited(nodes=1), decisions=batch.decision, values=batch.value
        )[:]
        with pytest.raises(StoppedError):
            SPOPlus()(theta, stopped)


class TestDataSets:
    def test_what_is_not_proven_is_not_kept(self, hard: LinearProgram, theta: Tensor, tmp_path: Path) -> None:
        cache = tmp_path / "best.npz"
        data = DecisionDataset(torch.zeros(2, 1), theta, hard.limited(nodes=1), cache=cache)
        with mistake("", "nodes=1", "data set", kind=StoppedError, instances=[0]):
            data.solve()
        assert not cache.exists()
        assert not data.solved
        with pytest.warns(ForesolveWarning, match="1 of 2"):
            rest = data.solve(on_failure="skip")
        assert rest.skipped == (0,)
        assert not cache.exists()

    def test_a_search_that_met_its_limit_is_not_repeated(
        self, hard: LinearProgram, theta: Tensor, monkeypatch: pytest.MonkeyPatch
    ) -> None:
        searched: list[int] = []
        search = LinearProgram._search
        monkeypatch.setattr(
            LinearProgram,
            "_search",
            lambda self, gains, *rest: (searched.append(len(gains)), search(self, gains, *rest))[1],
        )
        data = DecisionDataset(torch.zeros(2, 1), theta, hard.limited(nodes=1))
        with pytest.raises(StoppedError):
            data.solve()
        assert searched == [2, 1]  # both, then the one that has a decision


def test_units_of_rows() -> None:
    problem = LinearProgram(A_ub=[[1e-10, 1e-10]], b_ub=[1e-10], bounds=(0, 10))
    assert problem.solve(torch.tensor([1.0, 2.0])).tolist() == [0.0, 1.0]
