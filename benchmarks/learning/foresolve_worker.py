"""Train one method of foresolve on saved instances: `python foresolve_worker.py METHOD SEED CASE.npz`; prints JSON."""

from __future__ import annotations

import json
import sys
import time
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from catalogue import BATCH, EPOCHS, GRID, RATE, TRAIN

import foresolve
from foresolve import DecisionLoss, FenchelYoung

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


def main(method: str, seed: int, path: str) -> None:
    saved = np.load(path)
    problem = foresolve.ShortestPath.grid(*GRID)
    assert np.array_equal(np.array(problem.arcs), saved["arcs"])
    features, theta = (torch.from_numpy(saved[name]).float() for name in ("features", "costs"))
    everything = foresolve.DecisionDataset(features, theta, problem)
    begin = time.perf_counter()
    everything.solve(progress=False)
    prepared = time.perf_counter() - begin
    train, test = (
        foresolve.DecisionDataset(features[part], theta[part], problem, decisions=everything.decisions[part])
        for part in (slice(None, TRAIN), slice(TRAIN, None))
    )
    found: dict[str, Any] = {"package": "foresolve", "method": method, "seed": seed, "prepare_s": prepared}
    if method == "true mean":
        found["regret"] = regret(torch.from_numpy(saved["mean"][TRAIN:]).float(), test)
    elif method == "least squares":
        columns = torch.cat([features, torch.ones(len(features), 1)], -1).double()
        weights = torch.linalg.lstsq(columns[:TRAIN], theta[:TRAIN].double()).solution
        found["regret"] = regret((columns[TRAIN:] @ weights).float(), test)
    else:
        model = foresolve.MLP(features.shape[1], theta.shape[1], seed=seed)
        loss = LOSSES[method]()
        if method.startswith("LODL"):
            begin = time.perf_counter()
            loss.prepare(train)
            found["fit_to_s"] = time.perf_counter() - begin
        history = foresolve.fit(model, loss, train, epochs=EPOCHS, batch_size=BATCH, lr=RATE, seed=seed, progress=False)
        with torch.no_grad():
            found["regret"] = regret(model(test.features), test)
        found["epoch_s"] = float(np.median(history.seconds))
        found["first_epoch_s"] = float(history.seconds[0])
    print(json.dumps(found))


if __name__ == "__main__":
    main(sys.argv[1], int(sys.argv[2]), sys.argv[3])
