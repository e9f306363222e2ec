"""What the domains with quadratic programs have in common: their methods."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import Any, Self

import torch
from torch import Tensor, nn

from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.learning.evaluation import evaluate
from foresolve.learning.options import Schedule
from foresolve.losses.base import Loss
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.prediction import MSE
from foresolve.models.baselines import ConstantMean, LinearRegression, NearestNeighbors
from foresolve.models.forest import RandomForest
from foresolve.models.mlp import MLP
from foresolve.models.reference import Baseline
from foresolve.problems.base import Problem
from foresolve.report.records import Config
from foresolve.reproduce.domains.methods import ForestMethod, Method, NetworkMethod, Setting
from foresolve.reproduce.domains.networks import Scaled

HIDDEN = 64
FIRST = 2 / 3  # of the epochs are two-stage where decisions come after
RIDGES, NEIGHBORS = (0.0, 3.0, 30.0, 300.0), (3, 5, 10, 20)


class TwoStageFirst(Loss):
    """Squared errors, and from some epoch on what decisions lose: the network of two stages, trained further.

    Parameters
    ----------
    weight: of the second loss, so that its gradients are about as large as those before: Adam remembers these, and a
        thousand times as large ones would undo in a few steps what was learned.

    Attributes
    ----------
    decided: whether decisions count by now; `anneal` changes it.
    """

    def __init__(self, then: Loss, weight: float = 1.0) -> None:
        super().__init__()
        self.first, self.then, self.weight, self.decided = MSE(), then, weight, False
        self.needs, self.uses_best = then.needs, then.uses_best

    def check_problem(self, problem: Problem) -> None:
        """Refuse what the second loss refuses."""
        super().check_problem(problem)
        self.then.check_problem(problem)

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`."""
        return self.weight * self.then(theta_hat, batch) if self.decided else self.first(theta_hat, batch)


class Tuned(Baseline):
    """Of several baselines the one whose decisions are best on a fifth of the training instances, fitted on all.

    Attributes
    ----------
    chosen: that one, after `fit`.
    """

    chosen: Baseline

    def __init__(self, candidates: Sequence[Baseline], seed: int = 0) -> None:
        super().__init__()
        self.candidates, self.seed = candidates, seed

    def fit(self, train: Any) -> Self:
        part, valid = train.split(0.8, 0.2, seed=self.seed)
        values = [evaluate(each.fit(part), valid, metrics=False, bootstrap=0).value for each in self.candidates]
        self.chosen = self.candidates[max(range(len(values)), key=values.__getitem__)].fit(train)
        return self

    def forward(self, features: Any) -> Tensor:
        return self.chosen(features)


def quadratic_methods(
    config: Config,
    spread: Callable[[DecisionDataset], Tensor | float],
    *,
    rates: dict[int, tuple[float, ...]],
    weight: float,
    epochs: int,
    batch_size: int,
) -> dict[str, Method]:
    """The rows of the table, up to the yardsticks.

    Parameters
    ----------
    spread: of predictions at the start of training, from what is known of the problem.
    rates: learning rates of networks of 1 and 2 layers, of which validation chooses one for two-stage training; all
        others take the last, after trials on another seed.
    weight: that of `TwoStageFirst`.
    epochs, batch_size: of training on decisions alone; two-stage training has three times as many epochs, and training
        that starts with it as many, of which a third is on decisions.
    """
    epochs = max(4, epochs // 3) if config.quick else epochs
    trees = 20 if config.quick else 100
    fit = partial(NetworkMethod, layer=QuadraticRelaxation, batch_size=batch_size)
    table: dict[str, Method] = {}
    for layers, choices in rates.items():
        make, settings = network(layers, spread), tuple({"lr": lr} for lr in choices)
        last, name = settings[-1:], f"NN{layers}"
        table[f"{name}-Decision"] = fit(make, through_program, settings=last, epochs=epochs)
        table[f"{name}-Started"] = fit(
            make, lambda setting: TwoStageFirst(through_program(setting), weight), settings=last, epochs=3 * epochs,
            anneal=decisions_last,
        )  # fmt: skip
        if layers == 1:
            table[f"{name}-FenchelYoung"] = fit(make, fenchel_young, settings=last, epochs=epochs)
        table[f"{name}-2Stage"] = fit(
            make, lambda setting: MSE(), settings=settings, epochs=3 * epochs, patience=max(5, epochs)
        )
    kinds = ("Decision", "Started", "FenchelYoung", "2Stage")
    order = [f"NN{layers}-{kind}" for kind in kinds for layers in rates]
    return {name: table[name] for name in order if name in table} | {
        "Linear-2Stage": ForestMethod(lambda data, seed: Tuned([LinearRegression(ridge) for ridge in RIDGES], seed)),
        "RF-2Stage": ForestMethod(lambda data, seed: RandomForest(trees, seed=seed)),
        "Neighbors-2Stage": ForestMethod(lambda data, seed: Tuned([NearestNeighbors(k) for k in NEIGHBORS], seed)),
        "Mean": ForestMethod(lambda data, seed: ConstantMean()),
    }


def through_program(setting: Setting) -> Loss:
    """The value of the decision itself: a strictly concave program needs no smoothing."""
    return DecisionLoss(QuadraticRelaxation(gamma=0.0))


def fenchel_young(setting: Setting) -> Loss:
    """How far the decision is from being the best for the prediction, in the program's own terms: convex."""
    return FenchelYoung(QuadraticRelaxation(gamma=0.0))


def decisions_last(setting: Setting) -> dict[str, Schedule]:
    """Two stages for the first epochs, decisions for the others."""
    return {"decided": lambda progress: progress >= FIRST}


def network(layers: int, spread: Callable[[DecisionDataset], Tensor | float]):
    """A network of 1 layer, or of 2 with 64 hidden units, whose first predictions are around the mean."""

    def make(data: DecisionDataset, source: torch.Generator, mean: float) -> nn.Module:
        inputs, outputs = data.features.shape[-1], data.theta.shape[-1]
        model = MLP(inputs, outputs, (HIDDEN,) * (layers - 1), seed=source, standardize=False)
        return Scaled(model, mean, spread(data))

    return make
