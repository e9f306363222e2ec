"""Shortest paths for a batch of costs on one graph.

Three methods, each for what it does best: one sweep of dynamic programming over the levels of an acyclic graph,
Dijkstra (SciPy) for costs without negatives, and otherwise Bellman and Ford's sweeps until nothing changes. Sweeps are
vectorised over the batch and the nodes of a level, and run where the costs are.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base.checks import instance_names
from foresolve.errors import InfeasibleError, UnboundedError
from foresolve.solvers.arrays import Array, namespace, to_tensor
from foresolve.solvers.exact.dijkstra import BatchedDijkstra
from foresolve.solvers.exact.levels import groups, hops, longest_ways

# An improvement below this share of the largest cost is rounding: without it, a cycle of weight zero may run forever.
IMPROVEMENT = 1e-12
# torch wakes all its threads for `min` along a dimension, however small; up to this degree comparing in turn is faster.
LOOP_DEGREE = 8
# Up to this many costs in a batch, NumPy's cheaper calls outweigh torch's threads.
SMALL = 200_000

Step = tuple[Array, Array, Array]  # nodes `(k,)`, the arcs into them `(k, degree)` and the tails of those arcs


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
        ahead = hops(tails, heads, n_nodes, source)
        behind = hops(heads, tails, n_nodes, target)
        if not np.isfinite(ahead[target]):
            raise InfeasibleError(
                f"no path leads from node {name(source)} (`source`) to node {name(target)} (`target`). "
                "Add the missing arcs or choose other nodes"
            )
        self.usable = np.isfinite(ahead[tails]) & np.isfinite(behind[heads]) & (tails != heads)
        levels = longest_ways(tails[self.usable], heads[self.usable], n_nodes)
        self.acyclic = levels is not None
        levels = np.where(np.isfinite(ahead), ahead, 0) if levels is None else levels
        self._groups = groups(heads, self.usable, levels)
        self._padded_tails = np.append(tails, source)  # the padding leads back to the source, and stays there
        self._on: dict[torch.device, tuple[Tensor, list[Step]]] = {}

    def __getstate__(self) -> dict[str, Any]:
        return self.__dict__ | {"_on": {}}

    def solve(self, costs: Tensor, batch: Sequence[int] = ()) -> Tensor:
        """The arcs of a cheapest path as 0/1, `(B, n_arcs) -> (B, n_arcs)`.

        A cycle of usable arcs with negative costs is an `UnboundedError` that names its nodes.
        """
        costs = costs.detach()
        if self.acyclic:
            small = costs.device.type == "cpu" and costs.numel() <= SMALL
            return to_tensor(self._trace(self._sweep(costs.numpy() if small else costs)))
        x = torch.zeros_like(costs)
        usable = torch.from_numpy(self.usable).to(costs.device)
        negative = (costs[:, usable] < 0).any(-1)
        if not bool(negative.all()):
            arc_into = self._dijkstra.arcs_into(costs[~negative].cpu().numpy())
            x[~negative] = self._trace(torch.from_numpy(arc_into).to(costs.device))
        if bool(negative.any()):
            where = negative.nonzero().flatten()
            x[negative] = self._trace(self._bellman_ford(costs[negative], where, batch))
        return x

    @cached_property
    def _dijkstra(self) -> BatchedDijkstra:
        return BatchedDijkstra(self.tails, self.heads, self.usable, self.n_nodes, self.source)

    @cached_property
    def _numpy_steps(self) -> list[Step]:
        return [(nodes, arcs, self._padded_tails[arcs]) for nodes, arcs in self._groups]

    def _graph(self, like: Array) -> tuple[Array, list[Step]]:
        """The tail of every arc (the padding's is the source) and the steps of a sweep, where `like` is."""
        if not isinstance(like, Tensor):
            return self._padded_tails, self._numpy_steps
        if like.device not in self._on:

            def move(array: np.ndarray) -> Tensor:
                return torch.from_numpy(array).to(like.device)

            steps = [(move(nodes), move(arcs), move(tails)) for nodes, arcs, tails in self._numpy_steps]
            self._on[like.device] = move(self._padded_tails), steps
        return self._on[like.device]

    def _start(self, costs: Array) -> tuple[Array, Array, Array]:
        """Costs by arc (the padding's is infinite), distances and the arc into each node, `(..., B)`."""
        xp, (count, n_arcs) = namespace(costs), costs.shape
        by_arc = xp.full((n_arcs + 1, count), np.inf, costs)
        by_arc[:-1] = costs.T
        distance = xp.full((self.n_nodes, count), np.inf, costs)
        distance[self.source] = 0.0
        return by_arc, distance, xp.full((self.n_nodes, count), n_arcs, costs)

    def _sweep(self, costs: Array) -> Array:
        """Dynamic programming: by levels, every tail is final before its heads."""
        by_arc, distance, arc_into = self._start(costs)
        for nodes, arcs, tails in self._graph(costs)[1]:
            distance[nodes], arc_into[nodes] = _cheapest(distance[tails] + by_arc[arcs], arcs)
        return arc_into

    def _trace(self, arc_into: Array) -> Array:
        """From the target back along `arc_into` `(n_nodes, B)`; the source's is the padding, which absorbs."""
        xp, count = namespace(arc_into), arc_into.shape[1]
        tails, _ = self._graph(arc_into)
        x = xp.full((count, len(self.tails) + 1), 0.0, arc_into)
        node, lane = xp.full((count,), self.target, arc_into), xp.arange(count, arc_into)
        every = 8 if isinstance(arc_into, Tensor) else 1  # rarely: on a GPU the question waits for the device
        for step in range(1, self.n_nodes + 1):
            arc = arc_into[node, lane]
            x[lane, arc] = 1.0
            node = tails[arc]
            if step % every == 0 and bool((node == self.source).all()):
                break
        return x[:, :-1]

    def _bellman_ford(self, costs: Tensor, where: Tensor, batch: Sequence[int]) -> Tensor:
        by_arc, distance, arc_into = self._start(costs)
        least = IMPROVEMENT * costs.abs().amax(-1)
        for sweep in range(1, self.n_nodes + 2):
            changed = torch.zeros((), dtype=torch.bool, device=costs.device)
            steps = self._graph(costs)[1]
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

    def _refuse_cycles(self, costs: Tensor, arc_into: Tensor, where: Tensor, batch: Sequence[int]) -> None:
        tails, _ = self._graph(arc_into)
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


def _cheapest(reach: Array, arcs: Array) -> tuple[Array, Array]:
    """The least of `reach` `(nodes, degree, B)` over the arcs of each node, and its arc; `(nodes, B)` both."""
    xp = namespace(reach)
    if reach.shape[1] > LOOP_DEGREE:
        best, slot = xp.least(reach)
        return best, xp.pick(arcs, slot)
    best, arc = reach[:, 0], xp.expand(arcs[:, :1], (reach.shape[0], reach.shape[2]))
    for i in range(1, reach.shape[1]):
        better = reach[:, i] < best
        best, arc = xp.where(better, reach[:, i], best), xp.where(better, arcs[:, i : i + 1], arc)
    return best, arc
