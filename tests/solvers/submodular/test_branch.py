"""Branch and bound reaches the best base, and stops where it is told to."""

from __future__ import annotations

import time

import numpy as np
import pytest
import torch
from hypothesis import given, settings

from foresolve.problems import SubmodularProblem
from foresolve.sets import FacilityLocation, SetFunction, UniformMatroid
from foresolve.solvers.submodular.branch import branch_and_bound
from foresolve.solvers.submodular.increments import ValueIncrements
from problems.conformance import seeds
from problems.test_submodular import FUNCTIONS, MATROIDS, N, brute_force, draw_theta, every_base
from sets.test_exact import LAMINAR, by_branching


@pytest.mark.parametrize("function", FUNCTIONS[:2], ids=lambda f: type(f).__name__)
@settings(max_examples=150, deadline=None)
@given(seed=seeds)
def test_branching_never_drops_the_best(function: SetFunction, seed: int) -> None:
    theta, matroid = draw_theta((), seed), LAMINAR[seed % 3]
    best = brute_force(SubmodularProblem(function, matroid), theta)
    assert by_branching(function, matroid, theta) == pytest.approx(best, rel=1e-9, abs=1e-12)


@settings(max_examples=25, deadline=None)
@given(seed=seeds)
def test_values_alone_lead_to_the_same_optimum(seed: int) -> None:
    function, theta = FacilityLocation(), draw_theta((), seed)

    def values(sets: np.ndarray) -> np.ndarray:
        masks = torch.from_numpy(sets).double()
        return function.value(masks, theta.expand(len(masks), *theta.shape)).numpy()

    start = every_base(MATROIDS[0])[-1].bool().numpy()
    base = branch_and_bound(ValueIncrements(values, N), 3, start, gap=1e-9)
    assert base is not None
    best = brute_force(SubmodularProblem(function, UniformMatroid(N, 3)), theta)
    assert float(values(base[None])[0]) == pytest.approx(best, rel=1e-9, abs=1e-12)


def test_branching_gives_up_after_its_work() -> None:
    increments = FacilityLocation().increments(draw_theta((1,), 2), N)
    start = every_base(MATROIDS[0])[0].bool().numpy()
    assert branch_and_bound(increments, 3, start, gap=1e-9, work=10.0) is None
    assert branch_and_bound(increments, 3, start, gap=1e-9, deadline=time.monotonic() - 1) is None
