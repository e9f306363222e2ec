"""Layers on problems that grow: what the curves of time against size and batch are drawn from."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch

import foresolve


class Case(NamedTuple):
    """A family of problems.

    Attributes
    ----------
    build: layer and problem of a size.
    theta: parameters of a batch.
    sizes: in steps of about a factor of the square root of 2, so that a cliff has no room between them.
    order: the exponent of the work in the size: a factorization of `size` rows has 3.
    """

    build: Callable[[int], tuple[Any, Any]]
    theta: Callable[[int, int, torch.Generator], torch.Tensor]
    sizes: tuple[int, ...]
    order: float


def uniform(entries: Callable[[int], tuple[int, ...]]) -> Callable[[int, int, torch.Generator], torch.Tensor]:
    return lambda size, batch, rng: torch.rand(batch, *entries(size), dtype=torch.float64, generator=rng)


def matching(size: int) -> tuple[Any, Any]:
    return foresolve.QuadraticRelaxation(gamma=0.1), foresolve.BipartiteMatching(size, size)


def dense(size: int) -> tuple[Any, Any]:
    rng = np.random.default_rng(size)
    rows = rng.random((size // 2, size))
    program = foresolve.LinearProgram(A_ub=rows, b_ub=rows.sum(1) / 4, bounds=(0, 1))
    return foresolve.QuadraticRelaxation(gamma=0.5), program


def path(size: int) -> tuple[Any, Any]:
    return foresolve.QuadraticRelaxation(gamma=0.1), foresolve.ShortestPath.grid(size, size)


def top(size: int) -> tuple[Any, Any]:
    return foresolve.QuadraticRelaxation(gamma=1.0), foresolve.TopK(size, k=max(1, size // 10))


def portfolio(size: int) -> tuple[Any, Any]:
    root = np.random.default_rng(size).normal(size=(size, size)) / np.sqrt(size)
    return foresolve.QuadraticRelaxation(), foresolve.problems.Portfolio(root @ root.T + 0.1 * np.eye(size))


def coverage(size: int) -> tuple[Any, Any]:
    matroid = foresolve.UniformMatroid(size, k=10)
    return foresolve.MultilinearRelaxation(), foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), matroid)


def reach(size: int, batch: int, rng: torch.Generator) -> torch.Tensor:
    return 0.4 * torch.rand(batch, size, 5 * size, dtype=torch.float64, generator=rng) ** 3


CASES = {
    "matching": Case(matching, uniform(lambda n: (n * n,)), (10, 14, 20, 28, 40, 56, 80, 112, 140, 160, 200, 224), 3),
    "dense": Case(dense, uniform(lambda n: (n,)), (10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448, 640), 3),
    "path": Case(path, uniform(lambda n: (2 * n * (n - 1),)), (5, 7, 10, 14, 20, 28, 40, 56, 80), 3),
    "top-k": Case(top, uniform(lambda n: (n,)), (50, 100, 200, 400, 800, 1600, 3200, 6400), 1),
    "portfolio": Case(portfolio, uniform(lambda n: (n,)), (10, 14, 20, 28, 40, 56, 80, 112, 160, 224, 320, 448), 3),
    "coverage": Case(coverage, reach, (10, 14, 20, 28, 40, 56, 80, 112, 160, 224), 2),
}
