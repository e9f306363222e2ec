"""Matchings on a GPU, one instance a program: a good guess of the multipliers in a single launch.

A batch of small instances keeps a GPU waiting for its host: hundreds of launches for each iteration, of a few
microseconds each. Here one program (of Triton, which comes with torch for CUDA) does all that `interior.py` and
`active_set.py` do, for rows that form a bipartite graph and variables with lower bounds only. Its answer is taken as
a warm start: `projection.project` checks every instance and solves by the general code those that are not exact yet.
"""

from __future__ import annotations

from functools import cache
from importlib.util import find_spec
from typing import Any

import torch
from torch import Tensor

from foresolve.solvers.polytope import Polytope
from foresolve.solvers.rows import BipartiteRows

LARGEST_SIDE = 64
WARPS = 4


@cache
def _available() -> bool:
    return find_spec("triton") is not None


def applies(point: Any, polytope: Polytope) -> bool:
    """Whether the kernel serves this batch; if not, the general code does, with the same result."""
    return (
        isinstance(point, Tensor)
        and point.device.type == "cuda"
        and point.shape[0] > 0
        and isinstance(polytope.rows, BipartiteRows)
        and max(polytope.rows.left, polytope.rows.right) <= LARGEST_SIDE
        and _available()
        and bool((torch.isfinite(polytope.lower) & torch.isposinf(polytope.upper)).all())
    )


def guess(
    point: Tensor, polytope: Polytope, tolerance: Tensor, accuracy: float, max_iter: int
) -> tuple[Tensor, Tensor]:
    """Multipliers `(B, m)`, exact for most instances, and the linear systems solved for each."""
    from foresolve.solvers.fused_kernel import launch

    return launch(point, polytope, tolerance, accuracy, max_iter, WARPS)
