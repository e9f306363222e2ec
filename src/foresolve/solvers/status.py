"""Statuses of solves."""

from __future__ import annotations

from enum import IntEnum


class Status(IntEnum):
    """The ending of a solve, per instance.

    CONVERGED: every row and bound holds in its own terms, and `x` is within tolerance, relative to its size.
    MAX_ITER: the best iterate of those that the solver went through; it is not the solution.
    INFEASIBLE: no decision satisfies the constraints; an independent solver agrees.
    ILL_CONDITIONED: rounding of the data alone moves `x` by more than can be trusted.
    """

    CONVERGED = 0
    MAX_ITER = 1
    INFEASIBLE = 2
    ILL_CONDITIONED = 3
