"""What smoothed layers answer: their penalty, their smoothing, and themselves with another one."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

import foresolve
from foresolve.layers import (
    MultilinearRelaxation,
    QuadraticRelaxation,
    RegularizedFrankWolfe,
    RelativeGamma,
    SmoothedLayer,
)
from foresolve.layers.smoothing import keeping_positive
from mistakes import mistake
from submodular_instances import draw_theta

KINDS = (QuadraticRelaxation, RegularizedFrankWolfe, MultilinearRelaxation)


def case(kind: type[SmoothedLayer]) -> tuple[foresolve.Problem, Tensor]:
    if kind is MultilinearRelaxation:
        coverage = foresolve.ProbabilisticCoverage()
        return foresolve.SubmodularProblem(coverage, foresolve.UniformMatroid(5, 2)), draw_theta((3,), 5, 4, 0)
    theta = torch.rand(3, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return foresolve.TopK(6, 2), theta


@pytest.mark.parametrize("kind", KINDS)
def test_a_number_is_the_smoothing_and_a_rule_follows_the_parameters(kind: type) -> None:
    problem, theta = case(kind)
    assert kind(0.5).smoothing(theta, problem).tolist() == 0.5
    gammas = torch.tensor([0.5, 1.0, 2.0])
    assert kind(gammas).smoothing(theta, problem).tolist() == gammas.tolist()
    relative = kind(RelativeGamma(0.7)).smoothing(theta, problem)
    assert relative.shape == (3,)
    assert kind(RelativeGamma(0.7)).smoothing(theta[0], problem).tolist() == pytest.approx(float(relative[0]))
    torch.testing.assert_close(kind(relative)(theta, problem), kind(RelativeGamma(0.7))(theta, problem))


@pytest.mark.parametrize("kind", KINDS)
def test_the_same_layer_with_another_gamma(kind: type) -> None:
    problem, theta = case(kind)
    layer = kind(0.5, tol=1e-9)
    sharper = layer.with_gamma(0.2)
    assert (layer.gamma, sharper.gamma, sharper.tol) == (0.5, 0.2, 1e-9)
    assert torch.equal(sharper(theta, problem), kind(0.2, tol=1e-9)(theta, problem))
    with mistake("gamma", "got -0.1"):
        layer.with_gamma(-0.1)


def test_the_penalty_is_what_gamma_multiplies() -> None:
    x = torch.tensor([[0.5, 0.5, 1.0], [0.0, 1.0, 1.0]])
    for kind in KINDS:
        assert kind(0.5).penalty(x).tolist() == [1.5, 2.0]
    assert RegularizedFrankWolfe(0.5, lambda x: x.pow(4).sum(-1)).penalty(x).tolist() == [1.125, 2.0]


@pytest.mark.parametrize("kind", KINDS)
def test_a_smoothing_of_a_problem_it_cannot_serve_is_refused(kind: type) -> None:
    problem, theta = case(QuadraticRelaxation if kind is MultilinearRelaxation else MultilinearRelaxation)
    with mistake("problem", "SubmodularProblem"):
        kind().smoothing(theta, problem)


def test_a_gamma_that_is_a_parameter_belongs_to_the_layer_and_can_be_trained() -> None:
    gamma, problem = nn.Parameter(torch.tensor(0.5, dtype=torch.float64)), foresolve.TopK(3, 1)
    theta = torch.tensor([0.9, 0.5, 0.2], dtype=torch.float64)
    layer = QuadraticRelaxation(gamma)
    assert list(layer.parameters()) == [gamma]
    layer(theta, problem)[0].backward()
    number = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)
    QuadraticRelaxation(number)(theta, problem)[0].backward()
    assert gamma.grad is not None
    assert gamma.grad == number.grad != 0
    other = QuadraticRelaxation(nn.Parameter(torch.tensor(2.0, dtype=torch.float64)))
    other.load_state_dict(layer.state_dict())
    assert isinstance(other.gamma, nn.Parameter)
    assert other.gamma.item() == 0.5


def test_a_parameter_takes_the_place_of_a_number_and_back() -> None:
    layer, gamma = QuadraticRelaxation(1.0), nn.Parameter(torch.tensor(0.5))
    layer.gamma = gamma
    twin = layer.with_gamma(3.0)
    assert (list(layer.parameters()), list(twin.parameters()), twin.gamma) == ([gamma], [], 3.0)
    layer.gamma = 2.0
    assert (list(layer.parameters()), layer.gamma) == ([], 2.0)


def test_a_parameter_that_training_makes_negative_is_refused_where_it_is_used() -> None:
    layer = QuadraticRelaxation(nn.Parameter(torch.tensor(0.5)))
    with torch.no_grad():
        layer.gamma.sub_(1.0)  # type: ignore[union-attr]
    with mistake("gamma", "-0.5"):
        layer(torch.ones(3), foresolve.TopK(3, 1))


@pytest.mark.parametrize("exponent", [-1000, -600, -1, 3, 600, 1000])
def test_a_relative_gamma_follows_any_unit(exponent: int) -> None:
    """To the last digit for powers of two, also where squares would vanish or overflow."""
    theta = torch.rand(3, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    rule, size = RelativeGamma(0.7), torch.ones((), dtype=torch.float64)
    leaf = (theta * 2.0**exponent).requires_grad_()
    gamma = rule(leaf, size)
    assert torch.equal(gamma, rule(theta, size) * 2.0**exponent)
    (slope,) = torch.autograd.grad(gamma.sum(), leaf)
    plain = theta.clone().requires_grad_()
    torch.testing.assert_close(slope, torch.autograd.grad(rule(plain, size).sum(), plain)[0], rtol=1e-14, atol=0)
    assert torch.equal(rule(torch.zeros(2, 3), torch.ones(())), torch.full((2,), 0.7))


@pytest.mark.parametrize(
    "layer", [foresolve.QuadraticRelaxation, foresolve.MultilinearRelaxation, RegularizedFrankWolfe]
)
def test_a_learned_gamma_is_registered_saved_and_replaced(layer) -> None:
    learned = layer(nn.Parameter(torch.tensor(0.5)))
    assert learned.learned
    assert [name for name, _ in learned.named_parameters()] == ["_gamma"] == list(learned.state_dict())
    other = layer(nn.Parameter(torch.tensor(0.1)))
    other.load_state_dict(learned.state_dict())
    assert [gamma.item() for gamma in other.parameters()] == [0.5]
    later = layer(0.3)
    later.gamma = nn.Parameter(torch.tensor(0.2))
    assert [gamma.item() for gamma in later.parameters()] == [pytest.approx(0.2)]
    later.gamma = torch.tensor(0.4)
    assert list(later.parameters()) == []
    assert list(later.state_dict()) == []
    assert later.double().gamma.dtype == torch.float64
    later.gamma = 0.3
    assert later.gamma == 0.3
    assert not later.learned
    assert list(later.buffers()) == []
    assert list(learned.with_gamma(torch.tensor(0.1)).parameters()) == []
    assert learned.learned  # the twin has lists of its own


def test_the_gradient_of_a_learned_gamma_agrees_with_differences() -> None:
    problem, theta = foresolve.TopK(4, 2), torch.tensor([[0.9, 0.7, 0.3, 0.1]], dtype=torch.float64)
    weights = torch.tensor([1.0, -2.0, 0.5, 3.0], dtype=torch.float64)

    def value(gamma: float) -> torch.Tensor:
        return (foresolve.QuadraticRelaxation(gamma)(theta, problem) * weights).sum()

    layer = foresolve.QuadraticRelaxation(nn.Parameter(torch.tensor(0.8, dtype=torch.float64)))
    (layer(theta, problem) * weights).sum().backward()
    gradient = layer.get_parameter("_gamma").grad
    assert gradient is not None
    assert float(gradient) == pytest.approx(float(value(0.8 + 1e-5) - value(0.8 - 1e-5)) / 2e-5, rel=1e-6)
    assert abs(float(gradient)) > 0.1


def test_no_step_takes_more_than_half_of_a_learned_gamma() -> None:
    layer = foresolve.QuadraticRelaxation(nn.Parameter(torch.tensor([0.8, 0.8])))
    with keeping_positive([layer]), torch.no_grad():
        layer.get_parameter("_gamma").copy_(torch.tensor([-5.0, 0.7]))
    assert layer.get_parameter("_gamma").tolist() == pytest.approx([0.4, 0.7])
