"""The 0/1 knapsack by dynamic programming, against enumeration and SciPy's integer programs."""

from __future__ import annotations

import itertools

import numpy as np
import pytest
import scipy.optimize
import torch

from foresolve.solvers.exact.knapsack import fill


@pytest.mark.parametrize("seed", range(10))
def test_small_ones_by_enumeration(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, capacity = rng.integers(0, 6, 7), torch.from_numpy(rng.integers(0, 16, 5))
    gains = torch.from_numpy(rng.standard_normal((5, 7)))
    subsets = torch.tensor(list(itertools.product([0.0, 1.0], repeat=7)), dtype=torch.float64)
    load = subsets @ torch.from_numpy(weights).double()
    x = fill(gains, weights, capacity)
    assert bool((x @ torch.from_numpy(weights).double() <= capacity).all())
    for row, limit, decision in zip(gains, capacity, x, strict=True):
        best = (subsets[load <= limit] @ row).max()
        assert float(decision @ row) == pytest.approx(float(best), abs=1e-12)


@pytest.mark.parametrize("seed", range(4))
def test_larger_ones_by_milp(seed: int) -> None:
    rng = np.random.default_rng(seed)
    weights, gains = rng.integers(1, 40, 30), rng.random((3, 30))
    x = fill(torch.from_numpy(gains), weights, torch.tensor([100, 200, 300])).numpy()
    for row, limit, decision in zip(gains, (100, 200, 300), x, strict=True):
        rows = scipy.optimize.LinearConstraint(weights[None], ub=limit)
        best = scipy.optimize.milp(-row, constraints=rows, bounds=scipy.optimize.Bounds(0, 1), integrality=np.ones(30))
        assert weights @ decision <= limit
        assert row @ decision == pytest.approx(-best.fun, abs=1e-8)


def test_items_without_gain_stay_out() -> None:
    gains = torch.tensor([[0.0, -1.0, 2.0, 0.0]])
    assert fill(gains, np.array([1, 0, 1, 0]), torch.tensor([4])).tolist() == [[0.0, 0.0, 1.0, 0.0]]


def test_what_weighs_too_much_and_what_weighs_nothing() -> None:
    gains = torch.tensor([[9.0, 1.0, 1.0]])
    assert fill(gains, np.array([5, 0, 3]), torch.tensor([0])).tolist() == [[0.0, 1.0, 0.0]]


def test_each_instance_has_its_capacity() -> None:
    gains = torch.ones(4, 3)
    x = fill(gains, np.array([2, 2, 2]), torch.tensor([0, 2, 5, 9]))
    assert x.sum(-1).tolist() == [0.0, 1.0, 2.0, 3.0]
    assert fill(gains[:0], np.array([2, 2, 2]), torch.zeros(0, dtype=torch.int64)).shape == (0, 3)
