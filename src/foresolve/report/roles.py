"""What each method of a run is: the role that colors it."""

from __future__ import annotations

from foresolve._base.drawing.palette import Role
from foresolve.report.summary import CHOSEN, OPT, RANDOM, two_stage
from foresolve.report.view import RunView


def role_of(run: RunView, method: str) -> Role:
    """Of a method with records."""
    if method == OPT:
        return "bound"
    if method == CHOSEN:
        return "choice"
    if method == RANDOM:
        return "reference"
    if method in run.info.heuristics:
        return "heuristic"
    return "two-stage" if two_stage(method) else "decision-focused"
