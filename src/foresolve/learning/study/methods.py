"""The methods of a study: references and decision-focused ones, each with settings to try."""

from __future__ import annotations

import copy
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import asdict, dataclass, field, replace
from enum import StrEnum
from itertools import product
from typing import Any, ClassVar, Self

from torch import nn

from foresolve._base.text import line_of
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError, ForesolveWarning
from foresolve.learning.fitting import fit
from foresolve.learning.history import History
from foresolve.learning.named_losses import loss_words
from foresolve.learning.options import LEAST_PATIENCE
from foresolve.learning.study.facts import Facts
from foresolve.losses.base import Loss
from foresolve.models.baselines import ConstantMean, LinearRegression
from foresolve.models.boosting import BoostedTrees
from foresolve.models.forest import RandomForest

Settings = dict[str, Any]
RATE = 0.01  # the learning rate of predictions; that of a loss of decisions keeps its ratio to it
RATES = (1.0, 0.3, 3.0, 0.1)  # times that
RIDGES = (1.0, 100.0, 0.01, 10.0, 0.1, 1000.0)  # times what leave-one-out errors choose
LEAVES = (5, 1, 20, 2, 10, 50)
BOOSTING = ((3, 0.1), (2, 0.1), (4, 0.05), (1, 0.2), (5, 0.1), (2, 0.3))  # depth and learning rate
MOST_ROWS = 50_000  # that a forest is grown on


@dataclass
class Context:
    """Data and settings of trials.

    Attributes
    ----------
    epochs, trees: of a trial.
    told: called with the share of a trial that is done, while networks are trained.
    starts: networks that have learned to predict, by the number of their settings: all networks go on from them.
    histories: of the trainings of one trial.
    """

    train: DecisionDataset
    valid: DecisionDataset
    facts: Facts
    seed: int
    epochs: int
    trees: int
    told: Callable[[float], Any] = lambda share: None
    starts: dict[int, nn.Module] = field(default_factory=dict)
    histories: list[dict[str, Any]] = field(default_factory=list)


class Family(StrEnum):
    """The way in which methods learn."""

    BASELINE = "baseline"  # nothing from features
    TWO_STAGE = "two-stage"
    DECISION_FOCUSED = "decision-focused"


@dataclass(frozen=True)
class MethodInfo:
    """A method, for tables, pages and files.

    Attributes
    ----------
    name: in tables.
    family: how it learns.
    description: in words.
    deployable: whether it decides from features alone, so that a policy can be made of it.
    twin: for a decision-focused method, the two-stage method with the same model.
    """

    name: str
    family: Family
    description: str
    deployable: bool = True
    twin: str = ""

    @property
    def focused(self) -> bool:
        """True if it is trained on decisions; the others are references."""
        return self.family is Family.DECISION_FOCUSED

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: dict[str, Any]) -> Self:
        """Read a document of `to_dict`."""
        return cls(**{**document, "family": Family(document["family"])})


class Method(ABC):
    """Something that is trained with one of several settings.

    Attributes
    ----------
    info: its name, family and description.
    """

    info: MethodInfo
    costs_epochs: ClassVar[bool] = False  # whether the time it takes grows with `epochs` and `trees`

    @property
    def name(self) -> str:
        """The name in tables."""
        return self.info.name

    @abstractmethod
    def settings(self, facts: Facts) -> list[Settings]:
        """The settings to try, the default first, fit for JSON."""

    @abstractmethod
    def train(self, settings: Settings, number: int, context: Context) -> nn.Module:
        """A trained model; `number` is that of the settings in their list."""

    def seen(self, data: DecisionDataset, settings: Settings) -> DecisionDataset:
        """The data as the model sees it: with its features, unless the method has others."""
        return data

    def improving(self, model: nn.Module, history: dict[str, Any] | None) -> bool:
        """True if a model that was just trained might have got better with more epochs, or trees."""
        return False


class MeanMethod(Method):
    """The mean of the parameters: nothing to try."""

    info = MethodInfo("mean", Family.BASELINE, "always predicts the mean of the training parameters")

    def settings(self, facts: Facts) -> list[Settings]:
        return [{}]

    def train(self, settings: Settings, number: int, context: Context) -> nn.Module:
        return ConstantMean().fit(context.train)


class Ridge(Method):
    """Least squares with ridges around the one that leave-one-out errors choose; of the logarithms where asked for."""

    def __init__(self, logarithms: bool = False) -> None:
        name, of, self.transform = ("log ridge", " of logarithms", "log") if logarithms else ("ridge", "", None)
        description = f"linear regression{of} with a ridge penalty, trained to predict"
        self.info = MethodInfo(name, Family.TWO_STAGE, description)

    def settings(self, facts: Facts) -> list[Settings]:
        return [{"factor": factor} for factor in RIDGES]

    def train(self, settings: Settings, number: int, context: Context) -> nn.Module:
        options: dict[str, Any] = {"bounds": context.facts.bounds, "transform": self.transform}
        chosen = LinearRegression("cv", **options).fit(context.train)
        if settings["factor"] == 1:
            return chosen
        return LinearRegression(settings["factor"] * float(chosen.chosen or 0.0), **options).fit(context.train)


class Forest(Method):
    """A random forest with leaves of several sizes."""

    info = MethodInfo("forest", Family.TWO_STAGE, "a random forest, trained to predict")
    costs_epochs = True

    def settings(self, facts: Facts) -> list[Settings]:
        return [{"leaf": leaf} for leaf in LEAVES]

    def train(self, settings: Settings, number: int, context: Context) -> nn.Module:
        rows = context.train.theta.numel() if context.facts.layout != "instance" else 0
        forest = RandomForest(
            context.trees, max_rows=MOST_ROWS if rows > MOST_ROWS else None, seed=context.seed, leaf=settings["leaf"]
        )
        return forest.fit(context.train)


