"""Shortest paths for a batch of costs on one graph.

Three methods, each for what it does best: one sweep of dynamic programming over the levels of an acyclic graph,
Dijkstra (SciPy) for costs without negatives, and otherwise Bellman and Ford's sweeps until nothing changes, or until a
cycle of negative cost shows. Sweeps are vectorized over the batch and the nodes of a level, and run where costs are.
"""

from __future__ import annotations

from collections.abc import Callable
from functools import cached_property
from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import InfeasibleError
from foresolve.solvers.arrays import Array, namespace, to_tensor
from foresolve.solvers.exact.dijkstra import BatchedDijkstra
from foresolve.solvers.exact.levels import groups, hops, longest_ways

# An improvement below this share of the costs on the two ways, as absolute values, is rounding: without it, a cycle of
# weight zero may run forever. Costs of other arcs, however large, do not matter.
IMPROVEMENT = 1e-12
# torch wakes all its threads for `min` along a dimension, however small; up to this degree comparing in turn is faster.
LOOP_DEGREE = 8
# Up to this many costs in a batch, NumPy's cheaper calls outweigh torch's threads in a single sweep; many sweeps, each
# with a question at its end, are faster in NumPy whatever the batch.
SMALL = 200_000
# Less than this on an arc is none.
LEAST_FLOW = 1e-6

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
                f"no path leads from node {name(source)} (`source`) to node {name(target)} (`target`)",
                remedy="Add the missing arcs or choose other nodes",
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

    def solve(self, costs: Tensor) -> tuple[Tensor, Tensor]:
        """The arcs of a cheapest path as 0/1, `(B, n_arcs) -> (B, n_arcs)`, and which instances `(B,)` have none.

        Those are the ones where a cycle of usable arcs has negative cost; their rows are 0.
        """
        costs = costs.detach()
        in_numpy = costs.device.type == "cpu" and (costs.numel() <= SMALL or not self.acyclic)
        x, cyclic = self._solve(costs.numpy() if in_numpy else costs)
        return to_tensor(x), to_tensor(cyclic)

    def _solve(self, costs: Array) -> tuple[Array, Array]:
        xp = namespace(costs)
        cyclic = xp.counts(costs) > 0
        if self.acyclic:
            return self._trace(self._sweep(costs)), cyclic
        x, negative = xp.full(costs.shape, 0.0, costs), ((costs < 0) & _beside(self.usable, costs)).any(-1)
        if not bool(negative.all()):
            arc_into = self._dijkstra.arcs_into(to_tensor(costs[~negative]).cpu().numpy())
            x[~negative] = self._trace(_beside(arc_into, costs))
        if bool(negative.any()):
            arc_into, has_cycle = self._bellman_ford(costs[negative])
            cyclic[negative] = has_cycle
            if not bool(has_cycle.all()):
                x[negative & ~cyclic] = self._trace(arc_into[:, ~has_cycle])
        return x, cyclic

    def inside(self, flows: Tensor, costs: Tensor) -> Tensor:
        r"""The path within each flow from source to target, `(B, n_arcs)` all: what is left without its cycles.

        Of the paths in the flow's support, the cheapest with negative costs counted as 0. Where no cycle has negative
        cost, every path in the support of a cheapest flow is a shortest one: with distances :math:`\pi_v` from the
        source, :math:`c_{uv} + \pi_u - \pi_v \ge 0` on all arcs, and these reduced costs, times the flow, sum up to
        its cost less :math:`\pi_t`, which is 0: so they are 0 wherever there is flow.
        """
        x, lost = self.within(flows, costs)
        if lost.any():
            ends = f"from node {self.name(self.source)} to node {self.name(self.target)}"
            raise checks.fail("x", f"flows {ends}", f"one that does not arrive (number {int(lost.argmax())})")
        return x

    def within(self, flows: Tensor, costs: Tensor) -> tuple[Tensor, np.ndarray]:
        """The result of `inside`, and which of the flows `(B,)` do not arrive: their rows are 0."""
        outside = (flows <= LEAST_FLOW).cpu().numpy()
        allowed = np.where(outside, np.inf, costs.detach().clamp_min(0).cpu().numpy())
        arc_into = self._dijkstra.arcs_into(allowed)
        return to_tensor(self._trace(arc_into)).to(flows), arc_into[self.target] == len(self.tails)

    def cycle(self, costs: Tensor) -> tuple[list[int], float]:
        """The nodes of a cycle of negative cost, the first again at the end, and its cost; `costs` are `(n_arcs,)`."""
        arc_into, _ = self._bellman_ford(costs.detach().cpu().numpy()[None])
        ancestor, lost = self._ancestors(arc_into)
        into, node = arc_into[:, 0], int(ancestor[lost[:, 0].argmax(), 0])
        nodes, total = [node], 0.0
        while len(nodes) == 1 or nodes[-1] != node:
            arc = into[nodes[-1]]
            total += float(costs[arc])
            nodes.append(int(self.tails[arc]))
        return nodes[::-1], total

    def order(self, x: np.ndarray) -> list[int] | None:
        """The nodes of a decision `(n_arcs,)` from source to target, `None` where it is not one path."""
        taken = x > 0.5
        if np.abs(x - taken).max() > LEAST_FLOW:
            return None
        used = np.flatnonzero(taken)
        ahead = dict(zip(self.tails[used].tolist(), self.heads[used].tolist(), strict=True))
        nodes = [self.source]
        while nodes[-1] != self.target and nodes[-1] in ahead and len(nodes) <= len(used):
            nodes.append(ahead[nodes[-1]])
        return nodes if nodes[-1] == self.target and len(nodes) == len(used) + 1 else None

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
        """Trace paths back along `arc_into` `(n_nodes, B)`; the source's is the padding, which absorbs."""
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

    def _bellman_ford(self, costs: Array) -> tuple[Array, Array]:
        """The arc into each node, `(n_nodes, B)`, and in which instances these form a cycle, of negative cost."""
        xp = namespace(costs)
        by_arc, distance, arc_into = self._start(costs)
        span, lane = xp.full(distance.shape, 0.0, costs), xp.arange(len(costs), costs)  # sums of absolute costs
        cyclic = xp.counts(costs) > 0
        found, pending = xp.full(arc_into.shape, len(self.tails), costs), xp.arange(len(costs), costs)
        for sweep in range(1, self.n_nodes + 2):
            changed = False
            tail, steps = self._graph(costs)
            for nodes, arcs, tails in steps if sweep % 2 else reversed(steps):  # paths may wind back
                best, arc = _cheapest(distance[tails] + by_arc[arcs], arcs)
                old = distance[nodes]
                reach, own = span[tail[arc], lane] + abs(by_arc[arc, lane]), span[nodes]
                better = best + IMPROVEMENT * xp.maximum(reach, own) < old
                span[nodes] = xp.where(better, reach, own)
                distance[nodes] = xp.where(better, best, old)
                arc_into[nodes] = xp.where(better, arc, arc_into[nodes])
                changed = better.any() | changed
            if not bool(changed):
                break
            # Arcs into nodes that form a cycle prove a negative one, long before the last sweep.
            if sweep & (sweep - 1) == 0 or sweep > self.n_nodes:
                lost = self._ancestors(arc_into)[1].any(0)
                if bool(lost.any()):
                    cyclic[pending[lost]] = True
                    found[:, pending[lost]] = arc_into[:, lost]
                    by_arc, distance, arc_into = by_arc[:, ~lost], distance[:, ~lost], arc_into[:, ~lost]
                    span, pending = span[:, ~lost], pending[~lost]
                    lane = lane[: len(pending)]
        found[:, pending] = arc_into
        return found, cyclic

    def _ancestors(self, arc_into: Array) -> tuple[Array, Array]:
        """The ancestor of each node `(n_nodes, B)`, many arcs back, and whether that is a cycle and not the source."""
        tails, _ = self._graph(arc_into)
        ancestor, lane = tails[arc_into], namespace(arc_into).arange(arc_into.shape[1], arc_into)
        for _ in range(self.n_nodes.bit_length()):  # pointer jumping: 1, 2, 4, ... arcs back
            ancestor = ancestor[ancestor, lane]
        return ancestor, (ancestor != self.source) | (arc_into[self.source] != len(self.tails))


def _beside(array: np.ndarray, like: Array) -> Array:
    """Move an array to the device of `like`."""
    return torch.from_numpy(array).to(like.device) if isinstance(like, Tensor) else array


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
