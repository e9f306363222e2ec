"""Exact maximization of a set function by branch and bound over sets that grow item by item.

Of a set `S` that lacks `r` items, no base that adds items of `C` to it is worth more than `f(S)` plus the `r` largest
gains of `C` over `S`. Items come in the order of their gains over the empty set, and each set grows by later items
only, so none is met twice. Thousands of sets are looked at together: their gains are one matrix product.
"""

from __future__ import annotations

import time
from dataclasses import dataclass

import numpy as np

from foresolve.solvers.submodular.greedy import Addable
from foresolve.solvers.submodular.increments import Increments

# Numbers of a block of sets: items or targets, whichever are more.
BLOCK = 2**19


@dataclass
class _Node:
    """Sets `(N, size)` of one size, with their states and values."""

    sets: np.ndarray
    states: np.ndarray
    values: np.ndarray


def branch_and_bound(
    increments: Increments,
    rank: int,
    start: np.ndarray,
    *,
    gap: float,
    work: float = np.inf,
    deadline: float = np.inf,
    addable: Addable | None = None,
) -> np.ndarray | None:
    """A base `(n,)` within `gap` (relative) of the best, from a base `start`.

    `increments` are those of one instance. Nothing is returned where it takes more than `work` multiplications, or
    longer than to `deadline` (of `time.monotonic`). `addable` is as for `lazy_greedy`.
    """
    order = np.argsort(-increments.gains(increments.empty)[0], kind="stable")
    place = np.empty_like(order)
    place[order] = np.arange(increments.n)
    best, value = start, _value(increments, start)
    size = max(1, BLOCK // max(increments.n, increments.empty.shape[1]))
    stack = [_Node(np.zeros((1, 0), dtype=np.int64), increments.empty, np.zeros(1))] if rank else []
    while stack:
        node = stack.pop()
        work -= len(node.values) * increments.n * increments.cost
        if work < 0 or time.monotonic() > deadline:
            return None
        lacking = rank - node.sets.shape[1]
        gains = np.where(_allowed(node, place, addable), increments.gains(node.states), -np.inf)
        if lacking == 1:
            top = gains.argmax(1)
            reached = node.values + gains[np.arange(len(top)), top]
            winner = int(reached.argmax())
            if reached[winner] > value:
                best, value = np.zeros(increments.n, dtype=bool), float(reached[winner])
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
                stack.append(_Node(sets, increments.grown(node.states[r], i), node.values[r] + gains[r, i]))
    return best


def _value(increments: Increments, mask: np.ndarray) -> float:
    """`f` of a set, above that of the empty one."""
    state, total = increments.empty, 0.0
    for item in mask.nonzero()[0]:
        total += float(increments.gains(state)[0, item])
        state = increments.grown(state, np.array([item]))
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
