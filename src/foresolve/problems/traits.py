"""What a problem may offer and a layer or loss may need: one vocabulary, for refusals and for the table in the docs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

from foresolve.problems.base import Problem


class Trait(NamedTuple):
    """A word of `Problem.traits`.

    Attributes
    ----------
    wanted: what the documentation calls it.
    lacking: what a problem without it gets told, after its name and a colon.
    """

    wanted: str
    lacking: str


TRAITS: dict[str, Trait] = {
    "linear": Trait("a linear objective", "its objective is not linear in x"),
    "exact": Trait("an exact oracle", "its oracle is not exact (`problem.exact` is False)"),
    "rows": Trait(
        "rows and bounds (`LinearProgram`)", "its feasible set is not given by rows and bounds (it is no LinearProgram)"
    ),
    "binary": Trait(
        "integer variables that are 0/1", "it has integer variables beyond 0/1, whose decisions need not be vertices"
    ),
    "set function": Trait(
        "a set function (`SubmodularProblem`)", "its objective is no set function (it is no SubmodularProblem)"
    ),
    "projection": Trait(
        "a matroid polytope that can be projected on", "the polytope of its matroid cannot be projected on"
    ),
    "uniform": Trait("a uniform matroid", "its matroid is not uniform"),
    "shared": Trait(
        "a feasible set that all instances share",
        "each of its instances has a feasible set of its own, and a pool of decisions needs one that all share",
    ),
}


def missing(problem: Problem, needs: Iterable[str]) -> str:
    """Why a problem does not offer all that is needed, the first reason; empty where it does."""
    return next((TRAITS[need].lacking for need in needs if need not in problem.traits), "")
