from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foresolve.learning.scikit_learn.targets import as_theta
from foresolve.problems import SubmodularProblem, TopK
from foresolve.sets import ProbabilisticCoverage, UniformMatroid
from mistakes import mistake


def test_rows_of_numbers_are_vectors() -> None:
    assert as_theta("y", [1, 2, 3], TopK(1, 1)).tolist() == [[1.0], [2.0], [3.0]]
    y = np.arange(6.0).reshape(2, 3)
    theta = as_theta("y", y, TopK(3, 1))
    assert torch.equal(theta, torch.tensor(y))
    theta += 1
    assert y[0, 0] == 0  # the caller's numbers are not ours to change


@given(items=st.integers(1, 4), targets=st.integers(1, 4), weighted=st.booleans())
def test_matrices_come_as_rows_and_go_back(items: int, targets: int, weighted: bool) -> None:
    function = ProbabilisticCoverage([1.0] * targets if weighted else None)
    problem = SubmodularProblem(function, UniformMatroid(items, 1))
    theta = torch.arange(2.0 * items * targets, dtype=torch.float64).reshape(2, items, targets)
    assert torch.equal(as_theta("y", theta.reshape(2, -1).numpy(), problem), theta)


@pytest.mark.parametrize(("weights", "expected"), [([1.0, 2.0], "p 6"), (None, "p a multiple of 3")])
def test_what_makes_no_matrix_is_refused(weights: list[float] | None, expected: str) -> None:
    problem = SubmodularProblem(ProbabilisticCoverage(weights), UniformMatroid(3, 1))
    with mistake("y", expected, "(2, 5)"):
        as_theta("y", np.zeros((2, 5)), problem)
    with mistake("y", "single number"):
        as_theta("y", 3.0, problem)
    with mistake("predicted", "nan"):
        as_theta("predicted", np.full((2, 6), np.nan), problem)
