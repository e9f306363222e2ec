from __future__ import annotations

import numpy as np
import torch

import foresolve
from foresolve.problems import OracleProblem
from foresolve.testing.candidates import rivals


def test_all_decisions_of_a_small_problem_are_among_them() -> None:
    problem = foresolve.TopK(5, 2)
    x = problem.solve(torch.rand(3, 5, generator=torch.Generator().manual_seed(0)))
    others, feasible = rivals(problem, x, 0)
    assert others.shape[1:] == x.shape
    assert feasible.shape == others.shape[:-1]
    for i in range(3):
        binary = [tuple(row) for row in others[:, i][feasible[:, i]].tolist() if set(row) <= {0.0, 1.0}]
        assert len(set(binary)) == 10  # five choose two
    assert bool(problem.check(others[:, 0][feasible[:, 0]]))


def test_exchanges_are_tried_where_there_are_many_variables() -> None:
    problem = foresolve.TopK(12, 3)
    x = problem.solve(torch.rand(1, 12, generator=torch.Generator().manual_seed(0)))
    others, feasible = rivals(problem, x, 0)
    near = (others[feasible] - x).abs().sum(-1)
    assert int((near == 2).sum()) >= 9  # each of three in exchange for one of nine, or so many of them as are drawn


def test_a_black_box_that_accepts_everything_is_asked_for_its_own_decisions() -> None:
    problem = OracleProblem(lambda theta: np.eye(4)[theta.argmax()], n=4)
    x = problem.solve(torch.eye(4))
    others, feasible = rivals(problem, x, 0)
    assert len(others) == 4
    assert bool(feasible.all())


def test_instances_with_sets_of_their_own_do_not_lend_decisions() -> None:
    problem = foresolve.Knapsack([2, 3, 4, 5], torch.tensor([[4.0], [9.0]]))
    x = problem.solve(torch.rand(2, 4, generator=torch.Generator().manual_seed(0)))
    others, feasible = rivals(problem, x, 0)
    assert bool((problem.check(others).feasible == feasible).all())
