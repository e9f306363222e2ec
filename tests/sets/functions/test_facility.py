from __future__ import annotations

import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st
from torch import Tensor

from foresolve.sets import FacilityLocation
from foresolve.sets.functions import facility
from mistakes import mistake
from sets.conformance import SetFunctionConformance, assert_near, enumerated


class TestFacilityLocation(SetFunctionConformance):
    def make(self) -> FacilityLocation:
        return FacilityLocation()

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return 0.01 + 3 * torch.rand(*batch, n, 4, generator=generator, dtype=torch.float64)


class TestManyItems(TestFacilityLocation):
    n = 8


class TestOneTarget(TestFacilityLocation):
    n = 2

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        return super().draw(batch, n, seed)[..., :1]


@given(seed=st.integers(0, 2**20))
def test_ties_and_zeros(seed: int) -> None:
    """Derivatives in x do not depend on the order of items that are worth the same."""
    generator = torch.Generator().manual_seed(seed)
    theta = torch.randint(0, 3, (2, 5, 3), generator=generator).double()
    x = torch.randint(0, 5, (2, 5), generator=generator).double().div(4).requires_grad_()
    v = torch.randn(2, 5, generator=generator, dtype=torch.float64)
    value = enumerated(FacilityLocation(), x, theta)
    (gradient,) = torch.autograd.grad(value.sum(), x, create_graph=True)
    local = FacilityLocation().local(x.detach(), theta)
    assert_near(local.value, value.detach())
    assert_near(local.gradient, gradient.detach())
    if gradient.requires_grad:
        assert_near(local.product(v), torch.autograd.grad((gradient * v).sum(), x)[0])
    # A supergradient in theta: f is convex in theta, so its slope is below every secant.
    addition = torch.rand(2, 5, 3, generator=generator, dtype=torch.float64) * 3
    linear = local.value + (local.slope() * (addition - theta)).sum((-1, -2))
    assert bool((linear <= FacilityLocation().local(x.detach(), addition).value + 1e-9).all())


def test_many_ones_underflow_to_zero() -> None:
    theta = torch.rand(1, 30, 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = torch.ones(1, 30, dtype=torch.float64)
    local = FacilityLocation().local(x, theta)
    best, second = theta.topk(2, dim=-2).values.unbind(-2)
    torch.testing.assert_close(local.value, best.sum(-1))
    expected = torch.zeros_like(x).scatter_add(-1, theta.argmax(-2), best - second)
    torch.testing.assert_close(local.gradient, expected)
    assert bool(local.hessian(torch.arange(30)[None]).isfinite().all())
    assert bool(local.cross(x).isfinite().all())


def test_hessian_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    theta = torch.rand(2, 6, 7, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    local = FacilityLocation().local(torch.full((2, 6), 0.4, dtype=torch.float64), theta)
    index = torch.arange(6).expand(2, -1)
    expected = local.hessian(index)
    monkeypatch.setattr(facility, "CHUNK", 1)
    torch.testing.assert_close(local.hessian(index), expected)


def test_bad_theta() -> None:
    theta = torch.ones(2, 3, 4)
    theta[1, 2, 0] = -0.5
    with mistake("theta", ">= 0", "-0.5 at [1, 2, 0]"):
        FacilityLocation().multilinear(torch.ones(3), theta)
    with mistake("theta", "(*batch, 5, targets)", "(2, 3, 4)"):
        FacilityLocation().check_theta(theta, 5)
