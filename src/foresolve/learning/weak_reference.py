"""Weak references: models that decide worse than the mean of the parameters, which takes no model at all."""

from __future__ import annotations

from typing import Any

import numpy as np
import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.bootstrap import Block, runs
from foresolve._base.numbers import significant
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import SolverError, WeakReferenceWarning
from foresolve.learning.distributed import TrainingGroup
from foresolve.learning.prediction import inference, predict
from foresolve.problems.base import Problem

ERRORS = 3.0  # standard errors of the mean difference: beyond noise
BATCH = 256


def mean_decision(problem: Problem, theta: Tensor, weights: Tensor | None = None) -> Tensor | None:
    """The decision `(n,)` for the (weighted) mean of parameters `(N, ...)`.

    `None` where instances have feasible sets of their own, where `theta` makes constraints, or where a solver has no
    decision for it.
    """
    if not {"shared", "fixed"} <= problem.traits:
        return None
    share = theta.new_full((len(theta),), 1 / len(theta)) if weights is None else (weights / weights.sum()).to(theta)
    try:
        return problem.decide(torch.tensordot(share, theta.detach(), 1).unsqueeze(0))[0][0]
    except SolverError:
        return None


def loses(regret: np.ndarray, of_mean: np.ndarray, weights: np.ndarray | None = None, block: Block = None) -> bool:
    """True if the regret exceeds that of the mean's decision by more than three standard errors of the difference.

    Instances (or blocks, or groups) count as independent.

    >>> loses(np.array([3.0, 4.0, 5.0]), np.array([1.0, 2.1, 2.9])), loses(np.array([3.0, 0.0]), np.array([1.0, 1.0]))
    (True, False)
    """
    weights = np.ones(len(regret)) if weights is None else weights
    groups = runs(len(regret), block) if isinstance(block, int) else block
    sums, totals = weights * (regret - of_mean), weights
    if groups is not None:
        sums, totals = np.bincount(groups, sums), np.bincount(groups, totals)
    size, mean = len(sums), sums.sum() / totals.sum()
    if size < 2:
        return False
    error = np.sqrt(np.square(sums - mean * totals).sum() * size / (size - 1)) / totals.sum()
    return bool(mean > ERRORS * error and mean > 1e-6 * np.abs(of_mean).max())


def warn_if_weak(model: nn.Module, train: DecisionDataset, valid: DecisionDataset | None) -> None:
    """Warn where a model decides worse on validation data than the mean of the training parameters does."""
    if valid is None or not (train.has_theta and valid.has_theta) or TrainingGroup.here().world > 1:
        return
    x = mean_decision(train.problem, train.theta, train.weights)
    if x is None:
        return
    try:
        regret, of_mean = _regrets(model, valid.solve(), x)
    except SolverError:
        return
    weights = None if valid.weights is None else valid.weights.double().cpu().numpy()
    if loses(regret, of_mean, weights):
        mine, other = (float(np.average(column, weights=weights)) for column in (regret, of_mean))
        checks.warn(
            f"{type(model).__name__} decides worse on validation data than the mean of the training parameters does "
            f"(mean regret {significant(mine)} against {significant(other)}). As a reference it makes anything look "
            "good: train it longer, raise `lr`, or take `LinearRegression`; docs/study.md",
            WeakReferenceWarning,
        )


def _regrets(model: nn.Module, data: DecisionDataset, x: Tensor) -> tuple[np.ndarray, np.ndarray]:
    """The regrets of the model's decisions, and of the decision `x` for all."""
    parameter = next(model.parameters(), None)
    data = data if parameter is None else data.to(parameter.device)
    columns: list[Any] = []
    with inference(model):
        for index in torch.arange(len(data)).split(BATCH):
            batch = data[index]
            decided = batch.problem.decide(predict(model, batch.features))[0].to(batch.theta)
            best = batch.best()[1].double()
            same = x.to(batch.theta).expand(len(index), -1)
            columns.append(
                torch.stack([best - batch.problem.objective(y, batch.theta).double() for y in (decided, same)])
            )
    regret, of_mean = torch.cat(columns, 1).cpu().numpy()
    return regret, of_mean
