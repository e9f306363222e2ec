"""What programs with a quadratic part decide instance by instance, and where their parameters may lie."""

from __future__ import annotations

import torch

import foresolve
from foresolve.data import portfolio_data
from foresolve.layers import PerturbedAdditive, RelativeGamma
from foresolve.losses import LODL, ScoreFunction
from foresolve.problems import Affine
from mistakes import mistake

THETA = torch.tensor([[1.0, 2.0], [1.0, 2.0], [2.0, 1.0]], dtype=torch.float64)


def mixed() -> foresolve.QuadraticProgram:
    """Definite, semidefinite, definite."""
    forms = torch.stack([torch.eye(2), torch.ones(2, 2), 2 * torch.eye(2)]).double()
    return foresolve.QuadraticProgram(forms, A_ub=[[1.0, 1.0]], b_ub=[9.0])


class TestMixedBatches:
    def test_which_instances_are_definite(self) -> None:
        assert mixed().definite_instances.tolist() == [True, False, True]
        assert not mixed().definite
        assert mixed().select(torch.tensor([0, 2])).definite
        assert not foresolve.LinearProgram(A_ub=[[1.0]], b_ub=[1.0]).definite

    def test_the_default_gamma_is_each_instance_s_own(self) -> None:
        problem, layer = mixed(), foresolve.QuadraticRelaxation()
        gamma = layer.smoothing(THETA, problem)
        alone = RelativeGamma()(THETA[1:2], torch.tensor(9.0 / 2**0.5, dtype=torch.float64))
        torch.testing.assert_close(
            gamma, torch.stack([torch.tensor(0.0).double(), alone[0], torch.tensor(0.0).double()])
        )
        together = layer(THETA, problem)
        for i in range(3):
            one = problem.select(torch.tensor(i))
            torch.testing.assert_close(together[i], layer(THETA[i], one), atol=1e-12, rtol=0)

    def test_no_smoothing_is_refused_where_one_instance_needs_it(self) -> None:
        problem = mixed()
        with mistake("gamma", "got 0"):
            foresolve.QuadraticRelaxation(gamma=0.0)(THETA, problem)
        gamma = torch.tensor([0.0, 0.1, 0.0], dtype=torch.float64)
        x = foresolve.QuadraticRelaxation(gamma)(THETA, problem)
        torch.testing.assert_close(x[[0, 2]], torch.tensor([[1.0, 2.0], [1.0, 0.5]]).double())

    def test_some_lean_on_the_equality_rows(self) -> None:
        forms = torch.stack([torch.eye(2), torch.ones(2, 2), torch.diag(torch.tensor([1.0, 0.0]))]).double()
        problem = foresolve.QuadraticProgram(forms, A_eq=[[1.0, 1.0]], b_eq=[1.0])
        assert problem.definite_instances.tolist() == [True, False, True]
        x = foresolve.QuadraticRelaxation()(THETA, problem)
        assert torch.allclose(x.sum(-1), torch.ones(3).double())
        torch.testing.assert_close(x[2], problem.solve(THETA)[2])


class TestClampedDraws:
    def test_boxes_of_parameters(self) -> None:
        known = torch.tensor([[1.0, 3.0, 0.0], [2.0, 5.0, 0.0]])
        part = Affine([[2.0, 0.0], [0.0, -1.0], [1.0, 1.0]], known=known)
        lower, upper = part.non_negative_box()
        assert lower.tolist() == [[-0.5, -torch.inf], [-1.0, -torch.inf]]
        assert upper.tolist() == [[torch.inf, 3.0], [torch.inf, 5.0]]

    def test_the_nearest_bound_counts(self) -> None:
        lower, upper = Affine([[1.0], [1.0], [-1.0], [-2.0]], known=[1.0, -2.0, 3.0, 4.0]).non_negative_box()
        assert (lower.tolist(), upper.tolist()) == ([2.0], [2.0])

    def test_what_is_drawn_around_predicted_variances_stays_non_negative(self) -> None:
        data = portfolio_data(20, assets=4, factors=1, predict="both").solve()
        batch, theta = data[:], data.theta.clone().requires_grad_()
        spread = float(data.theta.abs().max())
        local = LODL(samples=4)
        local.prepare(data)
        for loss in (
            foresolve.DecisionLoss(PerturbedAdditive(3, sigma=spread)), ScoreFunction(sigma=spread, samples=3), local,
        ):  # fmt: skip
            (gradient,) = torch.autograd.grad(loss(theta, batch).sum(), theta)
            assert bool(torch.isfinite(gradient).all())
        draws = data.problem.clamp_theta(data.theta - 2 * spread)
        assert float(draws[:, 4:8].min()) == 0.0
        assert float(draws[:, :4].max()) < 0.0
