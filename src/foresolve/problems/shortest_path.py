"""Shortest paths."""

from __future__ import annotations

from collections.abc import Hashable, Mapping, Sequence
from typing import Any, Literal, Self

import numpy as np
import torch
from torch import Tensor

from foresolve._base import checks, configs
from foresolve._base.graphs import Graph, arc_table
from foresolve.problems.affine import Affine
from foresolve.problems.constraints import Constraints
from foresolve.problems.drawings.network_drawing import PathDrawing
from foresolve.problems.grids import Moves, cell_number, grid_arcs
from foresolve.problems.incidence import incidence
from foresolve.problems.parameters import Parameters
from foresolve.problems.path_program import PathProgram
from foresolve.solvers.exact.paths import PathSolver

Costs = Literal["arcs", "nodes"]


class ShortestPath(PathDrawing, PathProgram):
    r"""The cheapest path from `source` to `target`; `theta` `(*batch, n_arcs)` are the costs of the arcs.

    .. math::
        \min_x \; \theta^\top x \quad \text{s.t.} \quad \sum_{a \text{ leaves } v} x_a - \sum_{a \text{ enters } v} x_a
        = [v = \text{source}] - [v = \text{target}] \;\; \forall v, \quad 0 \le x \le 1

    With `costs="nodes"`, `theta` `(*batch, n_nodes)` is what each node costs that the path visits, `source` and
    `target` included.

    Acyclic graphs (the right-down grid is one) take costs of any sign, by dynamic programming over the whole batch;
    other graphs are solved by Dijkstra, or by Bellman and Ford where an instance has negative costs. Arcs on no walk
    from source to target, and self-loops, have the upper bound 0: a cycle of them is never taken, whatever it costs.

    **Cycles of negative cost**, which a prediction may have, make no path the shortest. The program above has an
    optimum all the same, a path with cycles beside it:

    - `argmax` and `maximizer`, so layers and losses, take that flow, by HiGHS.
    - `discrete` is the path inside: the cheapest in the flow's support with negative costs counted as 0. Where no cycle
      has negative cost, it is a shortest path.
    - `decide`, so `evaluate`, validation and policies, takes the path inside and says where it had to.
    - `solve` raises an `UnboundedError` that names the nodes of such a cycle.

    Parameters
    ----------
    arcs: pairs `(tail, head)` in the order of `theta`: lists, arrays, frames of two columns, `zip`. Nodes that are the
        integers 0, 1, ..., `n_nodes - 1` are numbers; others are names of any hashable type (strings, tuples,
        identifiers), in the order in which they appear, or of their size where all are numbers. Parallel arcs are kept;
        triples `(tail, head, key)` distinguish them by name.
    source, target: two different nodes; an `InfeasibleError` says that no path joins them.
    n_nodes: the number of nodes, by default that of those in `arcs`; nodes are then numbers below it, and some of them
        may have no arcs.
    costs: what `theta` prices, "arcs" or "nodes".
    names: of the arcs; by default those of the nodes they join, where nodes have names.

    Attributes
    ----------
    arcs: the arcs in the order of `theta`, by the caller's names of the nodes.
    node_names: the nodes in the order of `nodes(x)`, and of `theta` with `costs="nodes"`.
    shape: height and width of a grid, `None` for other graphs.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.ShortestPath([(0, 1), (1, 3), (0, 2), (2, 3)], source=0, target=3)
    >>> problem.solve(torch.tensor([[1.0, 1.0, 2.0, 2.0], [1.0, 9.0, 2.0, 2.0]]))
    tensor([[1., 1., 0., 0.],
            [0., 0., 1., 1.]])
    >>> roads = [("J01", "J02"), ("J02", "J01"), ("J02", "J03"), ("J01", "J03")]
    >>> problem = foresolve.ShortestPath(roads, "J01", "J03")
    >>> problem.path(problem.solve(torch.tensor([1.0, 1.0, 1.0, 3.0])))
    ['J01', 'J02', 'J03']
    """

    shape: tuple[int, int] | None = None

    def __init__(
        self,
        arcs: Any,
        source: Hashable,
        target: Hashable,
        n_nodes: int | None = None,
        *,
        costs: Costs = "arcs",
        names: Sequence[str] | None = None,
    ) -> None:
        graph = Graph.of(arcs, n_nodes)
        start, end = graph.ends(source, target)
        self._graph = graph
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
        self.costs: Costs = checks.one_of("costs", costs, ("arcs", "nodes"))
        if costs == "nodes":
            self.parameters = self._node_parameters(graph.heads, start)

    def _node_parameters(self, heads: np.ndarray, start: int) -> Parameters:
        """An arc costs what its head does, and the start is paid in any case."""
        at_start = torch.zeros(1, self.n_nodes, dtype=torch.float64)
        at_start[0, start] = 1.0
        entered, names = Affine.tied(heads, size=self.n_nodes), None
        if self._graph.nodes is not None:
            names = [self._graph.node_name(node) for node in range(self.n_nodes)]
        return Parameters.of(self.n, None, entered, Affine(at_start), names, {})

    @classmethod
    def from_networkx(cls, graph: Any, source: Hashable, target: Hashable, *, costs: Costs = "arcs") -> Self:
        """From a networkx graph and two of its nodes.

        The arcs are `graph.edges` in networkx' order, by the node they leave and not as they were added: take the order
        of costs from `problem.arcs`. An undirected edge gives an arc each way, `(u, v)` then `(v, u)`; those of
        multigraphs carry their key, `(u, v, key)`. A table of arcs whose order is to be kept needs no graph:
        `ShortestPath(list(zip(roads["from"], roads["to"])), ...)`.

        Examples
        --------
        >>> import networkx, torch, foresolve
        >>> graph = networkx.DiGraph()
        >>> graph.add_weighted_edges_from([("a", "b", 1.0), ("b", "c", 1.0), ("a", "c", 3.0)])
        >>> problem = foresolve.ShortestPath.from_networkx(graph, "a", "c")
        >>> problem.arcs
        [('a', 'b'), ('a', 'c'), ('b', 'c')]
        >>> problem.solve(torch.tensor([graph.edges[arc]["weight"] for arc in problem.arcs]))
        tensor([1., 0., 1.])
        """
        return cls(Graph.from_networkx(graph), source, target, costs=costs)

    @classmethod
    def from_frame(
        cls,
        roads: Any,
        source: Hashable,
        target: Hashable,
        *,
        tail: str = "from",
        head: str = "to",
        name: str | None = None,
        costs: Costs = "arcs",
    ) -> Self:
        """From a table of roads, one row each, in its order: a frame or the path of a file.

        Parameters
        ----------
        roads: with the columns `tail` and `head`, and `name` for what roads are called; by default "A -> B".
        source, target: nodes, as the table has them.
        costs: what `theta` prices, "arcs" or "nodes".

        Examples
        --------
        >>> import pandas, torch, foresolve
        >>> roads = pandas.DataFrame({"id": [7, 9, 4], "from": ["A", "B", "A"], "to": ["B", "C", "C"]})
        >>> problem = foresolve.ShortestPath.from_frame(roads, "A", "C", name="id")
        >>> x = problem.solve(torch.tensor([1.0, 1.0, 3.0]))
        >>> problem.chosen(x), problem.path(x)
        (['7', '9'], ['A', 'B', 'C'])
        """
        table = arc_table("roads", roads, tail, head, name)
        return cls(table.arcs, source, target, costs=costs, names=table.names)

    @classmethod
    def grid(
        cls,
        height: int,
        width: int,
        moves: Moves = "right-down",
        *,
        costs: Literal["arcs", "cells"] = "arcs",
        source: tuple[int, int] | int | None = None,
        target: tuple[int, int] | int | None = None,
    ) -> Self:
        """Through a grid of cells; cell `(i, j)` is the node `i * width + j`.

        Parameters
        ----------
        moves: "right-down" (acyclic: any costs), "4" neighbors or "8". The arcs are listed row by row: with
            "right-down" the `width - 1` to the right, then the `width` down to the next row; with "4" and "8" first
            these, then those back (and the diagonal ones), in the order of the nodes they leave.
        costs: with "cells", `theta` `(*batch, height * width)` is what each cell of the path costs, row by row, the
            first and the last included, as in the Warcraft benchmark.
        source, target: cells `(i, j)`, or their numbers; by default the top left and the bottom right.

        Examples
        --------
        >>> import torch, foresolve
        >>> foresolve.ShortestPath.grid(2, 3).arcs
        [(0, 1), (1, 2), (0, 3), (1, 4), (2, 5), (3, 4), (4, 5)]
        >>> problem = foresolve.ShortestPath.grid(3, 3, moves="8", costs="cells")
        >>> cells = torch.tensor([[1.0, 9.0, 1.0], [1.0, 9.0, 1.0], [9.0, 1.0, 1.0]])
        >>> x = problem.solve(cells.flatten())
        >>> problem.nodes(x).reshape(3, 3)
        tensor([[1., 0., 0.],
                [1., 0., 0.],
                [0., 1., 1.]])
        >>> problem.objective(x, cells.flatten()).item()
        -4.0
        """
        shape = checks.positive_int("height", height), checks.positive_int("width", width)
        arcs = grid_arcs(*shape, moves)
        checks.one_of("costs", costs, ("arcs", "cells"))
        start = 0 if source is None else cell_number("source", source, shape)
        end = shape[0] * shape[1] - 1 if target is None else cell_number("target", target, shape)
        problem = cls(arcs, start, end, shape[0] * shape[1], costs="nodes" if costs == "cells" else "arcs")
        problem.shape = shape
        return problem

    # -- names and files ---------------------------------------------------------------------------------------------

    def check_theta(self, theta: Any) -> Tensor:
        """`theta` as a floating tensor, `(*batch, n_arcs)`, or `(*batch, n_nodes)` with costs on nodes."""
        theta = checks.as_tensor("theta", theta)
        cells = self.costs == "nodes" and self.shape == tuple(theta.shape[-2:])
        if cells and theta.shape[-1] != self.n_nodes:
            expected = f"(*batch, {self.n_nodes}), the cells row by row"
            raise checks.fail("theta", expected, str(tuple(theta.shape)), "Use `theta.flatten(-2)`")
        return super().check_theta(theta)

    def _name(self, kind: str, index: int) -> str:
        if kind == "A_eq":
            return f"node {self._graph.node_name(index)}"
        return f"arc {self._graph.arc_name(index)}"

    def config(self) -> configs.Config:
        """What makes the problem again; `costs` says what `theta` stands for where it is the nodes."""
        config = super().config()
        return config if self.costs == "arcs" else config | {"parameters": None}

    def _settings(self) -> configs.Config:
        ends = {"source": self._paths.source, "target": self._paths.target}
        shape = None if self.shape is None else list(self.shape)
        return {"graph": self._graph.config(), **ends, "costs": self.costs, "shape": shape}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        graph = Graph.from_config(settings["graph"])
        source, target = (graph.node(configs.size(settings, end)) for end in ("source", "target"))
        problem = cls(graph, source, target, costs=settings.get("costs", "arcs"), names=settings["names"])
        shape = settings.get("shape")
        if shape is not None:
            height, width = (configs.whole("shape", size) for size in shape)
            if height * width != problem.n_nodes:
                raise ValueError(f"`shape` must be of {problem.n_nodes} cells; it is {height} x {width}")
            problem.shape = height, width
        return problem
