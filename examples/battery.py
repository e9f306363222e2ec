"""A battery on the day-ahead market: 24 predicted prices, 72 columns of the plan.

Each price is paid for what is charged and earned for what is discharged, and the state of charge earns nothing: the
coefficients of 72 columns are tied to 24 parameters, and wear is known. Prices are generated (`price_data`), realistic
in their profile, spikes and negative hours, but not those of any market; days are split by time. Settings and epochs
are chosen by the regret on days of validation, for every method. Those on decisions (marked ">") start from the best
two-stage model; for fairness its own loss does too.

    python examples/battery.py [--seed 0]
"""

from __future__ import annotations

import argparse
from collections.abc import Callable

import numpy as np
import torch
from torch import Tensor, nn
from tuning import Model, by_weeks, choose, rates, trained

import foresolve
from foresolve.data import DecisionDataset, price_data
from foresolve.layers import PerturbedAdditive, RelativeGamma
from foresolve.losses import FenchelYoung, PredictionLoss
from foresolve.models import Baseline, ConstantMean, LinearRegression, RandomForest
from foresolve.problems import Affine

HOURS = 24
POWER, ENERGY, START = 1.0, 4.0, 2.0  # MW, MWh, MWh at midnight
EFFICIENCY, WEAR = 0.93, 2.0  # each way; $ for a MWh discharged
SCALE = 20.0  # $/MWh: below it prices count about as they are, above by their logarithm


def battery() -> foresolve.LinearProgram:
    """Charge, discharge and state of charge of every hour; at midnight it is as full as it was."""
    hours = np.arange(HOURS)
    charge, discharge, state = hours, HOURS + hours, 2 * HOURS + hours
    balance = np.zeros((HOURS, 3 * HOURS))  # state before + charged - discharged - state after = 0
    balance[hours, charge], balance[hours, discharge], balance[hours, state] = EFFICIENCY, -1 / EFFICIENCY, -1.0
    balance[hours[1:], state[:-1]] = 1.0
    rest = np.where(hours == 0, -START, 0.0)
    lower, upper = np.zeros(3 * HOURS), np.repeat([POWER, POWER, ENERGY], HOURS)
    lower[-1] = upper[-1] = START
    names = [f"{what} {hour:02}:00" for what in ("charge", "discharge", "state") for hour in hours]
    plan = foresolve.LinearProgram(A_eq=balance, b_eq=rest, bounds=(lower, upper), names=names)
    which, sign = np.concatenate([hours, hours, np.full(HOURS, -1)]), np.repeat([-1.0, 1.0, 0.0], HOURS)
    sold = Affine.tied(which, sign, known=np.repeat([0.0, -WEAR, 0.0], HOURS))
    return plan.parametrized(sold, names=[f"price {hour:02}:00" for hour in hours])


def transformed(prices: Tensor) -> Tensor:
    """A logarithm that takes prices of any sign."""
    return torch.asinh(prices / SCALE)


class Forecast(nn.Module):
    """Prices whose transforms are linear in the features, past prices transformed as well."""

    mean: Tensor
    spread: Tensor

    def __init__(self, train: DecisionDataset) -> None:
        super().__init__()
        rows = self.table(train.features).flatten(0, -2)
        self.register_buffer("mean", rows.mean(0))
        self.register_buffer("spread", rows.std(0).clamp_min(1e-6))
        self.net = self.make(rows.shape[1])

    def make(self, width: int) -> nn.Module:
        return nn.Linear(width, HOURS)

    def table(self, features: Tensor) -> Tensor:
        return torch.cat([transformed(features[:, : 2 * HOURS]), features[:, 2 * HOURS :]], -1)

    def inputs(self, features: Tensor) -> Tensor:
        return (self.table(features) - self.mean) / self.spread

    def forward(self, features: Tensor) -> Tensor:
        return SCALE * torch.sinh(self.net(self.inputs(features)).clamp(-5.0, 5.0))


class HourlyForecast(Forecast):
    """One network for all hours, which sees the hour, what the day is like, and which hour it is."""

    def make(self, width: int) -> nn.Module:
        return foresolve.MLP(width, None, hidden=(64, 64), seed=0)

    def table(self, features: Tensor) -> Tensor:
        past = transformed(features[:, : 2 * HOURS]).unflatten(1, (2, HOURS)).mT
        forecasts = features[:, 2 * HOURS : 5 * HOURS].unflatten(1, (3, HOURS)).mT
        load, wind, sun = forecasts.split(1, -1)
        hour = torch.cat([past, forecasts, load - wind - sun], -1)
        day = torch.cat([hour.mean(1), hour.amax(1), hour.amin(1), features[:, 5 * HOURS :]], -1)
        which = torch.eye(HOURS).expand(len(features), -1, -1)
        return torch.cat([hour, day.unsqueeze(1).expand(-1, HOURS, -1), which], -1)


