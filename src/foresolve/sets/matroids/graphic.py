"""Forests of a graph."""

from __future__ import annotations

import copy
from collections.abc import Mapping
from typing import Any, Self

import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve._base.arc_lists import as_pairs
from foresolve._base.graphs import Graph, describe_names, restore_names
from foresolve.sets.decomposition import columns
from foresolve.sets.matroids.matroid import Matroid


class GraphicMatroid(Matroid):
    r"""Sets of edges of an undirected graph without a cycle; its bases are the spanning trees of each component.

    The items are the edges. Several may join the same two nodes; one from a node to itself is never taken. The polytope
    has a constraint for every set of nodes, `x(E(U)) <= |U| - 1`: too many for a list of rows, or for projections.

    Parameters
    ----------
    edges: `(n, 2)` integers, the two nodes of each edge.
    n_nodes: the number of nodes; the largest in `edges` plus 1, unless given. `from_networkx` takes both of a graph.

    Examples
    --------
    >>> import torch
    >>> from foresolve.sets import GraphicMatroid
    >>> triangle = GraphicMatroid([(0, 1), (1, 2), (2, 0)])
    >>> triangle.maximize(torch.tensor([1.0, 3.0, 2.0]))
    tensor([0., 1., 1.])
    """

    def __init__(self, edges: Any, n_nodes: int | None = None) -> None:
        pairs = as_pairs("edges", edges, "integers of shape (n, 2), n >= 1", "integers of shape (n, 2), n >= 1")
        self.n_nodes = int(pairs.max()) + 1 if n_nodes is None else checks.positive_int("n_nodes", n_nodes)
        if pairs.max() >= self.n_nodes:
            i = int((pairs >= self.n_nodes).any(1).argmax())
            raise checks.fail(
                "edges", f"of nodes from 0 to {self.n_nodes - 1}", f"edge {i}: {tuple(pairs[i].tolist())}"
            )
        self.n, self.device = len(pairs), torch.device("cpu")
        self.edges = torch.from_numpy(pairs)
        self.nodes: list[Any] | None = None
        self.rank = int(self.maximize(torch.zeros(self.n)).sum())

    @classmethod
    def from_networkx(cls, graph: Any) -> Self:
        """The forests of an undirected networkx graph: items are `graph.edges` in order, `nodes` keep their names."""
        network = Graph.from_networkx(graph, both_ways=False)
        if graph.is_directed():
            raise checks.fail("graph", "undirected", type(graph).__name__, "Use `graph.to_undirected()`")
        matroid = cls(network.pairs, network.n_nodes)
        matroid.nodes = list(graph.nodes)
        return matroid

    def config(self) -> dict[str, Any]:
        """The graph; an error where a file cannot keep the names of nodes."""
        return {"edges": self.edges, "n_nodes": self.n_nodes, "nodes": describe_names(self.nodes)}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The matroid of this graph."""
        matroid = cls(config["edges"], configs.size(config, "n_nodes"))
        matroid.nodes = restore_names(config, "nodes", matroid.n_nodes)
        return matroid

    def __repr__(self) -> str:
        return f"GraphicMatroid(n={self.n}, nodes={self.n_nodes}, rank={self.rank})"

    def to(self, device: torch.device | str) -> Self:
        moved = copy.copy(self)
        moved.edges = self.edges.to(device)
        moved.device = moved.edges.device
        return moved

    def independent(self, mask: Tensor) -> Tensor:
        flat, batch = self._mask(mask, check=True)
        return (self._forest(flat)[0] == flat).all(-1).reshape(batch)

    def addable(self, mask: Tensor) -> Tensor:
        flat, batch = self._mask(mask, check=False)
        component = self._forest(flat)[1]
        ends = component[:, self.edges]
        return ((ends[..., 0] != ends[..., 1]) & ~flat).reshape(*batch, self.n)

    def maximize(self, gains: Tensor, *, base: bool = True, check: bool = True) -> Tensor:
        gains = checks.as_tensor("gains", gains)
        flat, batch = self._take("gains", gains, check=check)
        allowed = torch.ones_like(flat, dtype=torch.bool) if base else flat > 0
        taken, _ = self._forest(allowed, flat.argsort(dim=1, descending=True, stable=True))
        return taken.reshape(*batch, self.n).to(gains.dtype)

    def excess(self, x: Tensor, *, base: bool = True) -> dict[str, Tensor]:
        """Violations; `sets` is one number here, the largest `x(A) - r(A)` of all sets of edges (0 if none is
        positive), by a linear program for each instance."""
        flat, batch = self._take("x", x, check=True)
        most = torch.tensor([[columns(row, self)[0]] for row in flat.cpu().numpy()], dtype=torch.float64)
        amounts = {"lower": -flat, "upper": flat - 1, "sets": most.reshape(-1, 1).to(flat)}
        if base:
            amounts["base"] = (flat.sum(-1, keepdim=True) - self.rank).abs()
        return {kind: amount.reshape(*batch, amount.shape[-1]) for kind, amount in amounts.items()}

    def _forest(self, allowed: Tensor, order: Tensor | None = None) -> tuple[Tensor, Tensor]:
        """Kruskal's algorithm: the edges taken `(B, n)` of those allowed, and the component of each node."""
        count = len(allowed)
        component = torch.arange(self.n_nodes, device=allowed.device).expand(count, -1)
        taken = torch.zeros_like(allowed)
        for place in range(self.n):
            edge = order[:, place] if order is not None else torch.full((count,), place, device=allowed.device)
            ends = component.gather(1, self.edges[edge])
            joins = (ends[:, :1] != ends[:, 1:]) & allowed.gather(1, edge[:, None])
            component = torch.where(joins & (component == ends[:, 1:]), ends[:, :1], component)
            taken = taken.scatter(1, edge[:, None], joins)
        return taken, component
