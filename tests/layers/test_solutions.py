"""What solutions promise: multipliers that certify the decision, and a status that is true."""

from __future__ import annotations

import pytest
import torch

import foresolve
from foresolve.errors import ConvergenceWarning
from foresolve.layers import MultilinearRelaxation, QuadraticRelaxation, RegularizedFrankWolfe
from instances import draw
from submodular_instances import draw_theta


@pytest.mark.parametrize("seed", range(4))
def test_duals_of_a_linear_program_satisfy_their_equation(seed: int) -> None:
    instance = draw(seed, n=9, m_eq=2, m_ub=5)
    problem, theta = instance.problem(), torch.from_numpy(instance.theta)
    solution = QuadraticRelaxation(instance.gamma).solve(theta, problem)
    duals, x = solution.duals, solution.x
    rows = duals.eq @ torch.from_numpy(instance.A_eq) + duals.ub @ torch.from_numpy(instance.A_ub)
    torch.testing.assert_close(theta - 2 * instance.gamma * x, rows - duals.lower + duals.upper, atol=1e-7, rtol=0)
    assert min(float(part.min()) for part in (duals.ub, duals.lower, duals.upper)) >= -1e-9
    slack = torch.from_numpy(instance.b_ub) - x @ torch.from_numpy(instance.A_ub).T
    assert float((slack * duals.ub).abs().max()) < 1e-7
    assert bool(solution.converged.all())


def test_multipliers_of_a_submodular_problem_satisfy_theirs() -> None:
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(7, 2))
    theta = draw_theta((4,), 7, 5, 0)
    solution = MultilinearRelaxation(0.7).solve(theta, problem)
    slope = problem.function.gradient(solution.x.detach(), theta) - 1.4 * solution.x
    torch.testing.assert_close(slope, solution.price - solution.lower + solution.upper, atol=1e-6, rtol=0)
    assert min(float(solution.lower.min()), float(solution.upper.min())) >= 0
    assert float((solution.lower * solution.x).abs().max()) < 1e-7
    assert float((solution.upper * (1 - solution.x)).abs().max()) < 1e-7
    torch.testing.assert_close(solution.value, problem.function.multilinear(solution.x, theta))


def test_a_combination_has_the_decision_as_its_mean() -> None:
    theta = torch.rand(3, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    combination = RegularizedFrankWolfe(0.5).solve(theta, foresolve.TopK(6, 2))
    mean = (combination.weights[..., None] * combination.vertices).sum(-2)
    torch.testing.assert_close(mean, combination.x)
    torch.testing.assert_close(combination.weights.sum(-1), torch.ones(3, dtype=torch.float64))
    assert bool(torch.isin(combination.vertices[combination.weights > 0], torch.tensor([0.0, 1.0])).all())


def test_what_did_not_converge_does_not_say_so() -> None:
    instance = draw(0, n=12, m_eq=3, m_ub=10, gamma=1e-3)
    layer = QuadraticRelaxation(instance.gamma, max_iter=1)
    with pytest.warns(ConvergenceWarning):
        solution = layer.solve(torch.from_numpy(instance.theta), instance.problem())
    assert not bool(solution.converged.all())
