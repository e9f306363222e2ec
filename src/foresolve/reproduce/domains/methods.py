"""What a method of an experiment is: a network and how it is trained, a forest, a fixed rule, chance, or the truth."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from itertools import product, starmap
from typing import Any

import torch
from torch import Tensor, nn

from foresolve._base.drawing.palette import Role
from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.layers.base import Layer
from foresolve.learning.options import Schedule
from foresolve.losses.base import Loss
from foresolve.models.reference import Baseline
from foresolve.report.records import MethodInfo

Setting = Mapping[str, Any]
"""A setting that is chosen on validation data, for example `{"lr": 1e-3, "gamma": 0.3}`."""


def adam(model: nn.Module, setting: Setting) -> torch.optim.Optimizer:
    """Adam, with decoupled weight decay where the setting has one."""
    return torch.optim.AdamW(model.parameters(), lr=setting["lr"], weight_decay=setting.get("decay", 0.0))


@dataclass(frozen=True)
class NetworkMethod:
    """A network trained by `fit`, once for each setting; validation chooses the setting and the epoch.

    Attributes
    ----------
    model: from the instances, a generator of weights, and the mean of the parameters in training.
    loss: from a setting.
    layer: makes the fractional decisions that are recorded beside the discrete ones.
    folds: 1 for a validation part of the training instances, whose best epoch's weights are kept; more for
        cross-validation, after which the chosen setting is trained on all training instances for the chosen number of
        epochs: for domains with few instances.
    validate: whether there is a validation part at all; without, there must be one setting.
    per_k: whether the loss knows the budget. Where it does not, one training serves all budgets, and setting and epoch
        are chosen for each of them; there is then no patience.
    """

    model: Callable[[DecisionDataset, torch.Generator, float], nn.Module]
    loss: Callable[[Setting], Loss]
    layer: Callable[[], Layer]
    settings: tuple[dict[str, Any], ...]
    epochs: int
    batch_size: int
    patience: int | None = None
    optimizer: Callable[[nn.Module, Setting], torch.optim.Optimizer] = adam
    anneal: Callable[[Setting], Schedule | Mapping[str, Schedule]] | None = None
    folds: int = 1
    validate: bool = True
    per_k: bool = True


@dataclass(frozen=True)
class Minibatch:
    """Steps on some rows of an instance's parameters (movies, pairs) instead of all of them.

    Attributes
    ----------
    size: how many rows; what is left over of an instance is not used.
    take: from a batch of one instance and positions, the rows there, each as an instance of its own.
    """

    size: int
    take: Callable[[Batch, Tensor], Batch]


@dataclass(frozen=True)
class RecipeMethod:
    """A network trained as the paper's published code does it: a fixed number of steps of Adam, nothing chosen.

    Attributes
    ----------
    model, layer: as in `NetworkMethod`.
    loss: made anew for each training.
    lr: of Adam.
    draws: single training instances drawn with replacement; `None` for `epochs` passes over all of them.
    minibatch: the rows of a step; `None` for whole instances.
    per_k: whether there is a training for each budget, or one for all.
    carried: whether the network of a budget is trained further from that of the next smaller one among the domain's, by
        a new optimizer. What a budget's network is depends on that budget alone: smaller ones are trained for it.
    logits: whether the published cross-entropy takes predictions for logits, which puts one more sigmoid around them.
    """

    model: Callable[[DecisionDataset, torch.Generator, float], nn.Module]
    loss: Callable[[], Loss]
    layer: Callable[[], Layer]
    lr: float = 1e-3
    draws: int | None = None
    epochs: int = 1
    minibatch: Minibatch | None = None
    per_k: bool = True
    carried: bool = False
    logits: bool = False


@dataclass(frozen=True)
class ForestMethod:
    """A baseline with a fit of its own, such as a random forest; all training instances are used.

    `layer` makes fractional decisions, and `logits` is that of `RecipeMethod`.
    """

    model: Callable[[DecisionDataset, int], Baseline]
    layer: Callable[[], Layer] | None = None
    logits: bool = False


@dataclass(frozen=True)
class RuleMethod:
    """A fixed function from features to parameters: it learns nothing."""

    model: Callable[[DecisionDataset], Callable[[Any], Tensor]]


@dataclass(frozen=True)
class RandomMethod:
    """Random decisions; the value is the mean over `draws` of them for each instance."""

    draws: int = 20


@dataclass(frozen=True)
class BestMethod:
    """The decisions for the true parameters: exact for linear problems, greedy for submodular ones.

    With a `layer`, its fractional decisions for them stand beside: the best that a perfect prediction would get.
    """

    layer: Callable[[], Layer] | None = None


Method = NetworkMethod | RecipeMethod | ForestMethod | RuleMethod | RandomMethod | BestMethod
"""A method of a run: one of the classes above."""

VARIANTS = ("code rate", "exact layer")
MODELS = {
    "NN1": "a network with one layer",
    "NN2": "a network with two layers",
    "RF": "a random forest",
    "Linear": "a linear regression",
    "Neighbors": "the mean over the nearest training instances",
    "Bilinear": "products of learned embeddings of the two papers",
    "Cosine": "TF-IDF similarity with learned word weights",
}
TRAININGS: dict[str, tuple[Role, str]] = {
    "Decision": ("decision-focused", "trained on what its decisions are worth, through a differentiable layer"),
    "2Stage": ("two-stage", "trained to predict the parameters, without regard to decisions"),
    "Annealed": ("decision-focused", "trained as {model}-Decision, with a layer that is smoothed less and less"),
    "SPO+": ("decision-focused", "trained on SPO+, a convex bound of the regret"),
    "FenchelYoung": ("decision-focused", "trained on a Fenchel-Young loss of the layer"),
    "Started": ("decision-focused", "trained to predict first, then as {model}-Decision"),
}


def _trained(model: str, training: str, variant: str = "") -> MethodInfo:
    role, words = TRAININGS[training]
    told = f"{MODELS[model]}, {words.format(model=model)}" + (f"; {variant}" if variant else "")
    return MethodInfo(role, model, training, variant, told)


METHODS: dict[str, MethodInfo] = {
    **{info.name: info for info in starmap(_trained, product(MODELS, TRAININGS))},
    **{info.name: info for info in starmap(_trained, product(("NN1", "NN2"), ("Decision",), VARIANTS))},
    "Mean": MethodInfo("reference", words="always predicts the mean of the training parameters"),
}
"""Facts about the methods that several domains have, by name."""


YARDSTICKS: dict[str, Method] = {"Random": RandomMethod(), "OPT": BestMethod()}
"""What the others are measured against, the last rows of every table: chance and the truth."""


def depends_on_k(method: Method) -> bool:
    """Whether each budget is a job of its own."""
    if isinstance(method, RecipeMethod):
        return method.per_k and not method.carried  # what is carried on is one chain
    return isinstance(method, NetworkMethod) and method.per_k
