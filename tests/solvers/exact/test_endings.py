"""What is said of instances without a proven decision."""

from __future__ import annotations

import pytest

from foresolve.errors import InfeasibleError, SolverError, StoppedError, UnboundedError
from foresolve.solvers.exact.endings import refuse
from foresolve.solvers.exact.outcome import Ending, Limits, Outcome


@pytest.mark.parametrize(
    ("ending", "kind", "message"),
    [
        (Ending.INFEASIBLE, InfeasibleError, "no decision satisfies the constraints of instances 1, 3. Relax"),
        (Ending.UNBOUNDED, UnboundedError, "grows without limit for instances 1, 3. Give finite `bounds`"),
        (Ending.INFEASIBLE_OR_UNBOUNDED, SolverError, "could not tell which, for instances 1, 3. Give finite"),
        (Ending.FAILED, SolverError, "that holds for instances 1, 3: row 2 is broken. Rescale"),
        (Ending.NODE_LIMIT, StoppedError, r"limit nodes=7 before.*`problem.limited\(nodes=...\)`"),
        (Ending.TIME_LIMIT, StoppedError, r"limit seconds=1.5 before.*`problem.limited\(seconds=...\)`"),
        (Ending.WITHIN_GAP, StoppedError, "ended at the gap of 0.1, not at a proven optimum, for instances 1, 3"),
    ],
)
def test_errors(ending: Ending, kind: type[SolverError], message: str) -> None:
    outcomes = [Outcome(Ending.OPTIMAL), Outcome(ending, reason="row 2 is broken")] * 2
    with pytest.raises(kind, match=message) as caught:
        refuse(outcomes, Limits(nodes=7, gap=0.1, seconds=1.5), (4,), boxed=False)
    assert type(caught.value) is kind
    assert caught.value.instances == (1, 3)


def test_nothing_to_refuse() -> None:
    """That it returns at all is what is tested: anything else raises."""
    for count in (3, 0):
        assert refuse([Outcome(Ending.OPTIMAL)] * count, Limits(), (count,), boxed=True) is None


def test_what_no_limit_mends_comes_first() -> None:
    outcomes = [Outcome(Ending.NODE_LIMIT), Outcome(Ending.INFEASIBLE)]
    with pytest.raises(InfeasibleError, match="instance 1"):
        refuse(outcomes, Limits(), (2,), boxed=True)
