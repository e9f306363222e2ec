"""Further domains, generated: shortest paths on grids, knapsacks, facility location."""

from __future__ import annotations

from functools import partial

import torch
from torch import nn

from foresolve._base.randomness import generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.facility_location import facility_location_data
from foresolve.data.generated.knapsack import knapsack_data
from foresolve.data.generated.shortest_path import shortest_path_data
from foresolve.layers.base import Layer
from foresolve.layers.gamma_rules import RelativeGamma
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.prediction import MSE
from foresolve.losses.spo import SPOPlus
from foresolve.models.forest import RandomForest
from foresolve.models.mlp import MLP
from foresolve.report.records import Config, DomainInfo
from foresolve.reproduce.domains.coverage import budgeted, random_sets
from foresolve.reproduce.domains.domain import Domain
from foresolve.reproduce.domains.methods import METHODS, YARDSTICKS, ForestMethod, Method, NetworkMethod, Setting

SITES = 30


def _info(name: str, title: str, story: str, rows: str, columns: str, ks: tuple[int, ...] = ()) -> DomainInfo:
    note = "Not in the paper: generated, to show the same methods on other problems."
    table2 = ks[0] if ks else None
    return DomainInfo(
        name, title, (story, note), ks, table2, ("mse",), rows, columns, ("NN1-2Stage", "NN1-Decision"), METHODS
    )


PATHS = _info(
    "shortest-path",
    "Shortest path",
    "The cheapest way from corner to corner of a 5 x 5 grid, whose arcs' costs are a polynomial of degree 4 in five "
    "features, times noise (Elmachtoub and Grigas 2022). Values are minus the cost.",
    "arcs",
    "",
)
KNAPSACKS = _info(
    "knapsack",
    "Knapsack",
    "Items of fixed weights under one capacity; what they are worth is a polynomial of five features, times noise.",
    "items",
    "",
)
FACILITIES = _info(
    "facility",
    "Facility location",
    "Of 30 sites k are opened, and each of 60 customers goes to the open one with the largest benefit; benefits are "
    "predicted from five features of each site.",
    "sites",
    "customers",
    (3, 5),
)


def _paths(config: Config) -> DecisionDataset:
    return shortest_path_data(200 if config.quick else 1000, seed=generator(config.seed, 0))


def _knapsacks(config: Config) -> DecisionDataset:
    source = generator(config.seed, 0)
    weights = torch.randint(300, 801, (1, 32), generator=source)  # whole numbers: solved by dynamic programming
    return knapsack_data(200 if config.quick else 1000, dimensions=1, weights=weights, seed=source)


def _facilities(config: Config) -> DecisionDataset:
    return facility_location_data(60 if config.quick else 300, sites=SITES, seed=generator(config.seed, 0))


def _model(layers: int, linear: bool):
    def make(data: DecisionDataset, source: torch.Generator, mean: float) -> nn.Module:
        hidden = (200,) * (layers - 1)
        inputs, outputs = data.features.shape[-1], data.theta.shape[-1]
        return MLP(inputs, outputs, hidden, "free" if linear else "non_negative", source, standardize=False)

    return make


def _methods(linear: bool):
    layer: type[Layer] = QuadraticRelaxation if linear else MultilinearRelaxation

    def methods(config: Config) -> dict[str, Method]:
        epochs = 15 if config.quick else 30
        fit = partial(NetworkMethod, layer=layer, epochs=epochs, batch_size=32, patience=5)
        rates, gammas = (3e-3, 1e-2), (0.3, 1.0) if linear else (3.0, 10.0)

        def through(setting: Setting) -> DecisionLoss:
            return DecisionLoss(layer(RelativeGamma(setting["gamma"])))

        table: dict[str, Method] = {}
        for n in (1, 2):
            settings = tuple({"lr": 1e-2 / n, "gamma": gamma} for gamma in gammas)
            table[f"NN{n}-Decision"] = fit(_model(n, linear), through, settings=settings)
        for n in (1, 2):
            settings = tuple({"lr": lr / n} for lr in rates)
            table[f"NN{n}-2Stage"] = fit(
                _model(n, linear), lambda setting: MSE(), settings=settings, epochs=4 * epochs, per_k=linear
            )
        table["RF-2Stage"] = ForestMethod(lambda data, seed: RandomForest(20 if config.quick else 100, seed=seed))
        if linear:
            settings = tuple({"lr": lr} for lr in rates)
            table["NN1-SPO+"] = fit(_model(1, True), lambda setting: SPOPlus(), settings=settings)
            table["NN1-FenchelYoung"] = fit(
                _model(1, True), lambda setting: FenchelYoung(QuadraticRelaxation()), settings=settings
            )
        return table | YARDSTICKS

    return methods


DOMAINS = (
    Domain(PATHS, _paths, _methods(linear=True)),
    Domain(KNAPSACKS, _knapsacks, _methods(linear=True)),
    Domain(FACILITIES, _facilities, _methods(linear=False), budgeted, random=random_sets, largest_k=SITES),
)
