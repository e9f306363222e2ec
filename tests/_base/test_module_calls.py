"""Layers and losses under `torch.func`: against autograd without it, to second order, over any dimension."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor, func, nn
from torch.autograd import forward_ad, functional

import foresolve
from foresolve.layers import BlackboxInterpolation, RegularizedFrankWolfe
from foresolve.losses import SPOPlus
from mistakes import mistake

PROBLEM = foresolve.TopK(5, 2)
jacobian: Any = functional.jacobian  # torch types them for tuples
hessian: Any = functional.hessian
vjp: Any = func.vjp


def draw(*shape: int, seed: int = 0) -> Tensor:
    return torch.rand(shape, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)


THETA, WEIGHTS = draw(3, 5), draw(3, 5, seed=1)


def limited() -> foresolve.LinearProgram:
    rows, sides = torch.ones(3, 1, 5), torch.tensor([[1.0], [2.0], [3.0]])
    return foresolve.LinearProgram(A_ub=rows, b_ub=sides, bounds=(0, 1))


def squares(theta: Tensor) -> Tensor:
    return (foresolve.QuadraticRelaxation()(theta, PROBLEM) ** 2).sum()  # gamma follows theta, so it is curved


def close(actual: Tensor, expected: Tensor) -> None:
    torch.testing.assert_close(actual, expected, atol=1e-9, rtol=1e-9)


def test_every_way_to_a_jacobian() -> None:
    layer = foresolve.QuadraticRelaxation(0.5)

    def decide(theta: Tensor) -> Tensor:
        return layer(theta, PROBLEM)

    expected = jacobian(decide, THETA)
    assert float(expected.abs().max()) > 0
    close(func.jacrev(decide)(THETA), expected)
    close(func.jacfwd(decide)(THETA), expected)
    close(jacobian(decide, THETA, vectorize=True), expected)
    with forward_ad.dual_level():
        change = forward_ad.unpack_dual(decide(forward_ad.make_dual(THETA, WEIGHTS))).tangent
    assert change is not None
    close(change, (expected * WEIGHTS).sum((-1, -2)))
    with mistake("", "torch.func.jacfwd", kind=foresolve.ForesolveError):
        jacobian(decide, THETA, vectorize=True, strategy="forward-mode")


@pytest.mark.parametrize(
    "second",
    [func.hessian, lambda f: func.jacrev(func.jacrev(f)), lambda f: func.jacrev(func.jacfwd(f))],
    ids=["jacfwd-jacrev", "jacrev-jacrev", "jacrev-jacfwd"],
)
def test_second_derivatives(second: Callable[..., Callable[[Tensor], Tensor]]) -> None:
    expected = hessian(squares, THETA)
    assert float(expected.abs().max()) > 0
    close(second(squares)(THETA), expected)


def test_second_derivatives_of_each_instance() -> None:
    expected = hessian(squares, THETA)
    close(func.vmap(func.hessian(squares))(THETA), torch.stack([expected[i, :, i] for i in range(3)]))


def test_an_order_that_there_is_not_is_refused_rather_than_zero() -> None:
    layer = RegularizedFrankWolfe(0.5)
    with mistake("", "RegularizedFrankWolfe", "jvp", kind=foresolve.ForesolveError):
        func.jacfwd(lambda theta: layer(theta, PROBLEM))(THETA)
    with mistake("", "RegularizedFrankWolfe", "jacrev", kind=foresolve.ForesolveError):
        func.jacrev(func.grad(lambda theta: (layer(theta, PROBLEM) ** 2).sum()))(THETA)


def test_vmap_over_any_dimension_and_over_several() -> None:
    layer = foresolve.QuadraticRelaxation(0.5)
    stack = torch.stack([THETA, THETA + 0.1])
    expected = layer(stack, PROBLEM)
    close(func.vmap(func.vmap(lambda t: layer(t, PROBLEM)))(stack), expected)
    close(func.vmap(lambda t: layer(t, PROBLEM), in_dims=2, out_dims=2)(stack.movedim(0, 2)), expected.movedim(0, 2))


def test_gradients_of_each_instance_are_rows_of_one_backward() -> None:
    layer, leaf = foresolve.QuadraticRelaxation(0.5), THETA.clone().requires_grad_()
    (expected,) = torch.autograd.grad((layer(leaf, PROBLEM) * WEIGHTS).sum(), leaf)
    close(func.vmap(func.grad(lambda t, w: (layer(t, PROBLEM) * w).sum()))(THETA, WEIGHTS), expected)
    (func.vmap(lambda t: layer(t, PROBLEM))(leaf) * WEIGHTS).sum().backward()  # autograd around vmap
    assert leaf.grad is not None
    close(leaf.grad, expected)


def test_a_problem_with_sets_of_its_own_and_one_theta_for_all() -> None:
    layer, problem = foresolve.QuadraticRelaxation(0.5), limited()

    def decide(theta: Tensor) -> Tensor:
        return layer(theta, problem)

    close(func.vmap(decide)(THETA)[1], decide(THETA[1]))
    close(func.jacrev(decide)(THETA[1]), jacobian(decide, THETA[1]))
    close(func.jacfwd(decide)(THETA[1]), jacobian(decide, THETA[1]))


def test_a_learned_gamma_is_a_parameter_of_functional_call() -> None:
    layer = foresolve.QuadraticRelaxation(nn.Parameter(torch.tensor(0.5, dtype=torch.float64)))
    (layer(THETA, PROBLEM) * WEIGHTS).sum().backward()
    expected = layer.get_parameter("_gamma").grad
    assert expected is not None
    assert float(expected.abs()) > 0.01
    state = {"_gamma": torch.tensor(0.5, dtype=torch.float64)}

    def value(state: dict[str, Tensor], theta: Tensor, weights: Tensor) -> Tensor:
        return (func.functional_call(layer, state, (theta, PROBLEM)) * weights).sum()

    close(func.grad(value)(state, THETA, WEIGHTS)["_gamma"], expected)
    each = func.vmap(func.grad(value), in_dims=(None, 0, 0))(state, THETA, WEIGHTS)["_gamma"]
    assert each.shape == (3,)
    close(each.sum(), expected)


def test_a_gamma_that_a_transform_made() -> None:
    plain = foresolve.QuadraticRelaxation(0.5)
    leaf = torch.tensor(0.5, dtype=torch.float64, requires_grad=True)

    def value(gamma: Tensor) -> Tensor:
        return (plain.with_gamma(gamma)(THETA, PROBLEM) * WEIGHTS).sum()

    close(func.grad(value)(leaf.detach()), torch.autograd.grad(value(leaf), leaf)[0])
    several = torch.tensor([0.5, 0.7], dtype=torch.float64)
    values = func.vmap(value)(several)
    close(values[1], value(several[1]))


def test_gradients_for_many_gammas_at_once() -> None:
    plain, gammas = foresolve.QuadraticRelaxation(1.0), torch.tensor([0.3, 0.5, 0.9], dtype=torch.float64)

    def value(gamma: Tensor) -> Tensor:
        return (plain.with_gamma(gamma)(THETA, PROBLEM) * WEIGHTS).sum()

    expected = torch.stack([func.grad(value)(gamma) for gamma in gammas])
    assert float(expected.abs().max()) > 0
    close(func.vmap(func.grad(value))(gammas), expected)


@pytest.mark.parametrize("transformed", [func.vmap, lambda value: func.vmap(func.grad(value))])
def test_a_transform_hides_no_negative_gamma(transformed: Callable[..., Any]) -> None:
    plain = foresolve.QuadraticRelaxation(1.0)

    def value(gamma: Tensor) -> Tensor:
        return (plain.with_gamma(gamma)(THETA, PROBLEM) * WEIGHTS).sum()

    with mistake("gamma", "-0.5"):
        transformed(value)(torch.tensor([0.5, -0.5], dtype=torch.float64))


def test_one_gamma_for_each_instance_under_vmap() -> None:
    layer = foresolve.QuadraticRelaxation(torch.tensor([0.4, 0.5, 0.6], dtype=torch.float64))
    close(func.vmap(lambda t: layer(t, PROBLEM))(torch.stack([WEIGHTS, THETA]))[1], layer(THETA, PROBLEM))


def test_gradients_of_each_instance_for_the_weights_of_a_model() -> None:
    model, loss, features = nn.Linear(4, 5).double(), SPOPlus(), draw(3, 4, seed=2)

    def value(weights: dict[str, Tensor], features: Tensor, theta: Tensor) -> Tensor:
        prediction = func.functional_call(model, weights, (features[None],))
        return loss(prediction, foresolve.Batch(None, theta[None], PROBLEM))[0]

    weights = {name: parameter.detach() for name, parameter in model.named_parameters()}
    each = func.vmap(func.grad(value), in_dims=(None, 0, 0))(weights, features, THETA)
    loss(model(features), foresolve.Batch(None, THETA, PROBLEM)).sum().backward()
    assert model.weight.grad is not None
    close(each["weight"].sum(0), model.weight.grad)
    problem = limited()
    batch = foresolve.Batch(None, THETA, problem)
    close(func.vmap(lambda t: loss(t, batch))(torch.stack([WEIGHTS, THETA]))[0], loss(WEIGHTS, batch))


def test_what_the_transforms_would_lose_is_refused() -> None:
    layer, side = foresolve.QuadraticRelaxation(0.5), torch.tensor([1.5], dtype=torch.float64, requires_grad=True)

    def program(side: Tensor) -> foresolve.LinearProgram:
        return foresolve.LinearProgram(torch.ones(1, 5), side, bounds=(0, 1))

    problem = program(side)
    with mistake("", "QuadraticRelaxation", kind=foresolve.ForesolveError):
        func.grad(lambda theta: layer(theta, problem).sum())(THETA)
    with mistake("", "torch.autograd.grad", kind=foresolve.ForesolveError):
        func.grad(lambda side: layer(THETA, program(side)).sum())(side.detach())
    with mistake("", "problem.solve(theta)", kind=foresolve.ForesolveError):
        func.vmap(foresolve.BipartiteMatching(1, 5).solve)(THETA)


def test_objectives_need_no_solver() -> None:
    x = draw(3, 5, seed=3)
    close(func.vmap(PROBLEM.objective)(x, THETA), PROBLEM.objective(x, THETA))


def test_samples_of_the_gradient_are_those_of_the_decision() -> None:
    layers = [foresolve.layers.PerturbedAdditive(4, seed=7) for _ in range(2)]
    leaf = THETA.clone().requires_grad_()
    x = layers[0](leaf, PROBLEM)
    y, pullback = vjp(lambda theta: layers[1](theta, PROBLEM), THETA)
    close(y, x.detach())
    close(pullback(WEIGHTS)[0], torch.autograd.grad(x, leaf, WEIGHTS)[0])


def test_the_gradient_of_a_black_box_may_be_anything_but_linear() -> None:
    layer = BlackboxInterpolation(2.0)
    expected = jacobian(lambda theta: layer(theta, PROBLEM), THETA)
    close(func.jacrev(lambda theta: layer(theta, PROBLEM))(THETA), expected)
