from __future__ import annotations

import pytest
import torch

from foresolve.layers import WilderMultilinear
from foresolve.losses import DecisionLoss
from foresolve.models import MLP
from foresolve.report.records import Config
from foresolve.reproduce import DOMAINS, BestMethod, ForestMethod, RecipeMethod
from foresolve.reproduce.domains import coverage, matching
from foresolve.reproduce.domains.networks import Rectified
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
    assert config["projections"] == coverage.PROJECTIONS


@pytest.mark.parametrize(("annealing", "ratio"), [(coverage.annealing, 10), (matching.annealing, 20)])
def test_annealing_ends_with_weak_smoothing(annealing: object, ratio: float) -> None:
    schedule = annealing({"gamma": 2.0})  # type: ignore[operator]
    assert schedule(0.0).factor == pytest.approx(2.0)
    assert schedule(1.0).factor == pytest.approx(2.0 / ratio)


def test_recipes_of_the_paper() -> None:
    """A fixed number of steps on what is drawn, the published layer; minibatches of movies in two-stage training."""
    steps = {"budget": (40, 4001), "recommendation": (400, 2000)}
    for domain, (through_layer, two_stage) in steps.items():
        table = DOMAINS[domain].methods(Config(domain, "paper", ks=(5, 10)))
        for name in ("NN1-Decision", "NN2-Decision", "NN1-2Stage", "NN2-2Stage"):
            method = table[name]
            assert isinstance(method, RecipeMethod)
            assert method.lr == 1e-3
            assert isinstance(method.layer(), WilderMultilinear)
            decision = name.endswith("Decision")
            assert method.draws == (through_layer if decision else two_stage)
            loss = method.loss()
            assert isinstance(loss, DecisionLoss) == method.per_k == decision
            assert method.carried == (decision and domain == "budget")
            if isinstance(loss, DecisionLoss):
                assert isinstance(loss.layer, WilderMultilinear)
            minibatch = None if decision or domain == "budget" else method.minibatch
            assert (None if method.minibatch is None else method.minibatch.size) == (minibatch and 10)
        forest, best = table["RF-2Stage"], table["OPT"]
        assert isinstance(forest, ForestMethod)
        assert isinstance(best, BestMethod)
        assert forest.layer is best.layer is WilderMultilinear


def test_the_rate_of_the_code_stands_beside_that_of_the_text() -> None:
    table = DOMAINS["recommendation"].methods(Config("recommendation", "paper", ks=(5,)))
    for name in ("NN1-Decision", "NN2-Decision"):
        judged, beside = table[name], table[f"{name} (code rate)"]
        assert isinstance(judged, RecipeMethod)
        assert isinstance(beside, RecipeMethod)
        assert (judged.lr, beside.lr) == (1e-3, 1e-4)
        assert (beside.draws, beside.logits) == (judged.draws, judged.logits)


def test_items_are_instances_of_their_own() -> None:
    data = tiny.data("budget")
    positions = torch.tensor([7, 0, 3])
    batch = coverage.items(data[[4]], positions)
    assert torch.equal(batch.features[:, 0], data.features[4, positions])
    assert torch.equal(batch.theta[:, 0], data.theta[4, positions])
    assert tuple(batch.problem.solve(batch.theta).shape) == (3, 1)
