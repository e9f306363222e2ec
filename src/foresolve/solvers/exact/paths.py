"""Shortest paths for a batch of costs on one graph.

Three methods, each for what it does best: one sweep of dynamic programming over the levels of an acyclic graph,
Dijkstra (SciPy) for costs without negatives, and otherwise Bellman and Ford's sweeps until nothing changes. Sweeps are
vectorised over the batch and the nodes of a level, and run where the costs are.
"""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import scipy.sparse
import torch
from scipy.sparse.csgraph import dijkstra
from torch import Tensor

from foresolve._base.checks import instance_names
from foresolve.errors import InfeasibleError, UnboundedError

# An improvement below this share of the largest cost is rounding: without it, a cycle of weight zero may go on forever.
IMPROVEMENT = 1e-12
# Graphs that Dijkstra sees in one call, by their arcs together.
DIJKSTRA_ARCS = 400_000
# torch wakes all its threads for `min` along a dimension, however small; up to this degree comparing in turn is faster.
LOOP_DEGREE = 8

# Up to so many costs in a batch, NumPy's cheaper calls outweigh torch's threads.
SMALL = 200_000


class PathSolver:
    """Cheapest paths from `source` to `target` over arcs `tails[a] -> heads[a]`.

    Attributes
    ----------
    usable: `(n_arcs,)`, whether an arc lies on a walk from source to target; self-loops do not. Other arcs are never
        taken, and cycles among them do no harm, whatever their costs.
    acyclic: whether the usable arcs form no cycle, so that any costs are fine.
    """

    def __init__(
        self,
        tails: np.ndarray,
        heads: np.ndarray,
        n_nodes: int,
        source: int,
        target: int,
        name: Callable[[int], str] = str,
    ) -> None:
        self.tails, self.heads, self.n_nodes = tails, heads, n_nodes
        self.source, self.target, self.name = source, target, name
        ahead = _hops(tails, heads, n_nodes, source)
        behind = _hops(heads, tails, n_nodes, target)
        if not np.isfinite(ahead[target]):
            raise InfeasibleError(
                f"no path leads from node {name(source)} (`source`) to node {name(target)} (`target`). "
                "Add the missing arcs or choose other nodes"
            )
        self.usable = np.isfinite(ahead[tails]) & np.isfinite(behind[heads]) & (tails != heads)
        levels = _levels(tails[self.usable], heads[self.usable], n_nodes)
        self.acyclic = levels is not None
        self._groups = self._group(np.where(np.isfinite(ahead), ahead, 0) if levels is None else levels)
        self._on: dict[torch.device, list[tuple[Tensor, Tensor, Tensor]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_on": {}}

    def solve(self, costs: Tensor, batch: Sequence[int] = ()) -> Tensor:
        """The arcs of a cheapest path as 0/1, `(B, n_arcs) -> (B, n_arcs)`.

        A cycle of usable arcs with negative costs is an `UnboundedError` that names its nodes.
        """
        if self.acyclic:
            if costs.device.type == "cpu" and costs.numel() <= SMALL:
                return torch.from_numpy(self._quick(costs.detach().numpy()))
            return self._trace(self._sweep(costs))
        x = torch.zeros_like(costs)
        usable = torch.from_numpy(self.usable).to(costs.device)
        negative = (costs[:, usable] < 0).any(-1)
        if not bool(negative.all()):
            x[~negative] = self._trace(self._dijkstra(costs[~negative]))
        if bool(negative.any()):
            where = negative.nonzero().flatten()
            x[negative] = self._trace(self._bellman_ford(costs[negative], where, batch))
        return x

    # -- sweeps ------------------------------------------------------------------------------------------------------

    def _group(self, levels: np.ndarray) -> list[tuple[np.ndarray, np.ndarray]]:
        """Nodes to be updated together and the arcs into them `(nodes, degree)`, padded with `n_arcs`.

        One group a level, or a few where degrees differ much: padding costs at most a factor of four.
        """
        arcs = np.flatnonzero(self.usable)
        degree = np.bincount(self.heads[arcs], minlength=self.n_nodes)
        bucket = np.ceil(np.log2(np.maximum(degree, 4)) / 2).astype(np.int64)  # 1 to 4, 5 to 16, ...
        heads = self.heads[arcs]
        arcs = arcs[np.lexsort((arcs, heads, bucket[heads], levels[heads]))]
        heads = self.heads[arcs]
        first = np.flatnonzero(np.r_[True, np.diff(heads) != 0])
        nodes = heads[first]
        slot = np.arange(len(arcs)) - np.repeat(first, degree[nodes])
        key = np.stack([levels[nodes], bucket[nodes]])
        cuts = np.flatnonzero(np.r_[True, (np.diff(key) != 0).any(0), True])
        ends = np.r_[first, len(arcs)]
        groups = []
        for start, stop in itertools.pairwise(cuts.tolist()):
            members = nodes[start:stop]
            own = slice(ends[start], ends[stop])
            padded = np.full((stop - start, degree[members].max()), len(self.tails))
            padded[np.repeat(np.arange(stop - start), degree[members]), slot[own]] = arcs[own]
            groups.append((members, padded))
        return groups

    def _steps(self, device: torch.device) -> list[tuple[Tensor, Tensor, Tensor]]:
        """Nodes, arcs into them and the tails of those arcs, on `device`."""
        if device not in self._on:
            tails = np.append(self.tails, self.source)
            arrays = ((nodes, arcs, tails[arcs]) for nodes, arcs in self._groups)
            self._on[device] = [
                (torch.from_numpy(a).to(device), torch.from_numpy(b).to(device), torch.from_numpy(c).to(device))
                for a, b, c in arrays
            ]
        return self._on[device]

    def _start(self, costs: Tensor) -> tuple[Tensor, Tensor, Tensor]:
        """Costs by arc (the padding's is infinite), distances and the arc into each node, `(..., B)`."""
        padding = costs.new_full((1, costs.shape[0]), torch.inf)
        distance = padding.repeat(self.n_nodes, 1)
        distance[self.source] = 0.0
        arc_into = torch.full(distance.shape, len(self.tails), device=costs.device)
        return torch.cat([costs.mT, padding]), distance, arc_into

    def _sweep(self, costs: Tensor) -> Tensor:
        """Dynamic programming: by levels, every tail is final before its heads."""
        by_arc, distance, arc_into = self._start(costs)
        for nodes, arcs, tails in self._steps(costs.device):
            distance[nodes], arc_into[nodes] = _cheapest(distance[tails] + by_arc[arcs], arcs)
        return arc_into

    def _quick(self, costs: np.ndarray) -> np.ndarray:
        """`_sweep` and `_trace` in NumPy, whose calls cost a fraction of torch's: what counts on small batches."""
        count, n_arcs = costs.shape
        by_arc = np.concatenate([costs.T, np.full((1, count), np.inf)])
        distance, arc_into = np.full((self.n_nodes, count), np.inf), np.full((self.n_nodes, count), n_arcs)
        distance[self.source] = 0.0
        tails = np.append(self.tails, self.source)
        for nodes, arcs in self._groups:
            reach = distance[tails[arcs]] + by_arc[arcs]
            best, arc = reach[:, 0], np.broadcast_to(arcs[:, :1], (len(nodes), count))
            for i in range(1, reach.shape[1]):
                better = reach[:, i] < best
                best, arc = np.where(better, reach[:, i], best), np.where(better, arcs[:, i : i + 1], arc)
            distance[nodes], arc_into[nodes] = best, arc
        x, node, lane = np.zeros((count, n_arcs + 1)), np.full(count, self.target), np.arange(count)
        while (node != self.source).any():
            arc = arc_into[node, lane]
            x[lane, arc] = 1.0
            node = tails[arc]
        return x[:, :-1]

    def _bellman_ford(self, costs: Tensor, where: Tensor, batch: Sequence[int]) -> Tensor:
        by_arc, distance, arc_into = self._start(costs)
        least = IMPROVEMENT * costs.abs().amax(-1)
        for sweep in range(1, self.n_nodes + 2):
            changed = torch.zeros((), dtype=torch.bool, device=costs.device)
            steps = self._steps(costs.device)
            for nodes, arcs, tails in steps if sweep % 2 else reversed(steps):  # paths may wind back
                best, arc = _cheapest(distance[tails] + by_arc[arcs], arcs)
                old = distance[nodes]
                better = best < old - least
                distance[nodes] = torch.where(better, best, old)
                arc_into[nodes] = torch.where(better, arc, arc_into[nodes])
                changed |= better.any()
            if not bool(changed):
                break
            # Arcs into nodes that form a cycle prove a negative one, long before the last sweep.
            if sweep & (sweep - 1) == 0 or sweep > self.n_nodes:
                self._refuse_cycles(costs, arc_into, where, batch)
        return arc_into

    # -- negative cycles ---------------------------------------------------------------------------------------------

    def _refuse_cycles(self, costs: Tensor, arc_into: Tensor, where: Tensor, batch: Sequence[int]) -> None:
        tails = torch.from_numpy(np.append(self.tails, self.source)).to(arc_into.device)
        ancestor = tails[arc_into]
        for _ in range(self.n_nodes.bit_length()):  # pointer jumping: 1, 2, 4, ... arcs back
            ancestor = ancestor.gather(0, ancestor)
        lost = (ancestor != self.source) | (arc_into[self.source] != len(self.tails))
        bad = lost.any(0).nonzero().flatten()
        if len(bad) == 0:
            return
        column = int(bad[0])
        into = arc_into[:, column].cpu().numpy()
        node = int(ancestor[int(lost[:, column].nonzero()[0]), column])
        cycle, total = [node], 0.0
        while len(cycle) == 1 or cycle[-1] != node:
            arc = into[cycle[-1]]
            total += float(costs[column, arc])
            cycle.append(int(self.tails[arc]))
        instances = [int(i) for i in where[bad]]
        route = " -> ".join(self.name(i) for i in reversed(cycle))
        raise UnboundedError(
            "a cycle has negative cost, so that no path is shortest, in {instances}: "
            f"{route} costs {total:.6g} {'in the first' if len(instances) > 1 else 'there'}. Keep costs non-negative "
            "(`torch.nn.functional.softplus`), or use an acyclic graph",
            instances,
            instance_names(instances, batch),
        )

    # -- Dijkstra ----------------------------------------------------------------------------------------------------

    def _dijkstra(self, costs: Tensor) -> Tensor:
        """Copies of the graph side by side in one call of SciPy, with one source each; `(n_nodes, B)`."""
        arcs = np.flatnonzero(self.usable)
        keys = self.tails[arcs] * self.n_nodes + self.heads[arcs]
        arcs, keys = arcs[np.argsort(keys, kind="stable")], np.sort(keys)
        first = np.flatnonzero(np.r_[True, np.diff(keys) != 0])
        pairs = keys[first]
        n, size = self.n_nodes, max(1, DIJKSTRA_ARCS // len(arcs))
        array = costs.detach().cpu().numpy()[:, arcs]
        parts = []
        for start in range(0, len(array), size):
            chunk = array[start : start + size]
            cheapest = np.minimum.reduceat(chunk, first, axis=1)  # of the arcs that share tail and head
            is_cheapest = chunk == np.repeat(cheapest, np.diff(np.r_[first, len(arcs)]), axis=1)
            choice = np.minimum.reduceat(np.where(is_cheapest, np.arange(len(arcs)), len(arcs)), first, axis=1)
            count = np.arange(len(chunk))
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
            _, before, _ = dijkstra(graph, indices=count * n + self.source, min_only=True, return_predecessors=True)
            before = before.reshape(len(count), n) - shift
            pair = np.searchsorted(pairs, before * n + np.arange(n)).clip(0, len(pairs) - 1)
            chosen = arcs[np.take_along_axis(choice, pair, axis=1)]
            parts.append(np.where(before >= 0, chosen, len(self.tails)).T)
        return torch.from_numpy(np.concatenate(parts, axis=1)).to(costs.device)

    # -- paths -------------------------------------------------------------------------------------------------------

    def _trace(self, arc_into: Tensor) -> Tensor:
        """From the target back along `arc_into` `(n_nodes, B)`; the source's is the padding, which absorbs."""
        device, count = arc_into.device, arc_into.shape[1]
        tails = torch.from_numpy(np.append(self.tails, self.source)).to(device)
        x = torch.zeros(count, len(self.tails) + 1, dtype=torch.float64, device=device)
        node, lane = torch.full((count,), self.target, device=device), torch.arange(count, device=device)
        for step in range(self.n_nodes):
            arc = arc_into[node, lane]
            x[lane, arc] = 1.0
            node = tails[arc]
            if step % 8 == 7 and bool((node == self.source).all()):  # rarely: on a GPU it waits for the device
                break
        return x[:, :-1]


def _cheapest(reach: Tensor, arcs: Tensor) -> tuple[Tensor, Tensor]:
    """The least of `reach` `(nodes, degree, B)` over the arcs of each node, and its arc; `(nodes, B)` both."""
    if reach.shape[1] > LOOP_DEGREE:
        best, slot = reach.min(1)
        return best, arcs.gather(1, slot)
    best, arc = reach[:, 0], arcs[:, :1].expand(-1, reach.shape[2])
    for i in range(1, reach.shape[1]):
        better = reach[:, i] < best
        best, arc = torch.where(better, reach[:, i], best), torch.where(better, arcs[:, i : i + 1], arc)
    return best, arc


def _hops(tails: np.ndarray, heads: np.ndarray, n_nodes: int, start: int) -> np.ndarray:
    """The number of arcs from `start` to each node, infinite where there is no way."""
    graph = scipy.sparse.csr_array((np.ones(len(tails)), (tails, heads)), (n_nodes, n_nodes))
    return np.asarray(dijkstra(graph, indices=start, unweighted=True))


def _levels(tails: np.ndarray, heads: np.ndarray, n_nodes: int) -> np.ndarray | None:
    """The length of the longest way to each node of an acyclic graph, `None` for other graphs."""
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
