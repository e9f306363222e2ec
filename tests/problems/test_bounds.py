"""Bounds mean what they mean in SciPy, or are refused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import scipy.optimize
import torch

from foresolve.errors import InvalidInputError
from foresolve.problems import LinearProgram
from foresolve.problems.bounds import as_bound, ordered, split_bounds
from mistakes import mistake

CPU, INF = torch.device("cpu"), np.inf


def limits_of_scipy(n: int, bounds: Any) -> tuple[list[float], list[float]]:
    """The least and the largest value that `linprog` gives each variable; infinite where it is unbounded."""
    sides = []
    for sign in (1.0, -1.0):
        values = []
        for j in range(n):
            result = scipy.optimize.linprog(sign * np.eye(n)[j], bounds=bounds)
            values.append(-sign * INF if result.status == 3 else result.x[j])
        sides.append(values)
    return sides[0], sides[1]


@pytest.mark.parametrize(
    ("n", "bounds"),
    [
        (2, None),
        (2, []),
        (2, [[]]),
        (3, [0, 1]),
        (3, [None, 4]),
        (3, (0, None)),
        (3, (None, None)),
        (3, (-1, 2.5)),
        (3, np.array([-1.0, 2.0])),
        (3, [(0, 1)]),
        (3, ((0, 1),)),
        (3, [[0], [1]]),
        (3, ([0], [1])),
        (1, [(0, 1)]),
        (1, [0, 1]),
        (2, [(0, 1), (0, 5)]),
        (2, [[0, 1], [0, 5]]),
        (2, np.array([[0, 1], [0, 5]])),
        (2, ((0, None), (None, 5))),
        (3, [(0, 1), (None, 5), (-2, None)]),
        (3, ((0, 1), (0, 5), (2, 3))),
        (3, np.array([[0, 1], [-INF, 5], [2, INF]])),
    ],
    ids=str,
)
def test_bounds_are_those_of_linprog(n: int, bounds: Any) -> None:
    problem = LinearProgram(n=n, bounds=bounds)
    lower, upper = limits_of_scipy(n, bounds)
    assert problem.lower.tolist() == lower
    assert problem.upper.tolist() == upper


@pytest.mark.parametrize(
    "bounds", [5, (0,), (0, 1, 2), [(0, 1), (0,)], [(0, 1, 2)], "free", {"lower": 0}, np.zeros((2, 3)), True], ids=str
)
def test_what_linprog_refuses_is_refused(bounds: Any) -> None:
    with pytest.raises((ValueError, TypeError)):
        scipy.optimize.linprog(np.ones(3), bounds=bounds)
    with mistake("bounds"):
        LinearProgram(n=3, bounds=bounds)


@pytest.mark.parametrize("bounds", [((0, 1), (0, 5)), ([0, 1], [0, 5]), ([0, 1], (0, 5))], ids=str)
def test_two_pairs_that_scipy_reads_otherwise_are_refused_with_both_spellings(bounds: Any) -> None:
    with pytest.raises(InvalidInputError) as caught:
        LinearProgram(n=2, bounds=bounds)
    message = str(caught.value)
    pairs, vectors = "[(0, 1), (0, 5)]", "(np.array([0, 1]), np.array([0, 5]))"
    assert f"`{pairs}`" in message
    assert f"`{vectors}`" in message
    # What the message says to write is two different problems.
    first, second = (LinearProgram(n=2, bounds=eval(text, {"np": np})) for text in (pairs, vectors))
    assert (first.lower.tolist(), first.upper.tolist()) == ([0.0, 0.0], [1.0, 5.0])
    assert (second.lower.tolist(), second.upper.tolist()) == ([0.0, 1.0], [0.0, 5.0])


@pytest.mark.parametrize(
    "bounds",
    [
        (np.zeros(3), np.ones(3)),
        ([0, 0, 0], [1, 1, 1]),
        (0, [1, 1, 1]),
        (torch.zeros(3), 1.0),
        ((0, 0, 0), torch.ones(3)),
        scipy.optimize.Bounds(0, 1),
        scipy.optimize.Bounds([0, 0, 0], 1),
        zip([0, 0, 0], [1, 1, 1], strict=True),
        torch.tensor([[0.0, 1.0]] * 3),
        torch.tensor([0.0, 1.0]),
    ],
    ids=lambda bounds: type(bounds).__name__,
)
def test_further_spellings_of_the_unit_box(bounds: Any) -> None:
    problem = LinearProgram(n=3, bounds=bounds)
    assert problem.lower.tolist() == [0.0, 0.0, 0.0]
    assert problem.upper.tolist() == [1.0, 1.0, 1.0]


def test_two_arrays_are_lower_and_upper_whatever_their_length() -> None:
    for n in (1, 2, 3):
        for vector in (np.arange, lambda size: torch.arange(float(size))):
            problem = LinearProgram(bounds=(vector(n), 5 + vector(n)))
            assert problem.lower.tolist() == list(range(n))
            assert problem.upper.tolist() == list(range(5, 5 + n))


def test_the_columns_of_a_tensor_keep_their_graph() -> None:
    bounds = torch.tensor([[0.0, 1.0], [0.0, 2.0]], requires_grad=True)
    lower, upper = split_bounds(bounds)
    (lower.sum() + 3 * upper.sum()).backward()
    assert bounds.grad is not None
    assert bounds.grad.tolist() == [[1.0, 3.0], [1.0, 3.0]]


@pytest.mark.parametrize(
    ("bounds", "side"),
    [((np.nan, 1), "lower"), ([(np.nan, 1), (0, 1)], "lower"), ((0, np.array([1.0, np.nan])), "upper")],
    ids=str,
)
def test_not_a_number_is_no_bound_and_no_way_to_write_that_there_is_none(bounds: Any, side: str) -> None:
    with mistake(side, "nan at ["):
        LinearProgram(n=2, bounds=bounds)


def test_a_bound_is_a_number_for_all_or_one_for_each() -> None:
    assert as_bound("lower", None, 2, CPU).tolist() == [-INF] * 2
    assert as_bound("upper", 3, 2, CPU).tolist() == [3.0, 3.0]
    assert as_bound("upper", [3], 2, CPU).tolist() == [3.0, 3.0]
    assert as_bound("upper", torch.ones(4, 2), 2, CPU).shape == (4, 2)
    with mistake("lower", "inf"):
        as_bound("lower", [0.0, INF], 2, CPU)


def test_bounds_must_be_in_order_and_of_one_batch() -> None:
    low, high = torch.zeros(3, 2), torch.ones(2)
    assert ordered(low, high) == (low, high)
    with mistake("bounds", "1.0 > 0.0 at [0, 0]"):
        ordered(high, low)
    with mistake("", "lower (3,), upper (4,)"):
        ordered(low, torch.ones(4, 2))
