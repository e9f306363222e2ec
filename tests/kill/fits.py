"""Trainings with a checkpoint, of every kind of loss."""

from __future__ import annotations

import functools
import json
import warnings
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import nn

from foresolve import ProbabilisticCoverage, SubmodularProblem, UniformMatroid, schedules
from foresolve._base import files
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveWarning
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.perturbed import PerturbedAdditive
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.learning.fitting import fit
from foresolve.losses.base import Loss
from foresolve.losses.contrastive import NCE
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.lodl import LODL
from foresolve.losses.pool import SolutionPool
from foresolve.losses.prediction import MSE
from foresolve.losses.score_function import ScoreFunction
from foresolve.losses.spo import SPOPlus
from foresolve.models.mlp import MLP
from foresolve.problems.knapsack import Knapsack
from foresolve.problems.top_k import TopK

ROWS, FEATURES, ITEMS, TARGETS = 48, 3, 6, 3


@dataclass(frozen=True)
class Case:
    """A loss, and what `fit` is told beside it."""

    loss: Callable[[], Loss]
    options: Mapping[str, Any]
    problem: str = "top-k"


def _steps(optimizer: Any) -> Any:
    return torch.optim.lr_scheduler.MultiStepLR(optimizer, [3, 6])


def _momentum(parameters: Any) -> Any:
    return torch.optim.SGD(parameters, lr=0.05, momentum=0.9)


CASES: Mapping[str, Case] = {
    "prediction": Case(MSE, {"epochs": 40, "optimizer": _momentum, "scheduler": _steps}),
    "SPO+": Case(SPOPlus, {"epochs": 30, "scheduler": _steps}, "knapsack"),
    "perturbed": Case(
        lambda: DecisionLoss(PerturbedAdditive(samples=4, sigma=0.5)), {"epochs": 20, "warm_start": "two-stage"}
    ),
    "contrastive, pool": Case(lambda: NCE(SolutionPool(solve_ratio=0.5)), {"epochs": 30, "clip": 1.0}, "knapsack"),
    "quadratic": Case(
        lambda: DecisionLoss(QuadraticRelaxation(gamma=1.0)), {"epochs": 12, "anneal": schedules.geometric(10, 0.1)}
    ),
    "multilinear": Case(lambda: DecisionLoss(MultilinearRelaxation(gamma=1.0)), {"epochs": 8}, "coverage"),
    "LODL": Case(lambda: LODL(samples=20), {"epochs": 30, "warm_start": "two-stage"}),
    "score function": Case(lambda: ScoreFunction(samples=4), {"epochs": 20, "scheduler": _steps}),
}


def network(outputs: int, shape: tuple[int, ...]) -> nn.Module:
    """With dropout and running statistics."""
    body = [MLP(FEATURES, 8, seed=0), nn.BatchNorm1d(8), nn.ReLU(), nn.Dropout(0.3), MLP(8, outputs, seed=1)]
    return nn.Sequential(*body, nn.Unflatten(1, shape), *([nn.Sigmoid()] if len(shape) > 1 else []))


def instances(problem: str, rows: int, seed: int, cache: Path | None = None) -> DecisionDataset:
    """Linear truth with noise; probabilities for coverage."""
    shape = (ITEMS, TARGETS) if problem == "coverage" else (ITEMS,)
    generator = torch.Generator().manual_seed(seed)
    weights = torch.randn(FEATURES, *shape, generator=torch.Generator().manual_seed(99))
    features = torch.randn(rows, FEATURES, generator=generator)
    theta = torch.tensordot(features, weights, 1) + 0.3 * torch.randn(rows, *shape, generator=generator)
    problems = {
        "top-k": lambda: TopK(ITEMS, 2),
        "knapsack": lambda: Knapsack(weights=[[3.0, 4.0, 5.0, 6.0, 7.0, 8.0]], capacity=[15.0]),
        "coverage": lambda: SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(ITEMS, 2)),
    }
    return DecisionDataset(
        features, theta.sigmoid() if problem == "coverage" else theta, problems[problem](), cache=cache
    )


@dataclass(frozen=True)
class Fit:
    """`fit` of a case, with a checkpoint and a cache of best decisions in the folder."""

    name: str

    def __call__(self, folder: Path) -> None:
        case = CASES[self.name]
        shape = (ITEMS, TARGETS) if case.problem == "coverage" else (ITEMS,)
        model = network(functools.reduce(int.__mul__, shape), shape)
        train = instances(case.problem, ROWS, 0, folder / "best.npz").solve()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ForesolveWarning)  # what a tiny training is worth is not the question
            history = fit(
                model, case.loss(), train, instances(case.problem, ROWS // 2, 1), batch_size=8, patience=None,
                seed=5, checkpoint=folder / "run", resume=True, progress=False, **case.options,
            )  # fmt: skip
        files.write_bytes(folder / "weights.safetensors", files.tensor_bytes(dict(model.state_dict())))
        files.write_text(folder / "history.json", json.dumps(history.to_dict()))
