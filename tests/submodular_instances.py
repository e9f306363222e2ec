"""Random submodular problems, and how far they are from the points where a decision has no derivative."""

from __future__ import annotations

import torch
from torch import Tensor

import foresolve


def matroid(kind: str, n: int) -> foresolve.sets.Matroid:
    """A matroid of about a third of `n`, `n >= 6`."""
    if kind == "uniform":
        return foresolve.UniformMatroid(n, n // 3)
    if kind == "partition":
        return foresolve.sets.PartitionMatroid([i % 3 for i in range(n)], [1, 2, 1])
    inner, half = range(n // 4), range(n // 2)
    return foresolve.sets.LaminarMatroid(n, [inner, half, range(n)], [1, 2, 3])


MATROIDS = ("uniform", "partition", "laminar")


def function(kind: str, targets: int, seed: int = 0) -> foresolve.sets.SetFunction:
    generator = torch.Generator().manual_seed(seed)
    weights = torch.rand(targets, generator=generator, dtype=torch.float64) + 0.5
    if kind == "coverage":
        return foresolve.ProbabilisticCoverage(weights)
    if kind == "facility":
        return foresolve.sets.FacilityLocation()
    return 0.5 * foresolve.ProbabilisticCoverage() + foresolve.sets.FacilityLocation()


FUNCTIONS = ("coverage", "facility", "sum")


def draw_theta(batch: tuple[int, ...], n: int, targets: int, seed: int, dtype: torch.dtype = torch.float64) -> Tensor:
    """Probabilities away from 0 and 1."""
    generator = torch.Generator().manual_seed(seed)
    return 0.02 + 0.6 * torch.rand(*batch, n, targets, generator=generator, dtype=dtype)


def smoothness(layer: foresolve.MultilinearRelaxation, problem: foresolve.SubmodularProblem, theta: Tensor) -> float:
    """The least distance to a kink, in units of `x`: slack or multiplier of each bound, whichever is larger.

    Less than a tenth of a promise: ties among the sets of a laminar family are not looked at, nor is the curvature.
    """
    solution = layer.solve(theta, problem)
    assert isinstance(layer.gamma, float)
    x, unit = solution.x.detach(), 2 * layer.gamma
    lower = torch.maximum(x, solution.lower / unit)
    upper = torch.maximum(1 - x, solution.upper / unit)
    margin = float(torch.minimum(lower, upper).min())
    if not layer.base:
        slack = problem.matroid.rank - x.sum(-1)
        margin = min(margin, float(torch.maximum(slack, solution.price.amax(-1) / unit).min()))
    return margin


def smooth_theta(
    layer: foresolve.MultilinearRelaxation,
    problem: foresolve.SubmodularProblem,
    batch: int,
    targets: int,
    least: float = 1e-3,
) -> Tensor:
    """The first draw whose decisions are that far from a kink and not at vertices."""
    for seed in range(200):
        theta = draw_theta((batch,), problem.n, targets, seed)
        free = layer.solve(theta, problem).free
        if bool((free > 0).all()) and smoothness(layer, problem, theta) > least:
            return theta
    raise AssertionError("no smooth instance among 200")
