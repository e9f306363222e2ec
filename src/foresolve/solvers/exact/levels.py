"""The order in which a sweep visits the nodes of a graph, so that as many as possible are updated together."""

from __future__ import annotations

import itertools

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import dijkstra


def hops(tails: np.ndarray, heads: np.ndarray, n_nodes: int, start: int) -> np.ndarray:
    """The number of arcs from `start` to each node, infinite where no path leads there."""
    graph = scipy.sparse.csr_array((np.ones(len(tails)), (tails, heads)), (n_nodes, n_nodes))
    return np.asarray(dijkstra(graph, indices=start, unweighted=True))


def longest_ways(tails: np.ndarray, heads: np.ndarray, n_nodes: int) -> np.ndarray | None:
    """The number of arcs on the longest way to each node of an acyclic graph, `None` for other graphs."""
    order = np.argsort(tails, kind="stable")
    heads = heads[order]
    counts = np.bincount(tails, minlength=n_nodes)
    start = np.cumsum(counts) - counts
    waiting = np.bincount(heads, minlength=n_nodes)
    levels = np.zeros(n_nodes, dtype=np.int64)
    frontier, seen, level = np.flatnonzero((waiting == 0) & (counts > 0)), 0, 0
    while len(frontier):
        levels[frontier] = level
        repeats = counts[frontier]
        seen += int(repeats.sum())
        offset = np.arange(repeats.sum()) - np.repeat(np.cumsum(repeats) - repeats, repeats)
        reached = heads[np.repeat(start[frontier], repeats) + offset]
        np.subtract.at(waiting, reached, 1)
        reached = np.unique(reached)
        frontier, level = reached[waiting[reached] == 0], level + 1
    return levels if seen == len(heads) else None


def groups(heads: np.ndarray, usable: np.ndarray, levels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
    """Nodes to be updated together and the usable arcs into them `(nodes, degree)`, padded with the number of arcs.

    One group a level, or a few where degrees differ much: padding costs at most a factor of four.
    """
    arcs = np.flatnonzero(usable)
    degree = np.bincount(heads[arcs], minlength=len(levels))
    bucket = np.ceil(np.log2(np.maximum(degree, 4)) / 2).astype(np.int64)  # 1 to 4, 5 to 16, ...
    arcs = arcs[np.lexsort((arcs, heads[arcs], bucket[heads[arcs]], levels[heads[arcs]]))]
    first = np.flatnonzero(np.r_[True, np.diff(heads[arcs]) != 0])
    nodes = heads[arcs][first]
    slot = np.arange(len(arcs)) - np.repeat(first, degree[nodes])
    key = np.stack([levels[nodes], bucket[nodes]])
    cuts = np.flatnonzero(np.r_[True, (np.diff(key) != 0).any(0), True])
    ends = np.r_[first, len(arcs)]
    parts = []
    for start, stop in itertools.pairwise(cuts.tolist()):
        members, into = nodes[start:stop], slice(ends[start], ends[stop])
        padded = np.full((stop - start, degree[members].max()), len(heads))
        padded[np.repeat(np.arange(stop - start), degree[members]), slot[into]] = arcs[into]
        parts.append((members, padded))
    return parts
