"""Budget allocation: which channels reach the most customers."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import generator
from foresolve.data.dataset import DecisionDataset
from foresolve.data.generated.budget import budget_data, channel_features
from foresolve.data.real.edges import read_edges
from foresolve.data.real.registry import YAHOO, locate
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.wilder_multilinear import WilderMultilinear
from foresolve.losses.prediction import MSE
from foresolve.report.records import Config, DomainInfo
from foresolve.reproduce.domains.coverage import (
    TEN_STEPS,
    annealing,
    budgeted,
    by_recipe,
    forest,
    network,
    random_sets,
    through_layer,
)
from foresolve.reproduce.domains.domain import Domain, RealData
from foresolve.reproduce.domains.methods import YARDSTICKS, ForestMethod, Method, NetworkMethod, RuleMethod

INFO = DomainInfo(
    name="budget",
    title="Budget allocation",
    story=(
        "Each instance has 100 channels and 500 customers. A chosen channel reaches each customer with some "
        "probability, independently of the others; k channels are chosen, and the value is the expected number of "
        "customers that at least one of them reaches. A channel's features are its probabilities passed through a "
        "random ReLU network (five layers, as the paper says; under protocol paper three, drawn anew for each split, "
        "as its code has it); the task is to predict the probabilities back.",
        "The paper draws its edges from the Yahoo Webscope A1 data, which are licensed. Without a graph of one's own, "
        "edges are drawn with heavy-tailed degrees on both sides, calibrated to the paper's figures for random and for "
        "best decisions. With an edge list (folder `edges`), channels and customers are drawn "
        "from it. Probabilities on edges are uniform in [0, 0.2], as in the paper.",
        "The features say much about the size of a row: even an untrained network, or the length of the feature vector "
        "(the row `Longest features`), chooses well. There is little left for any training to win.",
    ),
    ks=(5, 10, 20),
    table2_k=10,
    measures=("mse",),
    rows="channels",
    columns="customers",
    figure_methods=("NN1-2Stage", "NN1-Decision"),
    heuristics=("Longest features",),
)
CHANNELS, CUSTOMERS = 100, 500
QUICK_CHANNELS = 50
FEATURES = 100  # a stream of random numbers of its own, beside those of a trial


def files(folder: Path) -> list[Path]:
    """The edge list in a folder of real data."""
    return locate("edges", folder, "data")


def read(folder: Path) -> str:
    path = files(folder)[0]
    pairs = read_edges(path, columns(path))
    channels, customers = (len(set(side)) for side in zip(*pairs))
    if channels < CHANNELS or customers < CUSTOMERS:
        sizes = f"{channels} and {customers} in {path.name}"
        raise checks.fail("data", f"an edge list with at least {CHANNELS} channels and {CUSTOMERS} customers", sizes)
    return f"drawn from the {len(pairs):,} edges of {path.name}"


def columns(path: Path) -> tuple[int, int]:
    """Where channel and customer stand: Yahoo's file begins with the time, then phrase and account."""
    return (1, 2) if path.name == YAHOO else (0, 1)


def data(config: Config) -> DecisionDataset:
    """Generated instances, or parts of the graph in a folder of real data."""
    count, channels, customers = (60, QUICK_CHANNELS, 200) if config.quick else (1000, CHANNELS, CUSTOMERS)
    source = generator(config.seed, 0)
    if config.data is None:
        return budget_data(count, channels=channels, customers=customers, seed=source)
    path = files(Path(config.data))[0]
    return budget_data(count, channels=channels, customers=customers, edges=path, columns=columns(path), seed=source)


def features(config: Config, data: DecisionDataset, split: int) -> Tensor | None:
    """The published code draws the network behind the features anew for each split."""
    if config.protocol == "exact":
        return None
    return channel_features(data.theta, recipe="code", seed=generator(config.seed, FEATURES, split))


def methods(config: Config) -> dict[str, Method]:
    if config.protocol == "paper":
        return {
            "NN1-Decision": by_recipe(1, "relu", draws=40, carried=True),
            "NN2-Decision": by_recipe(2, "relu", draws=40, carried=True),
            "NN1-2Stage": by_recipe(1, "relu", loss=MSE(), draws=4001),
            "NN2-2Stage": by_recipe(2, "relu", loss=MSE(), draws=4001),
            "RF-2Stage": ForestMethod(forest(config.quick), WilderMultilinear),
            **TEN_STEPS,
        }
    epochs = 6 if config.quick else 3
    networks: dict[str, Method] = {}
    rates = (1e-3, 3e-3) if config.quick else (3e-4, 1e-3)
    for layers in (1, 2):
        networks[f"NN{layers}-Decision"] = NetworkMethod(
            network(layers), through_layer, MultilinearRelaxation,
            tuple({"lr": lr, "gamma": 0.3} for lr in rates), epochs=epochs, batch_size=32, patience=epochs,
        )  # fmt: skip
    for layers in (1, 2):
        networks[f"NN{layers}-2Stage"] = NetworkMethod(
            network(layers), lambda setting: MSE(), MultilinearRelaxation,
            tuple({"lr": lr} for lr in (3e-4, 1e-3, 3e-3)), epochs=10, batch_size=32, per_k=False,
        )  # fmt: skip
    return networks | {
        "RF-2Stage": ForestMethod(forest(config.quick)),
        "NN1-Annealed": NetworkMethod(
            network(1), through_layer, MultilinearRelaxation, ({"lr": rates[0], "gamma": 1.0},),
            epochs=epochs, batch_size=32, patience=epochs, anneal=annealing,
        ),
        "Longest features": RuleMethod(lambda data: longest_features),
        **YARDSTICKS,
    }  # fmt: skip


def longest_features(features: Tensor) -> Tensor:
    """Disjoint shares of one customer each, by the length of the feature vector: the longest are chosen."""
    length = features.norm(dim=-1)
    share = length / length.amax(-1, keepdim=True).clamp_min(1e-12)
    items, customers = features.shape[-2:]
    disjoint = torch.eye(items, customers, dtype=features.dtype, device=features.device)
    return disjoint * share.unsqueeze(-1)


DOMAIN = Domain(
    INFO,
    data,
    methods,
    budgeted,
    features,
    random_sets,
    real=RealData(files, read, optional=True),
    largest_k=QUICK_CHANNELS,
    published=True,
)
