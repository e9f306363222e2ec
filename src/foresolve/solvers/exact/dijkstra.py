"""Dijkstra's method for a batch of costs without negatives, in few calls of SciPy."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import dijkstra

# Graphs that SciPy sees in one call, by their arcs together.
DIJKSTRA_ARCS = 400_000
FINITE = float(np.finfo(np.float64).max)  # how far SciPy looks: not along arcs of infinite cost


class BatchedDijkstra:
    """Cheapest ways from `source` over the `usable` of the arcs `tails[a] -> heads[a]`."""

    def __init__(self, tails: np.ndarray, heads: np.ndarray, usable: np.ndarray, n_nodes: int, source: int) -> None:
        self.n_arcs, self.n_nodes, self.source = len(tails), n_nodes, source
        arcs = np.flatnonzero(usable)
        keys = tails[arcs] * n_nodes + heads[arcs]
        order = np.argsort(keys, kind="stable")
        self.arcs, keys = arcs[order], keys[order]
        self.first = np.flatnonzero(np.r_[True, np.diff(keys) != 0])  # of the arcs that share tail and head
        self.pairs = keys[self.first]

    def arcs_into(self, costs: np.ndarray) -> np.ndarray:
        """The last arc of a cheapest way to each node, `(B, n_arcs) -> (n_nodes, B)`; `n_arcs` where there is none.

        Arcs of infinite cost are not taken.
        """
        costs = costs[:, self.arcs]
        size = max(1, DIJKSTRA_ARCS // len(self.arcs))
        parts = [self._part(costs[start : start + size]) for start in range(0, len(costs), size)]
        return np.concatenate(parts, axis=1)

    def _part(self, costs: np.ndarray) -> np.ndarray:
        """Copies of the graph side by side in one call, with one source each."""
        n, pairs, n_usable = self.n_nodes, self.pairs, len(self.arcs)
        cheapest = np.minimum.reduceat(costs, self.first, axis=1)
        is_cheapest = costs == np.repeat(cheapest, np.diff(np.r_[self.first, n_usable]), axis=1)
        choice = np.minimum.reduceat(np.where(is_cheapest, np.arange(n_usable), n_usable), self.first, axis=1)
        count = np.arange(len(costs))
        shift = count[:, None] * n
        pointers = np.searchsorted(pairs, np.arange(n) * n)[None] + count[:, None] * len(pairs)
        graph = scipy.sparse.csr_array(
            (
                cheapest.ravel(),
                (pairs % n + shift).ravel().astype(np.int32),
                np.append(pointers, len(count) * len(pairs)).astype(np.int32),
            ),
            (len(count) * n, len(count) * n),
        )
        _, before, _ = dijkstra(
            graph, indices=count * n + self.source, min_only=True, return_predecessors=True, limit=FINITE
        )
        before = before.reshape(len(count), n) - shift
        pair = np.searchsorted(pairs, before * n + np.arange(n)).clip(0, len(pairs) - 1)
        chosen = self.arcs[np.take_along_axis(choice, pair, axis=1)]
        return np.where(before >= 0, chosen, self.n_arcs).T
