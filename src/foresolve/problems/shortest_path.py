"""Shortest paths."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.graphs import as_arcs, as_ends
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
    programme above would go round the cycle. Arcs on no walk from source to target, and self-loops, have the upper
    bound 0: a cycle of them is never taken, whatever it costs.

    Parameters
    ----------
    arcs: pairs `(tail, head)` of node numbers, in the order of `theta`; parallel arcs are fine.
    source, target: two different nodes; an `InfeasibleError` says that no path joins them.
    n_nodes: the number of nodes, by default the largest number in `arcs` plus one.

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

    def __init__(self, arcs: Any, source: int, target: int, n_nodes: int | None = None) -> None:
        tails, heads, size = as_arcs(arcs, n_nodes)
        self._build(tails, heads, size, *as_ends(source, target, size))

    def _build(
        self,
        tails: np.ndarray,
        heads: np.ndarray,
        n_nodes: int,
        source: int,
        target: int,
        nodes: Sequence[Hashable] | None = None,
        arcs: Sequence[tuple[Hashable, ...]] | None = None,
    ) -> None:
        self.n_nodes, self._nodes, self._arcs = n_nodes, nodes, arcs
        self.source, self.target = (source, target) if nodes is None else (nodes[source], nodes[target])
        self._paths = PathSolver(tails, heads, n_nodes, source, target, self._node_name)
        rhs = torch.zeros(n_nodes, dtype=torch.float64)
        rhs[source], rhs[target] = 1.0, -1.0
        upper = torch.from_numpy(self._paths.usable.astype(np.float64))
        rows = incidence(tails, heads, np.arange(n_nodes), n_nodes)
        # Without cycles a unit of flow cannot put more than 1 on any arc.
        equality, acyclic = torch.ones(n_nodes, dtype=torch.bool), self._paths.acyclic
        self._set(rows, torch.Size(), rhs, equality, (0.0, upper), sense="min", implied_upper=acyclic)

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
        if not (hasattr(graph, "edges") and hasattr(graph, "is_directed")):
            raise checks.fail("graph", "a networkx graph", type(graph).__name__)
        nodes = list(graph.nodes)
        number = {node: i for i, node in enumerate(nodes)}
        for name, node in (("source", source), ("target", target)):
            if node not in number:
                raise checks.fail(name, f"one of the {len(nodes)} nodes of `graph`", repr(node))
        edges = list(graph.edges(keys=True)) if graph.is_multigraph() else list(graph.edges)
        if not graph.is_directed():
            edges = [arc for edge in edges for arc in (edge, (edge[1], edge[0], *edge[2:]))]
        tails, heads, size = as_arcs([(number[edge[0]], number[edge[1]]) for edge in edges], len(nodes))
        problem = cls.__new__(cls)
        problem._build(tails, heads, size, *as_ends(number[source], number[target], size), nodes, edges)
        return problem

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
        if self._arcs is not None:
            return list(self._arcs)
        return list(zip(self._paths.tails.tolist(), self._paths.heads.tolist(), strict=True))

    def _node_name(self, node: int) -> str:
        return str(node if self._nodes is None else self._nodes[node])

    def _name(self, kind: str, index: int) -> str:
        if kind == "A_eq":
            return f"node {self._node_name(index)}"
        return f"arc {self._node_name(self._paths.tails[index])} -> {self._node_name(self._paths.heads[index])}"

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
