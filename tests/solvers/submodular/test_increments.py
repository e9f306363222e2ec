"""Gains as differences of values, in whichever way they are asked for."""

from __future__ import annotations

import numpy as np
import pytest
import torch

from foresolve.solvers.submodular.increments import ValueIncrements, broadcast_to, rows_of

WEIGHTS = np.array([1.0, 4.0, 9.0, 2.0, 0.0])


def root(sets: np.ndarray) -> np.ndarray:
    return np.sqrt(sets @ WEIGHTS)


@pytest.fixture
def increments() -> ValueIncrements:
    return ValueIncrements(root, 5)


def test_gains_along_a_chain_telescope_to_the_value(increments: ValueIncrements) -> None:
    state, total = increments.empty, 0.0
    for item in (3, 0, 4, 2, 1):
        total += increments.gains(state)[0, item]
        state = increments.grown(state, np.array([item]))
        assert total == pytest.approx(state[0, -1])
    assert total == pytest.approx(np.sqrt(WEIGHTS.sum()))


def test_many_sets_at_once_are_each_their_own(increments: ValueIncrements) -> None:
    states = increments.grown(np.repeat(increments.empty, 3, axis=0), np.array([0, 2, 4]))
    gains = increments.gains(states)
    for row, item in enumerate((0, 2, 4)):
        base = np.eye(5, dtype=bool)[item]
        for joining in set(range(5)) - {item}:
            larger = base | np.eye(5, dtype=bool)[joining]
            assert gains[row, joining] == pytest.approx(root(larger[None])[0] - root(base[None])[0])


def test_picked_gains_are_those_of_all(increments: ValueIncrements) -> None:
    state = increments.grown(increments.empty, np.array([1]))
    items = np.array([4, 0, 2])
    picked = increments.picked(state, np.zeros(3, dtype=int), items)
    np.testing.assert_allclose(picked, increments.gains(state)[0, items])


def test_rows_of_one_instance_or_of_one_item_for_each() -> None:
    theta = np.arange(24.0).reshape(2, 4, 3)
    np.testing.assert_array_equal(rows_of(theta, np.array([3, 0])), [theta[0, 3], theta[1, 0]])
    np.testing.assert_array_equal(rows_of(theta[:1], np.array([3, 0, 1])), theta[0, [3, 0, 1]])
    tensors = rows_of(torch.from_numpy(theta), torch.tensor([3, 0]))
    np.testing.assert_array_equal(tensors.numpy(), rows_of(theta, np.array([3, 0])))
    for values in (np.ones((1, 3)), torch.ones(1, 3)):
        assert tuple(broadcast_to(values, (4, 3)).shape) == (4, 3)
