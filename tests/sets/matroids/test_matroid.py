from __future__ import annotations

import copy
import pickle

import numpy as np
import pytest
import torch
from hypothesis import given
from hypothesis import strategies as st

from foresolve.sets import GraphicMatroid, LaminarMatroid, Matroid, PartitionMatroid, PolyhedralMatroid, UniformMatroid
from mistakes import mistake
from sets.families import KINDS, draw_matroid, draw_point, matroids, subsets

ALL = (*KINDS, "graphic")


@given(matroids(ALL, most=7))
def test_axioms(matroid: Matroid) -> None:
    """Every subset of an independent set is one, and the smaller of two can be extended from the larger."""
    every = subsets(matroid.n)
    independent = matroid.independent(every)
    family = {tuple(row) for row in every[independent].int().tolist()}
    assert (0,) * matroid.n in family
    assert max(map(sum, family)) == matroid.rank
    for first in family:
        for i in range(matroid.n):
            assert (*first[:i], 0, *first[i + 1 :]) in family
        for second in family:
            if sum(first) < sum(second):
                extra = [i for i in range(matroid.n) if second[i] and not first[i]]
                assert any((*first[:i], 1, *first[i + 1 :]) in family for i in extra)


@given(matroids(ALL, most=7))
def test_addable_items_are_those_that_keep_a_set_independent(matroid: Matroid) -> None:
    every = subsets(matroid.n)
    every = every[matroid.independent(every)]
    for i in range(matroid.n):
        joined = every.clone()
        joined[:, i] = 1
        expected = matroid.independent(joined) & (every[:, i] == 0)
        assert torch.equal(matroid.addable(every)[:, i], expected)
        assert torch.equal(matroid.addable(every.bool())[:, i], expected)


@given(matroids(ALL, most=7), st.integers(0, 10_000), st.booleans(), st.booleans())
def test_greedy_against_all_subsets(matroid: Matroid, seed: int, base: bool, ties: bool) -> None:
    every = subsets(matroid.n)
    every = every[matroid.independent(every)]
    gains = torch.from_numpy(np.random.default_rng(seed).normal(size=(2, 3, matroid.n)))
    gains = gains.round() if ties else gains
    sets = matroid.maximize(gains, base=base)
    assert matroid.independent(sets).all()
    allowed = every[every.sum(-1) == matroid.rank] if base else every
    torch.testing.assert_close((gains * sets).sum(-1), (gains @ allowed.mT).amax(-1))
    if base:
        assert (sets.sum(-1) == matroid.rank).all()
    else:
        assert not (sets.bool() & (gains <= 0)).any()


@pytest.mark.parametrize("kind", ALL)
def test_ties_go_to_the_lowest_index(kind: str) -> None:
    for seed in range(20):
        matroid = draw_matroid(kind, seed)
        expected = torch.zeros(matroid.n)
        for i in range(matroid.n):
            expected[i] = matroid.addable(expected)[i]
        assert torch.equal(matroid.maximize(torch.zeros(2, matroid.n)), expected.expand(2, -1))


@given(matroids(ALL), st.integers(0, 10_000))
def test_excess_of_points_inside_and_outside(matroid: Matroid, seed: int) -> None:
    x = draw_point(matroid, seed)
    assert all(amount.numel() == 0 or amount.max() < 1e-9 for amount in matroid.excess(x).values())
    outside = torch.full((matroid.n,), matroid.rank / matroid.n + 0.1, dtype=torch.float64)  # the total is too large
    excess = matroid.excess(outside)
    torch.testing.assert_close(excess["base"], torch.tensor([0.1 * matroid.n], dtype=torch.float64))
    assert "base" not in matroid.excess(outside, base=False)
    assert max(float(amount.max()) for kind, amount in excess.items() if amount.numel() and kind != "base") > 1e-3
    torch.testing.assert_close(matroid.excess(x - 2)["lower"], 2 - x)
    torch.testing.assert_close(matroid.excess(x + 2)["upper"], x + 1)


@given(matroids())
def test_rows_describe_the_independent_sets(matroid: PolyhedralMatroid) -> None:
    A, b = matroid.rows()
    every = subsets(matroid.n)
    assert torch.equal(matroid.independent(every), torch.from_numpy((every.numpy() @ A.T <= b).all(1)))


