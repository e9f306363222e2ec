"""Nodes and arcs, with what flows on them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from foresolve._base.drawing import legends
from foresolve._base.drawing.canvas import bare, shortened
from foresolve._base.drawing.palette import CHOSEN, FAINT, GIVEN, GRAY, PAPER
from foresolve._base.extras import need

if TYPE_CHECKING:
    from matplotlib.axes import Axes

MOST_ARROWS = 150  # above it, arcs that are not taken are lines
MOST_LABELS = 40
LEAST = 1e-6


@dataclass(frozen=True)
class Network:
    """What is drawn.

    Attributes
    ----------
    tails, heads: node numbers of the arcs.
    places: of the nodes, `(n, 2)`.
    names: of the nodes.
    flow: on each arc, `>= 0`; those with none are faint.
    labels: beside the arcs; empty for none.
    special: markers of nodes, by number, and what they mean: `{0: (">", "from")}`.
    directed: whether arcs have arrowheads.
    """

    tails: np.ndarray
    heads: np.ndarray
    places: np.ndarray
    names: Sequence[str]
    flow: np.ndarray
    labels: Sequence[str] = ()
    special: dict[int, tuple[str, str]] = field(default_factory=dict)
    directed: bool = True


def draw_network(ax: Axes, network: Network, *, taken: str, left: str) -> None:
    """Arcs that are taken in the color of decisions, as wide as their flow; the legend says `taken` and `left`."""
    used = np.flatnonzero(network.flow > LEAST).tolist()
    rest = np.flatnonzero(network.flow <= LEAST).tolist()
    if len(rest) > MOST_ARROWS or not network.directed:
        _lines(ax, network, rest)
    else:
        for arc in rest:
            _arrow(ax, network, arc, FAINT, 1.0)
    most = float(network.flow.max(initial=0.0)) or 1.0
    for arc in used:
        _arrow(ax, network, arc, CHOSEN, 1.2 + 2.8 * float(network.flow[arc]) / most)
    _draw_nodes(ax, network)
    if network.labels:
        _label_arcs(ax, network, used, rest)
    entries = [legends.mark(taken, CHOSEN, "", line="-")]
    entries += [legends.mark(left, GRAY, "", line="-")] if len(rest) else []
    entries += [legends.mark(words, GIVEN, marker) for marker, words in dict.fromkeys(network.special.values())]
    bare(ax)
    ax.set_aspect("equal", adjustable="datalim")
    ax.margins(0.08)
    legends.under(ax, entries)


def _lines(ax: Axes, network: Network, arcs: list[int]) -> None:
    collections: Any = need("matplotlib.collections", "a picture", "plot")
    ends = np.stack([network.places[network.tails[arcs]], network.places[network.heads[arcs]]], 1)
    thin = 0.9 if len(arcs) <= 500 else 0.35
    ax.add_collection(collections.LineCollection(list(ends), colors=FAINT, linewidths=thin, zorder=1))
    ax.autoscale_view()


def _bent(network: Network, arc: int) -> float:
    """How far an arc is bent: where there is one back, so that both are seen."""
    back = (network.tails == network.heads[arc]) & (network.heads == network.tails[arc])
    alike = (network.tails == network.tails[arc]) & (network.heads == network.heads[arc])
    place = int(np.flatnonzero(alike).tolist().index(arc))
    return 0.0 if not back.any() and alike.sum() == 1 else 0.16 + 0.16 * place


def _arrow(ax: Axes, network: Network, arc: int, color: str, width: float) -> None:
    patches: Any = need("matplotlib.patches", "a picture", "plot")
    head = 5 + 1.4 * width
    style = f"-|>,head_length={head / 14:.2f},head_width={head / 28:.2f}" if network.directed else "-"
    room = 7 if len(network.places) <= MOST_LABELS else 2
    ax.add_patch(
        patches.FancyArrowPatch(
            network.places[network.tails[arc]], network.places[network.heads[arc]], arrowstyle=style, color=color,
            linewidth=width, mutation_scale=14, connectionstyle=f"arc3,rad={_bent(network, arc)}", shrinkA=room,
            shrinkB=room, zorder=2 if color == CHOSEN else 1,
        )
    )  # fmt: skip


def _draw_nodes(ax: Axes, network: Network) -> None:
    few = len(network.places) <= MOST_LABELS
    plain = np.array([node not in network.special for node in range(len(network.places))])
    size = 120 if few else 10
    ax.scatter(*network.places[plain].T, s=size, color=GRAY, zorder=3, linewidths=0)
    for node, (marker, _) in network.special.items():
        ax.scatter(*network.places[node], s=230 if few else 80, color=GIVEN, marker=marker, zorder=4, linewidths=0)
    for node, (name, (x, y)) in enumerate(zip(network.names, network.places.tolist(), strict=True)):
        if few and len(name) <= 2 and node not in network.special:
            ax.text(x, y, name, color=PAPER, ha="center", va="center", fontsize=7, zorder=5)
        elif few or node in network.special:
            away, (right, up) = 11 if node in network.special else 8, _free_side(network, node)
            ax.annotate(
                shortened(name, 16), (x, y), (away * right, away * up), textcoords="offset points", fontsize=8,
                ha=("center", "left", "right")[int(np.sign(right))], va=("center", "bottom", "top")[int(np.sign(up))],
                zorder=5,
            )  # fmt: skip


def _free_side(network: Network, node: int) -> tuple[float, float]:
    """Where the name of a node meets no arc: the direction farthest from all, above or below if these will do."""
    ends = np.concatenate([network.heads[network.tails == node], network.tails[network.heads == node]])
    along = network.places[ends] - network.places[node]
    taken = np.arctan2(along[:, 1], along[:, 0])
    outward = 1 if network.places[node, 1] >= network.places[:, 1].mean() - 1e-9 else -1
    # In eighths of a turn, the best liked first.
    turns = (2 * outward, -2 * outward, 4, 0, 3 * outward, outward, -3 * outward, -outward)

    def room(turn: int) -> float:
        apart = np.abs((turn * np.pi / 4 - taken + np.pi) % (2 * np.pi) - np.pi)
        return float(apart.min(initial=np.pi / 3))  # as good as any

    best = max(turns, key=lambda turn: round(room(turn), 6))
    return round(float(np.cos(best * np.pi / 4)), 3), round(float(np.sin(best * np.pi / 4)), 3)


def _label_arcs(ax: Axes, network: Network, used: list[int], rest: list[int]) -> None:
    """Beside each arc, a third of the way along it, so that labels of arcs that cross stay apart."""
    few = len(network.tails) <= MOST_LABELS
    for arc in [*used, *(rest if few else [])] if len(used) <= MOST_LABELS else []:
        start, end = network.places[network.tails[arc]], network.places[network.heads[arc]]
        along = end - start
        across = np.array([along[1], -along[0]])
        place = start + 0.42 * along + 0.5 * _bent(network, arc) * across
        length = float(np.linalg.norm(across)) or 1.0
        offset = 9 * across / length
        ax.annotate(
            str(network.labels[arc]), (float(place[0]), float(place[1])), (float(offset[0]), float(offset[1])),
            textcoords="offset points", ha="center", va="center", fontsize=7, zorder=6,
            color=CHOSEN if network.flow[arc] > LEAST else GRAY,
        )  # fmt: skip