def ridge(train: DecisionDataset, penalty: float) -> Forecast:
    """Least squares of transformed prices, as a module that training can start from."""
    model, targets = Forecast(train), transformed(train.theta.double())
    rows = model.inputs(train.features).double()
    matrix = rows.T @ rows + penalty * torch.eye(rows.shape[1], dtype=torch.float64)
    weights = torch.linalg.solve(matrix, rows.T @ (targets - targets.mean(0)))
    model.net.load_state_dict({"weight": weights.T, "bias": targets.mean(0)})
    return model


def show_noise(problem: foresolve.LinearProgram, prices: Tensor) -> None:
    """What decisions lose to the same noise on 24 prices, and on 72 columns as if each had a price of its own."""
    gains = problem.gain(prices)
    best = problem.objective(problem.argmax(gains), prices).mean()
    for sigma in (3.0, 10.0):
        for what, like in (("24 prices", prices), ("72 columns", gains)):
            noise = sigma * torch.randn(8, *like.shape, generator=torch.Generator().manual_seed(0))
            x = problem.argmax(problem.gain(prices + noise) if like is prices else gains + noise)
            both = torch.minimum(x[..., :HOURS], x[..., HOURS : 2 * HOURS]).sum(-1).mean()
            lost = 1 - problem.objective(x, prices).mean() / best
            print(f"noise of {sigma:g} $ on {what}: {lost:.1%} lost, {both:.2f} MWh a day in and out at once")


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--seed", type=int, default=0)
    problem = battery()
    data = price_data(1095 + 364 + 364, problem=problem, seed=parser.parse_args().seed)
    train, valid, test = data.solve().split(1095, 364, 364, shuffle=False)
    show_noise(problem, test.theta[:64])

    def regret(model: Model) -> float:
        return foresolve.evaluate(model, valid, metrics=False, bootstrap=0).normalized_regret

    def baseline(setting: str, model: Baseline) -> tuple[str, Model]:
        foresolve.fit(model, None, train)
        return setting, model

    def quadratic(gamma: RelativeGamma | None) -> Callable[[], foresolve.Loss]:
        return lambda: foresolve.DecisionLoss(foresolve.QuadraticRelaxation(gamma))

    def perturbed(sigma: float) -> Callable[[], foresolve.Loss]:
        return lambda: FenchelYoung(PerturbedAdditive(samples=4, sigma=sigma))

    squares = PredictionLoss(lambda a, b: (transformed(a) - transformed(b)).square())
    own = [
        *rates("squares of transforms", lambda: squares, 1e-3, 3e-3),
        *rates("absolute errors", lambda: PredictionLoss(nn.L1Loss(reduction="none")), 1e-3, 3e-3),
    ]
    models = {
        "yesterday's prices": lambda features: features[:, :HOURS],
        "mean of each hour": baseline("", ConstantMean())[1],
        "ridge of prices": choose(
            "ridge of prices", [baseline(f"{p:g}", LinearRegression(p)) for p in (1e4, 1e5, 1e6, 1e7)], regret
        ),
        "random forest": baseline("", RandomForest(seed=0))[1],
        "ridge of transforms": choose(
            "ridge of transforms", [(f"{p:g}", ridge(train, p)) for p in (10.0, 30.0, 100.0, 300.0)], regret
        ),
        "network": choose("network", trained(HourlyForecast(train), own, train, valid, epochs=60), regret),
    }
    start = min((models["ridge of transforms"], models["network"]), key=regret)
    losses = {
        "its own loss": [(setting, make, lr / 10) for setting, make, lr in own],
        "SPO+": rates("SPO+", foresolve.SPOPlus, 1e-5, 1e-4, 1e-3),
        "perturbed Fenchel-Young": rates("sigma 2", perturbed(2.0), 1e-4, 1e-3)
        + rates("sigma 5", perturbed(5.0), 1e-3),
        "decision loss, RelativeGamma(0.01)": rates("decision loss", quadratic(RelativeGamma(0.01)), 1e-5, 1e-4),
        "decision loss, default gamma": rates("decision loss", quadratic(None), 1e-5, 1e-4),
    }
    for name, candidates in losses.items():
        models[f"> {name}"] = choose(f"> {name}", trained(start, candidates, train, valid, epochs=10), regret)
    reports = {name: foresolve.evaluate(model, test, metrics=False, bootstrap=0) for name, model in models.items()}
    print(f"\n{len(test)} test days; the best plans are worth {reports['network'].optimum:.2f} $ a day")
    print(by_weeks(reports, "> its own loss", "$ a day"))


if __name__ == "__main__":
    main()