@given(matroids(), st.integers(0, 10_000))
def test_items_of_full_sets_cannot_rise(matroid: PolyhedralMatroid, seed: int) -> None:
    for x in (draw_point(matroid, seed), 0.5 * draw_point(matroid, seed)):
        raised = x.unsqueeze(1) + 1e-6 * torch.eye(matroid.n, dtype=torch.float64)
        broken = (matroid.excess(raised, base=False)["sets"] > 1e-9).any(-1)
        assert torch.equal(matroid.full(x), broken)


@pytest.mark.parametrize("kind", ALL)
def test_copies(kind: str) -> None:
    matroid = draw_matroid(kind, 3)
    gains = torch.randn(4, matroid.n, generator=torch.Generator().manual_seed(0))
    for twin in (pickle.loads(pickle.dumps(matroid)), copy.deepcopy(matroid), matroid.to("cpu")):
        assert torch.equal(twin.maximize(gains), matroid.maximize(gains))
        assert repr(twin) == repr(matroid)


def test_results_keep_dtype_and_shape() -> None:
    matroid = PartitionMatroid([0, 1, 0], [1, 1])
    for shape in ((3,), (0, 3), (2, 1, 3)):
        for dtype in (torch.float32, torch.float64):
            y = torch.zeros(shape, dtype=dtype)
            image = matroid.project(y)
            assert image.x.dtype == image.price.dtype == matroid.maximize(y).dtype == dtype
            assert image.x.shape == image.free.shape == image.group.shape == matroid.maximize(y).shape == shape
            assert image.tangent(y).shape == shape
            assert matroid.independent(y).shape == shape[:-1]


def test_groups_in_either_form() -> None:
    by_label = PartitionMatroid(torch.tensor([2, 0, 2, 0]), [1, 5, 1])
    by_list = PartitionMatroid([[1, 3], [], [2, 0]], [1, 5, 1])
    every = subsets(4)
    assert by_label.rank == by_list.rank == 2
    assert torch.equal(by_label.independent(every), by_list.independent(every))


@pytest.mark.parametrize(
    ("make", "about"),
    [
        (lambda: UniformMatroid(3, -1), ("k", ">= 0", "-1")),
        (lambda: UniformMatroid(3, 4), ("k", "`n` (3)", "got 4")),
        (lambda: UniformMatroid(3, 1.5), ("k", ">= 0", "1.5")),
        (lambda: UniformMatroid(0, 0), ("n", ">= 1", "got 0")),
        (lambda: PartitionMatroid([[0, 1], [1, 2]], 1), ("groups", "item 1 twice")),
        (lambda: PartitionMatroid([[0, 1], [3]], 1), ("groups", "item 2")),
        (lambda: PartitionMatroid([0, -1], 1), ("groups[1]", ">= 0", "-1")),
        (lambda: PartitionMatroid([0, 2], [1, 1]), ("groups", "0 to 1", "got 2")),
        (lambda: PartitionMatroid([], 1), ("groups", "nothing")),
        (lambda: PartitionMatroid([[0], [1]], [1]), ("capacities", "2 sets", "got 1")),
        (lambda: PartitionMatroid([0, 1], [1, -1]), ("capacities[1]", ">= 0", "-1")),
        (lambda: PartitionMatroid([0, 1], 0.5), ("capacities", ">= 0", "0.5")),
        (lambda: LaminarMatroid(4, [[0, 1], [3], [1, 2]], 1), ("sets", "sets 0 and 2")),
        (lambda: LaminarMatroid(4, [[0, 4]], 1), ("sets[0]", "item 4")),
        (lambda: LaminarMatroid(4, [[0], [1, 1]], 1), ("sets[1]", "item 1 twice")),
        (lambda: LaminarMatroid(4, [[0.5]], 1), ("sets[0]", "float64")),
        (lambda: GraphicMatroid([(0, 1, 2)]), ("edges", "(n, 2)", "(1, 3)")),
        (lambda: GraphicMatroid([(0, 3)], 3), ("edges", "0 to 2", "edge 0: (0, 3)")),
        (lambda: UniformMatroid(3, 1).project(torch.zeros(2, 4)), ("y", "(*batch, 3)", "(2, 4)")),
        (
            lambda: UniformMatroid(2, 1).project(torch.tensor([0, torch.nan])),
            ("y", "nan at [1]"),
        ),
        (lambda: UniformMatroid(2, 1).maximize(torch.tensor([0, torch.nan])), ("gains", "nan at [1]")),
        (lambda: UniformMatroid(3, 1).independent(torch.full((3,), 0.5)), ("mask", "0/1")),
    ],
)
def test_bad_input(make, about: tuple[str, ...]) -> None:
    with mistake(*about):
        make()
