"""Arcs, edges and nodes as users have them."""

from __future__ import annotations

from collections import Counter
from collections.abc import Hashable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from numbers import Integral
from typing import Any, NamedTuple, Self

import numpy as np
import torch

from foresolve._base import checks, configs, frames
from foresolve._base.arc_lists import SHAPE, as_pairs, read_arcs
from foresolve.errors import ForesolveError, Phrase, Setting


@dataclass(frozen=True, eq=False)
class Graph:
    """Arcs by the numbers of their nodes, with the caller's names of both.

    Attributes
    ----------
    tails, heads: node numbers `(n_arcs,)`.
    nodes: the nodes' names; `None` where they are numbers.
    keys: of the arcs, where they distinguish parallel ones.
    """

    tails: np.ndarray
    heads: np.ndarray
    n_nodes: int
    nodes: Sequence[Hashable] | None = None
    keys: Sequence[Hashable] | None = None

    @classmethod
    def of(cls, arcs: Any, n_nodes: int | None = None) -> Graph:
        """Make a graph of pairs `(tail, head)` of node numbers or names, see `read_arcs`; a `Graph` stays as it is."""
        if isinstance(arcs, Graph):
            if len(arcs.tails) == 0:
                raise checks.fail("arcs", SHAPE, "a graph without edges")
            return arcs
        if is_networkx(arcs):
            raise checks.fail("arcs", SHAPE, "a networkx graph", "Use `from_networkx(graph, ...)` of the class")
        pairs, nodes, keys = read_arcs(arcs, numbered=n_nodes is not None)
        tails, heads = pairs.T.copy()
        if nodes is not None and n_nodes not in (None, len(nodes)):
            raise checks.fail("n_nodes", f"the {len(nodes)} nodes that `arcs` names, or left out", str(n_nodes))
        return cls(tails, heads, count_nodes(pairs, n_nodes), nodes, keys)

    @classmethod
    def from_networkx(cls, graph: Any, *, both_ways: bool = True) -> Graph:
        """`graph.edges` in order; an undirected edge gives an arc each way, `(u, v)` then `(v, u)`, or the first."""
        if not is_networkx(graph):
            raise checks.fail("graph", "a networkx graph", type(graph).__name__)
        nodes = list(graph.nodes)
        number = {node: i for i, node in enumerate(nodes)}
        edges = list(graph.edges(keys=True)) if graph.is_multigraph() else list(graph.edges)
        if both_ways and not graph.is_directed():
            edges = [arc for edge in edges for arc in (edge, (edge[1], edge[0], *edge[2:]))]
        pairs = np.array([(number[tail], number[head]) for tail, head, *_ in edges], dtype=np.int64).reshape(-1, 2)
        keys = [edge[2] for edge in edges] if graph.is_multigraph() else None
        tails, heads = pairs.T.copy()
        return cls(tails, heads, len(nodes), nodes, keys)

    @property
    def pairs(self) -> np.ndarray:
        """`(n_arcs, 2)`: the numbers of the tail and the head of each arc."""
        return np.stack([self.tails, self.heads], 1)

    @property
    def arcs(self) -> list[tuple[Any, ...]]:
        """`(tail, head)` of each arc by the nodes' names; with its key, where a multigraph has keys."""
        tails, heads = ([self.node(i) for i in ends.tolist()] for ends in (self.tails, self.heads))
        parts = (tails, heads) if self.keys is None else (tails, heads, self.keys)
        return list(zip(*parts, strict=True))

    @property
    def names(self) -> tuple[str, ...] | None:
        """The arcs' names, "a -> b"; `None` where nodes are numbers. Parallel arcs have their numbers."""
        if self.nodes is None:
            return None
        names = [self.arc_name(arc) for arc in range(len(self.tails))]
        count = Counter(names)
        return tuple(f"{name} [{arc}]" if count[name] > 1 else name for arc, name in enumerate(names))

    def with_nodes(self, n_nodes: int) -> Graph:
        """The same with more nodes, which no arc touches; integers below their number are then numbers, not names."""
        if self.nodes is None or n_nodes == self.n_nodes:
            return replace(self, n_nodes=n_nodes)
        if not all(isinstance(node, Integral) and 0 <= int(node) < n_nodes for node in self.nodes):
            expected = Phrase(f"a number for each of the {self.n_nodes} nodes of ", Setting("graph"))
            raise checks.fail("supply", expected, str(n_nodes))
        number = np.array(self.nodes)
        return replace(self, tails=number[self.tails], heads=number[self.heads], n_nodes=n_nodes, nodes=None)

    def node(self, number: int) -> Any:
        """The caller's name of a node."""
        return number if self.nodes is None else self.nodes[number]

    def number(self, name: str, node: Any) -> int:
        """The number of a node that the argument `name` gives."""
        if self.nodes is None:
            return as_node(name, node, self.n_nodes)
        if not isinstance(node, Hashable) or node not in self._numbers:
            guess = checks.did_you_mean(node, self.nodes)
            expected = Phrase(f"one of the {self.n_nodes} nodes of ", Setting("graph"))
            raise checks.fail(name, expected, repr(node), guess)
        return self._numbers[node]

    @property
    def node_names(self) -> list[Any]:
        """The caller's name of each node."""
        return [self.node(number) for number in range(self.n_nodes)]

    def by_node(self, name: str, values: Mapping[Any, Any]) -> list[Any]:
        """Values that the argument `name` gives for some nodes, in the order of all; 0 for the others."""
        row: list[Any] = [0.0] * self.n_nodes
        for node, value in values.items():
            row[self.number(name, node)] = value
        return row

    def ends(self, source: Any, target: Any) -> tuple[int, int]:
        """The numbers of `source` and `target`, two different nodes."""
        start, end = self.number("source", source), self.number("target", target)
        if start == end:
            raise checks.fail("target", "another node than `source`", f"{target} for both")
        return start, end

    def node_name(self, number: int) -> str:
        """A node in a message."""
        return str(self.node(int(number)))

    def arc_name(self, arc: int) -> str:
        """An arc in a message."""
        key = "" if self.keys is None else f" ({self.keys[arc]})"
        return f"{self.node_name(self.tails[arc])} -> {self.node_name(self.heads[arc])}{key}"

    @cached_property
    def _numbers(self) -> dict[Any, int]:
        return {node: i for i, node in enumerate(self.nodes or ())}

    def config(self) -> configs.Config:
        """The graph as JSON and tensors; names that JSON cannot hold are an error."""
        arcs = torch.from_numpy(self.pairs)
        names = {"nodes": describe_names(self.nodes), "keys": describe_names(self.keys)}
        return {"arcs": arcs, "n_nodes": self.n_nodes, **names}

    @classmethod
    def from_config(cls, config: Mapping[str, Any]) -> Self:
        """The graph that `config()` describes."""
        plain = Graph.of(configs.tensor(config, "arcs"), configs.size(config, "n_nodes"))
        nodes, keys = restore_names(config, "nodes", plain.n_nodes), restore_names(config, "keys", len(plain.tails))
        return cls(plain.tails, plain.heads, plain.n_nodes, nodes, keys)


