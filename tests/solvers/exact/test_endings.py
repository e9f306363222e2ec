"""What is said of instances without a proven decision."""

from __future__ import annotations

import pytest

from foresolve.errors import InfeasibleError, SolverError, StoppedError, UnboundedError
from foresolve.solvers.exact.endings import refuse
from foresolve.solvers.exact.outcome import Ending, Limits, Outcome
from mistakes import mistake


@pytest.mark.parametrize(
    ("ending", "kind", "fact"),
    [
        (Ending.INFEASIBLE, InfeasibleError, "`problem.check(x)`"),
        (Ending.UNBOUNDED, UnboundedError, "`bounds`"),
        (Ending.INFEASIBLE_OR_UNBOUNDED, SolverError, "`bounds`"),
        (Ending.FAILED, SolverError, "row 2 is broken"),
        (Ending.NODE_LIMIT, StoppedError, "nodes=7"),
        (Ending.TIME_LIMIT, StoppedError, "seconds=1.5"),
        (Ending.WITHIN_GAP, StoppedError, "0.1"),
    ],
)
def test_errors(ending: Ending, kind: type[SolverError], fact: str) -> None:
    outcomes = [Outcome(Ending.OPTIMAL), Outcome(ending, reason="row 2 is broken")] * 2
    with mistake("", fact, "instances 1, 3", kind=kind, instances=[1, 3]):
        refuse(outcomes, Limits(nodes=7, gap=0.1, seconds=1.5), (4,), boxed=False)


def test_nothing_to_refuse() -> None:
    """That it returns at all is what is tested: anything else raises."""
    for count in (3, 0):
        assert refuse([Outcome(Ending.OPTIMAL)] * count, Limits(), (count,), boxed=True) is None


def test_what_no_limit_mends_comes_first() -> None:
    outcomes = [Outcome(Ending.NODE_LIMIT), Outcome(Ending.INFEASIBLE)]
    with mistake(kind=InfeasibleError, instances=[1]):
        refuse(outcomes, Limits(), (2,), boxed=True)
