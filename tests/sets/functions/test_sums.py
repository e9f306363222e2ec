from __future__ import annotations

import pytest
import torch
from torch import Tensor

from foresolve.errors import InvalidInputError
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.functions.influence import InfluenceSpread
from foresolve.sets.functions.sums import Selected, WeightedSum
from sets.conformance import SetFunctionConformance

FIXED = torch.rand(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class Root(SetFunction):
    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask.unsqueeze(-1) * theta).sum((-1, -2)).sqrt()


def fixed(theta: Tensor) -> Tensor:
    return FIXED.to(theta)


def first(theta: Tensor) -> Tensor:
    return theta[..., :2].square()


def joined(theta: Tensor) -> Tensor:
    return theta[..., 0, :, :] + 2 * theta[..., 1, :, :].exp()


class TestSum(SetFunctionConformance):
    n = 5

    def make(self) -> SetFunction:
        return 2.0 * FacilityLocation() + FacilityLocation().of(first) * 0.5 + FacilityLocation().of(fixed)

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return 0.1 + torch.rand(*batch, n, 3, generator=generator, dtype=torch.float64)


class TestOuterDimensions(SetFunctionConformance):
    n = 4

    def make(self) -> SetFunction:
        return FacilityLocation().of(joined, theta_dims=3)

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return 0.1 + torch.rand(*batch, 2, n, 3, generator=generator, dtype=torch.float64)


def test_sums_are_flat_and_named() -> None:
    f = 3 * (2.0 * FacilityLocation() + FacilityLocation())
    assert isinstance(f, WeightedSum)
    assert f.weights == [6.0, 3.0]
    assert repr(f) == "6 * FacilityLocation() + 3 * FacilityLocation()"
    assert repr(FacilityLocation().of(first)) == "FacilityLocation().of(first)"
    assert f.theta_dims == 2


def test_sampled_terms() -> None:
    f = Root(samples=9) + FacilityLocation()
    x, theta = torch.full((2, 5), 0.4, dtype=torch.float64), FIXED.expand(2, 5, 2)
    assert f.sampled
    assert Root().of(first).sampled
    assert not (FacilityLocation() + FacilityLocation()).sampled
    expected = Root(samples=9).multilinear(x, theta) + FacilityLocation().multilinear(x, theta)
    torch.testing.assert_close(f.multilinear(x, theta), expected)
    torch.testing.assert_close(f.local(x, theta).value, expected)
    reseeded = f.with_seed(4)
    assert not torch.equal(reseeded.local(x, theta).gradient, f.local(x, theta).gradient)
    torch.testing.assert_close(reseeded.multilinear(x, theta), reseeded.local(x, theta).value)


def test_influence_and_coverage_of_one_theta() -> None:
    """Terms that look at different parts of one vector."""
    edges = [(0, 1), (1, 2)]
    f = InfluenceSpread(edges, samples=4).of(lambda t: t[..., :2])
    g = FacilityLocation().of(lambda t: t[..., 2:].unflatten(-1, (3, 2)), theta_dims=1)
    theta = torch.rand(2, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64, requires_grad=True)
    value = (f + g).multilinear(torch.full((3,), 0.5, dtype=torch.float64), theta)
    value.sum().backward()
    assert theta.grad is not None
    assert bool((theta.grad[:, 2:] >= 0).all())
    assert bool((theta.grad.abs().sum(0)[2:] > 0).all())


def test_a_learnt_part_of_select_gets_its_gradient() -> None:
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    f = FacilityLocation().of(lambda theta: scale * FIXED)
    x = torch.full((3, 5), 0.5, dtype=torch.float64)
    theta = torch.zeros(5, 2, dtype=torch.float64, requires_grad=True)
    f.multilinear(x, theta).sum().backward()
    assert scale.grad is not None
    torch.testing.assert_close(scale.grad, 3 * FacilityLocation().multilinear(x[0], FIXED))
    assert not f.local(x, theta[None].detach()).slope().any()


def test_bad_use() -> None:
    f = FacilityLocation()
    with pytest.raises(InvalidInputError, match=r"`weight` must be a finite number >= 0; got -1.0. A negative term"):
        _ = -1.0 * f
    with pytest.raises(InvalidInputError, match="`weight` must be a number >= 0; got str"):
        _ = f * "2"
    with pytest.raises(InvalidInputError, match="`terms` must be functions with the same theta_dims"):
        _ = f + InfluenceSpread([(0, 1)])
    with pytest.raises(TypeError):
        _ = f + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        _ = f * f
    with pytest.raises(InvalidInputError, match="`select` must be a function of theta; got int"):
        Selected(f, 3)  # type: ignore[arg-type]
    with pytest.raises(
        InvalidInputError, match=r"select\(theta\) does not suit FacilityLocation\(\): `theta` must be >= 0"
    ):
        f.of(torch.neg).check_theta(FIXED, 5)
    with pytest.raises(InvalidInputError, match="`select` must be a function to"):
        f.of(lambda t: t.sum(0)).local(
            torch.ones(2, 5).double(), torch.ones(2, 5, 2).double().expand(2, 5, 2)[:, :, :, None]
        )
