"""Programs over flows of one unit, decided by paths."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.graphs import Graph
from foresolve.errors import ForesolveWarning, UnboundedError
from foresolve.problems.incumbent import Incumbent
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.exact.outcome import Ending, Limits, Outcome
from foresolve.solvers.exact.paths import LEAST_FLOW, PathSolver

_CYCLE = "a cycle has negative cost, so that no path is shortest, in {instances}"
_REMEDY = (
    'Keep predictions non-negative (`head="non_negative"` of foresolve\'s models, `torch.nn.functional.softplus`), '
    "shift or clip costs that are data, or use an acyclic graph"
)


class PathProgram(LinearProgram):
    """How flows from a source to a target are decided, and read as paths; `ShortestPath` is one."""

    _graph: Graph
    _paths: PathSolver

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return self._graph.n_nodes

    # -- decisions ---------------------------------------------------------------------------------------------------

    def solve(self, theta: Tensor) -> Tensor:
        """The shortest path of each instance; a cycle of negative cost is an `UnboundedError`.

        Where `theta` makes constraints, the best flow.
        """
        if not self._plain:
            return super().solve(theta)
        theta, costs, batch = self._flat_costs(theta)
        x, cyclic = self._paths.solve(costs)
        if bool(cyclic.any()):
            where = cyclic.nonzero().flatten().tolist()
            names = checks.instance_names(where, batch)
            raise UnboundedError(f"{_CYCLE}{self._route(costs, where)}", where, names, remedy=_REMEDY)
        return x.to(theta).reshape(*batch, self.n)

    def decide(self, theta: Tensor, *, warn: bool = False) -> tuple[Tensor, Tensor]:
        """The shortest path of each instance; where a cycle has negative cost, the path inside the best flow.

        Where `theta` makes constraints, `discrete` of the best flow.

        Returns
        -------
        The paths, and which of them were adjusted `(*batch,)`: a cycle has negative cost (or, where `theta` makes
        constraints, such a cycle was dropped). With `warn`, a warning says so, and the remedy.
        """
        theta, costs, batch = self._flat_costs(theta)
        if self._plain:
            x, cyclic = self._paths.solve(costs)
            if bool(cyclic.any()):
                x[cyclic] = self._paths.inside(self._flows(x, cyclic, -costs, batch)[cyclic], costs[cyclic])
        else:
            flows = self.maximizer(theta).double()
            x = self.discrete(flows, theta).reshape(-1, self.n)
            dropped = (flows.reshape(-1, self.n) - x).round()  # cycles, once round each
            cyclic = (costs * dropped).sum(-1) < -LEAST_FLOW * (costs * dropped).abs().sum(-1)
        if warn and bool(cyclic.any()):
            where = cyclic.nonzero().flatten().tolist()
            told = _CYCLE.format(instances=checks.instance_names(where, batch))
            told += self._route(costs, where) if self._plain else ""
            checks.warn(f"{told}; the path inside the best flow is taken. {_REMEDY}", ForesolveWarning)
        return x.to(theta).reshape(*batch, self.n), cyclic.reshape(batch)

    def discrete(self, x: Tensor, theta: Tensor) -> Tensor:
        """The path inside a flow: the cheapest in its support with negative costs counted as 0; its cycles go.

        Where `theta` makes constraints, flows that are no path with cycles stay as they are: of more or less than one
        unit, split by capacities, or with a part that must be taken.
        """
        if self._paths.acyclic:
            return x
        theta, costs, own = self._flat_costs(theta)
        batch = checks.broadcast_batch({"`x`": x.shape[:-1], "`theta`": own})
        flows = x.detach().double().expand(*batch, self.n).reshape(-1, self.n)
        costs = costs.reshape(*own, self.n).expand(*batch, self.n).reshape(-1, self.n)
        one = slice(None) if self._plain else self._one_path(flows, theta, batch)
        decisions = flows.clone()
        decisions[one] = self._paths.inside(flows[one], costs[one])
        return decisions.to(x).reshape(*batch, self.n)

    @property
    def _plain(self) -> bool:
        """Whether flows are of one unit, within [0, 1], whatever `theta`."""
        return self.fixed and self._structured

    def _one_path(self, flows: Tensor, theta: Tensor, batch: torch.Size) -> Tensor:
        """Which of the flows `(B, n)` are paths with cycles that may go, where `theta` makes constraints."""
        made = self.at(theta).constraints
        unit = torch.zeros(self.n_nodes, dtype=torch.float64, device=self.device)
        unit[self._paths.source], unit[self._paths.target] = 1.0, -1.0
        free = (made.rhs.detach() == unit).all(-1) & (made.lower.detach() <= 0).all(-1)
        whole = ((flows - flows.round()).abs() <= LEAST_FLOW).all(-1)
        return free.to(flows.device).expand(batch).reshape(-1) & whole

    def _flat_costs(self, theta: Tensor) -> tuple[Tensor, Tensor, torch.Size]:
        theta = self.check_theta(theta).detach()
        self.batch_for(theta)
        gains, batch = self._flat_gains(self.gain(theta))
        return theta, -gains, batch

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        x, cyclic = self._paths.solve(-gains)
        return self._flows(x, cyclic, gains, batch) if bool(cyclic.any()) else x

    def _flows(self, x: Tensor, cyclic: Tensor, gains: Tensor, batch: torch.Size) -> Tensor:
        """Best flows where a cycle has negative cost, by HiGHS; paths `x` elsewhere.

        The rows are totally unimodular, so that the vertices that simplex ends at are 0/1 but for its tolerance.
        """
        where = cyclic.nonzero().flatten().tolist()
        same = np.zeros(len(where), dtype=np.int64)  # all instances share the feasible set
        outcomes = [Outcome(Ending.OPTIMAL, row) for row in x.cpu().numpy()]
        for i, outcome in zip(where, self._pool.search(gains[cyclic].cpu().numpy(), same, self.limits), strict=True):
            outcomes[i] = outcome
        return torch.from_numpy(self._pool.proven(outcomes, batch, self.limits)).round().to(x)

    def _incumbent(self, theta: Tensor, limits: Limits) -> Incumbent:
        if self._structured:
            self.solve(theta)  # refuses cycles of negative cost
        return super()._incumbent(theta, limits)

    def _route(self, costs: Tensor, where: list[int]) -> str:
        """A cycle of negative cost in the first of the instances `where`, in words."""
        nodes, total = self._paths.cycle(costs[where[0]])
        route = " -> ".join(self._graph.node_name(node) for node in nodes)
        return f": {route} costs {total:.6g} {'in the first' if len(where) > 1 else 'there'}"

    # -- paths and nodes ---------------------------------------------------------------------------------------------

    @property
    def arcs(self) -> list[tuple[Any, ...]]:
        """`(tail, head)` of each arc, in the order of decisions; with the key, where arcs have keys."""
        return self._graph.arcs

    @property
    def node_names(self) -> list[Any]:
        """What the caller calls each node."""
        return self._graph.node_names

    def nodes(self, x: Tensor) -> Tensor:
        """Which nodes decisions `(*batch, n_arcs)` visit, `(*batch, n_nodes)`: 1 on a path, `source` included.

        Differentiable: of a fractional decision, how much of it passes each node.
        """
        x = checks.as_tensor("x", x)
        checks.last_dim("x", x, self.n)
        visits = x.new_zeros(*x.shape[:-1], self.n_nodes)
        visits[..., self._paths.source] = 1.0
        return visits.index_add(-1, torch.from_numpy(self._graph.heads).to(x.device), x)

    def path(self, x: Tensor) -> list[Any]:
        """The nodes of one decision `(n_arcs,)` in order, by the caller's names; of a batch, a list for each."""
        x = checks.as_tensor("x", x)
        checks.last_dim("x", x, self.n)
        if x.ndim > 1:
            return [self.path(row) for row in x]
        order = self._paths.order(x.detach().cpu().double().numpy())
        if order is None:
            remedy = "`problem.discrete(x, theta)` is the path inside a flow"
            raise checks.fail("x", "one path, 1 on its arcs and 0 elsewhere", "a decision that is none", remedy)
        return [self._graph.node(node) for node in order]

    def words(self, x: Tensor) -> Any:
        """The nodes of the path in order; of a flow that is no path, its arcs."""
        x = checks.as_tensor("x", x)
        if x.ndim > 1:
            return [self.words(row) for row in x]
        whole = self._paths.order(x.detach().cpu().double().numpy()) is not None
        return self.path(x) if whole else self.chosen(x)

    def from_nodes(self, visited: Any) -> Tensor:
        """The path through exactly the nodes that are 1 in `visited` `(*batch, n_nodes)`, as a decision.

        The inverse of `nodes` for paths without a shortcut among their own nodes, as shortest paths with positive costs
        on nodes are: others may have several orders, and are refused.

        Examples
        --------
        >>> import torch, foresolve
        >>> problem = foresolve.ShortestPath.grid(3, 3, moves="8", costs="cells")
        >>> problem.path(problem.from_nodes([1, 0, 0, 1, 0, 0, 0, 1, 1]))
        [0, 3, 7, 8]
        """
        visited = checks.as_tensor("visited", visited)
        checks.last_dim("visited", visited, self.n_nodes, f"the {self.n_nodes} nodes")
        batch, flat = visited.shape[:-1], visited.detach().cpu().reshape(-1, self.n_nodes) > 0.5
        ends = [self._paths.source, self._paths.target]
        tails, heads = (torch.from_numpy(part) for part in (self._graph.tails, self._graph.heads))
        wrong = ~flat[:, ends].all(-1)
        within = (flat[:, tails] & flat[:, heads]).double()
        x = torch.zeros_like(within)
        if not bool(wrong.any()):
            x, _ = self._paths.within(within, torch.ones_like(within))
            wrong = ((self.nodes(x) > 0.5) != flat).any(-1)
        if bool(wrong.any()):
            where = checks.instance_names(wrong.nonzero().flatten().tolist(), batch)
            raise checks.fail("visited", "the nodes of a path without a shortcut from `source` to `target`", where)
        return x.to(visited).reshape(*batch, self.n)
