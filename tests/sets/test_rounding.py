"""Decompositions and roundings.

Statistical tests use fixed generators. A mean of N independent numbers in an interval of width w is off by more than
`w sqrt(log(2 m / p) / (2 N))` for one of m such means with a probability of at most p (Hoeffding); p = 1e-6 throughout.
"""

from __future__ import annotations

import math

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from foresolve.sets import (
    GraphicMatroid,
    LaminarMatroid,
    Matroid,
    PartitionMatroid,
    ProbabilisticCoverage,
    UniformMatroid,
    pipage,
    randomized_pipage,
    swap_rounding,
)
from foresolve.sets.decomposition import ONE, decompose, units
from foresolve.sets.rounding import _fill, _random, _tournament
from mistakes import mistake
from sets.families import draw_point, draw_targets, matroids

ALL = ("uniform", "partition", "laminar", "graphic")
COVERAGE = ProbabilisticCoverage()
RANDOM = (swap_rounding, randomized_pipage)


def draw_theta(seed: int, *shape: int) -> torch.Tensor:
    return torch.from_numpy(np.random.default_rng(seed).random(shape) * 0.9)


def hoeffding(width: float, draws: int, means: int, probability: float = 1e-6) -> float:
    return width * math.sqrt(math.log(2 * means / probability) / (2 * draws))


@given(matroids(ALL), st.integers(0, 10_000), st.booleans())
def test_a_decomposition_reproduces_the_point(matroid: Matroid, seed: int, base: bool) -> None:
    x = draw_point(matroid, seed, base=base)
    weights, sets = decompose(x, matroid)
    assert (weights >= 0).all()
    torch.testing.assert_close(weights.sum(1), torch.ones(3, dtype=torch.float64))
    torch.testing.assert_close((weights[..., None] * sets).sum(1), x, atol=1e-8, rtol=0)
    assert matroid.independent(sets).all()
    if base:
        assert (sets.sum(-1)[weights > 1e-6] == matroid.rank).all()


@given(matroids(), st.integers(0, 10_000), st.booleans())
def test_integers_stand_for_points_exactly_inside(matroid: LaminarMatroid, seed: int, base: bool) -> None:
    """Also where the given sums miss the capacities by rounding, above or below."""
    x = matroid.project(draw_targets(seed, (4, matroid.n), scale=0.4), base=base).x
    noisy = x + 1e-10 * torch.from_numpy(np.random.default_rng(seed).uniform(-1, 1, tuple(x.shape))) / matroid.n
    integers = units(noisy, matroid)
    torch.testing.assert_close(integers.double() / ONE, x, atol=1e-8, rtol=0)
    assert ((integers >= 0) & (integers <= ONE)).all()
    for items, capacity in zip(matroid.sets, matroid.capacities, strict=True):
        assert (integers[:, items].sum(1) <= capacity * ONE).all()
    if base:
        assert (integers.sum(1) == matroid.rank * ONE).all()


@given(matroids(), st.integers(0, 10_000))
def test_exchanges_are_those_that_the_independence_test_allows(matroid: LaminarMatroid, seed: int) -> None:
    rng = np.random.default_rng(seed)
    gains = torch.from_numpy(rng.normal(size=(2, 6, matroid.n)))
    first, second = _fill(matroid.maximize(gains, base=bool(seed % 2)).bool(), matroid.rank)
    differ = (first & ~second).any(1)
    first, second = first[differ], second[differ]
    item = (first & ~second).double().argmax(1)
    exchanges = matroid._exchanges(first, second, item)
    assert torch.equal(exchanges, Matroid._exchanges(matroid, first, second, item))
    assert exchanges.any(1).all(), "there always is one"


@settings(max_examples=15)
@given(matroids(ALL), st.integers(0, 10_000), st.booleans())
def test_every_rounding_gives_independent_sets(matroid: Matroid, seed: int, base: bool) -> None:
    x = draw_point(matroid, seed, base=base)
    theta, generator = draw_theta(seed, 3, matroid.n, 4), torch.Generator().manual_seed(seed)
    for sets in (*(rounding(x, matroid, generator) for rounding in RANDOM), pipage(x, COVERAGE, theta, matroid)):
        assert ((sets == 0) | (sets == 1)).all()
        assert matroid.independent(sets).all()
        assert not base or (sets.sum(-1) == matroid.rank).all()
        assert (sets[x < 1e-12] == 0).all()
        assert (sets[x > 1 - 1e-12] == 1).all()
        if isinstance(matroid, LaminarMatroid):
            assert ((sets.sum(-1) - x.sum(-1)).abs() < 1).all()


@settings(max_examples=15)
@given(matroids(ALL), st.integers(0, 10_000), st.booleans())
def test_pipage_never_lowers_the_extension(matroid: Matroid, seed: int, base: bool) -> None:
    x, theta = draw_point(matroid, seed, base=base), draw_theta(seed, 3, matroid.n, 4)
    sets = pipage(x, COVERAGE, theta, matroid)
    assert (COVERAGE.value(sets, theta) >= COVERAGE.multilinear(x, theta) - 1e-7).all()


