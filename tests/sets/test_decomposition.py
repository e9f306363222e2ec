"""Convex combinations of independent sets, against the definition and the min-max theorem."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foresolve.sets import LaminarMatroid, Matroid, UniformMatroid
from foresolve.sets.decomposition import ONE, columns, decompose, units
from mistakes import mistake
from sets.families import draw_point, matroids, subsets


@given(matroids(kinds=("graphic", "laminar"), most=6), st.integers(0, 1000))
def test_what_columns_miss_is_the_most_violated_rank_constraint(matroid: Matroid, seed: int) -> None:
    """`max_A x(A) - r(A)`, for points outside of the polytope as well."""
    x = np.random.default_rng(seed).random(matroid.n)
    missing, weights, sets = columns(x, matroid)
    assert weights.sum() == pytest.approx(1.0)
    assert (weights @ sets <= x + 1e-8).all()
    groups = subsets(matroid.n)
    ranks = matroid.maximize(groups, base=False).mul(groups).sum(-1)
    assert missing == pytest.approx(float((groups @ torch.from_numpy(x) - ranks).max()), abs=1e-7)


@given(matroids(kinds=("uniform", "partition", "laminar")), st.integers(0, 1000))
def test_systematic_sets_are_few_and_independent(matroid: LaminarMatroid, seed: int) -> None:
    x = draw_point(matroid, seed, base=False)
    weights, sets = decompose(x, matroid)
    assert sets.shape[1] <= matroid.n + 2
    assert bool(matroid.independent(sets.flatten(0, 1)).all())
    torch.testing.assert_close((weights[..., None] * sets).sum(1), x, atol=1e-8, rtol=0)


def test_units_round_to_integers_what_is_one_up_to_rounding() -> None:
    matroid = UniformMatroid(10, 1)
    x = torch.full((10,), 0.1, dtype=torch.float64)  # sums to 1 - 1e-16
    assert int(units(x, matroid).sum()) == ONE


def test_points_outside_are_refused_by_name() -> None:
    x = torch.tensor([[0.5, 0.5, 0.0], [0.9, 0.9, 0.0]], dtype=torch.float64)
    with mistake("x", "instance 1", "set 0", "0.8"):
        decompose(x, UniformMatroid(3, 1))
