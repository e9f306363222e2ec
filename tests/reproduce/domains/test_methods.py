from __future__ import annotations

import pytest
import torch
from torch import Tensor, nn

from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.layers.smoothing import RelativeGamma
from foresolve.layers.wilder import WilderMultilinear
from foresolve.losses.decision import DecisionLoss
from foresolve.losses.prediction import MSE
from foresolve.models.mlp import MLP
from foresolve.models.similarity import CosinePairs
from foresolve.problems.base import Problem
from foresolve.report.records import Config
from foresolve.reproduce.domains import budget, coverage, matching, recommendation
from foresolve.reproduce.domains.methods import Best, Chance, Forest, Network, Rule, adam, depends_on_k
from foresolve.reproduce.domains.networks import Calibrated, EvenRows, Rectified
from foresolve.reproduce.runs import trial
from reproduce import tiny


def generator(seed: int = 0) -> torch.Generator:
    return torch.Generator().manual_seed(seed)


def test_best_decisions_are_worked_out_once_for_each_budget() -> None:
    data = tiny.BUILDS["budget"](Config("budget", ks=(2, 4)))
    assert len(data) == 20
    one = data.dataset(2)
    assert one.solved
    assert data.dataset(2) is one
    assert bool((data.dataset(4).values > one.values).all())


def test_adam_decays_where_the_setting_says_so() -> None:
    model = nn.Linear(2, 2)
    (plain,) = adam(model, {"lr": 0.1}).param_groups
    (decayed,) = adam(model, {"lr": 0.1, "decay": 0.5}).param_groups
    assert (plain["lr"], plain["weight_decay"], decayed["weight_decay"]) == (0.1, 0.0, 0.5)


def test_only_networks_with_a_training_for_each_budget_depend_on_it() -> None:
    shared = coverage.drawn(1, MSE(), "relu", draws=3)
    through = coverage.drawn(1, None, "relu", draws=3)
    assert not depends_on_k(shared)
    assert depends_on_k(through)
    assert not any(map(depends_on_k, (Forest(budget.forest), Rule(lambda data: budget.longest_features), Chance())))
    assert not depends_on_k(Best())


def test_random_sets_have_k_items_and_each_is_as_likely() -> None:
    problem = coverage.problems(6, (2,))[2]
    x = coverage.random_sets(problem, 3000, generator())
    assert x.sum(-1).eq(2).all()
    assert (x.mean(0) - 1 / 3).abs().max().item() < 0.03
    assert torch.equal(coverage.random_sets(problem, 3000, generator()), x)


def test_random_matchings_are_perfect_and_each_is_as_likely() -> None:
    data = tiny.BUILDS["matching"](Config("matching"))
    x = matching.permutations(data.problems[None], 3000, generator()).reshape(-1, 8, 8)
    assert x.sum(1).eq(1).all()
    assert x.sum(2).eq(1).all()
    assert (x.mean(0) - 1 / 8).abs().max().item() < 0.03


def assert_largest_are_chosen(score: Tensor, theta_hat: Tensor, problem: Problem) -> None:
    """Among equals any will do."""
    for row, x in zip(score, problem.solve(theta_hat) > 0.5, strict=True):
        assert row[x].min() >= row[~x].max()


@pytest.mark.parametrize("k", [2, 5])
def test_the_longest_features_are_chosen(k: int) -> None:
    data = tiny.BUILDS["budget"](Config("budget", ks=(k,)))
    length = data.features.square().sum(-1).sqrt()
    assert length[0].unique().numel() > k
    assert_largest_are_chosen(length.round(decimals=5), budget.longest_features(data.features), data.problems[k])


@pytest.mark.parametrize("k", [2, 5])
def test_the_most_rated_movies_are_chosen(k: int) -> None:
    config = Config("recommendation", ks=(k,))
    data = tiny.BUILDS["recommendation"](config)
    rule = recommendation.methods(config)["Most rated"]
    assert isinstance(rule, Rule)
    assert_largest_are_chosen((data.features > 0).sum(-1), rule.model(data)(data.features), data.problems[k])


