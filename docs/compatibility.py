"""What each loss and layer needs of a problem: the table in learning.md, made from the classes themselves.

`python docs/compatibility.py` prints it; a test holds the page to it.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator

import torch

from foresolve import layers, losses
from foresolve.problems import TRAITS

LAYERS: tuple[type[layers.Layer], ...] = (
    layers.QuadraticRelaxation,
    layers.WilderQuadratic,
    layers.MultilinearRelaxation,
    layers.WilderMultilinear,
    layers.PerturbedAdditive,
    layers.PerturbedMultiplicative,
    layers.BlackboxInterpolation,
    layers.IdentityProjection,
    layers.NegativeIdentity,
    layers.IMLE,
    layers.AdaptiveIMLE,
    layers.RegularizedFrankWolfe,
)
CONVEX: tuple[type[layers.Layer], ...] = (
    layers.QuadraticRelaxation,
    layers.PerturbedAdditive,
    layers.PerturbedMultiplicative,
    layers.RegularizedFrankWolfe,
)
# Of the layers that `Imitation` takes, which are all, two; it needs what `DecisionLoss` of the same layer needs.
IMITATED: tuple[type[layers.Layer], ...] = (layers.QuadraticRelaxation, layers.PerturbedAdditive)
SURROGATES: tuple[type[losses.Loss], ...] = (
    losses.MSE,
    losses.LogMSE,
    losses.CrossEntropy,
    losses.SPOPlus,
    losses.PerturbationGradient,
    losses.NCE,
    losses.MAP,
    losses.PointwiseRanking,
    losses.PairwiseRanking,
    losses.ListwiseRanking,
    losses.CaVE,
    losses.LODL,
    losses.ScoreFunction,
)


def methods() -> dict[str, losses.Loss]:
    """Every loss with its default arguments, by name; a layer stands in the parentheses of the loss that uses it."""
    losses_by_name: dict[str, losses.Loss] = {kind.__name__: kind() for kind in SURROGATES}
    losses_by_name["PredictionLoss"] = losses.PredictionLoss(torch.nn.L1Loss(reduction="none"))
    losses_by_name |= {f"DecisionLoss({kind.__name__})": losses.DecisionLoss(kind()) for kind in LAYERS}
    losses_by_name |= {f"FenchelYoung({kind.__name__})": losses.FenchelYoung(kind()) for kind in CONVEX}
    losses_by_name |= {f"Imitation({kind.__name__})": losses.Imitation(kind()) for kind in IMITATED}
    return losses_by_name


def rows() -> Iterator[tuple[str, str]]:
    """What is needed, in words, and the methods that need just this; the least demanding first."""
    groups: dict[tuple[str, ...], list[str]] = {}
    for name, method in methods().items():
        # Nearly all need a feasible set that stays where it is: those that do not have a line of their own.
        needs = tuple(need for need in method.needs if need != "fixed")
        groups.setdefault(needs, []).append(f"`{name}`")
    for needs in sorted(groups, key=len):
        yield "; ".join(TRAITS[need].wanted for need in needs) or "nothing", ", ".join(groups[needs])


def predicted_constraints() -> list[str]:
    """Who takes a linear program whose right-hand sides or bounds `theta` makes."""
    offered = {"linear", "exact", "rows", "binary", "shared"}
    return [name for name, method in methods().items() if set(method.needs) <= offered]


def markdown() -> str:
    """The table."""
    lines = ["| what the problem must have | losses, with their layers |", "|---|---|"]
    lines += [f"| {wanted} | {names} |" for wanted, names in rows()]
    takers = ", ".join(f"`{name}`" for name in predicted_constraints())
    return "\n".join([*lines, "", f"Where `theta` makes right-hand sides or bounds: {takers}."]) + "\n"


if __name__ == "__main__":
    sys.stdout.write(markdown())
