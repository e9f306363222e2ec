"""Gains as differences of values, in whichever way they are asked for."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import torch

from foresolve.solvers.arrays import Array
from foresolve.solvers.submodular.increments import DenseIncrements, ValueIncrements

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


class Modular(DenseIncrements):
    """A sum of rows, which no set has a say in."""

    def gains(self, states: Array) -> Array:
        return self.theta[0].sum(-1)[None] + 0 * states[:, :1]

    def grown(self, states: Array, items: Array) -> Array:
        return states + self.rows(items)


@pytest.mark.parametrize("kind", [np.asarray, torch.from_numpy])
def test_rows_of_one_instance_or_of_one_item_for_each(kind: Callable[[np.ndarray], Array]) -> None:
    theta, items = np.arange(24.0).reshape(2, 4, 3), np.array([3, 0])
    both, first = (Modular(kind(part), kind(np.ones((1, 3)))) for part in (theta, theta[:1]))
    assert tuple(both.empty.shape) == (2, 3)
    np.testing.assert_array_equal(both.grown(both.empty, kind(items)), 1 + theta[[0, 1], items])
    np.testing.assert_array_equal(first.rows(kind(np.array([3, 0, 1]))), theta[0, [3, 0, 1]])
