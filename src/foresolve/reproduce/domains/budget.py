"""Budget allocation: which channels reach the most customers."""

from __future__ import annotations

from pathlib import Path

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.randomness import generator
from foresolve.data.generated.budget import budget_from_edges, generate_budget
from foresolve.data.real.edges import read_edges
from foresolve.data.real.registry import YAHOO, locate
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.losses.prediction import MSE
from foresolve.models.forest import RandomForest
from foresolve.report.records import Config, DomainInfo
from foresolve.reproduce.domains.coverage import annealing, drawn, network, problems, random_sets, through_layer
from foresolve.reproduce.domains.domain import Domain
from foresolve.reproduce.domains.methods import Best, Chance, Forest, Instances, Method, Network, Rule

INFO = DomainInfo(
    name="budget",
    title="Budget allocation",
    story=(
        "Each instance has 100 channels and 500 customers. A chosen channel reaches each customer with some "
        "probability, independently of the others; k channels are chosen, and the value is the expected number of "
        "customers that at least one of them reaches. A channel's features are its probabilities passed through a "
        "random 5-layer ReLU network; the task is to predict the probabilities back.",
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


def files(data: Path) -> list[Path]:
    """The edge list in a folder of real data."""
    return locate("edges", data, "data")


def read(data: Path) -> str:
    path = files(data)[0]
    pairs = read_edges(path, columns(path))
    channels, customers = (len(set(side)) for side in zip(*pairs))
    if channels < CHANNELS or customers < CUSTOMERS:
        found = f"{channels} and {customers} in {path.name}"
        raise checks.fail("data", f"an edge list with at least {CHANNELS} channels and {CUSTOMERS} customers", found)
    return f"drawn from the {len(pairs):,} edges of {path.name}"


def columns(path: Path) -> tuple[int, int]:
    """Where channel and customer stand: Yahoo's file begins with the time, then phrase and account."""
    return (1, 2) if path.name == YAHOO else (0, 1)


def build(config: Config) -> Instances:
    source = generator(config.seed, 0)
    count, channels, customers = (60, 50, 200) if config.quick else (1000, CHANNELS, CUSTOMERS)
    sizes = {"channels": channels, "customers": customers, "generator": source}
    if config.data is None:
        made = generate_budget(count, **sizes)
    else:
        path = files(Path(config.data))[0]
        made = budget_from_edges(path, count, columns=columns(path), **sizes)
    return Instances(
        made.features,
        made.theta,
        problems(channels, config.ks),
        random_sets,
        (channels, customers),
        {"quick": config.quick},
    )


def methods(config: Config) -> dict[str, Method]:
    if config.protocol == "paper":
        return {
            "NN1-Decision": drawn(1, None, "relu", draws=40),
            "NN2-Decision": drawn(2, None, "relu", draws=40),
            "NN1-2Stage": drawn(1, MSE(), "relu", draws=4001),
            "NN2-2Stage": drawn(2, MSE(), "relu", draws=4001),
            "RF-2Stage": Forest(forest),
            "Random": Chance(),
            "OPT": Best(),
        }
    epochs = 6 if config.quick else 3
    made: dict[str, Method] = {}
    rates = (1e-3, 3e-3) if config.quick else (3e-4, 1e-3)
    for layers in (1, 2):
        made[f"NN{layers}-Decision"] = Network(
            network(layers), through_layer, MultilinearRelaxation,
            tuple({"lr": lr, "gamma": 0.3} for lr in rates), epochs=epochs, batch_size=32, patience=epochs,
        )  # fmt: skip
    for layers in (1, 2):
        made[f"NN{layers}-2Stage"] = Network(
            network(layers), lambda setting: MSE(), MultilinearRelaxation,
            tuple({"lr": lr} for lr in (3e-4, 1e-3, 3e-3)), epochs=10, batch_size=32, patience=4,
        )  # fmt: skip
    return made | {
        "RF-2Stage": Forest(forest),
        "NN1-Annealed": Network(
            network(1), through_layer, MultilinearRelaxation, ({"lr": rates[0], "gamma": 1.0},),
            epochs=epochs, batch_size=32, patience=epochs, anneal=annealing,
        ),
        "Longest features": Rule(lambda data: longest_features),
        "Random": Chance(),
        "OPT": Best(),
    }  # fmt: skip


def longest_features(features: Tensor) -> Tensor:
    """Disjoint shares of one customer each, by the length of the feature vector: the longest are chosen."""
    length = features.norm(dim=-1)
    share = length / length.amax(-1, keepdim=True).clamp_min(1e-12)
    items, customers = features.shape[-2:]
    own = torch.eye(items, customers, dtype=features.dtype, device=features.device)
    return own * share.unsqueeze(-1)


def forest(data: Instances, seed: int) -> RandomForest:
    quick = data.extra["quick"]
    return RandomForest(
        20 if quick else 100, max_rows=500 if quick else 1000, seed=seed, options={"max_features": "sqrt"}
    )


DOMAIN = Domain(INFO, files, read, build, methods, optional=True)
