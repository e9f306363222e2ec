from __future__ import annotations

import numpy as np
from matplotlib.colors import to_rgba
from matplotlib.text import Annotation

from drawn import labels
from foresolve._base.drawing.canvas import as_axes
from foresolve._base.drawing.networks import Network, draw_network
from foresolve._base.drawing.palette import CHOSEN

TAILS, HEADS = np.array([0, 1, 0, 2]), np.array([1, 0, 2, 1])
PLACES = np.array([[0.0, 0.0], [2.0, 0.0], [1.0, 1.0]])


def test_flows_are_as_wide_as_they_are_much() -> None:
    axes = as_axes(None)
    flow = np.array([2.0, 0.0, 1.0, 1.0])
    special = {0: (">", "from"), 1: ("s", "to")}
    draw_network(
        axes,
        Network(TAILS, HEADS, PLACES, ["a", "b", "node c"], flow, list("wxyz"), special),
        taken="flow",
        left="none",
    )
    widths = sorted(patch.get_linewidth() for patch in axes.patches if patch.get_edgecolor() == to_rgba(CHOSEN))
    assert len(widths) == 3
    assert widths[2] > widths[1] == widths[0]
    assert labels(axes.get_legend()) == ["flow", "none", "from", "to"]
    assert {"a", "b", "node c", "w", "x", "y", "z"} == {text.get_text() for text in axes.texts}


def test_arcs_there_and_back_are_bent_apart() -> None:
    axes = as_axes(None)
    draw_network(axes, Network(TAILS, HEADS, PLACES, list("abc"), np.ones(4)), taken="flow", left="none")
    there, back = (patch.get_path().vertices for patch in axes.patches[:2])
    assert not np.allclose(there[len(there) // 2], back[len(back) // 2])
    assert labels(axes.get_legend()) == ["flow"]


def test_large_networks_are_lines() -> None:
    axes = as_axes(None)
    n = 200
    tails, heads = np.arange(n - 1), np.arange(1, n)
    network = Network(
        tails, heads, np.random.default_rng(0).random((n, 2)), [str(i) for i in range(n)], np.eye(1, n - 1)[0]
    )
    draw_network(axes, network, taken="path", left="not taken")
    assert len(axes.patches) == 1
    assert len(axes.texts) == 0


def test_names_keep_away_from_arcs() -> None:
    """A cross of streets: its center has room between them, its ends have room outside, stars are named beside them."""
    places = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 1.0], [-1.0, 0.0], [0.0, -1.0]])
    network = Network(np.array([0, 0, 3, 4]), np.array([1, 2, 0, 0]), places, ["center", "E", "north", "west", "S"],
                      np.ones(4), special={1: ("*", "seed")})  # fmt: skip
    axes = as_axes(None, (4.0, 4.0))
    draw_network(axes, network, taken="flow", left="none")
    signs = {text.get_text(): np.sign(text.xyann) for text in axes.texts if isinstance(text, Annotation)}
    assert np.abs(signs["center"]).tolist() == [1.0, 1.0]
    assert signs["north"].tolist() == [0.0, 1.0]
    assert signs["west"].tolist() in ([0.0, 1.0], [-1.0, 0.0])
    assert "E" in signs
    assert "S" not in signs  # short enough for its node
