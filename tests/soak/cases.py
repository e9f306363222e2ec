"""What is decided and smoothed: a small case of each way to solve."""

from __future__ import annotations

from typing import Any, NamedTuple

import numpy as np
import torch
from torch import Tensor

import foresolve
from foresolve.layers import PerturbedAdditive
from foresolve.models import MLP
from foresolve.problems import Portfolio

FEATURES, ROWS = 4, 3


class Case(NamedTuple):
    """A problem, the shape of an instance's parameters, a layer for it, and how many decisions a whole run makes."""

    problem: Any
    shape: tuple[int, ...]
    layer: Any
    calls: int = 10_000

    def theta(self, batch: int, seed: int) -> Tensor:
        return torch.rand(batch, *self.shape, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))


class Model(torch.nn.Module):
    """Parameters in (0, 1) of any shape; at the top of a module, so that workers can be sent it."""

    def __init__(self, shape: tuple[int, ...]) -> None:
        super().__init__()
        with torch.random.fork_rng():
            torch.manual_seed(0)
            self.inner = MLP(FEATURES, int(np.prod(shape)))
        self.shape = shape

    def forward(self, features: Tensor) -> Tensor:
        return torch.sigmoid(self.inner(features)).reshape(-1, *self.shape)


def cases() -> dict[str, Case]:
    rng = np.random.default_rng(0)
    root = rng.normal(size=(8, 8))
    rows = rng.random((4, 10))
    smooth, wild = foresolve.QuadraticRelaxation(gamma=0.5), PerturbedAdditive(sigma=0.1, samples=3, seed=0)
    program = foresolve.LinearProgram(A_ub=rows, b_ub=rows.sum(1) / 3, bounds=(0, 1))
    integers = foresolve.LinearProgram(A_ub=rows, b_ub=rows.sum(1) / 3, bounds=(0, 1), integrality=True)
    coverage = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(6, k=2))
    return {
        "program (HiGHS)": Case(program, (10,), smooth),
        "integer program (HiGHS)": Case(integers, (10,), wild, calls=2_000),
        "matching": Case(foresolve.BipartiteMatching(5, 5), (25,), smooth),
        "sparse path": Case(foresolve.ShortestPath.grid(12, 12), (264,), smooth),
        "portfolio": Case(Portfolio(root @ root.T + np.eye(8)), (8,), foresolve.QuadraticRelaxation()),
        "coverage": Case(coverage, (6, 9), foresolve.MultilinearRelaxation(gamma=1.0)),
    }


def policy(case: Case) -> foresolve.Policy:
    return foresolve.Policy(Model(case.shape), case.problem)


def requests(count: int) -> list[Tensor]:
    """Features of calls, different ones."""
    generator = torch.Generator().manual_seed(1)
    return [torch.randn(ROWS, FEATURES, generator=generator) for _ in range(count)]
