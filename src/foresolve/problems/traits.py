"""What a problem may offer and a layer or loss may need: one vocabulary, for refusals and for the table in the docs."""

from __future__ import annotations

from collections.abc import Iterable
from typing import NamedTuple

import torch

from foresolve._base import checks
from foresolve.errors import InvalidInputError
from foresolve.problems.base import Problem


class Trait(NamedTuple):
    """A word of `Problem.traits`.

    Attributes
    ----------
    wanted: what the documentation calls it.
    expected: how a message continues after "`problem` must be".
    lacking: what a problem without it gets told, after its name and a colon.
    remedy: what serves such a problem instead.
    """

    wanted: str
    expected: str
    lacking: str
    remedy: str = ""


TRAITS: dict[str, Trait] = {
    "linear": Trait(
        "a linear objective",
        "one with a linear objective",
        "its objective is not linear in x",
        "DecisionLoss with QuadraticRelaxation takes quadratic objectives, with PerturbedAdditive any",
    ),
    "exact": Trait(
        "an exact oracle",
        "one with an exact oracle",
        "its oracle is not exact (`problem.exact` is False)",
        "FenchelYoung with PerturbedAdditive takes a heuristic",
    ),
    "rows": Trait(
        "rows and bounds",
        "a LinearProgram or QuadraticProgram (or a class built on one of them)",
        "its feasible set is not given by rows and bounds",
        "RegularizedFrankWolfe takes any linear objective",
    ),
    "binary": Trait(
        "integer variables that are 0/1",
        "one whose integer variables are 0/1",
        "it has integer variables beyond 0/1, whose decisions need not be vertices",
    ),
    "set function": Trait(
        "a set function (`SubmodularProblem`)", "a SubmodularProblem", "its objective is not a set function"
    ),
    "projection": Trait(
        "a matroid that can be projected on (all but `GraphicMatroid`)",
        "over a matroid with a projection onto its polytope",
        "its matroid has none, for the polytope has a constraint for every set of nodes",
        "DecisionLoss with PerturbedAdditive takes any matroid",
    ),
    "uniform": Trait(
        "a uniform matroid (`UniformMatroid`)",
        "over a UniformMatroid, as in the paper",
        "its matroid is of another kind",
        "MultilinearRelaxation takes other matroids",
    ),
    "fixed": Trait(
        "a feasible set that `theta` does not move",
        "one whose feasible set theta does not move",
        "theta makes its right-hand sides or bounds, so that a best decision under the truth may be infeasible "
        "under a prediction",
        "DecisionLoss with QuadraticRelaxation or PerturbedAdditive takes predicted constraints",
    ),
    "shared": Trait(
        "a feasible set that all instances share",
        "one whose instances share the feasible set",
        "each of its instances has a feasible set of its own, and a pool of decisions needs one that all share",
    ),
}
"""What a problem may offer and a layer or loss may need: the words of `Problem.traits` and of `needs`, each with
what the documentation and the messages call it."""


# No word of `TRAITS`: a method that needs a "fixed" feasible set also takes what the set is made of for constants.
CONSTANT = Trait(
    "constraints that need no gradient",
    "one whose constraints need no gradient",
    "parts of it require grad, and would get none",
    "DecisionLoss with QuadraticRelaxation passes gradients to predicted constraints; `detach()` them for others",
)


def check_words(needs: Iterable[str], owner: str) -> None:
    """Refuse needs that are no words of `TRAITS`, where they are stated."""
    for need in needs:
        if need not in TRAITS:
            raise checks.fail(f"{owner}.needs", f"of {', '.join(map(repr, TRAITS))}", repr(need))


def missing(problem: Problem, needs: Iterable[str]) -> Trait | None:
    """The first trait that is needed and that a problem does not offer."""
    offered, needs = problem.traits, tuple(needs)
    trait = next((TRAITS[need] for need in needs if need not in offered), None)
    if trait is None and "fixed" in needs and torch.is_grad_enabled() and problem.requires_grad:
        return CONSTANT
    return trait


def require_constant(problem: Problem, name: str) -> None:
    """Refuse, for a method that takes any feasible set, one of which a gradient is asked for."""
    if torch.is_grad_enabled() and problem.requires_grad:
        raise _refusal(problem, CONSTANT, name)


def require(problem: Problem, needs: Iterable[str], name: str) -> None:
    """Refuse a problem that does not offer what the layer or loss of this name needs."""
    if not isinstance(problem, Problem):
        expected = next((TRAITS[need].expected for need in needs), "a Problem")
        raise checks.fail("problem", expected, type(problem).__name__)
    trait = missing(problem, needs)
    if trait is not None:
        raise _refusal(problem, trait, name)


def _refusal(problem: Problem, trait: Trait, name: str) -> InvalidInputError:
    remedy = f"{name} needs {trait.wanted}" + (f"; {trait.remedy}" if trait.remedy else "")
    return checks.fail("problem", trait.expected, f"{type(problem).__name__}: {trait.lacking}", remedy)
