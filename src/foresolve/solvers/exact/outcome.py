"""Limits and outcomes of an exact solve."""

from __future__ import annotations

from dataclasses import dataclass, replace
from enum import IntEnum
from typing import NamedTuple, Self

import numpy as np

from foresolve._base import checks

# A limit that depends on nothing but the program, so that a search ends in the same way on every machine.
MOST_NODES = 100_000


class Ending(IntEnum):
    """The ending of an exact solve of one instance.

    `OPTIMAL`: proven to be the best. `WITHIN_GAP`: proven to be as good as the gap that was asked for. `NODE_LIMIT`,
    `TIME_LIMIT`: stopped; the best decision so far, if there is one, is no more than that. `INFEASIBLE`, `UNBOUNDED`,
    `INFEASIBLE_OR_UNBOUNDED`: there is no best decision. `FAILED`: none that holds in each row's own terms was found.
    """

    OPTIMAL = 0
    WITHIN_GAP = 1
    NODE_LIMIT = 2
    TIME_LIMIT = 3
    INFEASIBLE = 4
    UNBOUNDED = 5
    INFEASIBLE_OR_UNBOUNDED = 6
    FAILED = 7


@dataclass(frozen=True)
class Limits:
    """Limits of the search for one instance's decision.

    Attributes
    ----------
    nodes: of the branch and bound tree of a mixed-integer program.
    gap: between decision and bound, as a share of the decision's value, at which it is good enough.
    seconds: by the clock; which decision is found then depends on the machine.
    """

    nodes: int = MOST_NODES
    gap: float = 0.0
    seconds: float | None = None

    def __post_init__(self) -> None:
        checks.positive_int("nodes", self.nodes)
        checks.between("gap", self.gap, "[0, inf)")
        if self.seconds is not None:
            checks.positive("seconds", self.seconds)

    def but(self, **changes: float | None) -> Self:
        """The same limits but for those that are not `None`."""
        return replace(self, **{name: value for name, value in changes.items() if value is not None})


class Outcome(NamedTuple):
    """The outcome of one instance: its ending, a decision `(n,)`, what no decision's gain exceeds, and why it failed.

    Where the decision is the best, its own gain is the bound.
    """

    ending: Ending
    x: np.ndarray | None = None
    bound: float = np.inf
    reason: str = ""
