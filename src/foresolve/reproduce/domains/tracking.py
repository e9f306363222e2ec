"""Tracking: the plan of power plants that follow a load which is predicted from the weather."""

from __future__ import annotations

import torch

from foresolve._base.randomness import generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.tracking import tracking_data
from foresolve.data.generated.weather import HOURS
from foresolve.report.records import Config, DomainInfo
from foresolve.reproduce.domains.domain import Domain
from foresolve.reproduce.domains.methods import METHODS, YARDSTICKS, Method
from foresolve.reproduce.domains.quadratic import quadratic_methods

SPREAD = 0.25  # GW, by which loads differ from their mean
# What is typical of the weather, and its spread: temperatures, the speed of the wind, clouds.
WEATHER = ((10.0, 10.0), (8.0, 4.0), (0.5, 0.3))

INFO = DomainInfo(
    name="tracking",
    title="Tracking",
    story=(
        "Two power plants follow the load of 24 hours that wind and sun leave them, within their ramps and capacities. "
        "The load is predicted from forecasts of the weather, far from linear in them. Values are minus 50 times the "
        "squared miss, in GW, and less a small cost of running the plants.",
        "Not in the paper: generated, to show the same methods on a quadratic program. Splits are random, as in all "
        "domains; nothing of other days is among the features.",
    ),
    ks=(),
    table2_k=None,
    measures=("mse",),
    rows="hours",
    columns="",
    figure_methods=("NN1-2Stage", "NN1-Decision"),
    methods=METHODS,
)


def data(config: Config) -> DecisionDataset:
    """With forecasts in units in which they are of size 1."""
    data = tracking_data(100 if config.quick else 300, seed=generator(config.seed, 0))
    center, spread = (torch.tensor(column).repeat_interleave(HOURS) for column in zip(*WEATHER))
    weather, calendar = data.features[:, : len(center)], data.features[:, len(center) :]
    return data.with_features(torch.cat([(weather - center) / spread, calendar], -1))


def methods(config: Config) -> dict[str, Method]:
    rates = {1: (3e-3, 1e-2), 2: (1e-3, 3e-3)}
    table = quadratic_methods(config, lambda data: SPREAD, rates=rates, weight=1e-3, epochs=10, batch_size=16)
    return table | YARDSTICKS


DOMAIN = Domain(INFO, data, methods)
