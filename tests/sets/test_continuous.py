"""Both ways to maximize the extension: feasible, and as good as their theorems say."""

from __future__ import annotations

import math

import pytest
import torch

from foresolve.errors import ConvergenceWarning
from foresolve.sets import PartitionMatroid, ProbabilisticCoverage, SetFunction, UniformMatroid
from foresolve.sets.continuous import continuous_greedy, projected_ascent
from sets.families import subsets
from submodular_instances import draw_theta

MATROIDS = (UniformMatroid(7, 3), PartitionMatroid([0, 0, 0, 1, 1, 1, 1], [1, 2]))


class Sampled(SetFunction):
    """Coverage without its formula."""

    theta_dims = 2

    def value(self, mask: torch.Tensor, theta: torch.Tensor) -> torch.Tensor:
        return (1 - (1 - mask[..., None] * theta).prod(-2)).sum(-1)


def best(matroid: UniformMatroid | PartitionMatroid, theta: torch.Tensor) -> torch.Tensor:
    masks = subsets(7)
    masks = masks[matroid.independent(masks > 0)]
    return torch.stack(
        [ProbabilisticCoverage().value(masks, table.expand(len(masks), -1, -1)).max() for table in theta]
    )


@pytest.mark.parametrize("matroid", MATROIDS, ids=["uniform", "partition"])
@pytest.mark.parametrize(("method", "share"), [(continuous_greedy, 1 - 1 / math.e), (projected_ascent, 0.5)])
def test_a_point_of_the_base_polytope_with_its_share_of_the_optimum(matroid, method, share: float) -> None:
    theta, coverage = draw_theta((5,), 7, 4, 0), ProbabilisticCoverage()
    x = method(coverage, matroid, theta, 5)
    assert x.dtype == torch.float64
    assert max(float(part.max()) for part in matroid.excess(x, base=True).values()) < 1e-8
    assert bool((coverage.multilinear(x, theta) >= share * best(matroid, theta) - 1e-6).all())


@pytest.mark.parametrize("method", [continuous_greedy, projected_ascent])
def test_instances_do_not_meet_and_shared_parameters_are_those_of_each(method) -> None:
    theta, coverage, matroid = draw_theta((3,), 7, 4, 1), ProbabilisticCoverage(), MATROIDS[0]
    together = method(coverage, matroid, theta, 3)
    for b in range(3):
        torch.testing.assert_close(method(coverage, matroid, theta[b : b + 1], 1)[0], together[b])
    shared = method(coverage, matroid, theta[:1], 2)
    assert torch.equal(shared[0], shared[1])


def test_ascent_that_is_cut_short_says_so() -> None:
    with pytest.warns(ConvergenceWarning, match="1 steps for instances? 0"):
        projected_ascent(ProbabilisticCoverage(), MATROIDS[0], draw_theta((2,), 7, 4, 2), 2, max_iter=1)


@pytest.mark.parametrize("method", [continuous_greedy, projected_ascent])
def test_samples_do_nearly_as_well_as_the_formula(method) -> None:
    theta, coverage, matroid = draw_theta((3,), 7, 4, 3), ProbabilisticCoverage(), MATROIDS[1]
    x = method(Sampled(samples=64), matroid, theta, 3)
    exact = method(coverage, matroid, theta, 3)
    assert max(float(part.max()) for part in matroid.excess(x, base=True).values()) < 1e-8
    assert bool((coverage.multilinear(x, theta) >= 0.95 * coverage.multilinear(exact, theta)).all())
    assert torch.equal(x, method(Sampled(samples=64), matroid, theta, 3))
