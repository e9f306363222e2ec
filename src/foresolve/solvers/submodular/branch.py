"""Exact maximisation of a set function by branch and bound over sets that grow item by item.

Of a set `S` that lacks `r` items, no base that adds items of `C` to it is worth more than `f(S)` plus the `r` largest
gains of `C` over `S`. Items come in the order of their gains over the empty set, and each set grows by later items
only, so none is met twice. Thousands of sets are looked at together: their gains are one matrix product.
"""

from __future__ import annotations

import time
from abc import ABC, abstractmethod
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from foresolve.solvers.submodular.greedy import Addable

# Numbers of a block of sets: items or targets, whichever are more.
BLOCK = 2**19


class States(ABC):
    """What a function of one instance must remember of a set, `(m,)`, and the gains that follow from it."""

    n: int
    cost: float  # of one gain, in multiplications
    empty: np.ndarray

    @abstractmethod
    def gains(self, states: np.ndarray) -> np.ndarray:
        """`(N, n)`: the gains of all items over sets with the states `(N, m)`."""

    @abstractmethod
    def grown(self, states: np.ndarray, items: np.ndarray) -> np.ndarray:
        """`(N, m)`: the states after one item `(N,)` has joined each set."""


class CoverageStates(States):
    """`f(S) = sum_j w_j (1 - prod_{i in S} (1 - theta_ij))`; the state is the weight that is left."""

    def __init__(self, theta: np.ndarray, weights: np.ndarray) -> None:
        self.theta, self.empty, self.n, self.cost = theta, weights, theta.shape[0], theta.shape[1]

    def gains(self, states: np.ndarray) -> np.ndarray:
        return states @ self.theta.T

    def grown(self, states: np.ndarray, items: np.ndarray) -> np.ndarray:
        return states * (1.0 - self.theta[items])


class FacilityStates(States):
    """`f(S) = sum_j max_{i in S} theta_ij`; the state is what each client has."""

    def __init__(self, theta: np.ndarray) -> None:
        self.theta, self.empty = theta, np.zeros(theta.shape[1])
        self.n, self.cost = theta.shape[0], 8.0 * theta.shape[1]  # as many multiplications as a maximum takes time

    def gains(self, states: np.ndarray) -> np.ndarray:
        more, ones = np.empty_like(states), np.ones(states.shape[1])
        found = np.empty((len(states), self.n))
        for i in range(self.n):
            np.maximum(states, self.theta[i], out=more)
            found[:, i] = more @ ones
        return found - (states @ ones)[:, None]

    def grown(self, states: np.ndarray, items: np.ndarray) -> np.ndarray:
        return np.maximum(states, self.theta[items])


class ValueStates(States):
    """Any function: `value` gives `f` `(N,)` of boolean sets `(N, n)`, which are their own states."""

    def __init__(self, value: Callable[[np.ndarray], np.ndarray], n: int, cost: float) -> None:
        self.value, self.n, self.cost = value, n, cost
        self.empty = np.zeros(n, dtype=bool)

    def gains(self, states: np.ndarray) -> np.ndarray:
        have = self.value(states)
        more = (states[:, None] | np.eye(self.n, dtype=bool)).reshape(-1, self.n)
        return self.value(more).reshape(-1, self.n) - have[:, None]

    def grown(self, states: np.ndarray, items: np.ndarray) -> np.ndarray:
        return states | np.eye(self.n, dtype=bool)[items]


@dataclass
class _Node:
    """Sets `(N, size)` of one size, with their states and values."""

    sets: np.ndarray
    states: np.ndarray
    values: np.ndarray


def branch_and_bound(
    states: States,
    rank: int,
    start: np.ndarray,
    *,
    gap: float,
    work: float = np.inf,
    deadline: float = np.inf,
    addable: Addable | None = None,
) -> np.ndarray | None:
    """A base `(n,)` within `gap` (relative) of the best, from a base `start`.

    Nothing is returned where that takes more than `work` multiplications, or longer than to `deadline` (of
    `time.monotonic`). `addable` is as for `lazy_greedy`.
    """
    order = np.argsort(-states.gains(states.empty[None])[0], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(states.n)
    best, value = start, _value(states, start)
    size = max(1, BLOCK // max(states.n, len(states.empty)))
    stack = [_Node(np.zeros((1, 0), dtype=np.int64), states.empty[None], np.zeros(1))] if rank else []
    while stack:
        node = stack.pop()
        work -= len(node.values) * states.n * states.cost
        if work < 0 or time.monotonic() > deadline:
            return None
        lacking = rank - node.sets.shape[1]
        gains = np.where(_allowed(node, place, addable), states.gains(node.states), -np.inf)
        if lacking == 1:
            top = gains.argmax(1)
            reached = node.values + gains[np.arange(len(top)), top]
            winner = int(reached.argmax())
            if reached[winner] > value:
                best, value = np.zeros(states.n, dtype=bool), float(reached[winner])
                best[[*node.sets[winner], top[winner]]] = True
            continue
        # With the item that joins come the best of the rest at most; minus infinity where too few are left.
        others = -np.partition(-gains, lacking - 2, axis=1)[:, : lacking - 1].sum(1)
        bounds = (node.values + others)[:, None] + gains
        row, item = (bounds > value + gap * abs(value)).nonzero()
        first = np.argsort(bounds[row, item], kind="stable")  # the most promising ones last: on top of the stack
        for part in np.array_split(first, max(1, -(-len(first) // size))):
            if len(part):
                r, i = row[part], item[part]
                sets = np.column_stack([node.sets[r], i])
                stack.append(_Node(sets, states.grown(node.states[r], i), node.values[r] + gains[r, i]))
    return best


def _value(states: States, mask: np.ndarray) -> float:
    """`f` of a set, above that of the empty one."""
    state, total = states.empty[None], 0.0
    for item in mask.nonzero()[0]:
        total += float(states.gains(state)[0, item])
        state = states.grown(state, np.array([item]))
    return total


def _allowed(node: _Node, place: np.ndarray, addable: Addable | None) -> np.ndarray:
    """`(N, n)`: the items by which each set may grow, now or later."""
    count, size = node.sets.shape
    behind = place[node.sets[:, -1:]] if size else np.full((count, 1), -1)
    allowed = place > behind
    if addable is not None:
        masks = np.zeros(allowed.shape, dtype=bool)
        masks[np.arange(count)[:, None], node.sets] = True
        allowed &= addable(masks)
    return allowed