def describe_names(names: Sequence[Any] | None) -> list[Any] | None:
    """Names of nodes or keys as a file can keep them; an error for one that it cannot."""
    for name in names or ():
        _check_name(name)
    return None if names is None else list(names)


def restore_names(config: Mapping[str, Any], entry: str, count: int) -> list[Any] | None:
    """The names that `describe_names` described, `count` of them."""
    names = config[entry]
    if names is not None and (not isinstance(names, list) or len(names) != count):
        raise ValueError(f"`{entry}` must be a list of {count} names; got {names!r:.80}")
    return describe_names(names)


def _check_name(name: Any) -> None:
    """A node's or key's name must be of what JSON holds."""
    if isinstance(name, tuple):
        for part in name:
            _check_name(part)
    elif not isinstance(name, str | int | float | np.integer | np.floating):
        raise ForesolveError(
            (f"{name!r:.80}, the name of a node or key, is of type {type(name).__name__}, which a file cannot hold"),
            remedy="Name nodes by str, int, float or tuples of them, for example with `networkx.relabel_nodes`",
        )


def is_networkx(value: Any) -> bool:
    """True for a networkx graph, also if networkx is not installed."""
    return hasattr(value, "edges") and hasattr(value, "is_directed")


def networkx_arcs(graph: Any, attribute: str, default: float) -> list[float]:
    """An attribute of the edges, in the order of `Graph.from_networkx`."""
    edges = graph.edges(data=True)
    values = [_number(data, attribute, default, f"edge {tail!r} - {head!r}") for tail, head, data in edges]
    return values if graph.is_directed() else [value for value in values for _ in range(2)]


def networkx_nodes(graph: Any, attribute: str, default: float) -> list[float]:
    """An attribute of the nodes, in the order of the graph."""
    return [_number(data, attribute, default, f"node {node!r}") for node, data in graph.nodes(data=True)]


def _number(data: Mapping[str, Any], attribute: str, default: float, owner: str) -> float:
    try:
        return float(data.get(attribute, default))
    except (TypeError, ValueError) as error:
        raise checks.fail(f"graph[{attribute!r}]", "a number", f"{data[attribute]!r} of {owner}") from error


def as_edges(edges: Any, n_nodes: int | None) -> tuple[np.ndarray, int]:
    """Pairs of node numbers `(edges, 2)`, and the number of nodes."""
    pairs = as_pairs("edges", edges, "pairs (from, to) of node numbers", "(edges, 2) of (from, to)", empty=True)
    return pairs, count_nodes(pairs, n_nodes)


def count_nodes(pairs: np.ndarray, n_nodes: int | None) -> int:
    """The number of nodes that was given, or that the pairs name."""
    least = int(pairs.max()) + 1 if len(pairs) else 1
    count = least if n_nodes is None else checks.positive_int("n_nodes", n_nodes)
    if count < least:
        raise checks.fail("n_nodes", f"above the largest node number ({least - 1})", str(count))
    return count


def as_node(name: str, node: Any, n_nodes: int) -> int:
    """A node number below `n_nodes`."""
    node = checks.positive_int(name, node, zero=True)
    if node >= n_nodes:
        raise checks.fail(name, f"a node number below {n_nodes}", str(node))
    return node


class ArcTable(NamedTuple):
    """A user's table of arcs, one row each: the pairs `(tail, head)`, and the arcs' names, where a column has them."""

    frame: Any
    arcs: list[tuple[Any, Any]]
    names: list[str] | None


def arc_table(argument: str, table: Any, tail: str, head: str, name: str | None) -> ArcTable:
    """Arcs in the columns `tail`, `head` and `name` of a frame or file, which is the argument `argument`."""
    frame = frames.as_frame(argument, table, () if name is None else (name,))
    ends = [frames.complete(argument, frame, title, role).to_list() for title, role in ((tail, "tail"), (head, "head"))]
    if len({isinstance(node, str) for end in ends for node in end}) > 1:  # "007" made one column text, and 114 is "114"
        ends = [frames.as_texts(end) for end in ends]
    names = None if name is None else frames.texts(argument, frame, name, "name")
    return ArcTable(frame, list(zip(*ends, strict=True)), names)
