"""Arcs and nodes as users have them."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from foresolve._base import checks


def as_arcs(arcs: Any, n_nodes: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """`(tails, heads, n_nodes)` of a sequence of `(tail, head)` node numbers."""
    try:
        array = np.asarray(arcs.cpu() if isinstance(arcs, torch.Tensor) else arcs)
        pairs = array.astype(np.int64)
    except (TypeError, ValueError) as error:
        raise checks.fail("arcs", "pairs (tail, head) of node numbers", type(arcs).__name__) from error
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise checks.fail("arcs", "a non-empty (n_arcs, 2) of (tail, head)", f"shape {array.shape}")
    if (pairs != array).any() or (pairs < 0).any():
        bad = int(np.flatnonzero((pairs != array).any(1) | (pairs < 0).any(1))[0])
        raise checks.fail("arcs", "node numbers 0, 1, 2, ...", f"{array[bad].tolist()} at arc {bad}")
    size = int(pairs.max()) + 1 if n_nodes is None else checks.positive_int("n_nodes", n_nodes)
    if size <= pairs.max():
        raise checks.fail("n_nodes", f"above the largest node number ({pairs.max()})", str(size))
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), size


def as_node(name: str, node: Any, n_nodes: int) -> int:
    """A node number below `n_nodes`."""
    node = checks.positive_int(name, node, zero=True)
    if node >= n_nodes:
        raise checks.fail(name, f"a node number below {n_nodes}", str(node))
    return node


def as_ends(source: Any, target: Any, n_nodes: int) -> tuple[int, int]:
    """`source` and `target` as two different nodes."""
    source, target = as_node("source", source, n_nodes), as_node("target", target, n_nodes)
    if source == target:
        raise checks.fail("target", "another node than `source`", f"{target} for both")
    return source, target
