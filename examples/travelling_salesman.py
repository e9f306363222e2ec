"""Travelling salesman: predict the distances between 20 cities, and train on the tours they lead to.

Distances depend on ten features by a polynomial of degree 4, so no linear model is right, and the question is where it
errs. The learning rate of each method, and the penalty of least squares, are chosen on validation data by the regret of
the decisions; other settings (samples, sigma, step, epochs) are fixed. All but the first start from the least-squares
model. The tours are exact, by branch and cut on HiGHS: no license is needed.

    python examples/travelling_salesman.py
"""

from __future__ import annotations

import copy
import time
from collections.abc import Callable
from typing import Any

import torch

import foresolve
from foresolve.data import travelling_salesman_data

EPOCHS, BATCH = 4, 25


def least_squares(train: foresolve.DecisionDataset, decay: float) -> torch.nn.Linear:
    """The linear model of the smallest squared error, with a penalty on its weights."""
    model = torch.nn.Linear(train.features.shape[1], train.theta.shape[1])
    features, theta = train.features - train.features.mean(0), train.theta - train.theta.mean(0)
    matrix = features.T @ features + decay * torch.eye(features.shape[1])
    with torch.no_grad():
        model.weight.copy_(torch.cholesky_solve(features.T @ theta, torch.linalg.cholesky(matrix)).T)
        model.bias.copy_(train.theta.mean(0) - model.weight @ train.features.mean(0))
    return model


def main() -> None:
    data = travelling_salesman_data(260, cities=20, seed=0)
    train, valid, test = data.solve().split(100, 60, 100, seed=0)

    def score(model: Any, part: foresolve.DecisionDataset) -> foresolve.learning.Report:
        return foresolve.evaluate(model, part, metrics=False)

    def regret(model: torch.nn.Module) -> float:
        return score(model, valid).normalized_regret

    start = min((least_squares(train, decay) for decay in (0.0, 10.0, 100.0)), key=regret)
    reports = {"least squares": score(start, test)}
    losses: dict[str, Callable[[], foresolve.Loss]] = {
        "SPO+": foresolve.SPOPlus,
        "perturbation gradient": lambda: foresolve.losses.PerturbationGradient(step=1.0),
        "perturbed Fenchel-Young": lambda: foresolve.losses.FenchelYoung(
            foresolve.layers.PerturbedAdditive(samples=2, sigma=1.0)
        ),
        "decision loss, identity": lambda: foresolve.DecisionLoss(foresolve.layers.IdentityProjection()),
    }
    for name, make in losses.items():
        began, tried = time.perf_counter(), {}
        for lr in (0.01, 0.03):
            model = copy.deepcopy(start)
            foresolve.fit(model, make(), train, epochs=EPOCHS, batch_size=BATCH, lr=lr)
            tried[lr] = model
        lr = min(tried, key=lambda lr: regret(tried[lr]))
        reports[name] = score(tried[lr], test)
        print(f"{name}: learning rate {lr}, {time.perf_counter() - began:.1f} s")
    reports["the true mean distances"] = score(data.rule.expected, test)
    print(foresolve.compare(reports))


if __name__ == "__main__":
    main()
