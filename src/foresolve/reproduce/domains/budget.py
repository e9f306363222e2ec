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
from foresolve.report.records import Config, DomainInfo, MethodInfo
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
from foresolve.reproduce.domains.domain import Domain, RealData, Source
from foresolve.reproduce.domains.methods import METHODS, YARDSTICKS, ForestMethod, Method, NetworkMethod, RuleMethod

INFO = DomainInfo(
    name="budget",
    title="Budget allocation",
    story=(),
    ks=(5, 10, 20),
    table2_k=10,
    measures=("mse",),
    rows="channels",
    columns="customers",
    figure_methods=("NN1-2Stage", "NN1-Decision"),
    methods={
        **METHODS,
        "Longest features": MethodInfo(
            "heuristic", words="takes the channels whose feature vectors are longest; learns nothing"
        ),
    },
)
INSTANCES, CHANNELS, CUSTOMERS = 1000, 100, 500
QUICK_INSTANCES, QUICK_CHANNELS, QUICK_CUSTOMERS = 60, 50, 200
FEATURES = 100  # a stream of random numbers of its own, beside those of a trial


def files(folder: Path) -> list[Path]:
    """The edge list in a folder of real data."""
    return locate("edges", folder, "data")


def read(folder: Path) -> Source:
    path = files(folder)[0]
    pairs = read_edges(path, columns(path))
    channels, customers = (len(set(side)) for side in zip(*pairs))
    if channels < CHANNELS or customers < CUSTOMERS:
        sizes = f"{channels} and {customers} in {path.name}"
        raise checks.fail("data", f"an edge list with at least {CHANNELS} channels and {CUSTOMERS} customers", sizes)
    return Source(f"drawn from the {len(pairs):,} edges of {path.name}")


def columns(path: Path) -> tuple[int, int]:
    """Where channel and customer stand: Yahoo's file begins with the time, then phrase and account."""
    return (1, 2) if path.name == YAHOO else (0, 1)


def sizes(config: Config) -> tuple[int, int, int]:
    """Instances, and channels and customers of each."""
    quick = QUICK_INSTANCES, QUICK_CHANNELS, QUICK_CUSTOMERS
    return quick if config.quick else (INSTANCES, CHANNELS, CUSTOMERS)


def story(config: Config) -> tuple[str, ...]:
    """For a reader, of this run."""
    count, channels, customers = sizes(config)
    layers = "three layers, drawn anew for each split" if config.protocol == "paper" else "five layers"
    generated = (
        "The paper draws its edges from the Yahoo Webscope A1 data, which are licensed. Here edges are generated, with "
        "heavy-tailed degrees on both sides, calibrated to the paper's figures for random and for best decisions."
    )
    drawn = "Channels and customers are drawn from an edge list of the user's."
    return (
        f"Each of {count:,} instances has {channels} channels and {customers} customers. A chosen channel reaches each "
        "customer with some probability, independently of the others; k channels are chosen, and the value is the "
        "expected number of customers that at least one of them reaches. A channel's features are its probabilities "
        f"passed through a random ReLU network ({layers}); the task is to predict the probabilities back.",
        f"{generated if config.data is None else drawn} Probabilities on edges are uniform in [0, 0.2], as in the "
        "paper.",
        "The features say much about the size of a row: even an untrained network, or the length of the feature vector "
        "(`Longest features`), chooses well. There is little left for any training to win.",
    )


def data(config: Config) -> DecisionDataset:
    """Generated instances, or parts of the graph in a folder of real data."""
    count, channels, customers = sizes(config)
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
    story=story,
    published=True,
)
