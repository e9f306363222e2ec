from __future__ import annotations

import torch
from torch import Tensor

from foresolve.layers import PerturbedAdditive
from foresolve.problems import SubmodularProblem
from foresolve.sets import FacilityLocation, ProbabilisticCoverage, Selected, SetFunction, UniformMatroid
from mistakes import mistake
from problems.test_submodular import MATROIDS, N, draw_theta
from sets.conformance import SetFunctionConformance
from sets.reference import Modular, slow

FIXED = torch.rand(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


def joined(theta: Tensor) -> Tensor:
    return theta[..., 0, :, :] + 2 * theta[..., 1, :, :].exp()


class TestOuterDimensions(SetFunctionConformance):
    n = 4

    def make(self) -> SetFunction:
        return FacilityLocation().of(joined, theta_dims=3)

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return 0.1 + torch.rand(*batch, 2, n, 3, generator=generator, dtype=torch.float64)


def test_a_learnt_part_of_select_gets_its_gradient() -> None:
    scale = torch.tensor(2.0, dtype=torch.float64, requires_grad=True)
    f = FacilityLocation().of(lambda theta: scale * FIXED)
    x = torch.full((3, 5), 0.5, dtype=torch.float64)
    theta = torch.zeros(5, 2, dtype=torch.float64, requires_grad=True)
    for objective in (f.multilinear, SubmodularProblem(f, UniformMatroid(5, 2)).objective):
        scale.grad = None
        objective(x, theta).sum().backward()
        assert scale.grad is not None
        torch.testing.assert_close(scale.grad, 3 * FacilityLocation().multilinear(x[0], FIXED))
    assert not f.local(x, theta[None].detach()).slope().any()


def test_increments_and_cuts_are_those_of_the_function() -> None:
    data = draw_theta((), 3)
    for f in (ProbabilisticCoverage().of(torch.sqrt), FacilityLocation().of(lambda t: data), Modular().of(torch.exp)):
        theta = draw_theta((4,), 2)
        for matroid in MATROIDS:
            sets = SubmodularProblem(f, matroid).solve(theta)
            assert torch.equal(sets, SubmodularProblem(slow(f), matroid).solve(theta))
        assert type(f.increments(theta, N)) is type(f.function.increments(theta, N))  # type: ignore[attr-defined]
        assert type(f.cuts(theta[:1], N)) is type(f.function.cuts(theta[:1], N))  # type: ignore[attr-defined]
    assert FacilityLocation().of(lambda t: data).increments(draw_theta((4,), 2), N).count == 4


def test_bad_use() -> None:
    f = FacilityLocation()
    with mistake("select", "int"):
        Selected(f, 3)  # type: ignore[arg-type]
    with mistake("select(theta)", "FacilityLocation()", ">= 0", "theta_bounds=(low, high)"):
        f.of(torch.neg).check_theta(FIXED, 5)
    with mistake("select", "(2, ...)", "(5, 2, 1)"):
        f.of(lambda t: t.sum(0)).local(
            torch.ones(2, 5).double(), torch.ones(2, 5, 2).double().expand(2, 5, 2)[:, :, :, None]
        )


def test_draws_stay_within_the_bounds_of_the_outer_parameters() -> None:
    theta = torch.rand(2, 4, 3, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    layer, matroid = PerturbedAdditive(samples=4), UniformMatroid(4, 2)
    open_, bounded = (
        SubmodularProblem(f, matroid)
        for f in (ProbabilisticCoverage().of(torch.square), ProbabilisticCoverage().of(torch.square, None, (0.0, 1.0)))
    )
    with mistake("select(theta)", "[0, 1]", "theta_bounds=(low, high)"):
        layer(theta, open_)
    assert bounded.theta_bounds == bounded.function.to("cpu").theta_bounds == (0.0, 1.0)
    assert bounded.check(layer(theta, bounded), relaxed=True)
    with mistake("theta_bounds", "(1.0, 0.0)"):
        ProbabilisticCoverage().of(torch.square, theta_bounds=(1.0, 0.0))
