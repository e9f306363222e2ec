"""Cuts bound what they are made for, and a search by them stops where it is told to."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from torch import Tensor

from foresolve.errors import SolverError
from foresolve.sets import ProbabilisticCoverage, SetFunction, UniformMatroid
from foresolve.solvers.submodular.cuts import Bases, Parts, WholeParts, maximize_by_cuts
from mistakes import mistake
from problems.conformance import conform, seeds
from problems.test_submodular import FUNCTIONS, MATROIDS, N, draw_theta, every_base


def sets_and_values(function: SetFunction, theta: Tensor) -> tuple[Tensor, Parts]:
    masks = torch.cartesian_prod(*[torch.tensor([False, True])] * N)
    return masks, function.cuts(theta[None], N)


@pytest.mark.parametrize("function", FUNCTIONS, ids=lambda f: type(f).__name__)
@conform
@given(seed=seeds)
def test_cuts_bound_every_set_and_touch_their_own(function: SetFunction, seed: int) -> None:
    theta = draw_theta((), seed)
    masks, parts = sets_and_values(function, theta)
    values = np.stack([parts.values(mask) for mask in masks.numpy()])
    rng = np.random.default_rng(seed)
    members = rng.random(N) < 0.4
    here = parts.at_set(members)
    for constants, slopes in [*here, *parts.at_point(rng.random(N) * (rng.random(N) < 0.7))]:
        bounds = constants + masks.numpy() @ slopes.T
        assert (values <= bounds + 1e-12).all()
    np.testing.assert_allclose(here[0][0] + here[0][1] @ members, parts.values(members), atol=1e-12)


def test_rounds_run_out(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("foresolve.solvers.submodular.cuts.MOST_ROUNDS", 1)
    monkeypatch.setattr("foresolve.solvers.submodular.cuts.MOST_LINEAR", 0)
    parts = ProbabilisticCoverage().cuts(draw_theta((1,), 2), N)
    start = every_base(MATROIDS[0])[0].bool().numpy()
    with mistake("", "1 rounds", "`time_limit`", kind=SolverError):
        maximize_by_cuts(parts, Bases(*UniformMatroid(N, 3).rows(), 3), start, 1e-9, 60.0)


def test_nothing_to_gain_and_nothing_to_take() -> None:
    start, bases = np.arange(N) < 3, Bases(*UniformMatroid(N, 3).rows(), 3)
    worthless = WholeParts(lambda sets: np.zeros(len(sets)), N)
    assert np.array_equal(maximize_by_cuts(worthless, bases, start, 1e-9, 60.0), start)
    parts = ProbabilisticCoverage().cuts(draw_theta((1,), 2), N)
    nothing = np.zeros(N, dtype=bool)
    assert not maximize_by_cuts(parts, Bases(*UniformMatroid(N, 0).rows(), 0), nothing, 1e-9, 60.0).any()
