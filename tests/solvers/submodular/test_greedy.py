from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresolve.sets.matroids.laminar import PartitionMatroid
from foresolve.solvers.submodular import greedy
from foresolve.solvers.submodular.greedy import (
    CoverageMarginals,
    DenseMarginals,
    FacilityMarginals,
    Marginals,
    full_greedy,
    lazy_greedy,
)
from foresolve.solvers.submodular.sparse_greedy import SparseCoverageMarginals

KINDS = [CoverageMarginals, FacilityMarginals]
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


def plain(marginals: Marginals, rank: int) -> np.ndarray:
    sets = np.zeros((marginals.count, marginals.n), dtype=bool)
    band = greedy.TIE * marginals.everything().max(1, keepdims=True)
    for _ in range(rank):
        gains = np.where(sets, -np.inf, marginals.everything())
        chosen = (gains >= gains.max(1, keepdims=True) - band).argmax(1)
        sets[np.arange(len(sets)), chosen] = True
        marginals.add(chosen)
    return sets


@pytest.mark.parametrize("kind", KINDS)
@few
@given(seed=st.integers(0, 2**20), count=st.integers(1, 6), rank=st.integers(1, 12))
def test_lazy_equals_plain(kind: type[DenseMarginals], seed: int, count: int, rank: int) -> None:
    theta, weights = instances(seed, count, 30, 15)
    for favor in (0.0, 0.2, 1.0):  # always all gains, all where many are needed, never all
        marginals = kind(theta, weights)
        marginals.favor = favor
        assert np.array_equal(lazy_greedy(marginals, rank), plain(kind(theta, weights), rank))


@pytest.mark.parametrize("kind", KINDS)
@few
@given(seed=st.integers(0, 2**20))
def test_torch_equals_numpy(kind: type[DenseMarginals], seed: int) -> None:
    theta, weights = instances(seed, 4, 30, 15)
    expected = lazy_greedy(kind(theta, weights), 8)
    found = full_greedy(kind(torch.from_numpy(theta), torch.from_numpy(weights)), 8)
    assert np.array_equal(found.numpy(), expected)


@pytest.mark.parametrize("kind", KINDS)
def test_a_matroid_has_its_say(kind: type[DenseMarginals]) -> None:
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
    expected = plain(CoverageMarginals(theta, weights[:1]), 25)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(greedy, "BLOCK", block)  # how many items are looked at together must not matter
        found = lazy_greedy(SparseCoverageMarginals(scipy.sparse.csr_array(theta[0]), weights[0]), 25)
    assert np.array_equal(found, expected)


def test_equal_items_are_taken_in_their_order() -> None:
    theta = np.full((2, 5, 3), 0.25)
    for kind in KINDS:
        sets = lazy_greedy(kind(theta, np.ones((1, 3))), 2)
        assert sets.tolist() == [[True, True, False, False, False]] * 2


def test_nothing_to_do() -> None:
    assert lazy_greedy(CoverageMarginals(np.ones((0, 4, 2)), np.ones((1, 2))), 2).shape == (0, 4)
    assert not lazy_greedy(CoverageMarginals(np.ones((2, 4, 2)), np.ones((1, 2))), 0).any()


def test_lazy_looks_at_few_items() -> None:
    """Item `i` alone reaches target `i`, with a falling probability: each step needs one fresh gain."""
    calls = []

    class Counted(SparseCoverageMarginals):
        def some(self, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
            calls.append(len(items))
            return super().some(instances, items)

    theta = scipy.sparse.diags_array(np.linspace(1.0, 0.1, 100), format="csr")
    assert lazy_greedy(Counted(theta, np.ones(100)), 50)[0].nonzero()[0].tolist() == list(range(50))
    assert sum(calls) == 49
