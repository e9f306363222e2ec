"""Averaged steps with fresh samples find what exact derivatives find, the better the more samples there are."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve.sets import ProbabilisticCoverage, SetFunction, UniformMatroid
from foresolve.sets.ascent import Optimum, maximize
from foresolve.sets.smoothed import SmoothedProgram
from foresolve.sets.stochastic import maximize_sampled
from submodular_instances import draw_theta

MATROID = UniformMatroid(6, 2)
GAMMA = torch.full((3,), 1.0, dtype=torch.float64)
START = torch.full((3, 6), 1 / 3, dtype=torch.float64)


class Sampled(SetFunction):
    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (1 - (1 - mask[..., None] * theta).prod(-2)).sum(-1)


def program(function: SetFunction) -> SmoothedProgram:
    return SmoothedProgram(function, MATROID, draw_theta((3,), 6, 5, 0), GAMMA)


def solve(samples: int, max_iter: int, seed: int = 0) -> Optimum:
    function = Sampled(samples=samples, seed=seed)
    return maximize_sampled(program(function), START, max_iter=max_iter)


def exact() -> Tensor:
    return maximize(program(ProbabilisticCoverage()), START).x


def test_it_comes_near_the_exact_maximizer_and_nearer_with_more_samples() -> None:
    few, many = solve(8, 40), solve(256, 200)
    assert float((many.x - exact()).abs().max()) < 0.01
    assert float((few.x - exact()).norm()) > 2 * float((many.x - exact()).norm())
    assert float(many.residual.max()) < float(few.residual.max())


def test_the_point_is_a_base_and_all_steps_are_taken() -> None:
    optimum = solve(16, 30)
    torch.testing.assert_close(optimum.x.sum(-1), torch.full((3,), 2.0, dtype=torch.float64))
    assert bool(((optimum.x >= 0) & (optimum.x <= 1)).all())
    assert optimum.iterations.tolist() == [30] * 3


def test_the_seed_decides() -> None:
    assert torch.equal(solve(16, 20).x, solve(16, 20).x)
    assert not torch.equal(solve(16, 20).x, solve(16, 20, seed=500).x)
