"""What a problem offers and a method may ask for: the words of `refuses` and of the compatibility table."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from dataclasses import dataclass

from foresolve.problems.base import Problem
from foresolve.problems.linear import LinearProgram
from foresolve.problems.submodular import SubmodularProblem


@dataclass(frozen=True)
class Trait:
    """A property of problems.

    Attributes
    ----------
    holds: whether a problem has it.
    lacking: what a problem without it gets told, after its name and a colon.
    wanted: what the documentation calls it.
    """

    holds: Callable[[Problem], bool]
    lacking: str
    wanted: str


def _binary(problem: Problem) -> bool:
    """Continuous or 0/1: then every decision of the oracle is a vertex of the relaxation."""
    if not isinstance(problem, LinearProgram):
        return False
    whole = problem.integrality.bool().to(problem.device)
    return bool(((problem.lower >= 0) & (problem.upper <= 1) | ~whole).all())


TRAITS: dict[str, Trait] = {
    "linear": Trait(
        lambda problem: problem.linear,
        "its objective is not linear in x",
        "a linear objective",
    ),
    "exact": Trait(
        lambda problem: problem.exact,
        "its oracle is not exact (`problem.exact` is False)",
        "an exact oracle",
    ),
    "rows": Trait(
        lambda problem: isinstance(problem, LinearProgram),
        "its feasible set is not given by rows and bounds (it is no LinearProgram)",
        "rows and bounds (`LinearProgram`)",
    ),
    "binary": Trait(
        _binary,
        "it has integer variables beyond 0/1, whose decisions need not be vertices",
        "integer variables that are 0/1",
    ),
    "set function": Trait(
        lambda problem: isinstance(problem, SubmodularProblem),
        "its objective is no set function (it is no SubmodularProblem)",
        "a set function (`SubmodularProblem`)",
    ),
    "shared": Trait(
        lambda problem: not problem.batch_shape,
        "each of its instances has a feasible set of its own, and a pool of decisions needs one that all share",
        "a feasible set that all instances share",
    ),
}


def missing(problem: Problem, needs: Iterable[str]) -> str:
    """Why a problem does not offer all that is needed, the first reason; empty where it does."""
    return next((TRAITS[need].lacking for need in needs if not TRAITS[need].holds(problem)), "")
