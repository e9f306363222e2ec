"""What can become of an instance."""

from __future__ import annotations

from dataclasses import asdict, dataclass
from enum import StrEnum
from typing import Any


class Outcome(StrEnum):
    """How one instance ended, measured against its reference."""

    RIGHT = "right"
    REFUSED = "refused"  # an error of ours with a reason that the reference confirms
    WARNED_RIGHT = "warned, right"
    WARNED_OFF = "warned, far off"
    WRONG = "WRONG"  # far off, and nobody said so
    NAN = "NaN"
    CRASH = "crash"  # an error that is not ours
    HANG = "hang"
    UNVERIFIED = "unverified"  # the reference cannot tell, or disagrees with itself
    KINK = "kink"  # the decision has no derivative here


TOLERANCE = 1e-6  # of the size of x, of the terms of a row, of a gradient
FAILURES = (Outcome.WRONG, Outcome.NAN, Outcome.CRASH, Outcome.HANG)
WARNED = (Outcome.WARNED_RIGHT, Outcome.WARNED_OFF)


@dataclass(frozen=True)
class Verdict:
    """One check of one instance: `part` is what was checked, `error` how far off, in the unit of the tolerance."""

    part: str
    outcome: Outcome
    instance: int = 0
    error: float = 0.0
    note: str = ""

    def record(self) -> dict[str, Any]:
        return {**asdict(self), "outcome": str(self.outcome)}


def judged(part: str, instance: int, error: float, tolerance: float, warned: bool, note: str = "") -> Verdict:
    """Right or not, said or not; an error that is not a number never passes."""
    if not error <= tolerance:
        outcome = Outcome.WARNED_OFF if warned else Outcome.WRONG
    else:
        outcome = Outcome.WARNED_RIGHT if warned else Outcome.RIGHT
    return Verdict(part, outcome, instance, float(error), note)
