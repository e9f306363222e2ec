"""Budget allocation: predict whom each of 50 channels reaches, and train on the 5 channels that are chosen.

The objective is submodular, so it is not linear in the decision: only methods that need no linear objective apply.

    python examples/budget_allocation.py
"""

from __future__ import annotations

import torch
from tuning import rates, tune

import foresolve
from foresolve.data import budget_data

CHANNELS, CUSTOMERS, K = 50, 200, 5


def main() -> None:
    data = budget_data(200, channels=CHANNELS, customers=CUSTOMERS, features=20, k=K, seed=0)
    train, valid, test = data.split(60, 40, 100, seed=0)

    def model() -> torch.nn.Module:
        network = foresolve.MLP(20, CUSTOMERS, head="probability", seed=0)
        biases = [p for p in network.parameters() if p.ndim == 1]
        torch.nn.init.constant_(biases[-1], -4.0)  # small probabilities at first, as the true ones are
        return network

    def multilinear(factor: float) -> foresolve.Loss:
        return foresolve.DecisionLoss(foresolve.MultilinearRelaxation(foresolve.layers.RelativeGamma(factor)))

    methods = {
        "two-stage": rates("mean squared error", foresolve.MSE, 0.003, 0.01, 0.03, 0.1),
        "decision loss": rates("RelativeGamma(0.3)", lambda: multilinear(0.3), 0.01, 0.03)
        + rates("RelativeGamma(1)", lambda: multilinear(1.0), 0.01),
        "the paper's recipe": rates(
            "10 steps, cap, ridge", lambda: foresolve.DecisionLoss(foresolve.layers.WilderMultilinear()), 0.001, 0.01
        ),
        "score function": rates(
            "sigma 0.01",
            lambda: foresolve.losses.ScoreFunction(sigma=0.01, samples=10, bounds=(0.0, 1.0)),
            0.003,
            0.01,
        ),
    }
    print(tune(methods, model, train, valid, test, epochs=8, more_epochs={"two-stage": 80}, batch_size=15))


if __name__ == "__main__":
    main()
