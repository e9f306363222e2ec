from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresolve.sets import PartitionMatroid
from foresolve.sets.functions.coverage import CoverageIncrements, SparseCoverageIncrements
from foresolve.sets.functions.facility import FacilityIncrements
from foresolve.solvers.arrays import Array
from foresolve.solvers.submodular import greedy
from foresolve.solvers.submodular.greedy import full_greedy, lazy_greedy
from foresolve.solvers.submodular.increments import Increments

Kind = Callable[[Array, Array], Increments]
KINDS: list[Kind] = [CoverageIncrements, lambda theta, weights: FacilityIncrements(theta)]
few = settings(max_examples=15, deadline=None, suppress_health_check=list(HealthCheck))


def instances(seed: int, count: int, n: int, targets: int) -> tuple[np.ndarray, np.ndarray]:
    """Parameters with ties and copies of items, and weights."""
    rng = np.random.default_rng(seed)
    theta = rng.random((count, n, targets)) * (rng.random((count, n, targets)) < rng.choice([0.1, 0.5, 1.0]))
    if seed % 3 == 0:
        theta = np.round(4 * theta) / 4
    if seed % 2 == 0:
        theta[:, n // 2 :] = theta[:, : n - n // 2]
    return theta, rng.random((1 if seed % 5 else count, targets))


def plain(increments: Increments, rank: int) -> np.ndarray:
    sets, states = np.zeros((increments.count, increments.n), dtype=bool), increments.empty
    band = greedy.TIE * increments.batch_gains(states).max(1, keepdims=True)
    for _ in range(rank):
        gains = np.where(sets, -np.inf, increments.batch_gains(states))
        chosen = (gains >= gains.max(1, keepdims=True) - band).argmax(1)
        sets[np.arange(len(sets)), chosen] = True
        states = increments.grown(states, chosen)
    return sets


@pytest.mark.parametrize("kind", KINDS, ids=["coverage", "facility"])
@few
@given(seed=st.integers(0, 2**20), count=st.integers(1, 6), rank=st.integers(1, 12))
def test_lazy_equals_plain(kind: Kind, seed: int, count: int, rank: int) -> None:
    theta, weights = instances(seed, count, 30, 15)
    for favor in (0.0, 0.2, 1.0):  # always all gains, all where many are needed, never all
        increments = kind(theta, weights)
        increments.favor = favor
        assert np.array_equal(lazy_greedy(increments, rank), plain(kind(theta, weights), rank))


@pytest.mark.parametrize("kind", KINDS, ids=["coverage", "facility"])
@few
@given(seed=st.integers(0, 2**20))
def test_torch_equals_numpy(kind: Kind, seed: int) -> None:
    theta, weights = instances(seed, 4, 30, 15)
    expected = lazy_greedy(kind(theta, weights), 8)
    chosen = full_greedy(kind(torch.from_numpy(theta), torch.from_numpy(weights)), 8)
    assert np.array_equal(chosen.numpy(), expected)


@pytest.mark.parametrize("kind", KINDS, ids=["coverage", "facility"])
def test_a_matroid_has_its_say(kind: Kind) -> None:
    theta, weights = instances(1, 5, 30, 15)
    matroid = PartitionMatroid([i % 6 for i in range(30)], 1)
    sets = lazy_greedy(kind(theta, weights), 6, lambda sets: matroid.addable(torch.from_numpy(sets)).numpy())
    assert bool(matroid.independent(torch.from_numpy(sets)).all())
    assert (sets.sum(1) == 6).all()
    tensors = torch.from_numpy(theta), torch.from_numpy(weights)
    assert np.array_equal(full_greedy(kind(*tensors), 6, matroid.addable).numpy(), sets)


@few
@given(seed=st.integers(0, 2**20), block=st.sampled_from([1, 3, 64]))
def test_sparse_equals_dense(seed: int, block: int) -> None:
    theta, weights = instances(seed, 1, 200, 40)
    expected = plain(CoverageIncrements(theta, weights[:1]), 25)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(greedy, "BLOCK", block)  # how many items are looked at together must not matter
        chosen = lazy_greedy(SparseCoverageIncrements(scipy.sparse.csr_array(theta[0]), weights[0]), 25)
    assert np.array_equal(chosen, expected)


def test_equal_items_are_taken_in_their_order() -> None:
    theta = np.full((2, 5, 3), 0.25)
    for kind in KINDS:
        sets = lazy_greedy(kind(theta, np.ones((1, 3))), 2)
        assert sets.tolist() == [[True, True, False, False, False]] * 2


def test_nothing_to_do() -> None:
    assert lazy_greedy(CoverageIncrements(np.ones((0, 4, 2)), np.ones((1, 2))), 2).shape == (0, 4)
    assert not lazy_greedy(CoverageIncrements(np.ones((2, 4, 2)), np.ones((1, 2))), 0).any()


def test_lazy_looks_at_few_items() -> None:
    """Item `i` alone reaches target `i`, with a falling probability: each step needs one fresh gain."""
    calls = []

    class Counted(SparseCoverageIncrements):
        def picked(self, states: np.ndarray, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
            calls.append(len(items))
            return super().picked(states, instances, items)

    theta = scipy.sparse.diags_array(np.linspace(1.0, 0.1, 100), format="csr")
    assert lazy_greedy(Counted(theta, np.ones(100)), 50)[0].nonzero()[0].tolist() == list(range(50))
    assert sum(calls) == 49
