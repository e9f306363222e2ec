"""The rows that say that flow is conserved."""

from __future__ import annotations

import numpy as np
import torch

from foresolve.problems.blocks import no_rows
from foresolve.solvers.projection.rows import Rows
from foresolve.solvers.projection.sparse_rows import SparseRows


def incidence(tails: np.ndarray, heads: np.ndarray, nodes: np.ndarray, n_nodes: int) -> Rows:
    """One row for each of `nodes`: +1 where an arc leaves it, -1 where one enters; self-loops cancel out."""
    if len(nodes) == 0:  # a flow straight from source to target
        return no_rows(len(tails), torch.Size(), torch.device("cpu"))
    row_of = np.full(n_nodes, -1)
    row_of[nodes] = np.arange(len(nodes))
    arcs = np.arange(len(tails))
    ends, columns = row_of[np.concatenate([tails, heads])], np.tile(arcs, 2)
    signs = np.repeat([1.0, -1.0], len(tails))
    keep = (ends >= 0) & np.tile(tails != heads, 2)
    index = torch.from_numpy(np.stack([ends[keep], columns[keep]]))
    return SparseRows(len(nodes), len(tails), index, torch.from_numpy(signs[keep]))
