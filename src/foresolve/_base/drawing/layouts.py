"""Where nodes stand: worked out from distances or arcs alone, the same each time."""

from __future__ import annotations

import numpy as np
import scipy.sparse
from scipy.sparse.csgraph import shortest_path

SWEEPS = 8  # of the nodes' order within layers
STEPS = 60  # of moving nodes to where their distances fit


def on_circle(n: int) -> np.ndarray:
    """`(n, 2)`, from the top, clockwise."""
    angle = 2 * np.pi * np.arange(n) / max(n, 1)
    return np.stack([np.sin(angle), np.cos(angle)], 1)


def by_distances(distances: np.ndarray) -> np.ndarray:
    """`(n, 2)` with about these distances `(n, n)`, symmetric: classical scaling, then majorization of the stress.

    >>> square = by_distances(np.abs(np.subtract.outer([0.0, 1.0, 3.0], [0.0, 1.0, 3.0])))
    >>> bool(np.allclose(np.linalg.norm(square[0] - square[2]), 3.0))
    True
    """
    n = len(distances)
    if n < 2:
        return np.zeros((n, 2))
    wanted = np.maximum(distances, 1e-9)
    np.fill_diagonal(wanted, 1.0)
    centered = np.eye(n) - 1.0 / n
    sizes, vectors = np.linalg.eigh(-0.5 * centered @ np.square(distances) @ centered)
    places = vectors[:, -1:-3:-1] * np.sqrt(np.maximum(sizes[-1:-3:-1], 0.0))
    if places.shape[1] < 2:
        places = np.concatenate([places, np.zeros((n, 1))], 1)
    places = places * np.where(places[np.abs(places).argmax(0), [0, 1]] < 0, -1.0, 1.0)  # eigenvectors have no sign
    places = places + 1e-3 * wanted.mean() * on_circle(n)  # apart, where scaling puts several on one point
    weights = 1.0 / np.square(wanted)
    np.fill_diagonal(weights, 0.0)
    laplacian = np.diag(weights.sum(1)) - weights + 1.0 / n
    for _ in range(STEPS):
        apart = np.linalg.norm(places[:, None] - places[None], axis=-1)
        pull = weights * wanted / np.maximum(apart, 1e-9)
        places = np.linalg.solve(laplacian, (np.diag(pull.sum(1)) - pull) @ places)
        places = places - places.mean(0)
    return places


def by_arcs(tails: np.ndarray, heads: np.ndarray, n: int) -> np.ndarray:
    """`(n, 2)`: from left to right in layers where there are no cycles, else by the number of steps between nodes."""
    layers = _layers(tails, heads, n)
    if layers is not None:
        return _in_layers(layers, tails, heads)
    links = scipy.sparse.coo_array((np.ones(len(tails)), (tails, heads)), shape=(n, n))
    steps = shortest_path(links.tocsr(), directed=False, unweighted=True)
    reached = np.isfinite(steps)
    steps[~reached] = steps[reached].max() + 1.0
    return by_distances(steps)


def _layers(tails: np.ndarray, heads: np.ndarray, n: int) -> np.ndarray | None:
    """The longest way to each node; `None` where there is a cycle."""
    layer = np.zeros(n, dtype=np.int64)
    for _ in range(n):
        raised = layer.copy()
        np.maximum.at(raised, heads, layer[tails] + 1)
        if (raised == layer).all():
            return layer
        layer = raised
    return None


def _in_layers(layers: np.ndarray, tails: np.ndarray, heads: np.ndarray) -> np.ndarray:
    """Layers side by side; within each, nodes are put near their neighbors, and leave room for arcs that pass."""
    count, ends = len(layers), []
    every: list[int] = layers.tolist()
    for tail, head in dict.fromkeys(zip(tails.tolist(), heads.tolist())):
        for layer in range(every[tail] + 1, every[head]):  # a stand-in in every layer that it passes
            ends.append((tail, len(every)))
            tail = len(every)
            every.append(layer)
        ends.append((tail, head))
    layer, near = np.array(every), [[] for _ in every]
    for tail, head in ends:
        near[tail].append(head)
        near[head].append(tail)
    height = np.zeros(len(layer))
    members = [np.flatnonzero(layer == which) for which in range(layer.max() + 1)]
    for sweep in range(SWEEPS):
        for nodes in members if sweep % 2 == 0 else members[::-1]:
            wish = np.array([np.mean(height[near[node]]) if near[node] else height[node] for node in nodes])
            height[nodes[np.argsort(wish, kind="stable")]] = np.arange(len(nodes)) - (len(nodes) - 1) / 2
    span = max(height.max() - height.min(), 1.0)
    return np.stack([layer / max(layer.max(), 1) * 1.6, -height / span], 1)[:count]
