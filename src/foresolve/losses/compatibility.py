"""Which training method works with which problem: one table, for the tests, the documentation and the curious."""

from __future__ import annotations

from foresolve._base import checks
from foresolve.problems.base import Problem
from foresolve.problems.traits import TRAITS, missing

# What each method asks of a problem (see `TRAITS`); a layer stands in the parentheses of the loss that uses it.
METHODS: dict[str, tuple[str, ...]] = {
    "MSE": (),
    "CrossEntropy": (),  # for parameters in [0, 1]
    "PredictionLoss": (),
    "DecisionLoss(QuadraticRelaxation)": ("rows",),
    "DecisionLoss(MultilinearRelaxation)": ("set function",),
    "DecisionLoss(WilderMultilinear)": ("set function",),
    "DecisionLoss(PerturbedAdditive)": (),
    "DecisionLoss(PerturbedMultiplicative)": (),
    "DecisionLoss(BlackboxInterpolation)": ("linear",),
    "DecisionLoss(IdentityProjection)": ("linear",),
    "DecisionLoss(NegativeIdentity)": ("linear",),
    "DecisionLoss(IMLE)": ("linear",),
    "DecisionLoss(AdaptiveIMLE)": ("linear",),
    "DecisionLoss(RegularizedFrankWolfe)": ("linear",),
    "FenchelYoung(QuadraticRelaxation)": ("linear", "rows"),
    "FenchelYoung(PerturbedAdditive)": ("linear",),
    "FenchelYoung(PerturbedMultiplicative)": ("linear",),
    "FenchelYoung(RegularizedFrankWolfe)": ("linear",),
    "SPOPlus": ("linear", "exact"),
    "PerturbationGradient": ("linear", "exact"),
    "NCE": ("shared",),
    "MAP": ("shared",),
    "PointwiseRanking": ("shared",),
    "PairwiseRanking": ("shared",),
    "ListwiseRanking": ("shared",),
    "CaVE": ("rows", "binary"),
    "LODL": (),
    "ScoreFunction": (),
}

# What the usual problems offer.
KINDS: dict[str, frozenset[str]] = {
    "linear program": frozenset({"linear", "exact", "rows", "binary", "shared"}),
    "integer program": frozenset({"linear", "exact", "rows", "shared"}),
    "shortest path": frozenset({"linear", "exact", "rows", "binary", "shared"}),
    "knapsack": frozenset({"linear", "exact", "rows", "binary", "shared"}),
    "knapsack, a capacity per instance": frozenset({"linear", "exact", "rows", "binary"}),
    "matching": frozenset({"linear", "exact", "rows", "binary", "shared"}),
    "submodular": frozenset({"set function", "projection", "uniform", "shared"}),
    "black box, linear": frozenset({"linear", "exact", "shared"}),
    "black box, linear, heuristic": frozenset({"linear", "shared"}),
    "black box, other objective": frozenset({"exact", "shared"}),
}


def traits(problem: Problem) -> frozenset[str]:
    """What a problem offers, among `TRAITS`."""
    return problem.traits


def why_not(method: str, problem: Problem) -> str:
    """Why a method, named as in `METHODS`, does not work with a problem; empty where it does.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.losses.compatibility import why_not
    >>> problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
    >>> why_not("SPOPlus", problem)
    'its objective is not linear in x'
    """
    if method not in METHODS:
        raise checks.fail("method", f"one of {', '.join(METHODS)}", repr(method))
    return missing(problem, METHODS[method])


def works(method: str, problem: Problem) -> bool:
    """Whether a method, named as in `METHODS`, works with a problem.

    Examples
    --------
    >>> import foresolve
    >>> from foresolve.losses.compatibility import works
    >>> works("SPOPlus", foresolve.TopK(3, 1)), works("DecisionLoss(MultilinearRelaxation)", foresolve.TopK(3, 1))
    (True, False)
    """
    return not why_not(method, problem)


def markdown() -> str:
    """The table as Markdown: methods down, kinds of problems across, and what each method asks for.

    Examples
    --------
    >>> from foresolve.losses.compatibility import markdown
    >>> markdown().splitlines()[2][:20]
    '| `MSE` | yes | yes '
    """
    lines = [
        f"| method | {' | '.join(KINDS)} | needs |",
        f"|---|{'---|' * len(KINDS)}---|",
    ]
    for method, needs in METHODS.items():
        cells = ["yes" if set(needs) <= offered else "–" for offered in KINDS.values()]
        wanted = "; ".join(TRAITS[need].wanted for need in needs) or "nothing"
        lines.append(f"| `{method}` | {' | '.join(cells)} | {wanted} |")
    return "\n".join(lines) + "\n"
