"""For the conformance suites: problems of which each lacks something that a layer or loss may need."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np
import pytest
import torch
from torch import Tensor

import foresolve
from foresolve.problems import OracleProblem
from foresolve.problems.base import Problem
from foresolve.problems.traits import missing
from foresolve.sets import GraphicMatroid, Matroid, PartitionMatroid


def _largest(theta: np.ndarray) -> np.ndarray:
    return np.eye(len(theta))[theta.argmax()]


def _covering(matroid: Matroid) -> Problem:
    return foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), matroid)


def refusals(needs: Iterable[str], monkeypatch: pytest.MonkeyPatch) -> list[tuple[Problem, Tensor]]:
    """Problems that lack something of what is needed, and parameters; whoever works with one fails the test.

    For each need there is one that lacks it.
    """
    flat, table = torch.full((4, 4), 0.5, dtype=torch.float64), torch.full((4, 4, 3), 0.5, dtype=torch.float64)
    capacities = torch.tensor([[4.0], [5.0], [7.0], [9.0]])
    candidates = [
        (foresolve.TopK(4, 2), flat),
        (foresolve.LinearProgram(np.ones((1, 4)), [3.0], integrality=1), flat),
        (foresolve.Knapsack([2, 3, 4, 5], capacities), flat),
        (OracleProblem(_largest, n=4), flat),
        (OracleProblem(_largest, n=4, exact=False), flat),
        (_covering(foresolve.UniformMatroid(4, 2)), table),
        (_covering(PartitionMatroid([0, 0, 1, 1], [1, 1])), table),
        (_covering(GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)], 4)), table),
    ]
    needs = tuple(needs)
    cases = [(problem, theta) for problem, theta in candidates if missing(problem, needs) is not None]
    assert {need for problem, _ in cases for need in set(needs) - problem.traits} == set(needs)
    for problem, _ in cases:
        for work in ("solve", "argmax", "objective"):
            monkeypatch.setattr(problem, work, lambda *arguments, work=work: pytest.fail(f"`{work}` was called"))
    return cases
