"""The forest of a laminar family: its rank, its order, its levels."""

from __future__ import annotations

import itertools

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from foresolve.sets.matroids.nested import grow
from mistakes import mistake
from sets.families import family


def rank_by_search(n: int, sets: list[np.ndarray], capacities: list[int]) -> int:
    """The size of the largest set that no capacity forbids."""
    best = 0
    for chosen in itertools.product([0, 1], repeat=n):
        if all(sum(chosen[i] for i in items) <= c for items, c in zip(sets, capacities)):
            best = max(best, sum(chosen))
    return best


@given(st.integers(0, 100_000))
def test_rank_order_and_levels(seed: int) -> None:
    rng = np.random.default_rng(seed)
    n = int(rng.integers(1, 9))
    sets = family(rng, rng.permutation(n), 0)
    capacities = [int(rng.integers(0, len(items) + 2)) for items in sets]
    forest = grow(n, sets, capacities)
    assert forest.rank == rank_by_search(n, sets, capacities)
    assert sorted(forest.order.tolist()) == list(range(n))
    place = np.argsort(forest.order)
    for items in sets:
        if len(items):
            assert np.ptp(place[items]) == len(items) - 1  # an interval
    binding, covered = [], np.zeros(n, dtype=bool)
    for level in forest.levels:
        group = level.group.numpy()
        for s in np.unique(group[group >= 0]):
            items = np.flatnonzero(group == s)
            assert sorted(items) == sorted(sets[s])
            binding.append(s)
            covered[items] = True
    assert forest.covered == covered.all()
    # What is left out never binds, and what remains does: without it, more would fit.
    assert forest.rank == rank_by_search(n, [sets[s] for s in binding], [capacities[s] for s in binding])
    for s in binding:
        inner = [t for t in range(len(sets)) if t != s and set(sets[t]) <= set(sets[s])]
        within = [*(sets[t] for t in inner), np.setdiff1d(np.arange(n), sets[s])]
        if not any(set(sets[t]) == set(sets[s]) for t in inner):
            assert capacities[s] < rank_by_search(n, within, [*(capacities[t] for t in inner), 0])


def test_no_set_holds_one_of_a_later_level() -> None:
    sets = [np.array([0, 1]), np.array([0, 1, 2, 3]), np.arange(6)]
    forest = grow(6, sets, [1, 2, 3])
    assert [level.totals.tolist() for level in forest.levels] == [[1.0], [2.0], [3.0]]
    assert forest.rank == 3


def test_sets_that_cross_are_named() -> None:
    with mistake("sets", "sets 0 and 1", "1 item"):
        grow(4, [np.array([0, 1]), np.array([1, 2])], [1, 1])
