"""The words of solvers for what they cannot decide and for settings that do not suit, in one place."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest

from foresolve.errors import ForesolveError
from foresolve.solvers.exact.endings import refuse
from foresolve.solvers.exact.highs_model import HighsModel
from foresolve.solvers.exact.outcome import Ending, Limits, Outcome
from foresolve.solvers.exact.paths import PathSolver


def ended(ending: Ending, batch: tuple[int, ...] = (2,), *, boxed: bool = False) -> Callable[[], object]:
    """The refusal of a batch whose last instance ended so."""
    outcomes = [Outcome(Ending.OPTIMAL)] * (int(np.prod(batch)) - 1) + [Outcome(ending, reason="row 2 is broken")]
    return lambda: refuse(outcomes, Limits(nodes=7, gap=0.1, seconds=1.5), batch, boxed=boxed)


def path(tails: list[int], heads: list[int]) -> PathSolver:
    return PathSolver(np.array(tails), np.array(heads), 3, 0, 2)


WORDS: dict[str, tuple[Callable[[], object], str]] = {
    "infeasible": (
        ended(Ending.INFEASIBLE),
        "no decision satisfies the constraints of instance 1. Relax the right-hand sides or bounds that "
        "contradict each other; `problem.check(x)` lists what a decision breaks",
    ),
    "infeasible, one instance": (
        ended(Ending.INFEASIBLE, ()),
        "no decision satisfies the constraints of the instance. Relax the right-hand sides or bounds "
        "that contradict each other; `problem.check(x)` lists what a decision breaks",
    ),
    "infeasible, two dimensions": (
        ended(Ending.INFEASIBLE, (2, 3)),
        "no decision satisfies the constraints of instance (1, 2). Relax the right-hand sides or bounds "
        "that contradict each other; `problem.check(x)` lists what a decision breaks",
    ),
    "unbounded": (
        ended(Ending.UNBOUNDED),
        "the objective grows without limit for instance 1. Give finite `bounds` to the variables, or the right `sense`",
    ),
    "unbounded, with bounds": (
        ended(Ending.UNBOUNDED, boxed=True),
        "the objective grows without limit for instance 1. Check the constraints, or the right `sense`",
    ),
    "either": (
        ended(Ending.INFEASIBLE_OR_UNBOUNDED),
        "the constraints contradict each other or the objective grows without limit, and a short search "
        "could not tell which, for instance 1. Give finite `bounds` to the variables",
    ),
    "failed": (
        ended(Ending.FAILED),
        "HiGHS gave no decision that holds for instance 1: row 2 is broken. Rescale variables or "
        "constraints whose entries differ by many orders of magnitude, or leave out rows that nearly "
        "repeat each other",
    ),
    "nodes": (
        ended(Ending.NODE_LIMIT),
        "the search met its limit nodes=7 before the best decision was proven, for instance 1. "
        "`problem.solution(theta)` gives the best decision so far and its gap; "
        "`problem.limited(nodes=...)` is the same problem with another limit",
    ),
    "seconds": (
        ended(Ending.TIME_LIMIT),
        "the search met its limit seconds=1.5 before the best decision was proven, for instance 1. "
        "`problem.solution(theta)` gives the best decision so far and its gap; "
        "`problem.limited(seconds=...)` is the same problem with another limit",
    ),
    "gap": (
        ended(Ending.WITHIN_GAP),
        "the search ended at the gap of 0.1, not at a proven optimum, for instance 1",
    ),
    "no path": (
        lambda: path([0, 2], [1, 1]),
        "no path leads from node 0 (`source`) to node 2 (`target`). Add the missing arcs or choose other nodes",
    ),
    "a limit": (
        lambda: Limits(seconds=0),
        "`seconds` must be a finite number > 0; got 0",
    ),
    "an option of HiGHS": (
        lambda: HighsModel({"nonsense": 1}),
        "HiGHS does not take nonsense=1. Check the name and the type of the option",
    ),
}


@pytest.mark.parametrize("name", WORDS)
def test_what_a_mistake_is_told(name: str) -> None:
    call, words = WORDS[name]
    with pytest.raises(ForesolveError) as caught:
        call()
    assert str(caught.value) == words
