"""Paths and flows on their graph, grid or map."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, Literal

import numpy as np
from torch import Tensor

from foresolve._base import checks
from foresolve._base.drawing import layouts, legends
from foresolve._base.drawing.networks import Network, draw_network
from foresolve._base.drawing.palette import CHOSEN, GIVEN, MAP, shades
from foresolve._base.extras import need
from foresolve._base.graphs import Graph
from foresolve._base.numbers import significant
from foresolve.problems.drawings.drawing import Drawing

if TYPE_CHECKING:
    from matplotlib.axes import Axes

FROM, TO = ">", "s"


class NetworkDrawing(Drawing):
    """Nodes where the user says they are, or where the graph puts them; what flows is wider where there is more."""

    _graph: Graph
    _taken = "flow: wider where there is more"
    _left = "no flow"

    def draw(self, x: Any, theta: Any = None, ax: Any = None, *, positions: Any = None) -> Axes:
        """Draw one decision on its graph, on matplotlib axes that can be drawn on further.

        Parameters
        ----------
        x: the decision `(n_arcs,)`; of a layer too, whose entries may be fractions.
        theta: the parameters it is shown under, true or predicted: the title says what it is worth under them.
        ax: axes to draw on; by default those of a new figure.
        positions: where the nodes are, `{node: (x, y)}` or `(n_nodes, 2)`, such as longitudes and latitudes; by default
            the cells of a grid, layers of a graph without cycles, or by the number of steps between nodes.
        """
        return self._drawn(x, theta, ax, positions=positions)

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None, *, positions: Any = None) -> None:
        graph = self._graph
        if positions is None:
            places = layouts.by_arcs(graph.tails, graph.heads, graph.n_nodes)
        else:
            places = as_places(graph, positions)
        names = [graph.node_name(node) for node in range(graph.n_nodes)]
        network = Network(
            graph.tails, graph.heads, places, names, np.abs(x), self._arc_labels(x, theta), self._special(theta)
        )
        draw_network(ax, network, taken=self._taken_words(), left=self._left)

    def _arc_labels(self, x: np.ndarray, theta: Tensor | None) -> list[str]:
        """What stands beside each arc: what it costs."""
        return [] if theta is None or theta.shape != x.shape else [significant(cost, 3) for cost in theta.tolist()]

    def _taken_words(self) -> str:
        """What a colored arc and the number beside it are."""
        return self._taken

    def _special(self, theta: Tensor | None) -> dict[int, tuple[str, str]]:
        """Nodes that are marked."""
        return {}


def as_places(graph: Graph, positions: Any) -> np.ndarray:
    """Positions of all nodes `(n_nodes, 2)`."""
    if isinstance(positions, Mapping):
        missing = [str(name) for name in graph.node_names if name not in positions]
        if missing:
            raise checks.fail("positions", "a place for every node", f"none for {', '.join(missing[:5])}")
        positions = [positions[name] for name in graph.node_names]
    places = checks.as_tensor("positions", positions).double().numpy()
    if places.shape != (graph.n_nodes, 2):
        raise checks.fail("positions", f"({graph.n_nodes}, 2) or a dict by node", str(tuple(places.shape)))
    return places


class PathDrawing(NetworkDrawing):
    """A path: on its grid, where there is one, over what cells or steps cost; else on its graph."""

    source: Any
    target: Any
    costs: Literal["arcs", "nodes"]
    shape: tuple[int, int] | None
    _taken = "path"
    _left = "not taken"

    def _special(self, theta: Tensor | None) -> dict[int, tuple[str, str]]:
        graph = self._graph
        return {graph.number("source", self.source): (FROM, "from"), graph.number("target", self.target): (TO, "to")}

    def _draw(self, ax: Axes, x: np.ndarray, theta: Tensor | None, *, positions: Any = None) -> None:
        if self.shape is None or positions is not None:
            super()._draw(ax, x, theta, positions=positions)
            return
        height, width = self.shape
        nodes = np.arange(height * width)
        places = np.stack([nodes % width, nodes // width], 1).astype(float)
        if theta is not None and self.costs == "nodes":
            _draw_cells(ax, theta.numpy().reshape(height, width))
        else:
            _draw_steps(ax, self._graph, places, None if theta is None or theta.shape != x.shape else theta.numpy())
        _draw_path(ax, self._graph, places, x)
        for node, (marker, words) in self._special(theta).items():
            ax.plot(*places[node], marker, color=CHOSEN, markersize=9, markeredgecolor="white", zorder=6, label=words)
        ax.set(xlim=(-0.6, width - 0.4), ylim=(height - 0.4, -0.6), aspect="equal", xticks=[], yticks=[])
        legends.under(
            ax, [legends.mark("path", CHOSEN, "", line="-"),
                 *(legends.mark(words, CHOSEN, marker) for marker, words in self._special(theta).values())],
        )  # fmt: skip


def _draw_cells(ax: Axes, cells: np.ndarray) -> None:
    image: Any = ax.imshow(cells, cmap=MAP, interpolation="none", vmin=min(0.0, float(cells.min())))
    figure: Any = ax.get_figure()
    figure.colorbar(image, ax=ax, fraction=0.046, pad=0.02, label="cost of a cell")


def _draw_steps(ax: Axes, graph: Graph, places: np.ndarray, costs: np.ndarray | None) -> None:
    """Each step in the shade of its cost; steps there and back side by side."""
    collections: Any = need("matplotlib.collections", "a picture", "plot")
    start, end = places[graph.tails], places[graph.heads]
    along = end - start
    aside = 0.09 * np.stack([-along[:, 1], along[:, 0]], 1) if _both_ways(graph) else 0.0
    lines = collections.LineCollection(
        list(np.stack([start + 0.1 * along + aside, end - 0.1 * along + aside], 1)), linewidths=3.0, zorder=1,
        cmap=shades(GIVEN, 0.1), array=np.zeros(len(start)) if costs is None else costs, capstyle="round",
    )  # fmt: skip
    ax.add_collection(lines)
    if costs is not None:
        figure: Any = ax.get_figure()
        figure.colorbar(lines, ax=ax, fraction=0.046, pad=0.02, label="cost of a step")
    for side in ax.spines.values():
        side.set_visible(False)


def _both_ways(graph: Graph) -> bool:
    pairs = set(map(tuple, graph.pairs.tolist()))
    return any((head, tail) in pairs for tail, head in pairs)


def _draw_path(ax: Axes, graph: Graph, places: np.ndarray, x: np.ndarray) -> None:
    collections: Any = need("matplotlib.collections", "a picture", "plot")
    to_rgba = need("matplotlib.colors", "a picture", "plot").to_rgba
    used = np.flatnonzero(x > 1e-6)
    ends = np.stack([places[graph.tails[used]], places[graph.heads[used]]], 1)
    colors = [to_rgba(CHOSEN, 0.2 + 0.8 * min(float(share), 1.0)) for share in x[used]]
    ax.add_collection(
        collections.LineCollection(list(ends), colors=colors, linewidths=4.0, capstyle="round", zorder=5)
    )  # fmt: skip


class FlowDrawing(NetworkDrawing):
    """A flow: how much of each arc's capacity it takes, and where it comes from."""

    _picture_size = (7.0, 4.4)

    def _taken_words(self) -> str:
        bounded = bool(self.upper.isfinite().any())  # type: ignore[attr-defined]
        return "flow / capacity: wider where more flows" if bounded else super()._taken_words()

    def _arc_labels(self, x: np.ndarray, theta: Tensor | None) -> list[str]:
        upper: Any = self.upper  # type: ignore[attr-defined]
        limits = upper.detach().cpu().double().reshape(-1).tolist()
        bounds = [f"/{significant(limit, 3)}" if np.isfinite(limit) else "" for limit in limits]
        return [significant(flow, 3) + bound for flow, bound in zip(x, bounds)]


class TerminalFlowDrawing(FlowDrawing):
    """From a source to a target."""

    _source: int
    _target: int

    def _special(self, theta: Tensor | None) -> dict[int, tuple[str, str]]:
        return {self._source: (FROM, "from"), self._target: (TO, "to")}


class SupplyFlowDrawing(FlowDrawing):
    """From nodes with a supply to those with a demand."""

    def _special(self, theta: Tensor | None) -> dict[int, tuple[str, str]]:
        supply: Any = self.supply  # type: ignore[attr-defined]
        amounts = supply.detach().cpu().double().reshape(-1).tolist()
        marks = {1: (FROM, "supply"), -1: (TO, "demand")}
        return {node: marks[int(np.sign(amount))] for node, amount in enumerate(amounts) if amount}
