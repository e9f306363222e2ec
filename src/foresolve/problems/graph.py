"""Arcs as users have them, and the rows that say that flow is conserved."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch

from foresolve import _check
from foresolve.solvers.sparse_rows import SparseRows


def as_arcs(arcs: Any, n_nodes: int | None) -> tuple[np.ndarray, np.ndarray, int]:
    """`(tails, heads, n_nodes)` of a sequence of `(tail, head)` node numbers."""
    try:
        array = np.asarray(arcs.cpu() if isinstance(arcs, torch.Tensor) else arcs)
        pairs = array.astype(np.int64)
    except (TypeError, ValueError) as error:
        raise _check.fail("arcs", "pairs (tail, head) of node numbers", type(arcs).__name__) from error
    if array.ndim != 2 or array.shape[1] != 2 or len(array) == 0:
        raise _check.fail("arcs", "a non-empty (n_arcs, 2) of (tail, head)", f"shape {array.shape}")
    if (pairs != array).any() or (pairs < 0).any():
        bad = int(np.flatnonzero((pairs != array).any(1) | (pairs < 0).any(1))[0])
        raise _check.fail("arcs", "node numbers 0, 1, 2, ...", f"{array[bad].tolist()} at arc {bad}")
    size = int(pairs.max()) + 1 if n_nodes is None else _check.positive_int("n_nodes", n_nodes)
    if size <= pairs.max():
        raise _check.fail("n_nodes", f"above the largest node number ({pairs.max()})", str(size))
    return np.ascontiguousarray(pairs[:, 0]), np.ascontiguousarray(pairs[:, 1]), size


def as_node(name: str, node: Any, n_nodes: int) -> int:
    """A node number below `n_nodes`."""
    node = _check.positive_int(name, node, zero=True)
    if node >= n_nodes:
        raise _check.fail(name, f"a node number below {n_nodes}", str(node))
    return node


def as_ends(source: Any, target: Any, n_nodes: int) -> tuple[int, int]:
    """`source` and `target` as two different nodes."""
    source, target = as_node("source", source, n_nodes), as_node("target", target, n_nodes)
    if source == target:
        raise _check.fail("target", "another node than `source`", f"{target} for both")
    return source, target


def incidence(tails: np.ndarray, heads: np.ndarray, nodes: np.ndarray, n_nodes: int) -> SparseRows:
    """One row for each of `nodes`: +1 where an arc leaves it, -1 where one enters; self-loops cancel out."""
    row_of = np.full(n_nodes, -1)
    row_of[nodes] = np.arange(len(nodes))
    arcs = np.arange(len(tails))
    ends, columns = row_of[np.concatenate([tails, heads])], np.tile(arcs, 2)
    signs = np.repeat([1.0, -1.0], len(tails))
    keep = (ends >= 0) & np.tile(tails != heads, 2)
    index = torch.from_numpy(np.stack([ends[keep], columns[keep]]))
    return SparseRows(len(nodes), len(tails), index, torch.from_numpy(signs[keep]))
