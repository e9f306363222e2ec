"""Gradients of a projection for its point and for every part of its polytope."""

from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.errors import ForesolveError
from foresolve.layers.implicit import Derivative, attach
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import project
from foresolve.solvers.projection.rows import DenseRows
from mistakes import mistake

NAMES = ("point", "values", "rhs", "lower", "upper")


def draw() -> dict[str, Tensor]:
    """Two rows, an equality among them, and bounds of which some hold with equality at the solution."""
    generator = torch.Generator().manual_seed(3)
    random = {"generator": generator, "dtype": torch.float64}
    values = torch.randn(2, 2, 5, **random)
    return {
        "point": 2 * torch.randn(2, 5, **random),
        "values": values,
        "rhs": (values @ torch.full((5, 1), 0.4, dtype=torch.float64))[..., 0] + torch.tensor([0.0, 0.05]),
        "lower": torch.zeros(2, 5, dtype=torch.float64),
        "upper": torch.ones(2, 5, dtype=torch.float64),
    }


def projected(point: Tensor, values: Tensor, rhs: Tensor, lower: Tensor, upper: Tensor) -> Tensor:
    polytope = Polytope(DenseRows(values), rhs, torch.tensor([True, False]), lower, upper)
    numeric = polytope.detach().numeric()
    tangent = project(point.detach().numpy(), numeric, tol=1e-13, max_iter=100).tangent
    return attach(point, polytope, Derivative(tangent, torch.Size([2])))[0]


@pytest.mark.parametrize("name", NAMES)
def test_finite_differences(name: str) -> None:
    tensors = draw()
    leaf = tensors[name].clone().requires_grad_()
    x = projected(**tensors | {name: leaf})
    fixed = (x == 0) | (x == 1)
    assert 0 < int(fixed.sum()) < x.numel()
    v = torch.randn(x.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    (gradient,) = torch.autograd.grad((v * x).sum(), leaf)
    step, flat = 1e-6, torch.zeros_like(leaf).flatten()
    for j in range(len(flat)):
        shift = torch.zeros_like(flat)
        shift[j] = step
        ends = [projected(**tensors | {name: tensors[name] + sign * shift.reshape(leaf.shape)}) for sign in (1, -1)]
        flat[j] = (v * (ends[0] - ends[1])).sum() / (2 * step)
    torch.testing.assert_close(gradient, flat.reshape(leaf.shape), atol=1e-6, rtol=1e-5)


def test_twice_for_the_point_alone() -> None:
    tensors = draw()
    point = tensors["point"].clone().requires_grad_()
    (gradient,) = torch.autograd.grad(projected(**tensors | {"point": point}).square().sum(), point, create_graph=True)
    gradient.sum().backward()
    assert point.grad is not None
    rhs = tensors["rhs"].clone().requires_grad_()
    x = projected(**tensors | {"point": point, "rhs": rhs})
    with mistake("", "create_graph=True", kind=ForesolveError):
        torch.autograd.grad(x.square().sum(), (point, rhs), create_graph=True)


def test_a_fixed_variable_shares_its_gradient_between_its_bounds() -> None:
    tensors = draw()
    tensors["lower"][:, 0] = tensors["upper"][:, 0] = 0.4
    lower, upper = (tensors[name].clone().requires_grad_() for name in ("lower", "upper"))
    projected(**tensors | {"lower": lower, "upper": upper}).sum().backward()
    assert lower.grad is not None
    assert upper.grad is not None
    torch.testing.assert_close(lower.grad[:, 0], upper.grad[:, 0])
    assert bool((lower.grad[:, 0] != 0).all())


def test_what_comes_in_as_nan_goes_out_as_nan_without_a_word() -> None:
    tensors = draw()
    point = tensors["point"].clone().requires_grad_()
    (projected(**tensors | {"point": point}) * torch.nan).sum().backward()
    assert point.grad is not None
    assert bool(point.grad.isnan().any())
