"""Power plants that are scheduled the day before: 24 predicted loads are the right-hand sides of the plan.

Plants have capacities, costs and ramps; what they deliver, plus shortage, less surplus, is the load. The plan is made
for the predicted load. Under the true one generation stays as planned, and what is missing is bought at once, dearly,
what is too much is worth nothing: `repair`, the same function in training and in `evaluate`. A forecast should then
lie above the mean; how far, depends on which plant is the last one running. Loads are generated (`load_data`); days are
split by time, settings are chosen by the regret on days of validation, for every method.

    python examples/generators.py [--seed 0]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable, Iterator, Sequence
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from tuning import Candidate, Model, by_weeks, choose, rates, trained

import foresolve
from foresolve.data import DecisionDataset, load_data
from foresolve.losses import PredictionLoss
from foresolve.problems import Affine

HOURS = 24
CAPACITY = np.array([350.0, 450.0, 500.0, 500.0])  # MW: base load, coal, gas, peak
COST = np.array([12.0, 30.0, 48.0, 85.0])  # $/MWh
RAMP = {0: 30.0, 1: 80.0}  # MW an hour; the others are quick enough
SHORTAGE = 250.0  # $/MWh, bought within the day; surplus is spilled
PLANTS = len(CAPACITY)


def plants() -> foresolve.LinearProgram:
    """Generation of each plant and hour, then shortage and surplus of each hour; `theta` is the load."""
    hours, n = np.arange(HOURS), (PLANTS + 2) * HOURS
    signs = np.concatenate([np.ones(PLANTS + 1), [-1.0]])
    supply = np.kron(signs, np.eye(HOURS))
    steps = np.zeros((2 * len(RAMP) * (HOURS - 1), n))
    for row, (plant, direction, hour) in enumerate(
        (plant, direction, hour) for plant in RAMP for direction in (1.0, -1.0) for hour in hours[1:]
    ):
        steps[row, plant * HOURS + hour], steps[row, plant * HOURS + hour - 1] = direction, -direction
    limits = np.repeat(list(RAMP.values()), 2 * (HOURS - 1))
    upper = np.concatenate([np.repeat(CAPACITY, HOURS), np.full(2 * HOURS, np.inf)])
    plan = foresolve.LinearProgram(
        A_ub=steps, b_ub=limits, A_eq=supply, b_eq=np.zeros(HOURS), bounds=(0.0, upper), sense="min"
    )
    costs = np.concatenate([np.repeat(COST, HOURS), np.full(HOURS, SHORTAGE), np.zeros(HOURS)])
    return plan.parametrized(costs, b_eq=Affine(np.eye(HOURS)), names=[f"load {hour:02}:00" for hour in hours])


def repair(x: Tensor, problem: Any) -> Tensor:
    """Generation as planned; shortage and surplus are what the load of `problem` makes of it."""
    generation = x[..., : PLANTS * HOURS]
    gap = problem.b_eq.to(x) - generation.unflatten(-1, (PLANTS, HOURS)).sum(-2)
    return torch.cat([generation, gap.clamp_min(0.0), (-gap).clamp_min(0.0)], -1)


class Forecast(nn.Module):
    """Loads from features and forecast degrees of heating and cooling: linear, or with a network beside."""

    mean: Tensor
    spread: Tensor
    level: Tensor
    scale: Tensor

    def __init__(self, train: DecisionDataset, hidden: int = 0) -> None:
        super().__init__()
        rows = self.table(train.features)
        for name, value in {"mean": rows.mean(0), "spread": rows.std(0).clamp_min(1e-6), "level": train.theta.mean(0),
                            "scale": train.theta.std()}.items():  # fmt: skip
            self.register_buffer(name, value)
        self.linear = nn.Linear(rows.shape[1], HOURS)
        self.net = foresolve.MLP(rows.shape[1], HOURS, hidden=(hidden,), seed=0) if hidden else None

    def table(self, features: Tensor) -> Tensor:
        temperature = features[:, 2 * HOURS : 3 * HOURS]
        return torch.cat([features, (15.0 - temperature).clamp_min(0), (temperature - 21.0).clamp_min(0)], -1)

    def inputs(self, features: Tensor) -> Tensor:
        return (self.table(features) - self.mean) / self.spread

    def forward(self, features: Tensor) -> Tensor:
        rows = self.inputs(features)
        return self.level + self.scale * (self.linear(rows) + (0.0 if self.net is None else self.net(rows)))


def least_squares(train: DecisionDataset, penalty: float, hidden: int = 0) -> Forecast:
    model = Forecast(train, hidden)
    rows, targets = model.inputs(train.features).double(), ((train.theta - model.level) / model.scale).double()
    matrix = rows.T @ rows + penalty * torch.eye(rows.shape[1], dtype=torch.float64)
    weights = torch.linalg.solve(matrix, rows.T @ targets)
    model.linear.load_state_dict({"weight": weights.T, "bias": torch.zeros(HOURS)})
    if model.net is not None:
        for parameter in model.net.layers[-1].parameters():  # it starts as the linear model
            nn.init.zeros_(parameter)
    return model


def pinball(quantile: float) -> Callable[[], foresolve.Loss]:
    def loss(theta_hat: Tensor, theta: Tensor) -> Tensor:
        return torch.maximum(quantile * (theta - theta_hat), (1 - quantile) * (theta_hat - theta))

    return lambda: PredictionLoss(loss)


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    data = load_data(1095 + 364 + 364, problem=plants(), seed=parser.parse_args().seed)
    train, valid, test = data.solve().split(1095, 364, 364, shuffle=False)

    def regret(model: Model) -> float:
        return foresolve.evaluate(model, valid, repair=repair, metrics=False, bootstrap=0).normalized_regret

    def on_from(start: nn.Module, candidates: Sequence[Candidate], epochs: int) -> Iterator[tuple[str, nn.Module]]:
        # Every method chooses its epoch by its own loss, which takes no time; what comes out is chosen by the regret.
        return trained(start, candidates, train, valid, epochs=epochs, monitor="loss")

    def decision(layer: Callable[[], foresolve.Layer]) -> Callable[[], foresolve.Loss]:
        return lambda: foresolve.DecisionLoss(layer(), repair=repair)

    def quadratic() -> foresolve.Layer:
        return foresolve.QuadraticRelaxation(gamma=0.01)  # the next MW of a plant at x MW is dearer by 0.02 x $/MWh

    def perturbed() -> foresolve.Layer:
        return foresolve.layers.PerturbedAdditive(samples=4, sigma=15.0)  # MW

    penalties = [(f"penalty {p:g}", least_squares(train, p)) for p in (1.0, 10.0, 100.0)]
    squares = choose("least squares", penalties, regret)
    network = least_squares(train, 10.0, hidden=32)
    quantiles = [candidate for q in (0.7, 0.8, 0.85) for candidate in rates(f"quantile {q}", pinball(q), 1e-3)]
    predictors = {
        "least squares": squares,
        "network, squares": choose(
            "network, squares", on_from(network, rates("squares", foresolve.MSE, 1e-3, 3e-4), 40), regret
        ),
        "linear, quantile": choose("linear, quantile", on_from(squares, quantiles, 40), regret),
        "network, quantile": choose("network, quantile", on_from(network, quantiles, 40), regret),
    }
    name, start = min(predictors.items(), key=lambda entry: regret(entry[1]))
    models: dict[str, Model] = {"yesterday's loads": lambda features: features[:, :HOURS], **predictors}
    runs = {
        "least squares > decision loss": (squares, rates("relaxation", decision(quadratic), 1e-3), 10),
        f"{name} > its own loss": (start, [(s, make, 1e-4) for s, make, _ in quantiles], 10),
        f"{name} > decision loss": (start, rates("relaxation", decision(quadratic), 3e-5, 1e-4), 6),
        f"{name} > decision loss, perturbed": (start, rates("perturbed", decision(perturbed), 1e-4), 3),
    }
    for title, (first, candidates, epochs) in runs.items():
        models[title] = choose(title, on_from(first, candidates, epochs), regret)
    reports = {
        title: foresolve.evaluate(model, test, repair=repair, metrics=False, bootstrap=0)
        for title, model in models.items()
    }
    best = next(iter(reports.values())).optimum
    print(f"\n{len(test)} test days; the best plans cost {-best:,.0f} $ a day")
    print(by_weeks(reports, f"{name} > its own loss", "$ a day", form=",.0f"))


if __name__ == "__main__":
    main()
