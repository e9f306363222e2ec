"""The same numbers on a GPU as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import torch

import foresolve
from instances import draw

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.filterwarnings("ignore::foresolve.NoGradientWarning"),
]


def problems() -> list[foresolve.LinearProgram]:
    general, tall = draw(0, n=30, m_eq=4, m_ub=10), draw(1, n=8, m_eq=1, m_ub=40, dependent=True, fixed=True, free=True)
    return [
        general.problem(),
        tall.problem(),
        foresolve.BipartiteMatching(12, 9),
        foresolve.BipartiteMatching(50, 50),
        foresolve.BipartiteMatching(66, 65),  # too large for the fused kernel
        foresolve.problems.Assignment(7, 9),
        foresolve.problems.Assignment(64, 40),
        foresolve.ShortestPath.grid(12, 12),
        foresolve.Knapsack(np.arange(1.0, 21.0), 50.0),
        foresolve.TopK(40, 7),
    ]


@pytest.mark.parametrize("problem", problems(), ids=lambda p: repr(p).split("(")[0])
@pytest.mark.parametrize("gamma", [0.01, 0.3])
def test_cpu_and_gpu_agree(problem: foresolve.LinearProgram, gamma: float) -> None:
    generator = torch.Generator().manual_seed(0)
    theta, v = (torch.randn(20, problem.n, generator=generator, dtype=torch.float64) for _ in range(2))
    results = []
    for device in ("cpu", "cuda"):
        layer, leaf = foresolve.QuadraticRelaxation(gamma), theta.to(device).requires_grad_()
        solution = layer.solve(leaf, problem.to(device))
        assert bool(solution.converged.all())
        assert solution.x.device == leaf.device
        (gradient,) = torch.autograd.grad((solution.x * v.to(device)).sum(), leaf)
        results.append((solution.x.detach().cpu(), gradient.cpu()))
    torch.testing.assert_close(results[0][0], results[1][0], atol=1e-9, rtol=0)
    torch.testing.assert_close(results[0][1], results[1][1], atol=1e-6 / gamma, rtol=0)


def test_theta_on_another_device_is_refused() -> None:
    with pytest.raises(foresolve.InvalidInputError, match=r"`theta` must be on the problem's device \(cpu\); got cuda"):
        foresolve.QuadraticRelaxation(1.0)(torch.zeros(2, 4, device="cuda"), foresolve.TopK(4, 2))
