"""0/1 knapsacks with two constraints: predict what the items are worth, and train on what is packed.

Values depend on five features by a polynomial of degree 4, the model is linear; decisions are exact, by HiGHS.

    python examples/knapsack.py
"""

from __future__ import annotations

import torch
from tuning import rates, tune

import foresolve
from foresolve.data import knapsack_data


def main() -> None:
    data = knapsack_data(220, items=10, dimensions=2, seed=0)
    train, valid, test = data.solve().split(80, 40, 100, seed=0)

    def model() -> torch.nn.Module:
        return foresolve.MLP(5, 10, seed=0)

    def quadratic(factor: float) -> foresolve.Loss:
        return foresolve.DecisionLoss(foresolve.QuadraticRelaxation(foresolve.layers.RelativeGamma(factor)))

    def listwise() -> foresolve.Loss:
        return foresolve.losses.ListwiseRanking(foresolve.losses.SolutionPool(solve_ratio=0.1))

    methods = {
        "two-stage": rates("mean squared error", foresolve.MSE, 0.03, 0.1, 0.3),
        "decision loss": rates("RelativeGamma(0.3)", lambda: quadratic(0.3), 0.1, 0.3)
        + rates("RelativeGamma(1)", lambda: quadratic(1.0), 0.1),
        "SPO+": rates("SPO+", foresolve.SPOPlus, 0.1, 0.3),
        "listwise ranking": rates("a tenth of the batches solved", listwise, 0.1, 0.3),
        "CaVE": rates("CaVE", foresolve.losses.CaVE, 0.1, 0.3),
    }
    print(tune(methods, model, train, valid, test, epochs=8, more_epochs={"two-stage": 40}))


if __name__ == "__main__":
    main()
