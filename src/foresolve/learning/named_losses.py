"""Losses by name, and what was meant where something else was given for a loss."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from torch import nn

from foresolve._base import checks
from foresolve._base.signatures import needed
from foresolve.layers.base import Layer
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.perturbed import PerturbedAdditive
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.losses.base import Loss, why_not
from foresolve.losses.cave import CaVE
from foresolve.losses.contrastive import MAP, NCE
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.directional import PerturbationGradient
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.imitation import Imitation
from foresolve.losses.lodl import LODL
from foresolve.losses.prediction import MSE, CrossEntropy, LogMSE
from foresolve.losses.ranking import ListwiseRanking, PairwiseRanking, PointwiseRanking
from foresolve.losses.score_function import ScoreFunction
from foresolve.losses.spo import SPOPlus
from foresolve.problems.base import Problem


def _first(problem: Problem, losses: tuple[Loss, ...]) -> Loss:
    """The first that works with the problem; where none does, the last, whose refusal is told."""
    return next((loss for loss in losses if not why_not(loss, problem)), losses[-1])


def _layers() -> tuple[Layer, ...]:
    return QuadraticRelaxation(), MultilinearRelaxation(), PerturbedAdditive()


def _decision(problem: Problem) -> Loss:
    return _first(problem, tuple(map(DecisionLoss, _layers())))


def _imitation(problem: Problem) -> Loss:
    return _first(problem, tuple(map(Imitation, _layers())))


def _fenchel_young(problem: Problem) -> Loss:
    return _first(problem, (FenchelYoung(QuadraticRelaxation()), FenchelYoung(PerturbedAdditive())))


def default_loss(problem: Problem) -> Loss:
    """`SPOPlus` for linear problems, `DecisionLoss(MultilinearRelaxation())` for submodular ones, else `MSE`."""
    return _first(problem, (SPOPlus(), DecisionLoss(MultilinearRelaxation()), MSE()))


NAMES: dict[str, Callable[[Problem], Loss]] = {
    "spo+": lambda _: SPOPlus(),
    "decision": _decision,
    "fenchel_young": _fenchel_young,
    "imitation": _imitation,
    "perturbation_gradient": lambda _: PerturbationGradient(),
    "score_function": lambda _: ScoreFunction(),
    "nce": lambda _: NCE(),
    "map": lambda _: MAP(),
    "cave": lambda _: CaVE(),
    "lodl": lambda _: LODL(),
    "pointwise": lambda _: PointwiseRanking(),
    "pairwise": lambda _: PairwiseRanking(),
    "listwise": lambda _: ListwiseRanking(),
    "mse": lambda _: MSE(),
    "log_mse": lambda _: LogMSE(),
    "cross_entropy": lambda _: CrossEntropy(),
}
# The object of each loss of decisions, for readers of a study.
WORDS: dict[type[Loss], str] = {
    SPOPlus: "SPO+, a convex bound of the regret",
    DecisionLoss: "the value of the smoothed decision, through a differentiable layer",
    FenchelYoung: "a Fenchel-Young loss, the regret of a smoothed problem",
    Imitation: "the distance of its smoothed decisions to the best ones",
    PerturbationGradient: "the value of decisions, as a slope by finite differences",
    ScoreFunction: "the regret of predictions with random noise (score-function estimate)",
    NCE: "noise-contrastive estimation: the best decision against others seen before",
    MAP: "a contrastive loss: the best decision against the best of others seen before",
    CaVE: "the angle to the cone of parameters for which the best decision is optimal (CaVE)",
    LODL: "a loss that was learned from the regret around the true parameters (LODL)",
    PointwiseRanking: "the predicted value of decisions seen before, against the true one",
    PairwiseRanking: "the best decision seen before against each of the others",
    ListwiseRanking: "the predicted order of decisions seen before, against the true one",
}
_ALIASES = {"spo": "spo+", "spo_plus": "spo+", "spoplus": "spo+", "fy": "fenchel_young", "pg": "perturbation_gradient"}
_TORCH = {"MSELoss": "MSE()", "BCELoss": "CrossEntropy()", "BCEWithLogitsLoss": "CrossEntropy(logits=True)"}


def loss_by_name(name: str, problem: Problem) -> Loss:
    """A loss with its defaults; "decision", "fenchel_young" and "imitation" with a layer that suits.

    Capitals count for nothing, blanks and hyphens for underscores.
    """
    key = known_name(name)
    if key not in NAMES:
        remedy = checks.did_you_mean(key, [*NAMES, *_ALIASES])
        raise checks.fail("loss", f"one of {', '.join(map(repr, NAMES))}", repr(name), remedy)
    return NAMES[key](problem)


def known_name(name: str) -> str:
    """The name in `NAMES` that is meant, or what was given, in small letters.

    >>> known_name("SPO"), known_name("Fenchel-Young"), known_name("my loss")
    ('spo+', 'fenchel_young', 'my_loss')
    """
    key = name.lower().replace("-", "_").replace(" ", "_")
    return _ALIASES.get(key, key)


def loss_words(loss: Loss) -> str:
    """The object of a loss in words; its class where it is not one of foresolve.

    >>> loss_words(SPOPlus())
    'SPO+, a convex bound of the regret'
    """
    return WORDS.get(type(loss), f"the loss {type(loss).__name__}")


def as_loss(loss: Any, problem: Problem) -> Loss:
    """A loss as itself or by name; for anything else, an error that says what was probably meant."""
    if isinstance(loss, Loss):
        return loss
    if isinstance(loss, str):
        return loss_by_name(loss, problem)
    got, meant = _meant(loss)
    raise checks.fail("loss", "a foresolve Loss", got, meant)


def _meant(loss: Any) -> tuple[str, str]:
    """What something else is, and what its owner probably meant."""
    name = loss.__name__ if isinstance(loss, type) else type(loss).__name__
    if loss is None:
        return "None", 'For example `SPOPlus()`, or its name, "spo+"'
    if isinstance(loss, Layer) or (isinstance(loss, type) and issubclass(loss, Layer)):
        made = f"{name}()" if isinstance(loss, type) else "layer"
        return f"the layer {name}", f"Did you mean `DecisionLoss({made})`?"
    if isinstance(loss, type) and issubclass(loss, Loss):
        return f"the class {name}", f"Did you mean `{name}({', '.join(needed(loss) or [])})`?"
    if name in vars(nn) and name.endswith("Loss"):
        ours = f"`{_TORCH[name]}` or " if name in _TORCH else ""
        meant = f'Did you mean {ours}`PredictionLoss(nn.{name}(reduction="none"))`?'
        return f"torch's {name}", meant
    if callable(loss) and not isinstance(loss, type):
        return name, "Did you mean `PredictionLoss(f)`, with `f(theta_hat, theta)` a number for each instance?"
    return name, 'For example `SPOPlus()`, or its name, "spo+"'
