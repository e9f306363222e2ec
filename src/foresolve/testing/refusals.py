"""Problems of which each lacks something that a layer or a loss may need."""

from __future__ import annotations

import copy
from collections.abc import Callable, Iterator
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve.problems.base import Problem
from foresolve.problems.black_box import OracleProblem
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.linear import LinearProgram
from foresolve.problems.submodular import SubmodularProblem
from foresolve.problems.top_k import TopK
from foresolve.problems.traits import missing
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.graphic import GraphicMatroid
from foresolve.sets.matroids.laminar import PartitionMatroid, UniformMatroid
from foresolve.testing.suite import Inapplicable, Measure, holds, refused


def lacking(needs: tuple[str, ...]) -> list[tuple[Problem, Tensor]]:
    """Problems without something of what is needed, and parameters; for each need there is one that lacks it."""
    flat, table = torch.full((4, 4), 0.5, dtype=torch.float64), torch.full((4, 4, 3), 0.5, dtype=torch.float64)
    capacities = torch.tensor([[4.0], [5.0], [7.0], [9.0]])
    graph = GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3)], 4)
    matroids = (UniformMatroid(4, 2), PartitionMatroid([0, 0, 1, 1], [1, 1]), graph)
    candidates: list[tuple[Problem, Tensor]] = [
        (TopK(4, 2), flat),
        (LinearProgram(np.ones((1, 4)), [3.0], integrality=1), flat),
        (Knapsack([2, 3, 4, 5], capacities), flat),
        (OracleProblem(_largest, n=4), flat),
        (OracleProblem(_largest, n=4, exact=False), flat),
        *((SubmodularProblem(ProbabilisticCoverage(), matroid), table) for matroid in matroids),
    ]
    return [(problem, theta) for problem, theta in candidates if missing(problem, needs) is not None]


def refuses_what_it_lacks(
    method: Any, needs: tuple[str, ...], call: Callable[[Problem, Tensor], Any]
) -> Iterator[Measure]:
    """`call(problem, theta)` must refuse each problem without what is needed, before it works with it."""
    if not needs:
        raise Inapplicable("`needs` is empty: it takes every problem")
    for problem, theta in lacking(needs):
        idle = copy.copy(problem)
        worked: list[str] = []
        for work in ("solve", "argmax", "objective"):
            setattr(idle, work, _recorded(work, worked))
        names = (type(problem).__name__, type(method).__name__)
        yield refused(lambda: call(idle, theta), f"a {names[0]}", "problem", *names)  # noqa: B023
        yield holds(not worked, f"`{', '.join(worked)}` of a {names[0]} was called before it was refused")


def _recorded(work: str, worked: list[str]) -> Callable[..., Any]:
    def call(*arguments: Any) -> Any:
        worked.append(work)
        raise RuntimeError(f"`{work}` was called")

    return call


def _largest(theta: np.ndarray) -> np.ndarray:
    return np.eye(len(theta))[theta.argmax()]
