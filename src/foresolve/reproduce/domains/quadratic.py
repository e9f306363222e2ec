"""What the domains with quadratic programs have in common: their methods."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

import torch
from torch import Tensor, nn

from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.learning.options import Schedule
from foresolve.losses.base import Loss
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.prediction import MSE
from foresolve.models.baselines import ConstantMean, LinearRegression, NearestNeighbors
from foresolve.models.forest import RandomForest
from foresolve.models.mlp import MLP
from foresolve.problems.base import Problem
from foresolve.report.records import Config
from foresolve.reproduce.domains.methods import ForestMethod, Method, NetworkMethod, Setting
from foresolve.reproduce.domains.networks import Scaled

HIDDEN = 64
FIRST = 2 / 3  # of the epochs are two-stage where decisions come after


class TwoStageFirst(Loss):
    """Squared errors, and from some epoch on what decisions lose: the network of two stages, trained further.

    Attributes
    ----------
    decided: whether decisions count by now; `anneal` changes it.
    """

    def __init__(self, then: Loss) -> None:
        super().__init__()
        self.first, self.then, self.decided = MSE(), then, False
        self.needs, self.uses_best = then.needs, then.uses_best

    def check_problem(self, problem: Problem) -> None:
        """Refuse what the second loss refuses."""
        super().check_problem(problem)
        self.then.check_problem(problem)

    def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
        """Losses `(B,)`."""
        return (self.then if self.decided else self.first)(theta_hat, batch)


def quadratic_methods(
    config: Config,
    spread: Callable[[DecisionDataset], Tensor | float],
    *,
    rates: dict[int, tuple[float, ...]],
    ridge: float,
    epochs: int,
    batch_size: int,
) -> dict[str, Method]:
    """The rows of the table, up to the yardsticks.

    Parameters
    ----------
    spread: of predictions at the start of training, from what is known of the problem.
    rates: learning rates of networks of 1 and 2 layers, ascending; training on decisions from scratch takes the last,
        after trials on another seed.
    ridge: of the linear regression.
    epochs, batch_size: of training on decisions; two-stage training has three times as many epochs.
    """
    epochs = max(4, epochs // 3) if config.quick else epochs
    trees = 20 if config.quick else 100
    fit = partial(NetworkMethod, layer=QuadraticRelaxation, batch_size=batch_size)
    losses: dict[str, tuple[Callable[[Setting], Loss], int]] = {
        "Decision": (through_program, epochs),
        "FenchelYoung": (lambda setting: FenchelYoung(QuadraticRelaxation(gamma=0.0)), epochs),
        "2Stage": (lambda setting: MSE(), 3 * epochs),
    }
    table: dict[str, Method] = {}
    for layers, choices in rates.items():
        settings, make = tuple({"lr": lr} for lr in choices), network(layers, spread)
        table[f"NN{layers}-Started"] = fit(
            make, lambda setting: TwoStageFirst(through_program(setting)), settings=settings,
            epochs=2 * epochs, anneal=decisions_last,
        )  # fmt: skip
        for name, (loss, most) in losses.items():
            table[f"NN{layers}-{name}"] = fit(
                make, loss, settings=settings if name == "2Stage" else settings[-1:], epochs=most,
                patience=max(5, most // 4),
            )  # fmt: skip
    order = [f"NN{layers}-{name}" for name in ("Decision", "Started", "FenchelYoung", "2Stage") for layers in rates]
    return {name: table[name] for name in order} | {
        "Linear-2Stage": ForestMethod(lambda data, seed: LinearRegression(ridge)),
        "RF-2Stage": ForestMethod(lambda data, seed: RandomForest(trees, seed=seed)),
        "Neighbors-2Stage": ForestMethod(lambda data, seed: NearestNeighbors(10)),
        "Mean": ForestMethod(lambda data, seed: ConstantMean()),
    }


def through_program(setting: Setting) -> Loss:
    """The value of the decision itself: a strictly concave program needs no smoothing."""
    return DecisionLoss(QuadraticRelaxation(gamma=0.0))


def decisions_last(setting: Setting) -> dict[str, Schedule]:
    """Two stages for the first epochs, decisions for the others."""
    return {"decided": lambda progress: progress >= FIRST}


def network(layers: int, spread: Callable[[DecisionDataset], Tensor | float]):
    """A network of 1 layer, or of 2 with 64 hidden units, whose first predictions are around the mean."""

    def make(data: DecisionDataset, source: torch.Generator, mean: float) -> nn.Module:
        inputs, outputs = data.features.shape[-1], data.theta.shape[-1]
        model = MLP(inputs, outputs, (HIDDEN,) * (layers - 1), seed=source)
        return Scaled(model, mean, spread(data))

    return make
