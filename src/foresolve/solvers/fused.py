"""The interior point method of `interior.py` for matchings on a GPU, all iterations of an instance in one kernel.

A batch of small instances keeps a GPU waiting for its host: some hundred launches an iteration, each of a few
microseconds. Here one program (of Triton, which comes with torch for CUDA) holds one instance in registers from start to
end. The arithmetic is that of `interior._advance` for rows that form a bipartite graph and variables with lower
bounds only; the Schur complement is inverted in place by the sweep operator, which needs no pivots for a
positive definite matrix. It serves the first stage, where that accuracy is ample.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from foresolve.solvers.layout import FLOOR, LIFT, VANISHED, Layout
from foresolve.solvers.rows import BipartiteRows, Rows

LARGEST_SIDE = 64
COARSEST = 1e-6  # beyond this accuracy the sweep's rounding would show
WARPS = 8


@cache
def _available() -> bool:
    return find_spec("triton") is not None


def applies(rows: Rows, layout: Layout, point: Any, accuracy: float) -> bool:
    """Whether the kernel serves this batch; if not, the general code does, with the same result."""
    return (
        isinstance(point, Tensor)
        and point.device.type == "cuda"
        and isinstance(rows, BipartiteRows)
        and max(rows.left, rows.right) <= LARGEST_SIDE
        and layout.signs == (1,)
        and layout.bounds_full
        and accuracy >= COARSEST
        and _available()
    )


def interior_point(point: Tensor, polytope: Any, state: Any, accuracy: float, max_iter: int) -> Tensor:
    """`interior.interior_point`, in one launch."""
    from foresolve.solvers.fused_kernel import launch

    spent = torch.zeros(point.shape[0], dtype=torch.int64, device=point.device)
    for name in ("x", "y", "S", "Z", "error"):
        setattr(state, name, getattr(state, name).contiguous())
    constants = {"floor": FLOOR, "lift": LIFT, "vanished": VANISHED}
    launch(point.contiguous(), polytope, state, spent, accuracy, max_iter, WARPS, constants)
    return spent
