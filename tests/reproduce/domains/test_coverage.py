from __future__ import annotations

import pytest
import torch

from foresolve.layers.wilder_multilinear import WilderMultilinear
from foresolve.losses.decision import DecisionLoss
from foresolve.models.mlp import MLP
from foresolve.report.records import Config
from foresolve.reproduce.domains import coverage, matching
from foresolve.reproduce.domains.methods import NetworkMethod
from foresolve.reproduce.domains.networks import Rectified
from foresolve.reproduce.domains.registry import DOMAINS
from reproduce import tiny


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_random_sets_have_k_items_and_each_is_as_likely() -> None:
    problem = tiny.problem("budget", 4)
    x = coverage.random_sets(problem, 3000, generator())
    assert x.sum(-1).eq(4).all()
    assert (x.mean(0) - 1 / 3).abs().max().item() < 0.03
    assert torch.equal(coverage.random_sets(problem, 3000, generator()), x)


@pytest.mark.parametrize(("head", "kind"), [("relu", Rectified), ("plain", MLP), ("probability", MLP)])
@pytest.mark.parametrize("layers", [1, 2])
def test_networks_of_rows(head: str, kind: type, layers: int) -> None:
    data = tiny.data("budget")
    model = coverage.network(layers, head)(data, generator(), 0.01)
    assert isinstance(model, kind)
    inner = model if isinstance(model, MLP) else model.model
    assert isinstance(inner, MLP)
    assert inner.config()["hidden"] == [coverage.HIDDEN] * (layers - 1)
    theta = model(data.features)
    assert theta.shape == data.theta.shape
    assert 0 <= theta.min().item() <= theta.max().item() <= 1


@pytest.mark.parametrize("quick", [True, False])
def test_a_quick_forest_is_smaller(quick: bool) -> None:
    forest = coverage.forest(quick)(tiny.data("budget"), 3)
    config = forest.config()
    assert (config["trees"], config["max_rows"], config["seed"]) == ((20, 500, 3) if quick else (100, 1000, 3))


@pytest.mark.parametrize(("annealing", "ratio"), [(coverage.annealing, 10), (matching.annealing, 20)])
def test_annealing_ends_with_weak_smoothing(annealing: object, ratio: float) -> None:
    schedule = annealing({"gamma": 2.0})  # type: ignore[operator]
    assert schedule(0.0).factor == pytest.approx(2.0)
    assert schedule(1.0).factor == pytest.approx(2.0 / ratio)


def test_recipes_of_the_paper() -> None:
    """Single instances, a fixed number of steps, one setting, the published layer, no validation."""
    for domain in ("budget", "recommendation"):
        table = DOMAINS[domain].methods(Config(domain, "paper", ks=(5, 10)))
        for name in ("NN1-Decision", "NN2-Decision", "NN1-2Stage", "NN2-2Stage"):
            method = table[name]
            assert isinstance(method, NetworkMethod)
            assert (method.batch_size, method.validate, len(method.settings)) == (1, False, 1)
            assert isinstance(method.layer(), WilderMultilinear)
            loss = method.loss(method.settings[0])
            assert isinstance(loss, DecisionLoss) == name.endswith("Decision")
            if isinstance(loss, DecisionLoss):
                assert isinstance(loss.layer, WilderMultilinear)
