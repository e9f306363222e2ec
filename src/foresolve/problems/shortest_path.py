"""Shortest paths."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve._base.graphs import Graph
from foresolve.problems.constraints import Constraints
from foresolve.problems.incidence import incidence
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.exact.paths import PathSolver

Moves = Literal["right-down", "4", "8"]


class ShortestPath(LinearProgram):
    r"""The cheapest path from `source` to `target`; `theta` `(*batch, n_arcs)` are the costs of the arcs.

    .. math::
        \min_x \; \theta^\top x \quad \text{s.t.} \quad \sum_{a \text{ leaves } v} x_a - \sum_{a \text{ enters } v} x_a
        = [v = \text{source}] - [v = \text{target}] \;\; \forall v, \quad 0 \le x \le 1

    Acyclic graphs (the right-down grid is one) take costs of any sign, by dynamic programming over the whole batch;
    other graphs are solved by Dijkstra, or by Bellman and Ford where an instance has negative costs. There, a cycle of
    negative cost is refused with an `UnboundedError` that names its nodes: no path is shortest then, and the
    program above would go round the cycle. Arcs on no walk from source to target, and self-loops, have the upper
    bound 0: a cycle of them is never taken, whatever it costs.

    Parameters
    ----------
    arcs: pairs `(tail, head)` of node numbers, in the order of `theta`; parallel arcs are fine.
    source, target: two different nodes; an `InfeasibleError` says that no path joins them.
    n_nodes: the number of nodes, by default the largest number in `arcs` plus one.
    names: of the arcs; by default those of the nodes they join, where nodes have names.

    Attributes
    ----------
    arcs: the arcs in the order of `theta`, by the caller's names of the nodes.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.ShortestPath([(0, 1), (1, 3), (0, 2), (2, 3)], source=0, target=3)
    >>> problem.solve(torch.tensor([[1.0, 1.0, 2.0, 2.0], [1.0, 9.0, 2.0, 2.0]]))
    tensor([[1., 1., 0., 0.],
            [0., 0., 1., 1.]])
    >>> foresolve.ShortestPath.grid(2, 3).arcs
    [(0, 1), (1, 2), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5)]
    """

    def __init__(
        self,
        arcs: Any,
        source: Hashable,
        target: Hashable,
        n_nodes: int | None = None,
        *,
        names: Sequence[str] | None = None,
    ) -> None:
        graph = Graph.of(arcs, n_nodes)
        start, end = graph.ends(source, target)
        self.n_nodes, self._graph = graph.n_nodes, graph
        self.source, self.target = graph.node(start), graph.node(end)
        self._paths = PathSolver(graph.tails, graph.heads, graph.n_nodes, start, end, graph.node_name)
        rhs = torch.zeros(graph.n_nodes, dtype=torch.float64)
        rhs[start], rhs[end] = 1.0, -1.0
        rows = incidence(graph.tails, graph.heads, np.arange(graph.n_nodes), graph.n_nodes)
        upper = torch.from_numpy(self._paths.usable.astype(np.float64))
        # Without cycles a unit of flow cannot put more than 1 on any arc.
        equality, acyclic = torch.ones(graph.n_nodes, dtype=torch.bool), self._paths.acyclic
        constraints = Constraints.of(rows, rhs, equality, (0.0, upper), implied_upper=acyclic)
        super().__init__(constraints=constraints, sense="min", names=graph.names if names is None else names)

    @classmethod
    def from_networkx(cls, graph: Any, source: Hashable, target: Hashable) -> Self:
        """From a networkx graph and two of its nodes.

        The arcs are `graph.edges` in order; an undirected edge gives an arc each way, `(u, v)` then `(v, u)`; those of
        multigraphs carry their key, `(u, v, key)`.

        Examples
        --------
        >>> import networkx, torch, foresolve
        >>> graph = networkx.DiGraph()
        >>> graph.add_weighted_edges_from([("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 3.0)])
        >>> problem = foresolve.ShortestPath.from_networkx(graph, "a", "c")
        >>> problem.solve(torch.tensor([graph.edges[arc]["weight"] for arc in problem.arcs]))
        tensor([1., 0., 1.])
        """
        return cls(Graph.from_networkx(graph), source, target)

    @classmethod
    def grid(cls, height: int, width: int, moves: Moves = "right-down") -> Self:
        """From the top left to the bottom right of a grid; node `(i, j)` has the number `i * width + j`.

        `moves` are "right-down" (acyclic: any costs), "4" neighbours or "8". The arcs are listed row by row: with
        "right-down" the `width - 1` to the right, then the `width` down to the next row; with "4" and "8" first these,
        then those back (and the diagonal ones), in the order of the nodes they leave.
        """
        height, width = checks.positive_int("height", height), checks.positive_int("width", width)
        if height * width < 2:
            raise checks.fail("height", "such that the grid has two cells or more", f"{height} x {width}")
        if moves not in ("right-down", "4", "8"):
            raise checks.fail("moves", '"right-down", "4" or "8"', repr(moves))
        right_down = [(0, 1), (1, 0)]
        arcs = _grid_arcs(height, width, right_down, by_row=True)
        if moves != "right-down":
            others = [(0, -1), (-1, 0)]
            if moves == "8":
                others += [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            arcs = np.concatenate([arcs, _grid_arcs(height, width, others, by_row=False)])
        return cls(arcs, 0, height * width - 1, height * width)

    @property
    def arcs(self) -> list[tuple[Any, ...]]:
        """`(tail, head)` of each entry of `theta`; with the key, where a multigraph has keys."""
        return self._graph.arcs

    def _name(self, kind: str, index: int) -> str:
        if kind == "A_eq":
            return f"node {self._graph.node_name(index)}"
        return f"arc {self._graph.arc_name(index)}"

    def _settings(self) -> configs.Config:
        ends = {"source": self._paths.source, "target": self._paths.target}
        return {"graph": self._graph.config(), **ends}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        graph = Graph.from_config(settings["graph"])
        source, target = (graph.node(configs.size(settings, end)) for end in ("source", "target"))
        return cls(graph, source, target, names=settings["names"])

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        return self._paths.solve(-gains, batch)


def _grid_arcs(height: int, width: int, steps: list[tuple[int, int]], *, by_row: bool) -> np.ndarray:
    """Arcs `(i, j) -> (i, j) + step` that stay inside, by node and step, or by row, step and column."""
    i, j = np.meshgrid(np.arange(height), np.arange(width), indexing="ij")
    axis = 1 if by_row else 2
    tail = np.stack([i * width + j for _ in steps], axis)
    row, column = np.stack([i + a for a, _ in steps], axis), np.stack([j + b for _, b in steps], axis)
    inside = (row >= 0) & (row < height) & (column >= 0) & (column < width)
    return np.stack([tail[inside], (row * width + column)[inside]], -1)
