"""What is compared: training on decisions from a two-stage start, and references that predict; all with defaults."""

from __future__ import annotations

import math
import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
import torch
from torch import nn

import foresolve
from benchmarks.defaults.settings import Setting
from foresolve import DecisionDataset, DecisionLoss, Loss, SPOPlus
from foresolve.errors import ForesolveWarning
from foresolve.layers import PerturbedAdditive
from foresolve.losses import MSE, CrossEntropy, FenchelYoung, why_not
from foresolve.models import ConstantMean, LinearRegression, NearestNeighbors, RandomForest

START, AGAIN, REFERENCES = "two-stage start", "its own loss again", "references"
DECISION, FENCHEL_YOUNG, SPO, PERTURBED = "DecisionLoss", "FenchelYoung", "SPO+", "FenchelYoung, perturbed"


def own_layer(data: DecisionDataset) -> Any:
    """The default layer of a problem."""
    linear = foresolve.QuadraticRelaxation()
    return foresolve.MultilinearRelaxation() if why_not(linear, data.problem) else linear


def prediction_loss(model: nn.Module) -> Loss:
    return CrossEntropy() if model.head == "probability" else MSE()  # type: ignore[union-attr]


def losses(data: DecisionDataset, model: nn.Module, slow: bool = False) -> dict[str, Callable[[], Loss]]:
    """By name, as far as they apply to the problem; where solving is slow, without those that solve ten times."""
    made: dict[str, Callable[[], Loss]] = {AGAIN: lambda: prediction_loss(model)}
    made[DECISION] = lambda: DecisionLoss(own_layer(data))
    for name, make in {
        FENCHEL_YOUNG: lambda: FenchelYoung(own_layer(data)),
        SPO: SPOPlus,
        PERTURBED: lambda: FenchelYoung(PerturbedAdditive()),
    }.items():
        try:
            if not why_not(make(), data.problem) and not (slow and name == PERTURBED):
                made[name] = make
        except foresolve.InvalidInputError:  # the layer has no such loss
            continue
    return made


def references(train: DecisionDataset) -> dict[str, Any]:
    """Baselines that predict, with what they choose for themselves."""
    made = {
        "mean": ConstantMean(),
        "ridge": LinearRegression("cv", bounds=_finite(train.problem.theta_bounds)),
        "nearest neighbors": NearestNeighbors("cv"),
        "forest": RandomForest(seed=0),
    }
    if bool((train.theta > 0).all()):
        made["ridge of logarithms"] = LinearRegression("cv", transform="log")
    return made


def _finite(bounds: tuple[float, float]) -> tuple[float | None, ...]:
    """As `LinearRegression` has them: `None` for none."""
    return tuple(bound if math.isfinite(bound) else None for bound in bounds)


def scored(model: Any, valid: DecisionDataset, test: DecisionDataset) -> dict[str, Any]:
    """Normalized regret on validation data, and what each test instance loses."""
    report = foresolve.evaluate(model, test, metrics=False, bootstrap=0)
    chosen_by = foresolve.evaluate(model, valid, metrics=False, bootstrap=0).normalized_regret
    columns = {name: np.round(report.instances[name], 6).tolist() for name in ("regret", "optimum")}
    return {"valid": chosen_by, **columns}


def units(setting: Setting) -> list[str]:
    """What can be worked out by itself: the start, each loss from there, and all references."""
    data = setting.data(1, 0)
    return [START, *losses(data, setting.model(data, 0), setting.slow), REFERENCES]


def study(setting: Setting, seed: int, unit: str) -> list[dict[str, Any]]:
    """A record for each method of a unit."""
    torch.set_num_threads(1)
    train, valid, test = setting.split(seed)
    records: list[dict[str, Any]] = []

    def add(name: str, model: Any, seconds: float, **more: Any) -> None:
        more |= {"setting": setting.name, "seed": seed, "method": name, "unit": unit, "seconds": round(seconds, 2)}
        records.append(more | scored(model, valid, test))

    def trained(model: nn.Module, loss: Loss) -> tuple[float, dict[str, Any]]:
        began = time.perf_counter()
        history = foresolve.fit(model, loss, train, valid, seed=seed, progress=False)
        more: dict[str, Any] = {"epochs": len(history), "best_epoch": history.best_epoch}
        for layer in loss.smoothed_layers:
            if layer.calibration is not None:
                more["gamma"] = [layer.calibration.first, layer.calibration.last]
        return time.perf_counter() - began, more

    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ForesolveWarning)  # "no epoch was better" is one of the results
        if unit == REFERENCES:
            for name, model in references(train).items():
                began = time.perf_counter()
                foresolve.fit(model, None, train)
                add(name, model, time.perf_counter() - began)
            network = setting.network(train, seed)
            seconds, more = trained(network, prediction_loss(network))
            add("network", network, seconds, **more)
            return records
        model = setting.model(train, seed)
        seconds, more = trained(model, prediction_loss(model))
        if unit != START:
            seconds, more = trained(model, losses(train, model, setting.slow)[unit]())
        add(unit, model, seconds, **more)
    return records
