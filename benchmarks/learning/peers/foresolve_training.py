"""Train one method of foresolve on saved instances."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch

import foresolve
from benchmarks.learning.catalogue import BATCH, EPOCHS, GRID, RATE, TRAIN
from foresolve import DecisionLoss
from foresolve.losses import FenchelYoung

LOSSES: dict[str, Callable[[], Any]] = {
    "MSE": lambda: foresolve.MSE(),
    "SPOPlus": lambda: foresolve.SPOPlus(),
    "FenchelYoung quadratic": lambda: FenchelYoung(foresolve.QuadraticRelaxation()),
    "FenchelYoung perturbed 3": lambda: FenchelYoung(foresolve.layers.PerturbedAdditive(3)),
    "FenchelYoung perturbed 10": lambda: FenchelYoung(foresolve.layers.PerturbedAdditive(10)),
    "FenchelYoung multiplicative 10": lambda: FenchelYoung(foresolve.layers.PerturbedMultiplicative(10)),
    "PerturbationGradient": lambda: foresolve.losses.PerturbationGradient(),
    "Decision quadratic": lambda: DecisionLoss(foresolve.QuadraticRelaxation()),
    "Decision perturbed": lambda: DecisionLoss(foresolve.layers.PerturbedAdditive(10)),
    "Decision blackbox": lambda: DecisionLoss(foresolve.layers.BlackboxInterpolation()),
    "Decision identity": lambda: DecisionLoss(foresolve.layers.IdentityProjection()),
    "Decision IMLE": lambda: DecisionLoss(foresolve.layers.IMLE()),
    "Decision adaptive IMLE": lambda: DecisionLoss(foresolve.layers.AdaptiveIMLE()),
    "Decision Frank-Wolfe": lambda: DecisionLoss(foresolve.layers.RegularizedFrankWolfe()),
    "NCE": lambda: foresolve.losses.NCE(),
    "MAP": lambda: foresolve.losses.MAP(),
    "pointwise ranking": lambda: foresolve.losses.PointwiseRanking(),
    "pairwise ranking": lambda: foresolve.losses.PairwiseRanking(),
    "listwise ranking": lambda: foresolve.losses.ListwiseRanking(),
    "CaVE": lambda: foresolve.losses.CaVE(),
    "LODL weighted": lambda: foresolve.losses.LODL("weighted_mse"),
    "LODL quadratic": lambda: foresolve.losses.LODL("quadratic"),
    "score function": lambda: foresolve.losses.ScoreFunction(),
}


def regret(predicted: torch.Tensor, data: foresolve.DecisionDataset) -> float:
    value = data.problem.objective(data.problem.solve(predicted), data.theta)
    return float((data.values - value).sum() / data.values.abs().sum())


def datasets(
    saved: dict[str, np.ndarray],
) -> tuple[foresolve.DecisionDataset, foresolve.DecisionDataset, float]:
    """For training and for the test, with their best decisions, and the seconds that those took."""
    problem = foresolve.ShortestPath.grid(*GRID)
    assert np.array_equal(np.array(problem.arcs), saved["arcs"])
    features, theta = (torch.from_numpy(saved[name]).float() for name in ("features", "costs"))
    everything = foresolve.DecisionDataset(features, theta, problem)
    begin = time.perf_counter()
    everything.solve(progress=False)
    seconds = time.perf_counter() - begin
    train, test = (
        foresolve.DecisionDataset(features[part], theta[part], problem, decisions=everything.decisions[part])
        for part in (slice(None, TRAIN), slice(TRAIN, None))
    )
    return train, test, seconds


def least_squares(train: foresolve.DecisionDataset, test: foresolve.DecisionDataset) -> torch.Tensor:
    columns = [torch.cat([data.features, torch.ones(len(data.features), 1)], -1).double() for data in (train, test)]
    return (columns[1] @ torch.linalg.lstsq(columns[0], train.theta.double()).solution).float()


def train(method: str, seed: int, saved: dict[str, np.ndarray]) -> dict[str, Any]:
    train, test, seconds = datasets(saved)
    record: dict[str, Any] = {"prepare_s": seconds}
    if method == "true mean":
        return record | {"regret": regret(torch.from_numpy(saved["mean"][TRAIN:]).float(), test)}
    if method == "least squares":
        return record | {"regret": regret(least_squares(train, test), test)}
    model = foresolve.MLP(train.features.shape[1], train.theta.shape[1], seed=seed)
    loss = LOSSES[method]()
    begin = time.perf_counter()
    train = loss.prepare(train)
    record["prepare_s"] = time.perf_counter() - begin
    history = foresolve.fit(model, loss, train, epochs=EPOCHS, batch_size=BATCH, lr=RATE, seed=seed, progress=False)
    with torch.no_grad():
        record["regret"] = regret(model(test.features), test)
    record["epoch_s"] = float(np.median(history.seconds))
    record["first_epoch_s"] = float(history.seconds[0])
    return record
