from __future__ import annotations

import copy
import os
import pickle

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.errors import ForesolveError, SolverError
from foresolve.problems import Affine, OracleProblem, TopK
from mistakes import mistake
from problems.conformance import ProblemConformance
from problems.oracle_functions import (
    best_three,
    best_three_of_many,
    cheapest_three,
    fatal,
    fragile,
    fragile_of_many,
    which_process,
)


def congestion(x: Tensor, theta: Tensor) -> Tensor:
    return (theta * x - 0.5 * x**2).sum(-1)


class TestConformance(ProblemConformance):
    def make(self, seed: int) -> OracleProblem:
        n = 4 + seed % 5
        kinds = [
            lambda: OracleProblem(best_three, n=n),
            lambda: OracleProblem(cheapest_three, n=n, sense="min"),
            lambda: OracleProblem(best_three_of_many, n=n, batched=True),
            lambda: OracleProblem(cheapest_three, n=n, sense="min").parametrized(
                Affine.tied([0, 1, 1, *[-1] * (n - 3)], factor=[2.0, 1.0, -1.0, *[0.0] * (n - 3)], known=[0.1] * n),
                constant=Affine([[1.0, 0.0]], known=3.0),
            ),
        ]
        return kinds[seed % 4]()

    def best(self, problem: OracleProblem, theta: Tensor) -> float:
        gains = problem.gain(theta)
        value = TopK(len(gains), 3).objective(TopK(len(gains), 3).solve(gains), gains)
        return (value + problem.constant(theta)).item()


class TestBlackBox:
    def test_own_objective(self) -> None:
        problem = OracleProblem(best_three, congestion, n=5)
        theta = torch.rand(4, 5, generator=torch.Generator().manual_seed(0))
        x = problem.solve(theta)
        torch.testing.assert_close(problem.objective(x, theta), congestion(x, theta))
        assert not problem.linear
        with mistake("problem", "OracleProblem", "linear=True"):
            problem.gain(theta)

    def test_costs_change_the_sign_once(self) -> None:
        problem = OracleProblem(cheapest_three, congestion, n=5, sense="min", linear=True)
        theta = torch.rand(4, 5, generator=torch.Generator().manual_seed(0))
        x = problem.solve(theta)
        torch.testing.assert_close(problem.objective(x, theta), -congestion(x, theta))
        assert torch.equal(problem.gain(theta), -theta)

    def test_any_shape_of_theta(self) -> None:
        def assign(theta: np.ndarray) -> np.ndarray:
            return np.eye(theta.shape[1])[theta.argmax(1)].flatten()

        def worth(x: Tensor, theta: Tensor) -> Tensor:
            return (x * theta.flatten(-2)).sum(-1)

        problem = OracleProblem(assign, worth, n=6, theta_dims=2)
        theta = torch.rand(4, 7, 2, 3, generator=torch.Generator().manual_seed(0))
        x = problem.solve(theta)
        assert x.shape == (4, 7, 6)
        torch.testing.assert_close(problem.objective(x, theta), theta.amax(-1).sum(-1))

    def test_torch_and_lists_are_decisions_too(self) -> None:
        for oracle in (lambda theta: torch.from_numpy(best_three(theta)), lambda theta: best_three(theta).tolist()):
            assert OracleProblem(oracle).solve(torch.arange(5.0)).tolist() == [0, 0, 1, 1, 1]

    def test_to_and_select(self) -> None:
        problem = OracleProblem(best_three, n=5)
        assert problem.select(torch.tensor([1])) is problem
        assert problem.to("meta").device.type == "meta"


