"""Live-edge graphs of an independent cascade, and who reaches whom in them.

Everything is NumPy, level by level for all searches at once; sets of nodes come back as `(owner, node)` pairs, or
padded to a power of two so that rows of similar length make dense arrays.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

MARKS = 2**22  # marks (searches x nodes) at once: few enough to stay in the cache
WORK = 2**24  # nodes to visit for the derivative in the probabilities, roughly; beyond, fewer targets are looked at


@dataclass(frozen=True)
class CascadeGraph:
    """Arcs sorted by head: `arc[k]` is the number of the k-th, the arcs into `v` are `first[v]` to `first[v + 1]`."""

    n: int
    tails: np.ndarray
    heads: np.ndarray
    arc: np.ndarray
    first: np.ndarray

    @classmethod
    def of(cls, pairs: np.ndarray, n: int) -> CascadeGraph:
        tails, heads = np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1])
        return cls(n, tails, heads, np.argsort(heads, kind="stable"), _offsets(np.bincount(heads, minlength=n)))


class LiveGraphs:
    """`count` graphs in which each arc is there with its probability, by uniforms that depend on the seed alone."""

    def __init__(self, network: CascadeGraph, probability: np.ndarray, count: int, seed: int) -> None:
        self.network, self.count = network, count
        n, arcs = network.n, len(network.tails)
        generator = np.random.default_rng([seed, 1])
        self.live = np.empty((count, arcs), dtype=bool)  # in the order of `network.arc`
        sorted_probability = probability[network.arc]
        for row in self.live:
            row[:] = generator.random(arcs) < sorted_probability
        graph, place = self.live.nonzero()
        self.edge = network.arc[place]
        self.tail = network.tails[self.edge]
        self.first = _offsets(np.bincount(graph * n + network.heads[self.edge], minlength=count * n))

    def sources(
        self,
        start: np.ndarray,
        graph: np.ndarray,
        *,
        without: np.ndarray | None = None,
        outside: tuple[np.ndarray, np.ndarray] | None = None,
    ) -> tuple[np.ndarray, np.ndarray]:
        """Nodes that reach `start[k]` in graph `graph[k]`, for all `k`: pairs `(k, node)`, sorted.

        `without[k]` is an arc that is left out (-1: none); with `outside = (members (rows, n), row)` the search does
        not enter the nodes that are members of `row[k]`.
        """
        n = self.network.n
        step = max(1, MARKS // n)
        seen = np.zeros(min(step, len(start)) * n, dtype=bool)
        ticket = np.empty(len(seen), dtype=np.int32)
        visited = []
        for low in range(0, len(start), step):
            part = slice(low, low + step)
            key = np.arange(len(start[part])) * n + start[part]
            levels = [key]
            seen[key] = True
            while len(key):
                owner, node = np.divmod(key, n)
                here = graph[part][owner] * n + node
                which, place = _ranges(self.first[here], self.first[here + 1])
                owner, node = owner[which], self.tail[place]
                key = owner * n + node
                keep = ~seen[key]
                if without is not None:
                    keep &= self.edge[place] != without[part][owner]
                if outside is not None:
                    keep &= ~outside[0][outside[1][part][owner], node]
                key = key[keep]
                turn = np.arange(len(key), dtype=np.int32)
                ticket[key] = turn  # of those that found a node at once, the last to write keeps it
                key = key[ticket[key] == turn]
                seen[key] = True
                levels.append(key)
            keys = np.sort(np.concatenate(levels))
            seen[keys] = False
            visited.append(keys + low * n)
        owner, node = np.divmod(np.concatenate(visited) if visited else np.empty(0, dtype=np.int64), n)
        return owner, node


@dataclass(frozen=True)
class Changes:
    """Rows after one arc is switched: pairs of a row and an arc, and a set of nodes for each.

    For an arc that is absent (`present` False) the set is what its presence adds to the row; for one that is present it
    is the row without it.
    """

    row: np.ndarray
    edge: np.ndarray
    present: np.ndarray
    owner: np.ndarray
    node: np.ndarray
    graphs: int
    share: float


def draw_targets(candidates: np.ndarray, graphs: int, count: int, seed: int) -> np.ndarray:
    """`(graphs, count)`: for each graph, targets in a random order, none twice."""
    generator = np.random.default_rng([seed, 0])
    return np.stack([generator.permutation(candidates)[:count] for _ in range(graphs)])


def changes(
    live: LiveGraphs, probability: np.ndarray, targets: np.ndarray, owner: np.ndarray, node: np.ndarray
) -> Changes:
    """The rows `(owner, node)` of `targets` under single arcs switched: on where `p <= 1/2`, off above.

    Where that is too much, the first few targets of each graph stand for all (their order is random), and if even one
    is too many, the first graphs.
    """
    network, (graphs, count) = live.network, targets.shape
    degree = np.diff(network.first)
    strong = np.bincount(network.heads[probability > 0.5], minlength=network.n)
    length = np.bincount(owner, minlength=graphs * count)
    tosses, switched = (np.bincount(owner, d[node], graphs * count) for d in (degree, strong))
    # A search from outside a row is about as long as a row, unless the row holds what it would find.
    cost = tosses * (1 + np.maximum(length.mean() - length, 0)) + switched * length
    targeted, used = _affordable(cost.reshape(graphs, count))
    chosen = np.zeros((graphs, count), dtype=bool)
    chosen[:used, :targeted] = True
    selected = chosen.reshape(-1)[owner]
    which, place = _ranges(network.first[node[selected]], network.first[node[selected] + 1])
    row = owner[selected][which]
    edge, on = network.arc[place], live.live[row // count, place]
    wanted = np.where(probability[edge] > 0.5, on, ~on)
    row, edge, on = row[wanted], edge[wanted], on[wanted]
    parts = [_switch_on(live, owner, node, count, row[~on], edge[~on])]
    flat = targets.reshape(-1)
    parts.append((row[on], edge[on], *live.sources(flat[row[on]], row[on] // count, without=edge[on])))
    (row0, edge0, owner0, node0), (row1, edge1, owner1, node1) = parts
    return Changes(
        np.concatenate([row0, row1]),
        np.concatenate([edge0, edge1]),
        np.repeat([False, True], [len(row0), len(row1)]),
        np.concatenate([owner0, owner1 + len(row0)]),
        np.concatenate([node0, node1]),
        used,
        used * targeted / (graphs * count),
    )


def _switch_on(
    live: LiveGraphs, owner: np.ndarray, node: np.ndarray, count: int, row: np.ndarray, edge: np.ndarray
) -> tuple[np.ndarray, np.ndarray, np.ndarray, np.ndarray]:
    """Nodes that absent arcs would add to rows; `row` is sorted, and so are the pairs `(owner, node)` by `owner`."""
    network = live.network
    step = max(1, MARKS // network.n)
    additions = []
    most = int(row[-1]) + 1 if len(row) else 0
    shift = 0
    for low in range(0, most, step):
        members = np.zeros((min(step, most - low), network.n), dtype=bool)
        inside = slice(*np.searchsorted(owner, [low, low + len(members)]))
        members[owner[inside] - low, node[inside]] = True
        part = slice(*np.searchsorted(row, [low, low + len(members)]))
        rows, edges = row[part], edge[part]
        new = ~members[rows - low, network.tails[edges]]
        rows, edges = rows[new], edges[new]
        added = live.sources(network.tails[edges], rows // count, outside=(members, rows - low))
        additions.append((rows, edges, added[0] + shift, added[1]))
        shift += len(rows)
    if not additions:
        nothing = np.empty(0, dtype=np.int64)
        return nothing, nothing, nothing, nothing
    row, edge, owner, node = (np.concatenate(column) for column in zip(*additions))
    return row, edge, owner, node


def _affordable(cost: np.ndarray) -> tuple[int, int]:
    """Targets per graph and graphs (2 at least, for their spread) within the budget.

    Only the total decides: it says nothing about which rows come first, so these stay a fair sample. To stop when the
    rows so far cost too much would favor short ones.
    """
    graphs, count = cost.shape
    rows = int(min(WORK / max(cost.sum(), 1), 1) * cost.size)
    return (rows // graphs, graphs) if rows >= graphs else (min(1, count), max(rows, min(2, graphs)))


def padded(owner: np.ndarray, node: np.ndarray, count: int, n: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Sets `(owner, node)` by length: numbers of owners and `(owners, width)` nodes, filled up with `n`."""
    length = np.bincount(owner, minlength=count)
    start = _offsets(length)
    result, width = [], 1
    while width < 2 * max(int(length.max(initial=0)), 1):
        ids = np.flatnonzero((length <= width) & (length > width // 2))
        if len(ids):
            index = np.full((len(ids), width), n, dtype=np.int32)
            filled = np.arange(width) < length[ids, None]
            index[filled] = node[(start[ids, None] + np.arange(width))[filled]]
            result.append((ids, index))
        width *= 2
    return result


def _offsets(counts: np.ndarray) -> np.ndarray:
    return np.concatenate([[0], np.cumsum(counts)])


def _ranges(start: np.ndarray, stop: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
    """All numbers of several ranges, one after the other, and which range each belongs to."""
    length = stop - start
    which = np.repeat(np.arange(len(start)), length)
    return which, np.arange(len(which)) - np.repeat(_offsets(length)[:-1] - start, length)