@pytest.mark.parametrize(("head", "kind"), [("relu", Rectified), ("plain", MLP), ("probability", MLP)])
@pytest.mark.parametrize("layers", [1, 2])
def test_networks_of_rows(head: str, kind: type, layers: int) -> None:
    data = tiny.BUILDS["budget"](Config("budget", ks=(2,)))
    model = coverage.network(layers, head)(data, generator(), 0.01)
    assert isinstance(model, kind)
    inner = model if isinstance(model, MLP) else model.model
    assert isinstance(inner, MLP)
    assert inner.config()["hidden"] == [coverage.HIDDEN] * (layers - 1)
    theta = model(data.features)
    assert theta.shape == data.theta.shape
    assert 0 <= theta.min().item() <= theta.max().item() <= 1


def test_networks_of_pairs() -> None:
    data = tiny.BUILDS["matching"](Config("matching"))
    made = {
        "NN1": matching.network(1)(data, generator(), 0.05),
        "NN2": matching.network(2)(data, generator(), 0.05),
        "Bilinear": matching.bilinear(data, generator(), 0.05),
        "Cosine": matching.cosine(data, generator(), 0.05),
    }
    for name, model in made.items():
        theta = model.eval()(data.features)
        assert theta.shape == data.theta.shape, name
        assert 0 <= theta.min().item() <= theta.max().item() <= 1, name
    assert made["NN1"].config()["hidden"] is None  # type: ignore[operator]
    assert made["NN2"].config()["hidden"] == 200  # type: ignore[operator]
    assert isinstance(made["Bilinear"], EvenRows)


def test_the_cosine_model_starts_with_the_decisions_of_tfidf() -> None:
    data = tiny.BUILDS["matching"](Config("matching"))
    rule = matching.methods(Config("matching"))["TF-IDF"]
    assert isinstance(rule, Rule)
    similarity = rule.model(data)(data.features)
    model = matching.cosine(data, generator(), 0.05).eval()
    order, expected = model(data.features).argsort(-1), similarity.argsort(-1)
    gap = similarity.gather(-1, expected) - similarity.gather(-1, order)
    assert gap.abs().max().item() < 1e-4


def test_weight_decay_is_for_the_word_weights_alone() -> None:
    data = tiny.BUILDS["matching"](Config("matching"))
    model = matching.cosine(data, generator(), 0.05)
    groups = matching.grouped(model, {"lr": 1e-2, "decay": 3.0}).param_groups
    assert isinstance(model, Calibrated)
    assert isinstance(model.model, CosinePairs)
    decayed = [p for group in groups if group["weight_decay"] for p in group["params"]]
    assert [id(p) for p in decayed] == [id(model.model.shift)]
    assert {id(p) for group in groups for p in group["params"]} == {id(p) for p in model.parameters()}


@pytest.mark.parametrize(("annealing", "ratio"), [(coverage.annealing, 10), (matching.annealing, 20)])
def test_annealing_ends_with_weak_smoothing(annealing: object, ratio: float) -> None:
    schedule = annealing({"gamma": 2.0})  # type: ignore[operator]
    assert schedule(0.0).factor == pytest.approx(2.0)
    assert schedule(1.0).factor == pytest.approx(2.0 / ratio)


def test_recipes_of_the_paper() -> None:
    """Single instances, a fixed number of steps, one setting, the published layer, no validation."""
    for domain in ("budget", "recommendation"):
        made = trial.ALL[domain].methods(Config(domain, "paper", ks=(5, 10)))
        for name in ("NN1-Decision", "NN2-Decision", "NN1-2Stage", "NN2-2Stage"):
            method = made[name]
            assert isinstance(method, Network)
            assert (method.batch_size, method.validate, len(method.settings)) == (1, False, 1)
            assert isinstance(method.layer(), WilderMultilinear)
            loss = method.loss(method.settings[0])
            assert isinstance(loss, DecisionLoss) == name.endswith("Decision")
            if isinstance(loss, DecisionLoss):
                assert isinstance(loss.layer, WilderMultilinear)


def test_a_budget_network_trains_through_the_exact_layer() -> None:
    method = budget.methods(Config("budget", ks=(5,)))["NN1-Decision"]
    assert isinstance(method, Network)
    loss = method.loss(method.settings[0])
    assert isinstance(loss, DecisionLoss)
    assert isinstance(loss.layer, MultilinearRelaxation)
    assert loss.layer.gamma == RelativeGamma(method.settings[0]["gamma"])