class Boosted(Method):
    """Boosted trees of several depths and rates, their number chosen on validation data; with a loss or without.

    Those of a loss are added to trees of squared errors; without one there are as many trees in all.
    """

    info = MethodInfo("boosted trees", Family.TWO_STAGE, "boosted regression trees, trained to predict")
    costs_epochs = True

    def __init__(self, name: str = "boosted trees", loss: Loss | None = None) -> None:
        self.loss = loss
        if loss is not None:
            self.info = focused_info(name, loss, "boosted trees", twin=Boosted.info.name)

    def settings(self, facts: Facts) -> list[Settings]:
        transforms = (None, "log") if facts.positive else (None,)
        return [
            {"depth": depth, "lr": lr, "transform": transform}
            for (depth, lr), transform in product(BOOSTING, transforms)
        ]

    def train(self, settings: Settings, number: int, context: Context) -> nn.Module:
        trees = context.trees if self.loss is not None else 2 * context.trees
        model = BoostedTrees(
            trees, settings["depth"], settings["lr"], copy.deepcopy(self.loss), bounds=context.facts.bounds,
            seed=context.seed, transform=settings["transform"],
        )  # fmt: skip
        with quiet():
            return model.fit(context.train, context.valid)

    def improving(self, model: nn.Module, history: dict[str, Any] | None) -> bool:
        """True if all trees are kept: the last ones were of use."""
        assert isinstance(model, BoostedTrees)
        config = model.config()
        return model.chosen == config["trees"] * (1 if self.loss is None else 2)


class Network(Method):
    """A two-stage network: hidden layers, learning rates and, of positive skewed parameters, two kinds of error.

    It learns to predict, and then goes on for as many epochs, as decision-focused methods go on from there with their
    losses: what is found between them is due to the loss, and not to a second training.
    """

    info = MethodInfo("network", Family.TWO_STAGE, "a neural network, trained to predict")
    costs_epochs = True

    def settings(self, facts: Facts) -> list[Settings]:
        losses = ("mse", "log_mse") if facts.positive and facts.head == "positive" else ("mse",)
        losses = ("cross_entropy", "mse") if facts.head == "probability" else losses
        return [
            {"hidden": list(hidden), "lr": RATE * rate, "loss": loss}
            for rate, hidden, loss in product(RATES, facts.hidden, losses)
        ]

    def train(self, settings: Settings, number: int, context: Context) -> nn.Module:
        told = context.told
        if number not in context.starts:
            begin(settings, number, replace(context, told=lambda share: told(share / 2)))
            context = replace(context, told=lambda share: told((1 + share) / 2))
        model = copy.deepcopy(context.starts[number])
        loss, lr = self._goal(settings)
        trained(model, loss, lr, context)
        return model

    def _goal(self, settings: Settings) -> tuple[Loss | str, float]:
        """The loss that it goes on with, and its learning rate."""
        return settings["loss"], settings["lr"]

    def improving(self, model: nn.Module, history: dict[str, Any] | None) -> bool:
        """True if its patience had not run out, by the rule of early stopping."""
        if history is None or history["best_epoch"] is None:
            return False
        return len(history["train_loss"]) - history["best_epoch"] < max(LEAST_PATIENCE, history["planned"] // 2)


class Focused(Network):
    """A loss of decisions on the network of the same settings, once that has learned to predict."""

    def __init__(self, name: str, loss: Loss) -> None:
        self.loss = loss
        self.info = focused_info(name, loss, "a neural network", twin=Network.info.name)

    def _goal(self, settings: Settings) -> tuple[Loss | str, float]:
        loss = copy.deepcopy(self.loss)
        return loss, loss.lr * settings["lr"] / RATE


def focused_info(name: str, loss: Loss, model: str, *, twin: str) -> MethodInfo:
    """A decision-focused method, by its model and its loss."""
    return MethodInfo(name, Family.DECISION_FOCUSED, f"{model}, trained on {loss_words(loss)}", twin=twin)


def begin(settings: Settings, number: int, context: Context) -> None:
    """Train the network that all methods with these settings go on from; those of other settings are done with."""
    model = context.facts.network(context.train, settings["hidden"], context.seed)
    trained(model, settings["loss"], settings["lr"], context)
    context.starts.clear()
    context.starts[number] = model


class Interrupted(KeyboardInterrupt):
    """Ctrl-C within a training, which ends it without an error."""


def trained(model: nn.Module, loss: Loss | str, lr: float, context: Context) -> History:
    """Train a network, without its warnings: where nothing improved, the start is what is scored."""

    def told(history: History) -> None:
        context.told(len(history) / max(1, history.planned))

    with quiet():
        history = fit(
            model, loss, context.train, context.valid, epochs=context.epochs, lr=lr, seed=context.seed, progress=told
        )
    if history.interrupted:
        raise Interrupted
    context.histories.append(history.to_dict())
    return history


@contextmanager
def quiet() -> Iterator[None]:
    """Without the warnings of a training that nobody sees."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForesolveWarning)
        yield


def refusal(error: Exception) -> str:
    """The reason of a failure, in a line."""
    reason = line_of(error) or type(error).__name__
    return reason if isinstance(error, ForesolveError) else f"{type(error).__name__}: {reason}"
