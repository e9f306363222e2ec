from __future__ import annotations

import itertools

import pytest
import torch

from foresolve.data.dataset import DecisionDataset
from foresolve.data.loader import Loader
from foresolve.problems.linear import LinearProgram
from foresolve.problems.top_k import TopK
from mistakes import mistake


def top_k_data(count: int = 20) -> DecisionDataset:
    generator = torch.Generator().manual_seed(0)
    features, theta = torch.randn(count, 3, generator=generator), torch.randn(count, 5, generator=generator)
    return DecisionDataset(features, theta, TopK(5, 2))


def positions(loader: Loader) -> list[list[int]]:
    return [batch.index.tolist() for batch in loader]  # type: ignore[union-attr]


def test_every_instance_once_in_a_new_order_each_time() -> None:
    loader = top_k_data().loader(8, seed=0)
    first, second = positions(loader), positions(loader)
    assert [len(part) for part in first] == [8, 8, 4]
    assert sorted(itertools.chain(*first)) == list(range(20))
    assert first != second


def test_the_seed_decides() -> None:
    data = top_k_data()
    first = positions(data.loader(8, seed=0))
    assert first == positions(data.loader(8)) == positions(data.loader(8, seed=torch.Generator().manual_seed(0)))
    assert first != positions(data.loader(8, seed=1))
    with mistake("seed", "0"):
        data.loader(8, seed=None)  # type: ignore[arg-type]


def test_plain_order_and_a_last_batch_that_is_dropped() -> None:
    data = top_k_data()
    plain = list(data.loader(8, shuffle=False, drop_last=True))
    assert torch.equal(torch.cat([batch.theta for batch in plain]), data.theta[:16])
    assert len(data.loader(8, drop_last=True)) == 2


def test_bad_sizes() -> None:
    with mistake("batch_size", "1", "0"):
        top_k_data().loader(0)


@pytest.mark.parametrize("sense", ["max", "min"])
def test_unpacked_as_elsewhere(sense) -> None:
    problem = LinearProgram(A_eq=[[1.0] * 5], b_eq=[2.0], bounds=(0, 1), sense=sense)
    data = top_k_data().with_problem(problem)
    loader = data.loader(8, shuffle=False, unpacked=True)
    assert len(loader) == 3
    start = 0
    for features, theta, decision, value in loader:
        rows = slice(start, start + len(features))
        assert torch.equal(features, data.features[rows])
        assert torch.equal(theta, data.theta[rows])
        assert torch.equal(decision, data.decisions[rows])
        # A column, in the problem's own sense: what is paid where costs are minimized.
        torch.testing.assert_close(value, (decision * theta).sum(-1, keepdim=True))
        start += len(features)
    assert start == 20
