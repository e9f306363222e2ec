"""Maximum and minimum-cost flow."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, configs, frames
from foresolve._base.graphs import Graph, arc_table, networkx_arcs, networkx_nodes
from foresolve.problems.base import Sense
from foresolve.problems.constraints import Constraints
from foresolve.problems.drawings.network_drawing import SupplyFlowDrawing, TerminalFlowDrawing
from foresolve.problems.incidence import incidence
from foresolve.problems.linear import LinearProgram


class _Flow(LinearProgram):
    """Flows on given arcs: what `MaxFlow` and `MinCostFlow` share.

    `nodes` are those whose flow is balanced, `supply` what each of them sends out.
    """

    def __init__(
        self, graph: Graph, nodes: np.ndarray, supply: Tensor, capacity: Any, sense: Sense, names: Sequence[str] | None
    ) -> None:
        self._graph, self._nodes = graph, nodes
        upper = _as_capacity(capacity, len(graph.tails))
        checks.same_device("capacity", upper, supply.device, "supply")
        checks.broadcast_batch({"`supply`": supply.shape[:-1], "`capacity`": upper.shape[:-1]})
        rows = incidence(graph.tails, graph.heads, nodes, graph.n_nodes).to(supply.device)
        equality = torch.ones(len(nodes), dtype=torch.bool, device=supply.device)
        constraints = Constraints.of(rows, supply, equality, (0.0, upper))
        super().__init__(constraints=constraints, sense=sense, names=graph.names if names is None else names)

    @property
    def arcs(self) -> list[tuple[Any, ...]]:
        """`(tail, head)` of each entry of `theta`; with the key, where a multigraph has keys."""
        return self._graph.arcs

    @property
    def n_nodes(self) -> int:
        """The number of nodes."""
        return self._graph.n_nodes

    @property
    def node_names(self) -> list[Any]:
        """What the caller calls each node, in the order of `supply`."""
        return self._graph.node_names

    @property
    def capacity(self) -> Tensor:
        """The most that flows on each arc, `(n_arcs,)` or `(*batch, n_arcs)`."""
        return self.upper

    def _name(self, kind: str, index: int) -> str:
        if kind == "A_eq":
            return f"node {self._graph.node_name(self._nodes[index])}"
        return f"arc {self._graph.arc_name(index)}"


def _as_capacity(capacity: Any, arcs: int) -> Tensor:
    """`(*batch, n_arcs)`, `>= 0`; infinite where there is no limit."""
    if capacity is None:
        raise checks.fail("capacity", f"a number or (*batch, {arcs})", "None", "No limit is `float('inf')`")
    upper = checks.as_tensor("capacity", capacity)
    upper = upper.expand(arcs) if upper.ndim == 0 else upper
    checks.last_dim("capacity", upper, arcs, f"the {arcs} arcs")
    checks.finite("capacity", upper, allow_infinite=True)
    if bool((upper < 0).any()):
        where = (upper < 0).nonzero()[0].tolist()
        raise checks.fail("capacity", ">= 0 on every arc", f"{upper[tuple(where)].item():g} at {where}")
    return upper


class MaxFlow(TerminalFlowDrawing, _Flow):
    r"""The flow of greatest worth from `source` to `target`; `theta` `(*batch, n_arcs)` is the worth of a unit of flow.

    .. math::
        \max_x \; \theta^\top x \quad \text{s.t.} \quad \sum_{a \text{ leaves } v} x_a = \sum_{a \text{ enters } v} x_a
        \;\; \forall v \ne \text{source}, \text{target}, \quad 0 \le x \le \text{capacity}

    The plain maximum flow is `solve(flow_value_theta())`. Solved by HiGHS; integer capacities give integer flows.

    Parameters
    ----------
    arcs: pairs `(tail, head)` in the order of `theta`, of node numbers or of names, as for `ShortestPath`.
    source, target: two different nodes.
    capacity: `>= 0`, a number, `(n_arcs,)` or `(*batch, n_arcs)`; tensors that require grad get it from a layer.
    n_nodes: the number of nodes, as for `ShortestPath`.
    names: of the arcs.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.problems.MaxFlow([(0, 1), (0, 2), (1, 3), (2, 3)], 0, 3, capacity=[2.0, 3.0, 1.0, 4.0])
    >>> problem.solve(problem.flow_value_theta())
    tensor([1., 3., 1., 3.], dtype=torch.float64)
    """

    def __init__(
        self,
        arcs: Any,
        source: Hashable,
        target: Hashable,
        capacity: Any,
        n_nodes: int | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        graph = Graph.of(arcs, n_nodes)
        self._source, self._target = ends = graph.ends(source, target)
        self.source, self.target = (graph.node(end) for end in ends)
        inner = np.setdiff1d(np.arange(graph.n_nodes), ends)
        device = capacity.device if isinstance(capacity, Tensor) else None
        balance = torch.zeros(len(inner), dtype=torch.float64, device=device)
        super().__init__(graph, inner, balance, capacity, "max", names)

    @classmethod
    def from_networkx(cls, graph: Any, source: Hashable, target: Hashable, capacity: str = "capacity") -> Self:
        """From a networkx graph, two of its nodes and the name of an edge attribute; edges without it have no limit.

        The arcs are in the order of `ShortestPath.from_networkx`.

        Examples
        --------
        >>> import networkx, foresolve
        >>> graph = networkx.DiGraph()
        >>> graph.add_edge("mine", "port", capacity=3.0)
        >>> graph.add_edge("port", "mill", capacity=2.0)
        >>> problem = foresolve.problems.MaxFlow.from_networkx(graph, "mine", "mill")
        >>> problem.names, problem.solve(problem.flow_value_theta())
        (('mine -> port', 'port -> mill'), tensor([2., 2.], dtype=torch.float64))
        """
        network = Graph.from_networkx(graph)
        return cls(network, source, target, networkx_arcs(graph, capacity, np.inf))

    @classmethod
    def from_frame(
        cls,
        arcs: Any,
        source: Hashable,
        target: Hashable,
        *,
        tail: str = "from",
        head: str = "to",
        capacity: str = "capacity",
        name: str | None = None,
    ) -> Self:
        """From a table of arcs, one row each, in its order; `capacity` is a column too.

        >>> import pandas, foresolve
        >>> pipes = pandas.DataFrame({"from": ["mine", "port"], "to": ["port", "mill"], "capacity": [3, 2]})
        >>> problem = foresolve.problems.MaxFlow.from_frame(pipes, "mine", "mill")
        >>> problem.solve(problem.flow_value_theta())
        tensor([2., 2.], dtype=torch.float64)
        """
        table = arc_table("arcs", arcs, tail, head, name)
        limits = frames.numbers("arcs", table.frame, capacity, "capacity")
        return cls(table.arcs, source, target, limits, names=table.names)

    def flow_value_theta(self) -> Tensor:
        """The `theta` whose objective is the value of the flow: +1 on arcs out of the source, -1 into it."""
        leaves, enters = self._graph.tails == self._source, self._graph.heads == self._source
        return torch.from_numpy(leaves.astype(np.float64) - enters).to(self.device)

    def _settings(self) -> configs.Config:
        ends = {"source": self._source, "target": self._target}
        return {"graph": self._graph.config(), **ends, "capacity": self.capacity}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        graph = Graph.from_config(settings["graph"])
        source, target = (graph.node(configs.size(settings, end)) for end in ("source", "target"))
        return cls(graph, source, target, configs.tensor(settings, "capacity"), names=settings["names"])


class MinCostFlow(SupplyFlowDrawing, _Flow):
    r"""The cheapest flow that carries every node's supply; `theta` `(*batch, n_arcs)` is the cost of a unit of flow.

    .. math::
        \min_x \; \theta^\top x \quad \text{s.t.} \quad \sum_{a \text{ leaves } v} x_a - \sum_{a \text{ enters } v} x_a
        = \text{supply}_v \;\; \forall v, \quad 0 \le x \le \text{capacity}

    Solved by HiGHS; integer supplies and capacities give integer flows.

    Parameters
    ----------
    arcs: pairs `(tail, head)` in the order of `theta`, of node numbers or of names, as for `ShortestPath`.
    supply: `(n_nodes,)` or `(*batch, n_nodes)`, negative for demand; it sums to 0, in the order of nodes that
        `ShortestPath` states. A dict `{node: amount}` needs no order, and leaves 0 to nodes that it lacks.
    capacity: `>= 0`, a number, `(n_arcs,)` or `(*batch, n_arcs)`.
    sense: with "max", `theta` is a worth, as in `MaxFlow`.
    names: of the arcs.

    Examples
    --------
    >>> import torch, foresolve
    >>> arcs = [(0, 1), (0, 2), (1, 2)]
    >>> problem = foresolve.problems.MinCostFlow(arcs, supply=[2.0, 0.0, -2.0], capacity=[9.0, 1.0, 9.0])
    >>> problem.solve(torch.tensor([1.0, 1.0, 1.0]))
    tensor([1., 1., 1.])
    >>> named = foresolve.problems.MinCostFlow([("mine", "port"), ("port", "mill")], supply={"mine": 2.0, "mill": -2.0})
    >>> named.solve(torch.tensor([1.0, 1.0]))
    tensor([2., 2.])
    """

    def __init__(
        self,
        arcs: Any,
        supply: Any,
        capacity: Any = np.inf,
        sense: Sense = "min",
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        graph = Graph.of(arcs)
        amounts = checks.as_tensor("supply", graph.by_node("supply", supply) if isinstance(supply, Mapping) else supply)
        if not isinstance(supply, Tensor) and isinstance(capacity, Tensor):
            amounts = amounts.to(capacity.device)
        if not isinstance(capacity, Tensor):
            capacity = _as_capacity(capacity, len(graph.tails)).to(amounts.device)
        size = amounts.shape[-1] if amounts.ndim else 0
        if size < graph.n_nodes:
            expected = f"(*batch, n_nodes) with a number for each of the {graph.n_nodes} nodes in `arcs`"
            raise checks.fail("supply", expected, f"shape {tuple(amounts.shape)}")
        checks.finite("supply", amounts)
        total, scale = amounts.detach().sum(-1), amounts.detach().abs().sum(-1)
        if bool((total.abs() > 1e-6 * (1 + scale)).any()):
            worst = total.flatten()[total.abs().argmax()]
            raise checks.fail(
                "supply", "such that it sums to 0 (what leaves arrives)", f"a sum of {worst.item():.6g}",
                "Add a node that takes the surplus",
            )  # fmt: skip
        super().__init__(graph.with_nodes(size), np.arange(size), amounts, capacity, sense, names)

    @classmethod
    def from_networkx(
        cls, graph: Any, supply: str = "supply", capacity: str = "capacity", sense: Sense = "min"
    ) -> Self:
        """From a networkx graph and the names of a node and an edge attribute.

        Nodes without the first send out nothing, edges without the second have no limit. The arcs are in the order of
        `ShortestPath.from_networkx`. (networkx itself speaks of `demand`, which has the other sign.)

        Examples
        --------
        >>> import networkx, torch, foresolve
        >>> graph = networkx.DiGraph([("mine", "port"), ("port", "mill"), ("mine", "mill")])
        >>> graph.nodes["mine"]["supply"], graph.nodes["mill"]["supply"] = 2.0, -2.0
        >>> problem = foresolve.problems.MinCostFlow.from_networkx(graph)
        >>> dict(zip(problem.arcs, problem.solve(torch.tensor([1.0, 5.0, 1.0])).tolist()))
        {('mine', 'port'): 2.0, ('mine', 'mill'): 0.0, ('port', 'mill'): 2.0}
        """
        network = Graph.from_networkx(graph)
        return cls(network, networkx_nodes(graph, supply, 0.0), networkx_arcs(graph, capacity, np.inf), sense)

    @classmethod
    def from_frame(
        cls,
        arcs: Any,
        supply: Mapping[Any, float],
        *,
        tail: str = "from",
        head: str = "to",
        capacity: str | None = None,
        name: str | None = None,
        sense: Sense = "min",
    ) -> Self:
        """From a table of arcs, one row each, in its order, and what nodes supply (demand, where negative).

        Examples
        --------
        >>> import pandas, torch, foresolve
        >>> pipes = pandas.DataFrame({"from": ["mine", "port"], "to": ["port", "mill"]})
        >>> problem = foresolve.problems.MinCostFlow.from_frame(pipes, {"mine": 2.0, "mill": -2.0})
        >>> problem.solve(torch.tensor([1.0, 1.0]))
        tensor([2., 2.])
        """
        table = arc_table("arcs", arcs, tail, head, name)
        limits = np.inf if capacity is None else frames.numbers("arcs", table.frame, capacity, "capacity")
        return cls(table.arcs, supply, limits, sense, names=table.names)

    @property
    def supply(self) -> Tensor:
        """What each node sends out, `(n_nodes,)` or `(*batch, n_nodes)`."""
        return self.constraints.rhs

    def _settings(self) -> configs.Config:
        amounts = {"supply": self.supply, "capacity": self.capacity}
        return {"graph": self._graph.config(), **amounts, "sense": self.sense}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        graph = Graph.from_config(settings["graph"])
        supply, capacity = (configs.tensor(settings, name) for name in ("supply", "capacity"))
        return cls(graph, supply, capacity, settings["sense"], names=settings["names"])
