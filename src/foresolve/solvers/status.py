"""How a solve ended."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """How a solve ended, per instance."""

    CONVERGED = 0
    MAX_ITER = 1
    INFEASIBLE = 2
