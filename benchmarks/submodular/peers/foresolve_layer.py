from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import Tensor

from benchmarks.submodular.peers.autograd import as_pair
from foresolve import MultilinearRelaxation, ProbabilisticCoverage, SubmodularProblem, UniformMatroid


def build(k: int, gamma: float, tol: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    relaxation = MultilinearRelaxation(gamma=gamma, tol=tol)
    problems: dict[int, SubmodularProblem] = {}

    def layer(theta: Tensor) -> Tensor:
        n = theta.shape[1]
        if n not in problems:
            problems[n] = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(n, k))
        return relaxation(theta, problems[n])

    return as_pair(layer)
