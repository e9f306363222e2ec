"""States and gains of set functions: all that greedy and branch and bound ask for."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable
from functools import cached_property

import numpy as np
import torch
from torch import Tensor

from foresolve.solvers.arrays import Array

Values = Callable[[np.ndarray], np.ndarray]  # f (N,) of boolean sets (N, n)

# The value of a set counts as at least this many multiplications.
VALUE_COST = 1e4


class Increments(ABC):
    """The gains of single items over sets that grow, in float64.

    A set is known by its state, a row of `m` numbers. Greedy choices hold one set of each of `count` instances; branch
    and bound holds many sets of one. Arrays are NumPy's, or, where increments live on a GPU, tensors.

    A class of your own gives `n`, `empty`, `gains` and `grown` of one instance; the rest makes it faster.

    Attributes
    ----------
    count: instances.
    n: items.
    empty: `(count, m)`, the states of empty sets.
    favor: all gains at once cost as much as this share of them picked out; 0: always all of them.

    Examples
    --------
    The root of a sum; the state of a set is its sum:

    >>> import numpy as np
    >>> from foresolve.sets import Increments
    >>> class Root(Increments):
    ...     def __init__(self, theta):
    ...         self.theta, self.n, self.empty = theta, len(theta), np.zeros((1, 1))
    ...     def gains(self, states):
    ...         return np.sqrt(states + self.theta) - np.sqrt(states)
    ...     def grown(self, states, items):
    ...         return states + self.theta[items, None]
    >>> root = Root(np.array([1.0, 4.0, 9.0]))
    >>> root.gains(root.empty).tolist()
    [[1.0, 2.0, 3.0]]
    >>> root.grown(root.empty, np.array([2])).tolist()
    [[9.0]]
    """

    count: int = 1
    n: int
    empty: Array
    favor: float = 0.0

    @cached_property
    def cost(self) -> float:
        """The cost of one gain, in multiplications; that of a product with the state, unless it is set."""
        return float(self.empty.shape[-1])

    @abstractmethod
    def gains(self, states: Array) -> Array:
        """`(N, n)`: the gains of all items over sets of one instance; those of items in them mean nothing."""

    def batch_gains(self, states: Array) -> Array:
        """`(count, n)`: the gains over one set of each instance."""
        return self.gains(states)

    @abstractmethod
    def grown(self, states: Array, items: Array) -> Array:
        """`(N, m)`: the states after one item `(N,)` has joined each set."""

    def picked(self, states: np.ndarray, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        """`(P,)`: the gains of pairs of an instance, over its row of the states `(count, m)`, and an item.

        Pairs are in the order of the instances. Only asked for where `favor` is not 0.
        """
        return self.gains(states)[instances, items]


class DenseIncrements(Increments):
    """Functions of instances `theta` `(B, n, m)` whose sets have states of `m` numbers, `empty` `(B or 1, m)`."""

    def __init__(self, theta: Array, empty: Array) -> None:
        self.theta = theta
        self.count, self.n, m = theta.shape
        if isinstance(theta, Tensor):
            self._instances = torch.arange(self.count, device=theta.device)
            self.empty = empty.expand(self.count, m)
        else:
            self._instances = np.arange(self.count)
            self.empty = np.broadcast_to(empty, (self.count, m))

    def rows(self, items: Array) -> Array:
        """`(N, m)`: the rows of items `(N,)`, of the one instance or of one item for each."""
        return self.theta[self._instances, items]


class ValueIncrements(Increments):
    """Any function, as differences of its values; the state of a set is its 0/1 row `(n,)`, then its value."""

    favor = 1.0

    def __init__(self, values: Values, n: int, cost: float = 0.0) -> None:
        self.n, self._values, self.cost = n, values, max(VALUE_COST, cost)
        self.empty = self._states(np.zeros((1, n), dtype=bool))

    def gains(self, states: np.ndarray) -> np.ndarray:
        larger = (self._sets(states)[:, None] | np.eye(self.n, dtype=bool)).reshape(-1, self.n)
        return self._values(larger).reshape(-1, self.n) - states[:, -1:]

    def grown(self, states: np.ndarray, items: np.ndarray) -> np.ndarray:
        return self._states(self._sets(states) | np.eye(self.n, dtype=bool)[items])

    def picked(self, states: np.ndarray, instances: np.ndarray, items: np.ndarray) -> np.ndarray:
        larger = np.repeat(self._sets(states), len(items), axis=0)
        larger[np.arange(len(items)), items] = True
        return self._values(larger) - states[0, -1]

    def _sets(self, states: np.ndarray) -> np.ndarray:
        return states[:, :-1] > 0

    def _states(self, sets: np.ndarray) -> np.ndarray:
        return np.column_stack([sets, self._values(sets)])