def test_pipage_takes_the_better_end() -> None:
    """Item 1 covers what item 0 does and more: of a half of each, the second is left."""
    theta = torch.tensor([[0.5, 0.0, 0.0], [0.5, 0.5, 0.0], [0.0, 0.0, 1.0]])
    x = torch.tensor([0.5, 0.5, 1.0])
    assert pipage(x, COVERAGE, theta, UniformMatroid(3, 2)).tolist() == [0, 1, 1]
    assert pipage(x, COVERAGE, theta, GraphicMatroid([(0, 1), (0, 1), (1, 2)])).tolist() == [0, 1, 1]
    many = theta.expand(2, 4, 3, 3) * torch.tensor([1.0, 0.5])[:, None, None, None]
    assert pipage(x, COVERAGE, many, UniformMatroid(3, 2)).shape == (2, 4, 3)


STATISTICAL = [
    UniformMatroid(6, 3),
    PartitionMatroid([0, 0, 0, 1, 1, 1], [1, 2]),
    LaminarMatroid(6, [[0, 1], [2, 3], [0, 1, 2, 3], range(6)], [1, 2, 2, 3]),
    GraphicMatroid([(0, 1), (1, 2), (2, 0), (2, 3), (3, 0), (3, 1)]),
]


@pytest.mark.parametrize("rounding", RANDOM)
@pytest.mark.parametrize("base", [True, False])
@pytest.mark.parametrize("matroid", STATISTICAL, ids=repr)
def test_random_roundings_keep_the_mean_and_the_value(matroid: Matroid, base: bool, rounding) -> None:
    """`E 1_S = x`, and `E f(S) >= F(x)` for three coverage functions at once, up to errors of probability 1e-6."""
    draws = 4000 if isinstance(matroid, LaminarMatroid) else 1500
    x = draw_point(matroid, 5, 1, base=base)[0]
    assert ((x > 0) & (x < 1)).sum() >= 3
    if isinstance(matroid, LaminarMatroid):
        sets = rounding(x.expand(draws, -1), matroid, torch.Generator().manual_seed(0))
    else:  # one decomposition: a linear program for each instance would take long
        combination = decompose(x, matroid)
        many = type(combination)(combination.weights.expand(draws, -1), combination.sets.expand(draws, -1, -1))
        sets = _tournament(many, matroid, _random(torch.Generator().manual_seed(0))).double()
    assert (sets.mean(0) - x).abs().max() <= hoeffding(1.0, draws, 6)
    for seed in range(3):
        theta = draw_theta(seed, 6, 3)
        mean = COVERAGE.value(sets, theta).mean()
        assert mean >= COVERAGE.multilinear(x, theta) - hoeffding(3.0, draws, 3)


@pytest.mark.parametrize("rounding", RANDOM)
def test_swap_keeps_the_value_of_functions_that_are_not_monotone(rounding) -> None:
    """The cut of a graph, for which independent rounding that breaks the matroid would be the only other way."""
    edges = torch.tensor([(0, 1), (1, 2), (2, 3), (3, 4), (4, 5), (5, 0), (0, 3)])
    x = torch.tensor([0.5, 0.5, 0.5, 0.5, 0.5, 0.5], dtype=torch.float64)
    sets = rounding(x.expand(20_000, -1), UniformMatroid(6, 3), torch.Generator().manual_seed(1))
    cut = (sets[:, edges[:, 0]] != sets[:, edges[:, 1]]).double().sum(1).mean()
    extension = (x[edges[:, 0]] * (1 - x[edges[:, 1]]) + x[edges[:, 1]] * (1 - x[edges[:, 0]])).sum()
    assert cut >= extension - hoeffding(7.0, 20_000, 1)


@pytest.mark.parametrize("rounding", RANDOM)
def test_randomness_comes_from_the_generator(rounding) -> None:
    matroid = UniformMatroid(6, 3)
    x = draw_point(matroid, 1, 50)
    first, same, third = (rounding(x, matroid, torch.Generator().manual_seed(seed)) for seed in (0, 0, 1))
    assert torch.equal(first, same)
    assert not torch.equal(first, third)
    assert torch.equal(first, rounding(x, matroid, 0))
    with mistake("seed", ">= 0", "-1"):
        rounding(x, matroid, -1)


@pytest.mark.parametrize("matroid", STATISTICAL, ids=repr)
def test_points_outside(matroid: Matroid) -> None:
    """Rounding errors are forgiven, more is an error that names the instance."""
    x = draw_point(matroid, 2)
    generator = torch.Generator().manual_seed(0)
    for nearly in (x * (1 + 1e-10), x * (1 - 1e-10) - 1e-11, x.float()):
        for rounding in RANDOM:
            sets = rounding(nearly, matroid, generator)
            assert sets.dtype == nearly.dtype
            assert matroid.independent(sets).all()
            assert (sets.sum(-1) == matroid.rank).all() or isinstance(matroid, GraphicMatroid)
    x[1] += 0.2
    for rounding in RANDOM:
        with mistake("x", "instance 1"):
            rounding(x, matroid, generator)
    with mistake("x", "instance 1, "):
        pipage(x, COVERAGE, draw_theta(0, 6, 3), matroid)
    with mistake("x", "nan at [0, 0]"):
        swap_rounding(x * torch.nan, matroid, generator)


@pytest.mark.parametrize("rounding", RANDOM)
def test_batches_of_any_shape(rounding) -> None:
    matroid, generator = UniformMatroid(4, 2), torch.Generator().manual_seed(0)
    for shape in ((4,), (0, 4), (2, 3, 4)):
        x = torch.full(shape, 0.5)
        sets = rounding(x, matroid, generator)
        assert sets.shape == shape
        assert (sets.sum(-1) == 2).all()
        assert pipage(x, COVERAGE, torch.full((4, 2), 0.5), matroid).shape == shape
