"""Names that look the same are one name to whoever reads a decision, and two to the solver."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import pytest
import torch

from foresolve import (
    BipartiteMatching,
    InvalidInputError,
    Knapsack,
    ProbabilisticCoverage,
    ShortestPath,
    SubmodularProblem,
    TopK,
    UniformMatroid,
)
from foresolve._base import checks
from foresolve._base.lookalikes import look
from foresolve.data import Encoding
from foresolve.errors import ForesolveWarning

COMPOSED, APART = "K\u00f6ln", "Ko\u0308ln"
PAIRS = [("J01", "J01 "), (COMPOSED, APART), ("a b", "a\u00a0b"), ("x", "x\u200b")]


def roads(a: str, b: str) -> Any:
    table = pd.DataFrame({"from": ["A", a, "A"], "to": [b, "C", "C"]})
    return ShortestPath.from_frame(table, "A", "C")


def items(a: str, b: str) -> Any:
    return Knapsack.from_frame(pd.DataFrame({"item": [a, b], "weight": [1, 2]}), 2)


def coverage(a: str, b: str) -> Any:
    return SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(2, k=1), names=["c", "d"], targets=[a, b])


@pytest.mark.parametrize("pair", PAIRS)
@pytest.mark.parametrize(
    "make",
    [roads, items, coverage, lambda a, b: TopK(2, 1, names=[a, b]), lambda a, b: BipartiteMatching([a, b], ["x", "y"])],
)
def test_names_that_look_the_same_are_refused(make: Callable[[str, str], Any], pair: tuple[str, str]) -> None:
    with pytest.raises(InvalidInputError, match="do not look the same; got") as refused:
        make(*pair)
    assert all(ascii(name) in str(refused.value) for name in pair)


def test_what_looks_different_is_different() -> None:
    assert look("J01") != look("j01")
    assert look("x\u00b2") != look("x2")
    assert TopK(2, 1, names=["a b", "ab"]).names == ("a b", "ab")


def test_targets_have_different_names() -> None:
    with pytest.raises(InvalidInputError, match="`targets` must be different names, at least one; got 'u' twice"):
        coverage("u", "u")


@pytest.mark.parametrize("pair", PAIRS)
def test_a_guess_shows_where_names_differ(pair: tuple[str, str]) -> None:
    guess = checks.did_you_mean(pair[0], ["other", pair[1]])
    assert guess == f"Did you mean {pair[1]!a}? It is not {pair[0]!a}, which looks alike"


def test_categories_that_look_the_same_are_told() -> None:
    with pytest.warns(ForesolveWarning, match="categories that look the same, 'Mon' and 'Mon '"):
        Encoding.of(pd.DataFrame({"day": ["Mon", "Mon ", "Tue"]}), ["day"])


@pytest.mark.parametrize("numbers", [[114, 215, 215], [114.0, 215.0, 215.0]])
def test_a_column_of_nodes_that_is_text_makes_the_other_one_text(numbers: list[Any]) -> None:
    """Leading zeros leave one column text and the other one numbers: "114" and 114 were two nodes."""
    table = pd.DataFrame({"from": ["007", "114", "007"], "to": numbers})
    problem = ShortestPath.from_frame(table, "007", "215")
    assert problem.arcs == [("007", "114"), ("114", "215"), ("007", "215")]
    assert problem.path(problem.solve(torch.tensor([1.0, 1.0, 3.0]))) == ["007", "114", "215"]
