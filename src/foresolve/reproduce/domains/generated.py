"""Further domains, generated: shortest paths on grids, knapsacks, facility location."""

from __future__ import annotations

from functools import partial

import torch
from torch import Tensor, nn

from foresolve._base.randomness import generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.facility_location import facility_location_data
from foresolve.data.generated.knapsack import knapsack_data
from foresolve.data.generated.shortest_path import shortest_path_data
from foresolve.layers.base import Layer
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.layers.smoothing import RelativeGamma
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.fenchel_young import FenchelYoung
from foresolve.losses.prediction import MSE
from foresolve.losses.spo import SPOPlus
from foresolve.models.forest import RandomForest
from foresolve.models.mlp import MLP
from foresolve.problems.base import Problem
from foresolve.problems.linear import LinearProgram
from foresolve.report.records import Config, DomainInfo
from foresolve.reproduce.domains.coverage import random_sets
from foresolve.reproduce.domains.domain import Domain
from foresolve.reproduce.domains.methods import Best, Chance, Forest, Instances, Method, Network, Setting


def _info(name: str, title: str, story: str, rows: str, columns: str, ks: tuple[int, ...] = ()) -> DomainInfo:
    note = "Not in the paper: generated, to show the same methods on other problems."
    table2 = ks[0] if ks else None
    return DomainInfo(
        name, title, (story, note), ks, table2, ("mse",), rows, columns, ("NN1-2Stage", "NN1-Decision"), ()
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


def _by_solving(problem: Problem, count: int, source: torch.Generator) -> Tensor:
    """The best decision for parameters that are noise."""
    assert isinstance(problem, LinearProgram)
    return problem.solve(torch.rand(count, problem.n, generator=source))


def _from(data: DecisionDataset) -> Instances:
    return Instances(data.features.float(), data.theta.float(), {None: data.problem}, _by_solving)


def _paths(config: Config) -> Instances:
    count = 200 if config.quick else 1000
    data, _ = shortest_path_data(count, generator=generator(config.seed, 0))
    return _from(data)


def _knapsacks(config: Config) -> Instances:
    count = 200 if config.quick else 1000
    source = generator(config.seed, 0)
    weights = torch.randint(300, 801, (1, 32), generator=source)  # whole numbers: solved by dynamic programming
    return _from(knapsack_data(count, dimensions=1, weights=weights, generator=source)[0])


def _facilities(config: Config) -> Instances:
    count = 60 if config.quick else 300
    made = {k: facility_location_data(count, k=k, generator=generator(config.seed, 0))[0] for k in config.ks}
    first = next(iter(made.values()))
    features, theta = first.features.float(), first.theta.float()
    return Instances(
        features, theta, {k: d.problem for k, d in made.items()}, random_sets, (theta.shape[1], theta.shape[2])
    )


def _model(layers: int, linear: bool):
    def make(data: Instances, source: torch.Generator, mean: float) -> nn.Module:
        hidden = (200,) * (layers - 1)
        inputs, outputs = data.features.shape[-1], data.theta.shape[-1]
        return MLP(inputs, outputs, hidden, "free" if linear else "non_negative", source)

    return make


def _methods(linear: bool):
    layer: type[Layer] = QuadraticRelaxation if linear else MultilinearRelaxation

    def methods(config: Config) -> dict[str, Method]:
        epochs = 15 if config.quick else 30
        fit = partial(Network, layer=layer, epochs=epochs, batch_size=32, patience=5)
        rates, gammas = (3e-3, 1e-2), (0.3, 1.0) if linear else (3.0, 10.0)

        def through(setting: Setting) -> DecisionLoss:
            return DecisionLoss(layer(RelativeGamma(setting["gamma"])))

        made: dict[str, Method] = {}
        for n in (1, 2):
            settings = tuple({"lr": 1e-2 / n, "gamma": gamma} for gamma in gammas)
            made[f"NN{n}-Decision"] = fit(_model(n, linear), through, settings=settings)
        for n in (1, 2):
            settings = tuple({"lr": lr / n} for lr in rates)
            made[f"NN{n}-2Stage"] = fit(_model(n, linear), lambda setting: MSE(), settings=settings, epochs=4 * epochs)
        made["RF-2Stage"] = Forest(lambda data, seed: RandomForest(20 if config.quick else 100, seed=seed))
        if linear:
            settings = tuple({"lr": lr} for lr in rates)
            made["NN1-SPO+"] = fit(_model(1, True), lambda setting: SPOPlus(), settings=settings)
            made["NN1-FenchelYoung"] = fit(
                _model(1, True), lambda setting: FenchelYoung(QuadraticRelaxation()), settings=settings
            )
        return made | {"Random": Chance(), "OPT": Best()}

    return methods


DOMAINS = (
    Domain(PATHS, None, None, _paths, _methods(True)),
    Domain(KNAPSACKS, None, None, _knapsacks, _methods(True)),
    Domain(FACILITIES, None, None, _facilities, _methods(False)),
)
