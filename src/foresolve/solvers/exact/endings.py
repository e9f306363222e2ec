"""Messages on instances without a proven decision."""

from __future__ import annotations

from collections.abc import Sequence

from foresolve._base.checks import instance_names
from foresolve.errors import InfeasibleError, SolverError, StoppedError, UnboundedError
from foresolve.solvers.exact.outcome import Ending, Limits, Outcome

# The instances that are reported first: those that no other limit can help.
ORDER = (
    Ending.INFEASIBLE,
    Ending.UNBOUNDED,
    Ending.INFEASIBLE_OR_UNBOUNDED,
    Ending.FAILED,
    Ending.NODE_LIMIT,
    Ending.TIME_LIMIT,
    Ending.WITHIN_GAP,
)
INCUMBENT = "`problem.solution(theta)` gives the best decision so far and its gap"


def refuse(outcomes: Sequence[Outcome], limits: Limits, batch: Sequence[int], *, boxed: bool) -> None:
    """Raise the error that says which instances have no proven decision, and why; nothing where all have one.

    `boxed` says whether all variables have finite bounds.
    """
    if all(outcome.ending == Ending.OPTIMAL for outcome in outcomes):
        return
    ending = next(ending for ending in ORDER if any(outcome.ending == ending for outcome in outcomes))
    where = [b for b, outcome in enumerate(outcomes) if outcome.ending == ending]
    kind, reason, remedy = _told(ending, outcomes[where[0]].reason, limits, boxed)
    raise kind(reason, where, instance_names(where, batch), remedy=remedy)


def _told(ending: Ending, reason: str, limits: Limits, boxed: bool) -> tuple[type[SolverError], str, str]:
    """The error, its reason and the remedy."""
    bounds = "Check the constraints" if boxed else "Give finite `bounds` to the variables"
    if ending == Ending.INFEASIBLE:
        relax = "Relax the right-hand sides or bounds that contradict each other"
        remedy = f"{relax}; `problem.check(x)` lists what a decision breaks"
        return InfeasibleError, "no decision satisfies the constraints of {instances}", remedy
    if ending == Ending.UNBOUNDED:
        return UnboundedError, "the objective grows without limit for {instances}", f"{bounds}, or the right `sense`"
    if ending == Ending.INFEASIBLE_OR_UNBOUNDED:
        unknown = "the constraints contradict each other or the objective grows without limit, and a short search could"
        return SolverError, f"{unknown} not tell which, for {{instances}}", bounds
    if ending == Ending.FAILED:
        rescale = "Rescale variables or constraints whose entries differ by many orders of magnitude"
        remedy = f"{rescale}, or leave out rows that nearly repeat each other"
        return SolverError, f"HiGHS gave no decision that holds for {{instances}}: {reason}", remedy
    if ending == Ending.WITHIN_GAP:
        gap = f"the search ended at the gap of {limits.gap:g}, not at a proven optimum, for {{instances}}"
        return StoppedError, gap, ""
    limit, most = ("nodes", f"{limits.nodes}") if ending == Ending.NODE_LIMIT else ("seconds", f"{limits.seconds:g}")
    stopped = f"the search met its limit {limit}={most} before the best decision was proven, for {{instances}}"
    return StoppedError, stopped, f"{INCUMBENT}; `problem.limited({limit}=...)` is the same problem with another limit"
