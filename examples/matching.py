"""Matching 12 people on each side: predict what every pair is worth, and train on the pairs that are made.

A pair is worth how much the left one gives in general, how much the right one takes, and how close the two are. Only
the last term matters to a perfect matching, and the bilinear model is too small for all three.

    python examples/matching.py
"""

from __future__ import annotations

import torch
from tuning import rates, tune

import foresolve

SIDE, FEATURES = 12, 5


def generate(count: int, generator: torch.Generator) -> foresolve.DecisionDataset:
    left, right = (torch.randn(count, SIDE, FEATURES, generator=generator) for _ in range(2))
    gives, takes = (torch.randn(FEATURES, generator=generator) for _ in range(2))
    general = torch.sin(2 * left @ gives).unsqueeze(2) + torch.sin(2 * right @ takes).unsqueeze(1)
    close = torch.exp(-0.5 * (left[:, :, None, :2] - right[:, None, :, :2]).square().sum(-1))
    theta = 2 + general + close + 0.1 * torch.randn(count, SIDE, SIDE, generator=generator)
    return foresolve.DecisionDataset((left, right), theta.flatten(1), foresolve.BipartiteMatching(SIDE, SIDE))


def main() -> None:
    train, valid, test = generate(300, torch.Generator().manual_seed(0)).split(150, 50, 100, seed=0)

    def model() -> torch.nn.Module:
        return foresolve.models.BilinearPairs(FEATURES, FEATURES, 4, head="free", seed=0)

    def quadratic(factor: float) -> foresolve.Loss:
        return foresolve.DecisionLoss(foresolve.QuadraticRelaxation(foresolve.layers.RelativeGamma(factor)))

    methods = {
        "two-stage": rates("mean squared error", foresolve.MSE, 0.01, 0.03, 0.1),
        "decision loss": rates("RelativeGamma(0.3)", lambda: quadratic(0.3), 0.01, 0.03)
        + rates("RelativeGamma(1)", lambda: quadratic(1.0), 0.01),
        "SPO+": rates("SPO+", foresolve.SPOPlus, 0.01, 0.03),
        "perturbed Fenchel-Young": rates(
            "sigma 0.3", lambda: foresolve.losses.FenchelYoung(foresolve.layers.PerturbedAdditive(10, 0.3)), 0.01, 0.03
        ),
        "identity": rates(
            "identity with projection",
            lambda: foresolve.DecisionLoss(foresolve.layers.IdentityProjection()),
            0.01,
            0.03,
        ),
    }
    print(tune(methods, model, train, valid, test, epochs=10, more_epochs={"two-stage": 60}))


if __name__ == "__main__":
    main()
