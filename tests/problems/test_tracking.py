"""Plans that follow a target."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import torch

import foresolve
from foresolve.problems import Tracking
from mistakes import mistake
from problems.test_quadratic import QuadraticConformance
from quadratic_programs import check_named, tensor


class TestConformance(QuadraticConformance):
    """With and without outputs, weights and effort."""

    instances = 4

    def make(self, seed: int) -> Tracking:
        rng = np.random.default_rng(seed)
        rows, sides = rng.standard_normal((2, 4)), [1.0, 1.0]
        if seed % 2:
            outputs = rng.standard_normal((3, 4))
            effort = 0.1 if seed % 3 else 0.0
            return Tracking(rows, sides, outputs=outputs, weights=[1.0, 2.0, 0.5], effort=effort, bounds=(-2, 2))
        return Tracking(rows, sides, weights=[1.0, 2.0, 0.5, 1.0], effort=[0.0, 1.0, 0.0, 0.5], bounds=(-2, 2))


@pytest.mark.parametrize("outputs", [None, [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]])
def test_the_objective_is_minus_the_weighted_miss(outputs: Any) -> None:
    p = 3 if outputs is None else 2
    weights, effort = np.arange(1.0, p + 1), np.array([0.5, 0.0, 0.25])
    problem = Tracking(outputs=outputs, weights=weights, effort=effort, n=3)
    generator = torch.Generator().manual_seed(0)
    x = torch.randn(5, 3, generator=generator, dtype=torch.float64)
    theta = torch.randn(5, p, generator=generator, dtype=torch.float64).requires_grad_()
    followed = x if outputs is None else x @ tensor(outputs).T
    miss = (tensor(weights) * (followed - theta).square()).sum(-1) / 2
    expected = -miss - (tensor(effort) * x.square()).sum(-1) / 2
    torch.testing.assert_close(problem.objective(x, theta), expected)
    torch.testing.assert_close(problem.follow(x), followed)
    slopes = [torch.autograd.grad(value.sum(), theta)[0] for value in (problem.objective(x, theta), expected)]
    torch.testing.assert_close(*slopes)


def test_what_can_be_followed_is() -> None:
    problem = Tracking(n=3, bounds=(0, 2))
    theta = tensor([[0.5, 1.0, 1.5], [-1.0, 3.0, 1.0]])
    torch.testing.assert_close(problem.solve(theta), theta.clamp(0, 2))
    torch.testing.assert_close(foresolve.QuadraticRelaxation()(theta, problem), theta.clamp(0, 2))
    torch.testing.assert_close(problem.objective(theta[0], theta[0]), tensor(0.0))


def test_regret_is_that_of_the_miss() -> None:
    problem = Tracking(A_eq=[[1.0, 1.0]], b_eq=[1.0])
    theta = tensor([[1.0, 1.0]])
    best = problem.objective(problem.solve(theta), theta)
    assert best.item() == pytest.approx(-0.25)


@pytest.mark.parametrize("outputs", [None, [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]])
def test_copies_follow_alike(outputs: Any) -> None:
    """Files, devices and instances with limits of their own."""
    limits = tensor([[1.0], [0.5], [0.25]])
    problem = Tracking(
        [[1.0, 1.0, 1.0]], limits, outputs=outputs, weights=2.0, effort=[0.1, 0.2, 0.3], names=["x", "y", "z"],
        theta_names=None if outputs is None else ["first", "second"],
    )  # fmt: skip
    p = 3 if outputs is None else 2
    theta = 1 + torch.rand(3, p, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = problem.solve(theta)
    assert x.sum(-1).tolist() == pytest.approx([1.0, 0.5, 0.25])
    assert problem.theta_names == (("x", "y", "z") if outputs is None else ("first", "second"))
    twin = Tracking.from_config(Tracking.from_config(problem.config()).config())
    assert (twin.names, twin.theta_names, repr(twin)) == (problem.names, problem.theta_names, repr(problem))
    torch.testing.assert_close(twin.solve(theta), x, atol=1e-9, rtol=0)
    torch.testing.assert_close(twin.objective(x, theta), problem.objective(x, theta))
    torch.testing.assert_close(twin.follow(x), problem.follow(x))
    assert problem.to("cpu") is problem
    order = torch.tensor([2, 0])
    part = problem.select(order)
    torch.testing.assert_close(part.solve(theta[order]), x[order], atol=1e-9, rtol=0)
    torch.testing.assert_close(part.objective(x[order], theta[order]), problem.objective(x, theta)[order])


@pytest.mark.parametrize("outputs", [None, [[1.0, 0.0, 1.0], [0.0, 1.0, 1.0]]])
def test_gradients_reach_the_target(outputs: Any) -> None:
    problem = Tracking([[1.0, 1.0, 1.0]], [1.0], outputs=outputs, weights=2.0, effort=[0.1, 0.2, 0.3], bounds=(-5, 5))
    theta = tensor([[1.0, 2.0, 0.5], [0.1, 0.2, 0.1]])[:, : 3 if outputs is None else 2].clone().requires_grad_()
    layer = foresolve.QuadraticRelaxation(0.0)
    x = layer(theta, problem)
    assert [bool(total > 1 - 1e-9) for total in x.sum(-1)] == [True, False]  # one at the limit, one that is not
    torch.testing.assert_close(x.detach(), problem.solve(theta), atol=1e-8, rtol=0)
    assert torch.autograd.gradcheck(lambda t: layer(t, problem), [theta], eps=1e-6, atol=1e-6)


def test_losses_that_need_linear_objectives_say_so_and_others_work() -> None:
    problem = Tracking(A_eq=[[1.0, 1.0]], b_eq=[1.0])
    with mistake("problem", "Tracking", "SPOPlus"):
        foresolve.losses.SPOPlus().check_problem(problem)
    data = foresolve.data.DecisionDataset(torch.eye(2), torch.tensor([[1.0, 0.0], [0.25, 0.5]]), problem)
    layer = foresolve.QuadraticRelaxation()
    for loss in (foresolve.losses.DecisionLoss(layer), foresolve.losses.FenchelYoung(layer),
                 foresolve.losses.LODL(samples=40), foresolve.losses.ScoreFunction(samples=20)):  # fmt: skip
        batch = loss.prepare(data)[:]
        assert float(loss(batch.theta, batch).sum()) <= float(loss(batch.theta.flip(0), batch).sum())


MISTAKES: dict[str, tuple[Callable[[], Any], tuple[str, ...]]] = {
    "outputs of other variables": (lambda: Tracking([[1.0, 1.0]], [1.0], outputs=[[1.0] * 3]), ("2", "3")),
    "outputs as a vector": (lambda: Tracking(outputs=[1.0, 2.0]), ("`outputs`", "(2,)")),
    "weights of another length": (lambda: Tracking(n=2, weights=[1.0]), ("`weights`", "(2,)", "(1,)")),
    "a weight of zero": (lambda: Tracking(n=2, weights=[1.0, 0.0]), ("`weights`", "> 0")),
    "a negative effort": (lambda: Tracking(n=2, outputs=np.eye(2), effort=-1.0), ("`effort`", ">= 0")),
    "a negative effort beside weights": (lambda: Tracking(n=2, effort=-0.5), ("`effort`", ">= 0")),
    "NaN": (lambda: Tracking(n=2, outputs=[[float("nan"), 1.0]]), ("finite", "nan")),
    "nothing": (lambda: Tracking(), ("n",)),
}


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str) -> None:
    check_named(*MISTAKES[name])
