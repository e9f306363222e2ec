"""What the domains that choose `k` of many items have in common: budget allocation, recommendation, facilities."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor, nn

from foresolve.data.batch import Batch
from foresolve.data.dataset import DecisionDataset
from foresolve.layers.gamma_rules import RelativeGamma
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.wilder_multilinear import WilderMultilinear
from foresolve.learning.options import Schedule
from foresolve.losses.base import Loss
from foresolve.losses.decision import DecisionLoss
from foresolve.models.forest import RandomForest
from foresolve.models.mlp import MLP
from foresolve.problems.base import Problem
from foresolve.problems.submodular import SubmodularProblem
from foresolve.reproduce.domains.methods import YARDSTICKS, BestMethod, Method, RecipeMethod, Setting
from foresolve.reproduce.domains.networks import Rectified, start_at
from foresolve.schedules import geometric
from foresolve.sets.matroids.laminar import UniformMatroid

HIDDEN = 200
PROJECTIONS = 32  # of 500 outputs: a forest takes 3 s where it took 50; chosen by time


def budgeted(data: DecisionDataset, k: int) -> Problem:
    """Choose `k` of the items, whatever a set of them is worth."""
    problem = data.problem
    assert isinstance(problem, SubmodularProblem)
    return SubmodularProblem(problem.function, UniformMatroid(problem.n, k))


def random_sets(problem: Problem, count: int, generator: torch.Generator) -> Tensor:
    """Sets of `k` items, each as likely as any other."""
    assert isinstance(problem, SubmodularProblem)
    noise = torch.rand(count, problem.n, generator=generator)
    return torch.zeros(count, problem.n).scatter_(1, noise.topk(problem.matroid.rank).indices, 1.0)


def network(layers: int, head: str = "probability"):
    """The paper's network for rows of `theta`: 1 layer, or 2 with 200 hidden units.

    Head "probability" starts at the mean of the parameters; "plain" and "relu" are those of the published code.
    """

    def make(data: DecisionDataset, generator: torch.Generator, mean: float) -> nn.Module:
        inputs, outputs = data.features.shape[-1], data.theta.shape[-1]
        hidden = (HIDDEN,) * (layers - 1)
        if head == "relu":
            return Rectified(MLP(inputs, outputs, hidden, seed=generator, standardize=False))
        model = MLP(inputs, outputs, hidden, "probability", generator, standardize=False)
        return model if head == "plain" else start_at(model, mean)

    return make


def forest(quick: bool):
    """A forest for rows of `theta`; a quick one is small."""

    def make(data: DecisionDataset, seed: int) -> RandomForest:
        trees, rows = (20, 500) if quick else (100, 1000)
        options = {"max_features": "sqrt"}
        return RandomForest(trees, max_rows=rows, projections=PROJECTIONS, seed=seed, options=options)

    return make


def through_layer(setting: Setting) -> Loss:
    """The value of the exact layer's decision."""
    return DecisionLoss(MultilinearRelaxation(RelativeGamma(setting["gamma"])))


def annealing(setting: Setting) -> Schedule:
    """From strong to weak smoothing."""
    ratio = geometric(setting["gamma"], setting["gamma"] / 10)
    return lambda progress: RelativeGamma(ratio(progress))  # type: ignore[return-value]


def by_recipe(layers: int, head: str, *, loss: Loss | None = None, **how: Any) -> RecipeMethod:
    """As published: single instances, Adam; without a loss of predictions, through the published layer."""
    make = (lambda: DecisionLoss(WilderMultilinear())) if loss is None else (lambda: loss)
    return RecipeMethod(network(layers, head), make, WilderMultilinear, per_k=loss is None, **how)


def items(batch: Batch, positions: Tensor) -> Batch:
    """Items of a single instance, each as an instance of its own."""
    problem = batch.problem
    assert isinstance(problem, SubmodularProblem)
    features, theta = (table[0, positions.to(table.device)].unsqueeze(1) for table in (batch.features, batch.theta))
    return Batch(features, theta, SubmodularProblem(problem.function, UniformMatroid(1, 1)))


TEN_STEPS: dict[str, Method] = {**YARDSTICKS, "OPT": BestMethod(WilderMultilinear)}
"""The yardsticks of the published recipe: the best decision is also that of its layer for the true parameters."""
