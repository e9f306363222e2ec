from __future__ import annotations

import io
import math

import pytest
import torch

import foresolve
from foresolve.data import Batch
from foresolve.losses import ScoreFunction
from foresolve.problems import OracleProblem
from losses.conformance import Case, LossConformance, instance
from losses.test_spo import coverage, heuristic
from mistakes import mistake


class TestScoreFunction(LossConformance):
    smooth = False  # the value is an estimate, the gradient another
    separable = False
    goal = 0.3

    def loss(self) -> ScoreFunction:
        return ScoreFunction(sigma=0.3, samples=20, bounds=(0.0, 1.0))

    def cases(self) -> list[Case]:
        capacities = torch.tensor([[4.0], [5.0], [7.0], [9.0]])
        return [
            instance(foresolve.ShortestPath.grid(3, 3), 12, positive=True),
            instance(foresolve.Knapsack([2, 3, 4, 5], capacities), 4, seed=2, positive=True),
            coverage(),
        ]


def two_items(gap: float, size: int = 1) -> Case:
    """Choose the larger of two; the truth prefers the second by 2, the prediction the first by `gap`."""
    theta = torch.tensor([[1.0, 3.0]], dtype=torch.float64).expand(size, -1)
    theta_hat = torch.tensor([[gap, 0.0]], dtype=torch.float64).repeat(size, 1)
    return theta_hat, Batch(None, theta, foresolve.TopK(2, 1))


@pytest.mark.parametrize("samples", [1, 2, 7])
def test_value_and_gradient_are_without_bias(samples: int) -> None:
    r"""E r = 2 Phi(gap / (sqrt(2) sigma)), with derivative +-2 phi(.) / (sqrt(2) sigma) in the two predictions.

    The mean of 20,000 independent estimates lies within 5 standard errors but for 6e-7 of seeds (and they are fixed).
    """
    gap, sigma, many = 0.4, 0.5, 20_000
    theta_hat, batch = two_items(gap, many)
    leaf = theta_hat.requires_grad_()
    value = ScoreFunction(sigma, samples, seed=samples)(leaf, batch)
    value.sum().backward()
    assert leaf.grad is not None
    z = gap / (math.sqrt(2) * sigma)
    expected = 2 * 0.5 * (1 + math.erf(z / math.sqrt(2)))
    slope = 2 * math.exp(-z * z / 2) / math.sqrt(2 * math.pi) / (math.sqrt(2) * sigma)
    for estimate, exact in ((value.detach(), expected), (leaf.grad[:, 0], slope), (leaf.grad[:, 1], -slope)):
        error = float(estimate.std() / many**0.5)
        assert abs(float(estimate.mean()) - exact) <= 5 * error


def test_the_baseline_lowers_the_variance() -> None:
    theta_hat, batch = two_items(0.4, 2000)

    def spread(samples: int) -> float:
        leaf = theta_hat.clone().requires_grad_()
        ScoreFunction(0.5, samples)(leaf, batch).sum().backward()
        assert leaf.grad is not None
        return float(leaf.grad[:, 0].var())

    assert spread(10) < spread(1) / 15  # more than the tenth that averaging gives


def test_draws_stay_in_the_domain() -> None:
    seen = []
    problem = OracleProblem(lambda theta: seen.append(theta) or heuristic(theta), n=3)
    theta_hat, batch = instance(problem, 3, positive=True)
    ScoreFunction(2.0, 5, bounds=(0.0, 1.0))(theta_hat, batch)
    drawn = torch.tensor([row.tolist() for row in seen])
    assert float(drawn.min()) == 0.0
    assert float(drawn.max()) == 1.0


def test_one_call_of_the_oracle(monkeypatch: pytest.MonkeyPatch) -> None:
    theta_hat, batch = two_items(0.4, 3)
    best = batch.best()
    calls, solve = [], batch.problem.solve
    monkeypatch.setattr(batch.problem, "solve", lambda theta: calls.append(theta.shape) or solve(theta))
    ScoreFunction(samples=6)(theta_hat, Batch(None, batch.theta, batch.problem, *best))
    assert calls == [(6, 3, 2)]


def test_an_objective_without_derivatives() -> None:
    def grade(x: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return torch.from_numpy((x.numpy() * theta.numpy()).sum(-1).round(1))

    theta_hat, batch = instance(OracleProblem(heuristic, grade, n=4, exact=False), 4)
    leaf = theta_hat.clone().requires_grad_()
    ScoreFunction(1.0, 20)(leaf, batch).sum().backward()
    assert leaf.grad is not None
    assert float(leaf.grad.abs().sum()) > 0


def test_it_goes_on_from_where_it_was() -> None:
    theta_hat, batch = two_items(0.4, 3)
    saved, restored = ScoreFunction(seed=1), ScoreFunction(seed=2)
    saved(theta_hat, batch)
    file = io.BytesIO()
    torch.save(saved.state_dict(), file)
    file.seek(0)
    restored.load_state_dict(torch.load(file, weights_only=True))
    assert torch.equal(saved(theta_hat, batch), restored(theta_hat, batch))


def test_bad_input() -> None:
    with mistake("sigma", "got 0"):
        ScoreFunction(sigma=0)
    with mistake("samples", "got 0"):
        ScoreFunction(samples=0)
    with mistake("bounds", "(low, high)", "(1, 0)"):
        ScoreFunction(bounds=(1, 0))
    with mistake("bounds", "(low, high)", "None", "got 3"):
        ScoreFunction(bounds=3)  # type: ignore[arg-type]


def test_a_generator_may_be_given() -> None:
    problem, theta = foresolve.TopK(4, 2), torch.rand(3, 4, generator=torch.Generator().manual_seed(0))
    batch = Batch(None, theta, problem)
    source = torch.Generator().manual_seed(7)
    drawn, seeded = ScoreFunction(seed=source), ScoreFunction(seed=7)
    for _ in range(2):
        assert torch.equal(drawn(theta + 1, batch), seeded(theta + 1, batch))
    assert drawn.generator is source
