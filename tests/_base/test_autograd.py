"""The typed door to `Function.apply` is `Function.apply`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest
import torch
from torch import Tensor

import foresolve
from foresolve import layers
from foresolve._base.autograd import apply, first_order, held_fixed, sliceable
from foresolve.errors import ForesolveError
from foresolve.losses import CaVE, FenchelYoung, Loss, ScoreFunction
from mistakes import mistake


class Scaled(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, x: Tensor, factor: float) -> Tensor:
        ctx.factor = factor
        return factor * x

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return apply(Scaled, grads[0], ctx.factor), None


def test_values_and_gradients_pass_through_any_number_of_times() -> None:
    x = torch.tensor([1.0, -2.0], dtype=torch.float64, requires_grad=True)
    y = apply(Scaled, x, 3.0)
    assert y.tolist() == [3.0, -6.0]
    (first,) = torch.autograd.grad((y**2).sum(), x, create_graph=True)
    assert first.tolist() == [18.0, -36.0]
    (second,) = torch.autograd.grad(first.sum(), x)
    assert second.tolist() == [18.0, 18.0]


class Doubled(torch.autograd.Function):
    """Of numbers alone, as a solver is."""

    @staticmethod
    def forward(ctx: Any, x: Tensor, y: Tensor) -> Tensor:
        return torch.from_numpy(2 * x.numpy())

    @staticmethod
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return torch.from_numpy(2 * grads[0].numpy()), None


def test_a_sliceable_backward_answers_batches_of_gradients() -> None:
    x, y = torch.ones(3, requires_grad=True), torch.zeros(3)
    out, weights = Doubled.apply(x, y), torch.eye(3)
    (batch,) = torch.autograd.grad(out, x, weights, is_grads_batched=True, retain_graph=True)
    assert torch.equal(batch, 2 * weights)
    several = torch.vmap(lambda g: torch.autograd.grad(out, x, g, retain_graph=True)[0])(weights)
    assert torch.equal(several, 2 * weights)
    nested = torch.vmap(torch.vmap(lambda g: torch.autograd.grad(out, x, g, retain_graph=True)[0]))
    assert torch.equal(nested(torch.stack([weights, -weights])), torch.stack([2 * weights, -2 * weights]))


class Cubed(torch.autograd.Function):
    """With a derivative that looks constant from behind."""

    @staticmethod
    def forward(ctx: Any, x: Tensor) -> Tensor:
        ctx.slope = 3 * x.detach() ** 2
        ctx.save_for_backward(x)
        return x**3

    @staticmethod
    @first_order
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> Tensor:
        return ctx.slope * grads[0]


def test_a_part_of_a_second_derivative_is_never_given_for_the_whole() -> None:
    x = torch.tensor([1.0, 2.0], requires_grad=True)
    for value in (apply(Cubed, x) + x**2, apply(Cubed, x).square()):
        (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=True)
        assert gradient.requires_grad
        with mistake("", "create_graph=True", kind=ForesolveError):
            torch.autograd.grad(gradient.sum(), x)
    (gradient,) = torch.autograd.grad(apply(Cubed, x).sum(), x)
    assert gradient.tolist() == [3.0, 12.0]
    assert not gradient.requires_grad
    (rows,) = torch.autograd.grad(apply(Cubed, x), x, torch.eye(2), is_grads_batched=True, create_graph=True)
    assert rows.tolist() == [[3.0, 0.0], [0.0, 12.0]]


FIRST_ORDER = [
    layers.RegularizedFrankWolfe(), layers.WilderQuadratic(), layers.BlackboxInterpolation(), layers.IMLE(),
    layers.PerturbedAdditive(4), layers.MultilinearRelaxation(), layers.WilderMultilinear(),
]  # fmt: skip


@pytest.mark.parametrize("layer", FIRST_ORDER, ids=lambda layer: type(layer).__name__)
def test_layers_of_first_order_say_so_whatever_else_theta_leads_to(layer: layers.Layer) -> None:
    problem: foresolve.Problem = foresolve.TopK(5, 2)
    if "Multilinear" in type(layer).__name__:
        problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(5, 2))
        theta = torch.rand(3, 5, 4, generator=torch.Generator().manual_seed(0), requires_grad=True)
    else:
        theta = torch.randn(3, 5, generator=torch.Generator().manual_seed(0), requires_grad=True)
    value = layer(theta, problem).sum() + theta.square().sum()
    (gradient,) = torch.autograd.grad(value, theta, create_graph=True)
    with mistake("", "create_graph=True", kind=ForesolveError):
        torch.autograd.grad(gradient.square().sum(), theta)


def test_what_was_held_fixed_is_differentiated_once() -> None:
    x, y = torch.tensor([1.0, 2.0], requires_grad=True), torch.tensor([3.0, 4.0])
    held = held_fixed(x, y)
    assert held[1] is y
    value, weights = (held[0] ** 2 * y).sum(), torch.ones(2, requires_grad=True)
    (gradient,) = torch.autograd.grad(value, x, create_graph=True)
    assert gradient.tolist() == [6.0, 16.0]
    with mistake("", "create_graph=True", kind=ForesolveError):
        torch.autograd.grad(gradient.sum(), x)
    (gradient,) = torch.autograd.grad(held[0] * y, x, weights, create_graph=True)
    (of_weights,) = torch.autograd.grad(gradient.sum(), weights)  # a gradient is linear in what comes in
    assert of_weights.tolist() == [3.0, 4.0]
    rows = torch.vmap(lambda g: torch.autograd.grad(held[0] ** 2, x, g, create_graph=True)[0])(torch.eye(2))
    assert rows.tolist() == [[2.0, 0.0], [0.0, 4.0]]
    with torch.no_grad():
        assert held_fixed(x)[0] is x


HELD: dict[str, Callable[[], Loss]] = {
    "quadratic": lambda: FenchelYoung(layers.QuadraticRelaxation(0.5)),
    "Frank-Wolfe": lambda: FenchelYoung(layers.RegularizedFrankWolfe(0.5)),
    "additive": lambda: FenchelYoung(layers.PerturbedAdditive(4)),
    "multiplicative": lambda: FenchelYoung(layers.PerturbedMultiplicative(4)),
    "CaVE": CaVE,
    "score function": ScoreFunction,
}


@pytest.mark.parametrize("make", list(HELD.values()), ids=list(HELD))
def test_losses_that_hold_decisions_fixed_say_so_and_have_both_modes_of_first_order(make: Callable[[], Loss]) -> None:
    """Without a word, second derivatives would be those of decisions that do not move: 0 for `FenchelYoung`."""
    theta = torch.rand(3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    batch = foresolve.Batch(None, theta.flip(0), foresolve.TopK(5, 2))

    def value() -> Callable[[Tensor], Tensor]:
        loss = make()  # each draws the same samples
        return lambda theta: loss(theta, batch).sum()

    leaf = theta.clone().requires_grad_()
    (gradient,) = torch.autograd.grad(value()(leaf), leaf, create_graph=True)
    with mistake("", "create_graph=True", kind=ForesolveError):
        torch.autograd.grad(gradient.square().sum(), leaf)
    for second in (torch.func.hessian(value()), torch.func.jacrev(torch.func.grad(value()))):
        with mistake("", type(make()).__name__, "jacrev", kind=ForesolveError):
            second(theta)
    torch.testing.assert_close(torch.func.grad(value())(theta), gradient.detach())
    torch.testing.assert_close(torch.func.jvp(value(), (theta,), (theta,))[1], (gradient * theta).sum().detach())


def test_a_learned_gamma_is_held_with_the_prediction() -> None:
    gamma = torch.nn.Parameter(torch.tensor(0.5, dtype=torch.float64))
    loss = FenchelYoung(foresolve.QuadraticRelaxation(gamma))
    theta = torch.rand(3, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    value = loss(theta, foresolve.Batch(None, theta.detach().flip(0), foresolve.TopK(5, 2))).sum()
    for gradient in torch.autograd.grad(value, [theta, gamma], create_graph=True):
        for tensor in (theta, gamma):
            with mistake("", "create_graph=True", kind=ForesolveError):
                torch.autograd.grad(gradient.sum(), tensor, retain_graph=True)
