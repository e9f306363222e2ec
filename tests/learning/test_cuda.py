"""The same on a GPU."""

from __future__ import annotations

import copy
from pathlib import Path

import pytest
import torch
from torch import nn

from foresolve.data import DecisionDataset
from foresolve.layers import PerturbedAdditive, QuadraticRelaxation
from foresolve.learning import Policy, evaluate, fit
from foresolve.losses import FenchelYoung, Imitation, SPOPlus
from foresolve.models import (
    MLP,
    Baseline,
    ConstantMean,
    Correction,
    LinearRegression,
    NearestNeighbors,
    RandomDecision,
    RandomForest,
    Standardized,
)
from learning.instances import top_k_data

pytestmark = pytest.mark.cuda


def net(seed: int = 0) -> nn.Module:
    return nn.Sequential(MLP(3, 8, seed=seed), nn.Dropout(0.3), nn.Linear(8, 5))


def test_fit_agrees_with_the_cpu() -> None:
    train, valid = top_k_data(), top_k_data(seed=1)
    models = [MLP(3, 5, seed=0) for _ in range(2)]
    histories = [
        fit(model, SPOPlus(), train, valid, epochs=3, device=device) for model, device in zip(models, ("cpu", "cuda"))
    ]
    assert next(models[1].parameters()).is_cuda
    assert histories[1].train_loss == pytest.approx(histories[0].train_loss, rel=1e-4)
    reports = [evaluate(model, valid, bootstrap=0) for model in models]
    assert reports[1].regret == pytest.approx(reports[0].regret, abs=1e-5)
    here, moved = (Policy(model, valid.problem)(valid.features).x for model in models)
    assert moved.is_cuda
    assert torch.equal(moved.cpu(), here)


def test_resumes_bit_for_bit(tmp_path: Path) -> None:
    pytest.importorskip("safetensors")
    torch.cuda.manual_seed(5)
    before = torch.cuda.get_rng_state()
    unbroken, paused, resumed = net(), net(), net(1)
    paused.load_state_dict(unbroken.state_dict())
    fit(unbroken, SPOPlus(), top_k_data(), epochs=4, device="cuda")
    fit(paused, SPOPlus(), top_k_data(), epochs=2, device="cuda", checkpoint=tmp_path)
    fit(resumed, SPOPlus(), top_k_data(), epochs=4, device="cuda", checkpoint=tmp_path, resume=True)
    assert torch.equal(torch.cuda.get_rng_state(), before)
    assert all(torch.equal(a, b) for a, b in zip(unbroken.parameters(), resumed.parameters()))


@pytest.mark.parametrize("kind", [ConstantMean, LinearRegression, NearestNeighbors, RandomDecision, RandomForest])
def test_baselines(kind: type[Baseline]) -> None:
    if kind is RandomForest:
        pytest.importorskip("sklearn")
    here, moved = top_k_data(), top_k_data().to("cuda")
    on_cpu, on_gpu = kind().fit(here), kind().fit(moved)
    torch.testing.assert_close(on_gpu(moved.features).cpu(), on_cpu(here.features), rtol=1e-4, atol=1e-4)
    evaluate(on_gpu, moved, bootstrap=0)
    evaluate(on_cpu, moved, bootstrap=0)


def test_decisions_alone_and_weights() -> None:
    known = top_k_data(64)
    weights = torch.linspace(0.1, 1.0, 64)
    data = DecisionDataset(known.features, decisions=known.decisions, problem=known.problem, weights=weights)
    for loss in (
        FenchelYoung(PerturbedAdditive(4)),
        FenchelYoung(QuadraticRelaxation()),
        Imitation(PerturbedAdditive(4)),
    ):
        models = [MLP(3, 5, seed=0) for _ in range(2)]
        states = []
        for model, device in zip(models, ("cpu", "cuda")):
            states.append(fit(model, copy.deepcopy(loss), data, data, epochs=3, lr=0.01, device=device))
        assert states[1].train_loss == pytest.approx(states[0].train_loss, rel=1e-3)
        assert states[1].valid_distance == pytest.approx(states[0].valid_distance, abs=0.02)
        reports = [evaluate(model, data, metric=lambda x, y: (x * y).sum(-1)) for model in models]
        assert reports[1].hamming == pytest.approx(reports[0].hamming, abs=0.02)
    moved = data.to("cuda").subset([3, 5])
    assert moved[:].target().is_cuda
    assert moved.positions.tolist() == [3, 5]
    assert moved.weights is not None
    assert moved.weights.is_cuda


def test_robust_targets() -> None:
    data = top_k_data(64)
    here, there = data.robust(5, 0.3), data.to("cuda").robust(5, 0.3)
    torch.testing.assert_close(there.theta.cpu(), here.theta)
    torch.testing.assert_close(there.decisions.cpu(), here.decisions)
    torch.testing.assert_close(there.values.cpu(), here.values)


@pytest.mark.parametrize("moved", [False, True])
@pytest.mark.parametrize("kind", ["standardized", "correction", "correction of a module"])
def test_units_and_corrections_agree_with_the_cpu(kind: str, moved: bool) -> None:
    train, valid = top_k_data(), top_k_data(seed=1)
    makers = {
        "standardized": lambda: Standardized(MLP(3, 5, seed=0, standardize=False)),
        "correction": lambda: Correction(LinearRegression(), MLP(3, 5, (4,), seed=0)),
        "correction of a module": lambda: Correction(MLP(3, 5, seed=1), MLP(3, 5, (4,), seed=0)),
    }
    models = [makers[kind]() for _ in range(2)]
    if moved:
        models[1].to("cuda")
    histories = [
        fit(model, SPOPlus(), train, valid, epochs=2, patience=None, warm_start="two-stage", device=device)
        for model, device in zip(models, ("cpu", "cuda"))
    ]
    assert all(tensor.is_cuda for tensor in models[1].state_dict().values())
    assert histories[1].train_loss == pytest.approx(histories[0].train_loss, rel=1e-4)
    fresh = makers["standardized"]().to("cuda")
    if kind == "standardized":
        fresh.load_state_dict(models[1].state_dict())
        assert torch.equal(fresh(valid.features.cuda()), models[1](valid.features.cuda()))


def test_numbers_are_chosen_there_too() -> None:
    model = MLP(3, 5, seed=0)
    history = fit(model, SPOPlus(), top_k_data(), top_k_data(seed=1), epochs=4, lr="auto", device="cuda")
    assert history.chosen["lr"] > 0


def test_decisions_are_certified_wherever_they_are() -> None:
    data = top_k_data(40)
    train, valid = data.split(20)
    here = Policy(MLP(3, 5, seed=0), data.problem, train=train, valid=valid)
    moved = Policy(MLP(3, 5, seed=0).to("cuda"), data.problem, train=train.to("cuda"), valid=valid.to("cuda"))
    features = valid.features[:5]
    decisions, others = here(features), moved(features.to("cuda"))
    assert others.x.is_cuda
    assert torch.equal(others.x.cpu(), decisions.x)
    torch.testing.assert_close(others.objective.cpu(), decisions.objective, rtol=1e-5, atol=1e-6)
    assert bool(others.certificate.proven.all())
    for part in (others, others[1:3], others[0]):
        assert part.verify()
    assert others.chosen() == decisions.chosen()
    assert str(others).startswith("5 decisions of TopK")
    assert len(others.frame("wide")) == 5
    monitoring = moved.monitor(valid.features.to("cuda"), valid.theta)
    assert monitoring.regret == pytest.approx(here.monitor(valid.features, valid.theta).regret, abs=1e-5)
