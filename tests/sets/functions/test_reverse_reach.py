"""Influence on fixed rows is coverage: values and derivatives against brute force on the same rows."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from torch import Tensor

from foresolve.sets.functions.cascades import CascadeGraph
from foresolve.sets.functions.reverse_reach import InfluenceLocal, ReachingSets

N = 6
PAIRS = np.array([[0, 1], [1, 2], [2, 3], [3, 0], [4, 1], [5, 2], [2, 5], [0, 4]])


def rows(seed: int) -> ReachingSets:
    theta = np.random.default_rng(seed).uniform(0.2, 0.8, len(PAIRS))
    graph, nodes = CascadeGraph.of(PAIRS, N), np.arange(N)
    weights = np.linspace(0.5, 2.0, N)
    return ReachingSets(graph, theta, nodes, weights, 12, N, seed, torch.device("cpu"))


def by_definition(reached: ReachingSets, x: Tensor) -> Tensor:
    """`sum_R w_R (1 - prod_{i in R} (1 - x_i))`, with torch's operations."""
    owner, node = reached.members
    total = x.new_zeros(())
    for k, weight in enumerate(reached.weight):
        total = total + weight * (1 - (1 - x[torch.from_numpy(node[owner == k])]).prod())
    return total


POINTS = {
    "inside": torch.tensor([0.1, 0.5, 0.0, 0.3, 0.9, 0.4], dtype=torch.float64),
    "with ones": torch.tensor([1.0, 0.5, 0.0, 1.0, 0.2, 0.4], dtype=torch.float64),
}


@pytest.mark.parametrize("point", POINTS)
def test_the_extension_and_its_derivatives_in_x(point: str) -> None:
    both, x = [rows(0), rows(1)], POINTS[point]
    local = InfluenceLocal(both, x.expand(2, -1), len(PAIRS))
    everything = torch.arange(N).expand(2, -1)
    v = torch.linspace(-1, 1, N, dtype=torch.float64).expand(2, -1)
    for b, reached in enumerate(both):
        leaf = x.clone().requires_grad_()
        value = by_definition(reached, leaf)
        (gradient,) = torch.autograd.grad(value, leaf, create_graph=True)
        hessian = torch.stack([torch.autograd.grad(g, leaf, retain_graph=True)[0] for g in gradient])
        torch.testing.assert_close(local.value[b], value.detach())
        torch.testing.assert_close(local.gradient[b], gradient.detach())
        torch.testing.assert_close(local.hessian(everything)[b], hessian, atol=1e-9, rtol=1e-9)
        torch.testing.assert_close(local.product(v)[b], hessian @ v[b], atol=1e-9, rtol=1e-9)


def test_weights_make_up_the_spread_of_everybody() -> None:
    reached = rows(0)
    everyone = InfluenceLocal([reached], torch.ones(1, N, dtype=torch.float64), len(PAIRS))
    assert float(everyone.value) == pytest.approx(np.linspace(0.5, 2.0, N).sum())
    nobody = InfluenceLocal([reached], torch.zeros(1, N, dtype=torch.float64), len(PAIRS))
    assert float(nobody.value) == 0


def test_the_cross_derivative_is_linear_and_that_of_the_slope() -> None:
    """`slope` is multilinear in `x` like `F`: its differences along a coordinate are what `cross` gives."""
    reached, x = rows(2), POINTS["inside"]
    local = InfluenceLocal([reached], x[None], len(PAIRS))
    for i in range(N):
        ends = []
        for value in (1.0, 0.0):
            end = x.clone()
            end[i] = value
            ends.append(InfluenceLocal([reached], end[None], len(PAIRS)).slope())
        unit = torch.eye(N, dtype=torch.float64)[i : i + 1]
        torch.testing.assert_close(local.cross(unit), ends[0] - ends[1], atol=1e-9, rtol=1e-9)
    v = torch.linspace(-1, 1, N, dtype=torch.float64)[None]
    total = sum(float(v[0, i]) * local.cross(torch.eye(N, dtype=torch.float64)[i : i + 1]) for i in range(N))
    torch.testing.assert_close(local.cross(v), total)
