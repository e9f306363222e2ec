"""What names of methods stand for."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from foresolve._base.text import listed
from foresolve.learning.named_losses import known_name
from foresolve.report.pages.document import Role
from foresolve.report.view import RunView

# Of `foresolve.study`.
STUDIED = {
    "mean": "always predicts the mean of the training parameters",
    "last value": "predicts the truth of an earlier row",
    "ridge": "linear regression with a ridge penalty, trained to predict",
    "log ridge": "linear regression of logarithms with a ridge penalty, trained to predict",
    "forest": "a random forest, trained to predict",
    "boosted trees": "boosted regression trees, trained to predict",
    "network": "a neural network, trained to predict",
}
LOSSES = {
    "spo+": "SPO+, a convex bound of the regret",
    "decision": "what the smoothed decision is worth, through a differentiable layer",
    "fenchel_young": "a Fenchel-Young loss, the regret of a smoothed problem",
    "imitation": "the distance of its smoothed decisions to the best ones",
    "perturbation_gradient": "what decisions are worth, as a slope by finite differences",
    "score_function": "the regret of predictions with random noise (score-function estimate)",
    "nce": "noise-contrastive estimation: the best decision against others seen before",
    "map": "a contrastive loss: the best decision against the best of others seen before",
    "cave": "the angle to the cone of parameters for which the best decision is optimal (CaVE)",
    "lodl": "a loss that was learned from the regret around each truth (LODL)",
    "pointwise": "the predicted worth of decisions seen before, against the true one",
    "pairwise": "the best decision seen before against each of the others",
    "listwise": "the predicted order of decisions seen before, against the true one",
}

# Losses that have a name unlike that of their class.
CLASSES = {
    "DecisionLoss": "decision",
    "FenchelYoung": "fenchel_young",
    "ListwiseRanking": "listwise",
    "PairwiseRanking": "pairwise",
    "PerturbationGradient": "perturbation_gradient",
    "PointwiseRanking": "pointwise",
    "SPOPlus": "spo+",
    "ScoreFunction": "score_function",
}


def terms(runs: Iterable[RunView]) -> dict[str, str]:
    """The names of all methods of these runs."""
    known = {method: run.method(method).words for run in runs for method in run.methods}
    return {name: text for name, text in known.items() if text}


def studied(methods: Mapping[str, Role]) -> dict[str, str]:
    """The names of a study's methods."""
    known: dict[str, str] = {}
    for name, role in methods.items():
        boosted = name.startswith("boosted ") and name != "boosted trees"
        loss = _loss(name.removeprefix("boosted "))
        model = "boosted trees" if boosted else "a neural network"
        known[name] = f"{model}, trained on {loss}" if role == "decision-focused" else STUDIED.get(name, "")
    return {name: text for name, text in known.items() if text}


def _loss(name: str) -> str:
    """A loss by a name that `foresolve.study` knows, or by its class."""
    return LOSSES.get(known_name(CLASSES.get(name, name)), f"the loss {name}")


def settings_words(settings: Mapping[str, Any], role: str) -> str:
    """The settings of a trial; those of a decision-focused network are of the two-stage network that it begins with.

    >>> settings_words({"hidden": [64, 32], "lr": 0.01, "loss": "mse"}, "decision-focused")
    'from the two-stage network with hidden layers of 64 and 32, lr 0.01, loss mse'
    >>> settings_words({"depth": 3, "transform": None}, "reference")
    'depth 3, no transform'
    """
    told = ", ".join(_setting(name, value) for name, value in settings.items()) or "none"
    return f"from the two-stage network with {told}" if role == "decision-focused" and "hidden" in settings else told


def _setting(name: str, value: Any) -> str:
    if name == "hidden":
        return f"hidden layers of {listed([str(width) for width in value])}" if value else "no hidden layers"
    return f"no {name}" if value is None else f"{name} {value}"


def of_blocks(blocks: str) -> str:
    """A sentence about groups or blocks, if a page counts any."""
    told = "Test instances of a group or block, such as neighboring days, may depend on each other: it counts as one."
    return told if blocks else ""
