"""Matchings on a GPU, one instance a block: a good guess of the multipliers in a single launch.

A batch of small instances keeps a GPU waiting for its host: hundreds of launches for each iteration, of a few
microseconds each. The kernel in `matching.cu` does all that `interior.py` and `active_set.py` do, for rows that form a
bipartite graph and variables with lower bounds only. Its answer is taken as a warm start: `projection.project` checks
every instance, and solves by the general code those that are not exact yet.
"""

from __future__ import annotations

import logging
from functools import cache
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from foresolve.solvers.projection.metric import IDENTITY
from foresolve.solvers.projection.newton_system import FLOOR
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.rows import BipartiteRows

THREADS = 256  # these two as in matching.cu
SIDE = 64
STEPS = 4
# The kernel's own: the shift of its Newton steps, in units of the squared row norms, and the share of the multipliers'
# size below which it takes mu for rounding.
SHIFT = 1e-9
LIFT = 1e-11
VANISHED = 1e-18

_log = logging.getLogger(__name__)


class _Kernel:
    """A CUDA kernel compiled at run time.

    The one place that leans on a name which torch does not promise to keep, `torch.cuda._compile_kernel`: where it is
    gone, this raises `AttributeError`, and the general code does the work.
    """

    def __init__(self, source: str, name: str) -> None:
        self._compiled: Any = torch.cuda._compile_kernel(source, name)
        self._granted = 0  # bytes of shared memory that a launch may ask for

    def launch(self, blocks: int, threads: int, shared_bytes: int, arguments: list[Any]) -> None:
        if shared_bytes > self._granted:
            self._compiled.set_shared_memory_config(shared_bytes)
            self._granted = shared_bytes
        self._compiled(grid=(blocks, 1, 1), block=(threads, 1, 1), shared_mem=shared_bytes, args=arguments)


@cache
def _kernel(device: torch.device) -> _Kernel | None:
    """The compiled kernel, by the run-time compiler that comes with torch; None where there is none."""
    source = Path(__file__).with_name("matching.cu").read_text(encoding="utf-8")
    with torch.cuda.device(device):
        try:
            return _Kernel(source, "matching")
        except (AttributeError, OSError, RuntimeError) as error:
            _log.info("matchings are solved without the fused kernel, more slowly: %s", error)
            return None


def _bytes(left: int, right: int) -> int:
    return 8 * (4 * left * right + 2 * SIDE + THREADS + 6 * (left + right) + THREADS // 32)


def applies(point: Any, polytope: Polytope) -> bool:
    """True if the kernel serves this batch; if not, the general code does, with the same result."""
    rows = polytope.rows
    if not isinstance(point, Tensor) or point.device.type != "cuda" or torch.version.hip is not None:
        return False
    if polytope.metric is not IDENTITY:
        return False
    if not isinstance(rows, BipartiteRows) or 0 in point.shape or rows.right > SIDE or rows.m > 2 * THREADS:
        return False
    room = torch.cuda.get_device_properties(point.device).shared_memory_per_block_optin
    bounded_below = torch.isfinite(polytope.lower) & torch.isposinf(polytope.upper)
    return _bytes(rows.left, rows.right) <= room and bool(bounded_below.all()) and _kernel(point.device) is not None


def guess(point: Tensor, polytope: Polytope, tol: float, accuracy: float, max_iter: int) -> tuple[Tensor, Tensor]:
    """Multipliers `(B, m)`, exact for most instances, and the linear systems solved for each."""
    rows = polytope.rows
    assert isinstance(rows, BipartiteRows)
    point = point.contiguous()
    # When the kernel stops; whether its answer is right is not for it to say.
    reach, rounding = (polytope.rhs.abs() / rows.norms).amax(-1), point.abs().amax(-1) * point.shape[-1] ** 0.5
    tolerance = tol * (1 + reach) + 1e-14 * rounding
    lower, rhs = (a if a.stride(-1) == 1 else a.contiguous() for a in (polytope.lower, polytope.rhs))
    y = point.new_empty(point.shape[0], rows.m)
    spent = torch.empty(point.shape[0], dtype=torch.int64, device=point.device)
    arguments = [
        *(point, lower, rhs, polytope.equality.to(torch.int8), tolerance.contiguous(), y, spent),
        *(rows.left, rows.right, lower.stride(0), rhs.stride(0), max_iter, STEPS),
        *(accuracy, FLOOR, LIFT, VANISHED, SHIFT),
    ]
    kernel = _kernel(point.device)
    assert kernel is not None
    with torch.cuda.device(point.device):
        kernel.launch(point.shape[0], THREADS, _bytes(rows.left, rows.right), arguments)
    return torch.nan_to_num(y), spent
