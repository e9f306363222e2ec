from __future__ import annotations

import pytest
import torch

from foresolve.data.dataset import DecisionDataset
from foresolve.data.splits import random_order, split_sizes
from foresolve.errors import InvalidInputError
from foresolve.problems.top_k import TopK
from mistakes import mistake


def top_k_data(count: int = 20) -> DecisionDataset:
    generator = torch.Generator().manual_seed(0)
    features, theta = torch.randn(count, 3, generator=generator), torch.randn(count, 5, generator=generator)
    return DecisionDataset(features, theta, TopK(5, 2))


@pytest.mark.parametrize("count", [1, 7, 100])
def test_orders_have_every_position_once(count: int) -> None:
    assert random_order(count, 3).sort().values.tolist() == list(range(count))
    assert torch.equal(random_order(count, 3), random_order(count, torch.Generator().manual_seed(3)))


@pytest.mark.parametrize("parts", [(0.1, 0.2, 0.7), (1 / 3, 1 / 3, 1 / 3), (0.25,), (3, 4), (5, 5, 7)])
@pytest.mark.parametrize("count", [17, 100])
def test_sizes_add_up_and_are_near_their_shares(parts: tuple[float, ...], count: int) -> None:
    sizes = split_sizes(parts, count)
    assert sum(sizes) == count
    scale = count if isinstance(parts[0], float) else 1
    assert all(abs(size - part * scale) <= 1 for size, part in zip(sizes, parts))


def test_shares_and_counts() -> None:
    data = top_k_data().solve()
    for parts in (data.split(0.5, 0.25, 0.25), data.split([10, 5, 5]), data.split(10, 5), data.split((0.5, 0.25))):
        assert [len(part) for part in parts] == [10, 5, 5]
        rows = torch.cat([part.theta for part in parts])
        assert torch.equal(rows.sort(0).values, data.theta.sort(0).values)
        for part in parts:
            assert part.solved
            torch.testing.assert_close(part.decisions, part.problem.solve(part.theta))
    assert [len(part) for part in data.split(0.8)] == [16, 4]


def test_seeds() -> None:
    data = top_k_data()
    same, again = data.split(0.5, seed=3)[0].theta, data.split(0.5, seed=3)[0].theta
    assert torch.equal(same, again)
    assert not torch.equal(same, data.split(0.5, seed=4)[0].theta)
    assert torch.equal(data.split(0.5, shuffle=False)[0].theta, data.theta[:10])


def test_folds() -> None:
    data = top_k_data()
    folds = data.folds(3, seed=1)
    assert [(len(train), len(valid)) for train, valid in folds] == [(13, 7), (13, 7), (14, 6)]
    rows = torch.cat([valid.theta for _, valid in folds])
    assert torch.equal(rows.sort(0).values, data.theta.sort(0).values)


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((0.99, 0.01), "no side of the 20 instances is empty; got 0.99, 0.01, so sizes 20, 0"),
        ((1.0,), "no side"),
        ((20,), "no side"),
        ((0.8, 0.8), "sum to at most 1"),
        ((15, 15), "sum to at most 20"),
        ((), "got none"),
        ((-0.5, 0.5), "`parts` must be"),
    ],
)
def test_bad_parts(parts: tuple[float, ...], message: str) -> None:
    with pytest.raises(InvalidInputError, match=message):
        top_k_data().split(*parts)


def test_bad_folds() -> None:
    for k in (1, 21):
        with mistake("k", "2"):
            top_k_data().folds(k)
    with mistake("index"):
        top_k_data().subset([])


@pytest.mark.parametrize("share", [float("nan"), float("inf")])
def test_shares_are_finite(share: float) -> None:
    with mistake("parts"):
        split_sizes([share, 0.5], 10)