class TestFailures:
    @pytest.mark.parametrize(("oracle", "batched"), [(fragile, False), (fragile_of_many, True)])
    def test_names_the_instances_and_keeps_the_cause(self, oracle, batched: bool) -> None:
        theta = torch.ones(6, 4)
        theta[[2, 5], 1] = -1.0
        with mistake("", "RuntimeError", kind=SolverError, instances=[2, 5]) as caught:
            OracleProblem(oracle, batched=batched).solve(theta)
        assert isinstance(caught.value.__cause__, RuntimeError)

    def test_batch_positions(self) -> None:
        theta = torch.ones(2, 3, 4)
        theta[1, 2, 0] = -1.0
        with mistake("", "(1, 2)", kind=SolverError, instances=[5]):
            OracleProblem(fragile).solve(theta)

    @pytest.mark.parametrize(
        ("oracle", "about"),
        [
            (lambda theta: None, ("", "None")),
            (lambda theta: np.zeros(3), ("", "(5,)", "(3,)")),
            (lambda theta: np.zeros((1, 5)), ("", "(5,)", "(1, 5)")),
            (lambda theta: np.full(5, np.nan), ("", "nan at 0")),
            (lambda theta: "no", ("", "str")),
        ],
    )
    def test_what_is_no_decision(self, oracle, about: tuple[str, ...]) -> None:
        with mistake(*about, kind=SolverError, instances=[0, 1]):
            OracleProblem(oracle, n=5).solve(torch.zeros(2, 5))

    def test_a_batch_of_another_length(self) -> None:
        with mistake("", "4 instances", "gave 3", kind=SolverError, instances=[0, 1, 2, 3]):
            OracleProblem(lambda theta: theta[1:], batched=True).solve(torch.zeros(4, 5))

    def test_decisions_of_different_lengths(self) -> None:
        problem = OracleProblem(lambda theta: np.zeros(int(theta[0])), congestion)
        with mistake("", "(2,)", "(3,)", kind=SolverError, instances=[1]):
            problem.solve(torch.tensor([[2.0], [3.0]]))

    def test_bad_arguments(self) -> None:
        with mistake("solve", "NoneType"):
            OracleProblem(None)  # type: ignore[arg-type]
        with mistake("objective", "None"):
            OracleProblem(best_three, linear=False)
        with mistake("sense", "'least'"):
            OracleProblem(best_three, sense="least")  # type: ignore[arg-type]
        with mistake("solve", "workers=0"):
            OracleProblem(lambda theta: theta, workers=2)
        with mistake("objective", "(2,)", "(2, 5)"):
            OracleProblem(best_three, lambda x, theta: x * theta).objective(torch.ones(2, 5), torch.ones(2, 5))
        with mistake("x", "(*batch, 5)"):
            OracleProblem(best_three).objective(torch.ones(2, 4), torch.ones(2, 5))


class TestWorkers:
    @pytest.mark.slow
    def test_workers_agree_fail_and_restart(self) -> None:
        problem = OracleProblem(fragile, n=6, workers=2)
        theta = torch.rand(9, 6, generator=torch.Generator().manual_seed(0))
        try:
            assert torch.equal(problem.solve(theta), OracleProblem(fragile).solve(theta))
            theta[4, 0] = -1.0
            with mistake("", "RuntimeError", kind=SolverError, instances=[4]) as caught:
                problem.solve(theta)
            assert caught.value.instances == (4,)
            problem.close()
            assert problem.solve(theta[:2]).shape == (2, 6)
        finally:
            problem.close()

    @pytest.mark.slow
    def test_copies_share_the_processes(self) -> None:
        problem = OracleProblem(which_process, congestion, n=3, workers=1)
        try:
            first = problem.solve(torch.zeros(1, 3, dtype=torch.float64))
            assert first[0, 0] != os.getpid()
            twins = (problem.to("cpu"), copy.deepcopy(problem), pickle.loads(pickle.dumps(problem)))
            for twin in twins:
                assert torch.equal(twin.solve(torch.zeros(1, 3, dtype=torch.float64)), first)
        finally:
            problem.close()

    def test_a_worker_that_dies(self) -> None:
        problem = OracleProblem(fatal, n=3, workers=1)
        with mistake("", "__main__", kind=ForesolveError):
            problem.solve(torch.zeros(2, 3))
        problem.close()
