from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import Tensor

from foresolve.problems import SubmodularProblem
from foresolve.sets import (
    FacilityLocation,
    InfluenceSpread,
    Matroid,
    PartitionMatroid,
    ProbabilisticCoverage,
    SetFunction,
    UniformMatroid,
    WeightedSum,
)
from foresolve.sets.functions import coverage, facility
from foresolve.solvers.submodular.increments import ValueIncrements
from mistakes import mistake
from problems.test_submodular import MATROIDS, N, draw_theta
from sets.conformance import SetFunctionConformance
from sets.reference import Modular, slow

FIXED = torch.rand(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)


class Root(SetFunction):
    theta_dims = 2

    def value(self, mask: Tensor, theta: Tensor) -> Tensor:
        return (mask.unsqueeze(-1) * theta).sum((-1, -2)).sqrt()


def fixed(theta: Tensor) -> Tensor:
    return FIXED.to(theta)


def first(theta: Tensor) -> Tensor:
    return theta[..., :2].square()


class TestSum(SetFunctionConformance):
    n = 5

    def make(self) -> SetFunction:
        return 2.0 * FacilityLocation() + FacilityLocation().of(first) * 0.5 + FacilityLocation().of(fixed)

    def draw(self, batch: tuple[int, ...], n: int, seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return 0.1 + torch.rand(*batch, n, 3, generator=generator, dtype=torch.float64)


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


def test_bad_use() -> None:
    f = FacilityLocation()
    with mistake("weight", ">= 0", "-1.0"):
        _ = -1.0 * f
    with mistake("weight", ">= 0", "str"):
        _ = f * "2"
    with mistake("terms", "[1, 2]", "theta_dims"):
        _ = f + InfluenceSpread([(0, 1)])
    with pytest.raises(TypeError):
        _ = f + 1  # type: ignore[operator]
    with pytest.raises(TypeError):
        _ = f * f


# -- increments ------------------------------------------------------------------------------------------------------

WEIGHTS = torch.rand(4, 5, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
SUMS = {
    "one term": 2.0 * ProbabilisticCoverage(),
    "two batched terms": ProbabilisticCoverage() + 0.5 * FacilityLocation(),
    "weights per instance": ProbabilisticCoverage(WEIGHTS) + FacilityLocation(),
    "fixed data": ProbabilisticCoverage() + 3.0 * FacilityLocation().of(lambda t: FIXED.repeat(2, 1)[:N].to(t)),
    "one that is only known by its values": 0.1 * Root() + ProbabilisticCoverage(WEIGHTS),
    "one of a user that gives increments one by one": Modular() * 0.5 + FacilityLocation(),
}


@pytest.mark.parametrize("matroid", MATROIDS, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("kind", SUMS)
def test_greedy_sets_are_those_of_differences_of_values(kind: str, matroid: Matroid) -> None:
    for seed in range(8):
        theta = draw_theta((4,), seed)
        sets, reference = (SubmodularProblem(f, matroid).solve(theta) for f in (SUMS[kind], slow(SUMS[kind])))
        assert torch.equal(sets, reference)


@pytest.mark.parametrize("kind", SUMS)
def test_exact_values_are_those_of_differences_of_values(kind: str) -> None:
    theta = draw_theta((4,), 2)
    problem, reference = (SubmodularProblem(f, MATROIDS[1], "exact") for f in (SUMS[kind], slow(SUMS[kind])))
    assert torch.equal(problem.solve(theta), reference.solve(theta))


@pytest.mark.parametrize("large", [False, True])
def test_lazy_and_full_gains_agree(large: bool) -> None:
    """Where terms pick single gains out (large parameters), and where one of them never does."""
    theta = torch.rand(8, 40, 900 if large else 5, generator=torch.Generator().manual_seed(0), dtype=torch.float64) ** 8
    f = ProbabilisticCoverage() + 0.2 * FacilityLocation()
    increments = f.increments(theta, 40)
    assert increments.count == 8
    assert increments.favor > 0
    matroid = PartitionMatroid([i % 4 for i in range(40)], [3] * 4)
    sets = SubmodularProblem(f, matroid).solve(theta)
    alone = torch.stack([SubmodularProblem(slow(f), matroid).solve(row) for row in theta])
    assert torch.equal(sets, alone)


def test_a_sum_of_fast_terms_asks_for_no_values(monkeypatch: pytest.MonkeyPatch) -> None:
    f = 2.0 * ProbabilisticCoverage() + Modular() + FacilityLocation().of(torch.sqrt)
    problem, theta = SubmodularProblem(f, MATROIDS[0]), draw_theta((3,), 2)
    problem.check_theta(theta)  # which sees once that one set has one value
    for kind in (ProbabilisticCoverage, Modular, FacilityLocation, WeightedSum):
        monkeypatch.setattr(kind, "value", lambda *given: pytest.fail("`value` was called"))
    for method in ("greedy", "exact"):
        assert problem.solve(theta, method).shape == (3, N)


def test_sparse_parameters_of_a_sum() -> None:
    theta = torch.rand(30, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theta = theta * (theta > 0.8)
    f = 2.0 * ProbabilisticCoverage() + ProbabilisticCoverage(torch.arange(20.0))
    problem = SubmodularProblem(f, UniformMatroid(30, 5))
    sets = problem.solve(scipy.sparse.csr_array(theta.numpy()))
    assert torch.equal(sets, problem.solve(theta))
    with mistake("theta", "FacilityLocation"):
        SubmodularProblem(f + FacilityLocation(), UniformMatroid(30, 5)).solve(theta.to_sparse())


def test_sums_of_tensors(monkeypatch: pytest.MonkeyPatch) -> None:
    """As on a GPU: plain greedy where all terms have tensors, differences of values where some have arrays."""
    theta, mixed = draw_theta((4,), 2), ProbabilisticCoverage() + Modular()
    expected = [SubmodularProblem(f, MATROIDS[1]).solve(theta) for f in (SUMS["weights per instance"], mixed)]
    for module in (coverage, facility):
        monkeypatch.setattr(module, "to_array", lambda tensor: tensor)
    assert isinstance(SUMS["weights per instance"].increments(theta, N).empty, Tensor)
    assert isinstance(mixed.increments(theta, N), ValueIncrements)
    sets = [SubmodularProblem(f, MATROIDS[1]).solve(theta) for f in (SUMS["weights per instance"], mixed)]
    assert all(map(torch.equal, sets, expected))


@pytest.mark.cuda
def test_sums_on_a_device() -> None:
    theta = draw_theta((4,), 2)
    for f in (SUMS["two batched terms"], SUMS["weights per instance"], SUMS["one that is only known by its values"]):
        problem = SubmodularProblem(f, MATROIDS[1])
        assert torch.equal(problem.to("cuda").solve(theta.cuda()).cpu(), problem.solve(theta))


# -- cuts ------------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("kind", SUMS)
def test_cuts_bound_every_set_and_are_tight_at_their_own(kind: str) -> None:
    theta = draw_theta((4,), 2)[1:2]
    f = SUMS[kind].select(slice(1, 2), torch.Size([4]))
    parts = f.cuts(theta, N)
    masks = torch.cartesian_prod(*[torch.tensor([0.0, 1.0], dtype=torch.float64)] * N)
    values = np.stack([parts.values(mask.bool().numpy()) for mask in masks])
    empty = f.value(masks[:1], theta)
    np.testing.assert_allclose(values.sum(1), (f.value(masks, theta) - empty).numpy(), atol=1e-12)
    for mask in masks[:: 2**N // 8].bool().numpy():
        first, *others = parts.at_set(mask)
        np.testing.assert_allclose(first[0] + first[1] @ mask, parts.values(mask), atol=1e-12)
        for constants, slopes in (first, *others, *parts.at_point(0.3 + 0.4 * mask)):
            assert bool((values <= constants + masks.numpy() @ slopes.T + 1e-12).all())
