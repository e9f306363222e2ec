from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import torch


def build(k: int, gamma: float, tol: float) -> tuple[Callable[..., Any], Callable[..., Any]]:
    try:
        from foresolve.layers.multilinear import MultilinearRelaxation
        from foresolve.problems.submodular import SubmodularProblem
        from foresolve.sets.functions.coverage import ProbabilisticCoverage
        from foresolve.sets.matroids.laminar import UniformMatroid
    except ImportError as error:
        raise RuntimeError(f"foresolve has no {error.name} here (yet?): {error}") from error
    layer = MultilinearRelaxation(gamma=gamma, tol=tol)
    problems: dict[int, SubmodularProblem] = {}

    def forward(theta: np.ndarray) -> tuple[np.ndarray, Any]:
        n = theta.shape[1]
        if n not in problems:
            problems[n] = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(n, k))
        leaf = torch.from_numpy(theta).requires_grad_()
        x = layer(leaf, problems[n])
        return x.detach().numpy(), (leaf, x)

    def backward(kept: Any, v: np.ndarray) -> np.ndarray:
        leaf, x = kept
        (gradient,) = torch.autograd.grad(x, leaf, torch.from_numpy(v))
        return gradient.numpy()

    return forward, backward
