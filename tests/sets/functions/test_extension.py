"""The extension as an operation of autograd: first and second derivatives, shared parameters, and where it ends."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve.errors import ForesolveError
from foresolve.sets import ProbabilisticCoverage
from foresolve.sets.functions.extension import flatten
from mistakes import mistake
from submodular_instances import draw_theta

F = ProbabilisticCoverage()


def point(*batch: int) -> Tensor:
    generator = torch.Generator().manual_seed(0)
    return 0.05 + 0.9 * torch.rand(*batch, 5, generator=generator, dtype=torch.float64)


def test_gradients_of_value_and_gradient() -> None:
    x, theta = point(2).requires_grad_(), draw_theta((2,), 5, 3, 0).requires_grad_()
    assert torch.autograd.gradcheck(F.multilinear, (x, theta))
    assert torch.autograd.gradcheck(F.gradient, (x, theta))
    assert torch.autograd.gradgradcheck(lambda x: F.multilinear(x, theta.detach()), (x,))


def test_shared_parameters_get_the_sum_of_all_gradients() -> None:
    x, theta = point(3), draw_theta((), 5, 3, 1)
    shared, copies = theta.clone().requires_grad_(), theta.expand(3, -1, -1).clone().requires_grad_()
    weights = torch.tensor([1.0, -2.0, 0.5], dtype=torch.float64)
    (weights * F.multilinear(x, shared)).sum().backward()
    (weights * F.multilinear(x, copies)).sum().backward()
    assert shared.grad is not None
    assert copies.grad is not None
    torch.testing.assert_close(shared.grad, copies.grad.sum(0))


def test_a_second_derivative_in_theta_is_refused() -> None:
    x, theta = point(2), draw_theta((2,), 5, 3, 0).requires_grad_()
    (gradient,) = torch.autograd.grad(F.multilinear(x, theta).sum(), theta, create_graph=True)
    with mistake("", "create_graph=True", kind=ForesolveError):
        gradient.sum().backward()


def test_what_is_flattened_and_what_stays_shared() -> None:
    x, theta = point(2, 3).float(), draw_theta((), 5, 4, 0).float()
    flat = flatten(F, x, theta)
    assert (flat.dtype, flat.x.dtype, flat.batch) == (torch.float32, torch.float64, (2, 3))
    assert (flat.x.shape, flat.theta.shape) == ((6, 5), (1, 5, 4))
    assert flat.function is F
    flat = flatten(F, x[0, 0], draw_theta((4,), 5, 4, 0))
    assert (flat.x.shape, flat.theta.shape, flat.batch) == ((4, 5), (4, 5, 4), (4,))


def test_data_of_each_instance_are_flattened_with_the_batch() -> None:
    weights = torch.rand(3, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    flat = flatten(ProbabilisticCoverage(weights), point(2, 1), draw_theta((), 5, 4, 0))
    assert (flat.x.shape, flat.theta.shape, flat.batch) == ((6, 5), (1, 5, 4), (2, 3))
    assert isinstance(flat.function, ProbabilisticCoverage)
    assert flat.function.weights is not None
    assert torch.equal(flat.function.weights, weights.repeat(2, 1))


def test_directions_may_come_with_a_graph() -> None:
    x, theta = point(2), draw_theta((2,), 5, 3, 0)
    v = point(2).requires_grad_()
    for product in (F.hessian_product, F.cross_product):
        assert torch.equal(product(x, theta, v), product(x, theta, v.detach()))
