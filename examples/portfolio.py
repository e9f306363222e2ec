"""Portfolios of 20 assets: predict their returns, or their returns and the covariance, and train on what is held.

Returns and volatilities depend on five features (`portfolio_data`). A covariance is predicted as a factor model,
specific variances and loadings, so that it is positive whatever comes out; the portfolio is a quadratic program, and
the layer is the program itself: `gamma` is 0. Models of returns alone take the mean covariance of the training data.
Those on decisions (marked ">") start from the two-stage model; settings and epochs are chosen on validation data for
all. So is the reference, the best two-stage model; more epochs do not make the two-stage models better.

    python examples/portfolio.py [--seed 0]
"""

from __future__ import annotations

import argparse

import torch
from torch import Tensor
from torch.nn import functional
from tuning import Model, choose, rates, trained

import foresolve
from foresolve.data import DecisionDataset, portfolio_data
from foresolve.losses import PredictionLoss
from foresolve.models import ConstantMean

ASSETS, FACTORS, FEATURES, HIDDEN = 20, 2, 5, 32
# Whether risk is predicted too, and whether by a network with a hidden layer; linear models otherwise.
MODELS = {"returns": (False, False), "returns and risk": (True, False), "network": (True, True)}


class Market(torch.nn.Module):
    """Returns, specific variances and loadings in a row, each around its mean in training; variances are positive."""

    mean: Tensor
    spread: Tensor

    def __init__(self, train: DecisionDataset, risk: bool, hidden: bool) -> None:
        super().__init__()
        self.risk = risk
        self.register_buffer("mean", train.theta.mean(0))
        self.register_buffer("spread", train.theta.std(0))
        last = torch.nn.Linear(HIDDEN if hidden else FEATURES, len(self.mean) if risk else ASSETS)
        torch.nn.init.zeros_(last.weight)
        torch.nn.init.zeros_(last.bias)
        first = (torch.nn.Linear(FEATURES, HIDDEN), torch.nn.ReLU()) if hidden else ()
        self.net = torch.nn.Sequential(*first, last)

    def forward(self, features: Tensor) -> Tensor:
        moves = self.net(features)
        theta = self.mean + self.spread * functional.pad(moves, (0, len(self.mean) - moves.shape[1]))
        if not self.risk:
            return theta  # what is not predicted stays at its mean
        variances = self.mean[ASSETS : 2 * ASSETS] * moves[:, ASSETS : 2 * ASSETS].exp()
        return torch.cat([theta[:, :ASSETS], variances, theta[:, 2 * ASSETS :]], -1)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    data = portfolio_data(
        700, assets=ASSETS, factors=FACTORS, features=FEATURES, degree=16, loading=0.01, predict="both",
        seed=parser.parse_args().seed,
    )  # fmt: skip
    torch.manual_seed(0)
    train, valid, test = data.solve().split(300, 100, 300, seed=0)
    spread = train.theta.std(0)
    squares = PredictionLoss(lambda a, b: ((a - b) / spread).square())  # of size 1, whatever the unit

    def regret(model: Model) -> float:
        return foresolve.evaluate(model, valid, metrics=False, bootstrap=0).normalized_regret

    def decisions() -> foresolve.Loss:
        return foresolve.DecisionLoss(foresolve.QuadraticRelaxation(gamma=0.0))

    models: dict[str, Model] = {"means": ConstantMean().fit(train)}
    for name, (risk, hidden) in MODELS.items():
        two_stage = rates("squares", lambda: squares, 0.003, 0.01, 0.03)
        start = Market(train, risk, hidden)
        start = choose(name, trained(start, two_stage, train, valid, epochs=15, batch_size=10), regret)
        further = rates("decision loss", decisions, 0.003, 0.01, 0.03)
        models[name] = start
        models[f"{name} >"] = choose(
            f"{name} >", trained(start, further, train, valid, epochs=8, batch_size=10), regret
        )
    best = min(MODELS, key=lambda name: regret(models[name]))
    models["the rule behind the data"] = lambda features: test.rule.equivalent(features).to(features)
    reports = {name: foresolve.evaluate(model, test, metrics=False) for name, model in models.items()}
    print(foresolve.compare(reports, reference=best))


if __name__ == "__main__":
    main()
