from __future__ import annotations

import pytest
import torch

from foresolve.sets import LaminarMatroid, ProbabilisticCoverage
from foresolve.sets.ascent import maximize
from foresolve.sets.smoothed import SmoothedProgram


@pytest.mark.parametrize("base", [True, False])
def test_the_objective_its_slope_and_its_stationary_points(base: bool) -> None:
    generator = torch.Generator().manual_seed(0)
    theta = 0.5 * torch.rand(3, 5, 4, generator=generator, dtype=torch.float64)
    gamma = torch.tensor([0.5, 1.0, 2.0], dtype=torch.float64)
    program = SmoothedProgram(
        ProbabilisticCoverage(), LaminarMatroid(5, [[0, 1], range(5)], [1, 2]), theta, gamma, base
    )
    x = program.project(torch.rand(3, 5, generator=generator, dtype=torch.float64)).x.requires_grad_()
    value = program.function.multilinear(x, theta)
    height = program.height(x, value)
    assert torch.equal(height, value - gamma * x.square().sum(-1))
    (slope,) = torch.autograd.grad(height.sum(), x)
    torch.testing.assert_close(program.slope(x, program.local(x.detach()).gradient), slope)
    optimum = maximize(program, x.detach(), tol=1e-10)
    torch.testing.assert_close(program.fixed_point(program.local(optimum.x).gradient).x, optimum.x, rtol=0, atol=1e-8)
    if base:
        torch.testing.assert_close(optimum.x.sum(-1), torch.full((3,), 2.0, dtype=torch.float64))


def test_items_at_zero_that_may_rise_count_as_free() -> None:
    y = torch.tensor([[0.5, 0.0, 0.0, 0.0], [1.0, 0.0, 0.0, 0.3]], dtype=torch.float64)
    matroid = LaminarMatroid(4, [[0, 1]], [1])
    theta, gamma = torch.zeros(2, 4, 1, dtype=torch.float64), torch.ones(2, dtype=torch.float64)
    inside, bases = (SmoothedProgram(ProbabilisticCoverage(), matroid, theta, gamma, base) for base in (False, True))
    # In the second instance the first two items share a set that is full.
    assert inside.project(y).free.tolist() == [[True, True, True, True], [False, False, True, True]]
    assert torch.equal(bases.project(y).free, matroid.project(y).free)
    assert inside.project(y - 1e-300).free.tolist() == [[True, False, False, False], [False, False, False, True]]
