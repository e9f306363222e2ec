"""Decisions in the user's words."""

from __future__ import annotations

from typing import Any

import pandas as pd
import pytest
import torch

import foresolve
from foresolve.learning.registry import describe_problem, restore_problem
from foresolve.problems import Assignment, MaxFlow, MinCostFlow
from mistakes import mistake

ROADS = pd.DataFrame({"id": [11, 7, 9], "from": ["A", "B", "A"], "to": ["B", "C", "C"], "capacity": [1.0, 2.0, 3.0]})


def problems() -> list[Any]:
    pairs = pd.DataFrame({"who": ["bob", "ann", "bob", "ann"], "job": ["dig", "dig", "cook", "cook"]})
    return [
        foresolve.ShortestPath.from_frame(ROADS, "A", "C", name="id"),
        MaxFlow.from_frame(ROADS, "A", "C", name="id"),
        MinCostFlow.from_frame(ROADS, {"A": 1.0, "C": -1.0}, name="id", capacity="capacity"),
        foresolve.BipartiteMatching.from_frame(pairs, left="who", right="job"),
        Assignment.from_frame(pairs, left="who", right="job"),
        foresolve.TopK.from_frame(ROADS, 1, name="id"),
        foresolve.Knapsack.from_frame(ROADS, 3, weight="capacity", name="id"),
        foresolve.SubmodularProblem(
            foresolve.ProbabilisticCoverage(),
            foresolve.UniformMatroid(2, 1),
            names=["tv", "web"],
            targets=["x", "y", "z"],
        ),
    ]


@pytest.mark.parametrize("problem", problems(), ids=lambda problem: type(problem).__name__)
def test_names_are_kept_in_files(problem: Any) -> None:
    again = restore_problem(describe_problem(problem))
    assert again.names == problem.names
    assert again.theta_axes == problem.theta_axes
    theta = (
        torch.linspace(0.2, 0.9, 6).reshape(2, 3) if len(problem.theta_shape) == 2 else torch.linspace(1, 2, problem.n)
    )
    x = problem.solve(theta)
    assert again.words(x) == problem.words(x)
    assert again.chosen(x) == problem.chosen(x)


def test_words() -> None:
    path, _, flow, matching, assignment, top, knapsack, cover = problems()
    x = path.solve(torch.tensor([1.0, 1.0, 3.0]))
    assert (path.chosen(x), path.words(x)) == (["11", "7"], ["A", "B", "C"])
    assert flow.chosen(flow.solve(torch.tensor([1.0, 1.0, 3.0]))) == ["11", "7"]
    theta = torch.tensor([[1.0, 5.0, 5.0, 1.0], [5.0, 1.0, 1.0, 5.0]])
    assert matching.names == ("ann | cook", "ann | dig", "bob | cook", "bob | dig")
    assert matching.words(matching.solve(theta)) == [
        [("ann", "dig"), ("bob", "cook")],
        [("ann", "cook"), ("bob", "dig")],
    ]
    assert assignment.pairs(assignment.solve(theta))[0] == [("ann", "dig"), ("bob", "cook")]
    assert top.chosen(top.solve(torch.tensor([0.0, 2.0, 1.0]))) == ["7"]
    assert knapsack.chosen(knapsack.solve(torch.tensor([1.0, 1.0, 1.5]))) == ["11", "7"]
    assert cover.chosen(cover.solve(torch.tensor([[0.1, 0.1, 0.1], [0.5, 0.0, 0.0]]))) == ["web"]
    assert cover.theta_axes == (("tv", "web"), ("x", "y", "z"))


def test_numbers_where_nothing_has_a_name() -> None:
    x = torch.tensor([0.0, 1.0, 1e-9, 1.0])
    assert foresolve.TopK(4, 2).chosen(x) == [1, 3]
    assert foresolve.BipartiteMatching(2, 2).pairs(x) == [(0, 1), (1, 1)]
    assert foresolve.TopK(4, 2).theta_axes is None


def test_order_is_that_of_the_table_unless_names_repeat() -> None:
    assert problems()[0].names == ("11", "7", "9")
    repeated = pd.DataFrame({"item": [11, 7, 9, 7], "weight": [1, 2, 3, 2]})
    assert foresolve.Knapsack.from_frame(repeated, 3).names == ("7", "9", "11")
    assert foresolve.Knapsack.from_frame(repeated, 3).weights.tolist() == [[2.0, 3.0, 1.0]]


@pytest.mark.parametrize(
    ("make", "about"),
    [
        (lambda: foresolve.ShortestPath.from_frame(ROADS, "A", "C", tail="frm"), ("tail", "'frm'", "'from'?")),
        (lambda: foresolve.ShortestPath.from_frame(ROADS, "A", "Z"), ("target", "'Z'")),
        (lambda: foresolve.ShortestPath.from_frame(ROADS.assign(id=1), "A", "C", name="id"), ("names", "'1'")),
        (lambda: foresolve.Knapsack.from_frame(ROADS, 3, name="id"), ("weight", "'weight'")),
        (
            lambda: foresolve.Knapsack.from_frame(pd.DataFrame({"item": ["a", "a"], "weight": [1, 2]}), 3),
            ("items", "'weight'", "1 and 2", "'a'"),
        ),
        (lambda: foresolve.TopK.from_frame(pd.DataFrame({"item": ["a", None]}), 1), ("items", "'item'", "row 1")),
        (lambda: foresolve.BipartiteMatching(["a", "a"], 2), ("left", "'a'")),
    ],
)
def test_what_is_wrong_with_a_table_is_said(make: Any, about: tuple[str, ...]) -> None:
    with mistake(*about):
        make()


def test_pairs_that_a_table_lacks_are_told() -> None:
    """They are variables like all others."""
    pairs = pd.DataFrame({"left": ["ann", "ann", "bob"], "right": ["cook", "dig", "cook"]})
    with pytest.warns(foresolve.ForesolveWarning, match=r"1 of 4 .*\('bob', 'dig'\)"):
        foresolve.BipartiteMatching.from_frame(pairs)
    assert foresolve.BipartiteMatching.from_frame(pairs[1:]).n == 4  # names of both sides, a row for each
