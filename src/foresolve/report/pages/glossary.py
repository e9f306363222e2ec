"""The meanings of methods' names."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any

from foresolve.learning.study.methods import Family
from foresolve.report.formats import listed
from foresolve.report.summary import CHOSEN, OPT, RANDOM
from foresolve.report.view import RunView

ENDS = {
    RANDOM: "decides by chance; learns nothing",
    OPT: "the best decision known under the truth, which no method can know beforehand",
    "Mean": "always predicts the mean of the training parameters",
    CHOSEN: "takes, in each split, the method that did best on validation instances",
}
MODELS = {
    "RF": "a random forest",
    "Linear": "a linear regression",
    "Neighbors": "the mean over the nearest training instances",
    "Bilinear": "products of learned embeddings of the two papers",
    "Cosine": "TF-IDF similarity with learned word weights",
}
TRAININGS = {
    "Decision": "trained on what its decisions are worth, through a differentiable layer",
    "2Stage": "trained to predict the parameters, without regard to decisions",
    "Annealed": "trained as {base}-Decision, with a layer that is smoothed less and less",
    "SPO+": "trained on SPO+, a convex bound of the regret",
    "FenchelYoung": "trained on a Fenchel-Young loss of the layer",
    "Started": "trained to predict first, then as {base}-Decision",
}


def terms(runs: Iterable[RunView]) -> dict[str, str]:
    """The names of all methods of these runs."""
    known: dict[str, str] = {}
    for run in runs:
        for method in run.methods:
            known[method] = run.info.terms.get(method) or meaning(method)
    return {name: text for name, text in known.items() if text}


def meaning(method: str) -> str:
    """What a name says by rule; empty where it follows none.

    >>> meaning("NN2-2Stage")
    'a network with two layers, trained to predict the parameters, without regard to decisions'
    """
    if method in ENDS:
        return ENDS[method]
    variant = re.fullmatch(r"(.+) \((.+)\)", method)
    base, _, training = (variant[1] if variant else method).partition("-")
    layers = re.fullmatch(r"NN(\d+)", base)
    model = MODELS.get(base, "")
    if layers:
        model = f"a network with {'one layer' if layers[1] == '1' else f'{_count(int(layers[1]))} layers'}"
    if not model or training not in TRAININGS:
        return ""
    return f"{model}, {TRAININGS[training].format(base=base)}" + (f"; {variant[2]}" if variant else "")


def _count(number: int) -> str:
    return {2: "two", 3: "three"}.get(number, str(number))


def settings_words(settings: Mapping[str, Any], family: Family) -> str:
    """The settings of a trial; those of a decision-focused network are of the two-stage network that it begins with.

    >>> settings_words({"hidden": [64, 32], "lr": 0.01, "loss": "mse"}, Family.DECISION_FOCUSED)
    'from the two-stage network with hidden layers of 64 and 32, lr 0.01, loss mse'
    >>> settings_words({"depth": 3, "transform": None}, Family.TWO_STAGE)
    'depth 3, no transform'
    """
    told = ", ".join(_setting(name, value) for name, value in settings.items()) or "none"
    begun = family is Family.DECISION_FOCUSED and "hidden" in settings
    return f"from the two-stage network with {told}" if begun else told


def _setting(name: str, value: Any) -> str:
    if name == "hidden":
        return f"hidden layers of {listed([str(width) for width in value])}" if value else "no hidden layers"
    return f"no {name}" if value is None else f"{name} {value}"


def of_blocks(blocks: str) -> str:
    """What the groups or blocks are that a page counts, in a sentence; nothing where there are none.

    >>> of_blocks("13 groups of 7 neighboring days")
    'Test instances of a group, such as neighboring days, may depend on each other: a group counts as one.'
    """
    if not blocks:
        return ""
    what = "block" if "block" in blocks else "group"
    such = "which are neighbors" if what == "block" else "such as neighboring days"
    return f"Test instances of a {what}, {such}, may depend on each other: a {what} counts as one."
