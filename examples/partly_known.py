"""Knapsacks with part of the values known: contracts are signed, spot values are predicted.

Of 24 items, 12 have a value that stands in a contract, another one in each instance; the others are worth what a
polynomial of the features says, times noise. `Affine.part` puts both together, so that a model predicts 12 numbers and
each instance has its own known ones. Beside it: a model that has to predict all 24, as one does where a library has no
place for what is known, and one that finds the contracts among its features. Weights are whole numbers, so that
dynamic programming decides.

    python examples/partly_known.py [--seed 0]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import torch
from torch import Tensor
from tuning import Model, choose, rates, trained

import foresolve
from foresolve.data import DecisionDataset, knapsack_data

ITEMS, KNOWN, COUNT = 24, 12, 1100


def least_squares(train: DecisionDataset) -> torch.nn.Module:
    """The linear model of the smallest squared error, as a module that training can start from."""
    fitted = foresolve.models.LinearRegression()
    foresolve.fit(fitted, None, train)
    model = torch.nn.Linear(train.features.shape[1], train.theta.shape[1])
    model.load_state_dict({"weight": fitted.weight.T, "bias": fitted.offset})
    return model


def compared(name: str, data: DecisionDataset) -> dict[str, foresolve.learning.Report]:
    """Least squares and SPO+, both on the same instances."""
    train, valid, test = data.solve().split(400, 200, 500, seed=0)

    def regret(model: Model) -> float:
        return foresolve.evaluate(model, valid, metrics=False, bootstrap=0).normalized_regret

    start = least_squares(train)
    candidates = rates("SPO+", foresolve.SPOPlus, 0.01, 0.03, 0.1)
    tuned = choose(f"{name}, SPO+", trained(start, candidates, train, valid, epochs=30), regret)
    models: dict[str, Callable] = {"two-stage": start, "SPO+": tuned}
    return {f"{name}, {method}": foresolve.evaluate(model, test, metrics=False) for method, model in models.items()}


def products(features: Tensor) -> Tensor:
    """With all products of two: what a linear model of them can say is a parabola."""
    first, second = torch.triu_indices(features.shape[1], features.shape[1])
    return torch.cat([features, features[:, first] * features[:, second]], -1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    seed = parser.parse_args().seed
    weights = torch.randint(3, 9, (1, ITEMS), generator=torch.Generator().manual_seed(seed))
    options = {"items": ITEMS, "dimensions": 1, "weights": weights, "seed": seed}
    part, whole = knapsack_data(COUNT, known=KNOWN, **options), knapsack_data(COUNT, **options)
    contracts = whole.theta[:, ITEMS - KNOWN :]
    tables = {
        "linear": whole.features,
        "linear, contracts seen": torch.cat([whole.features, contracts], -1),
        "parabola": products(whole.features),
    }
    reports = {}
    for table, features in tables.items():
        for what, data in {"part predicted": part, "all predicted": whole}.items():
            reports |= compared(f"{what}, {table}", data.with_features(features))
    print(foresolve.compare(reports, reference="part predicted, parabola, two-stage"))


if __name__ == "__main__":
    main()
