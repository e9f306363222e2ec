from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

import pytest
import torch

from foresolve.data import DecisionDataset
from foresolve.layers import BlackboxInterpolation, PerturbedAdditive, QuadraticRelaxation
from foresolve.learning import fit
from foresolve.learning.identity import function_digest, settings_of
from foresolve.losses import MSE, NCE, DecisionLoss, SolutionPool
from foresolve.models import MLP
from foresolve.schedules import geometric
from learning.instances import top_k_data
from mistakes import mistake

pytest.importorskip("safetensors")


def run(path: Path, resume: bool, **changes: Any) -> Any:
    """A training, by default always the same."""
    data = changes.pop("train", top_k_data(12))
    settings = {
        "model": MLP(3, 5, seed=0),
        "loss": smoothed(0.5),
        "valid": top_k_data(6, seed=1),
        "lr": 0.01,
        "clip": 1.0,
    }
    settings |= {"epochs": 2 if resume else 1, "patience": None} | changes
    model, loss, valid = (settings.pop(name) for name in ("model", "loss", "valid"))
    return fit(model, loss, data, valid, checkpoint=path, resume=resume, **settings)


def smoothed(gamma: float) -> DecisionLoss:
    return DecisionLoss(QuadraticRelaxation(gamma=gamma))


def moved(data: DecisionDataset) -> DecisionDataset:
    return DecisionDataset(data.features + 1e-3, data.theta, data.problem)


def scaled(data: DecisionDataset) -> DecisionDataset:
    return DecisionDataset(data.features, data.theta * 2, data.problem)


@pytest.mark.filterwarnings("ignore::foresolve.NoImprovementWarning")
@pytest.mark.parametrize(
    ("changes", "fact"),
    [
        ({"loss": smoothed(0.25)}, "layer.gamma = 0.25"),
        ({"loss": DecisionLoss(QuadraticRelaxation(gamma=0.5), normalize=True)}, "normalize = True"),
        ({"loss": DecisionLoss(BlackboxInterpolation())}, "layer = 'BlackboxInterpolation'"),
        ({"train": moved(top_k_data(12))}, "training data = "),
        ({"train": scaled(top_k_data(12))}, "training data = "),
        ({"valid": top_k_data(6, seed=2)}, "validation data = "),
        ({"clip": 2.0}, "clip = 2.0"),
        ({"anneal": geometric(10, 0.1)}, "gamma = "),
        ({"lr": 0.02}, "lr = 0.02"),
        ({"optimizer": torch.optim.AdamW}, "class = 'AdamW'"),
        ({"model": MLP(3, 5, seed=0, head="positive")}, "same model"),
    ],
)
def test_another_run_is_refused_by_what_differs(changes: dict[str, Any], fact: str, tmp_path: Path) -> None:
    run(tmp_path, False)
    with mistake("checkpoint", str(tmp_path), fact):
        run(tmp_path, True, **changes)


@pytest.mark.filterwarnings("ignore::foresolve.NoImprovementWarning")
@pytest.mark.parametrize(
    "make",
    [
        lambda: smoothed(0.5),
        lambda: DecisionLoss(PerturbedAdditive(samples=3)),
        lambda: NCE(SolutionPool(0.5)),
        lambda: DecisionLoss(QuadraticRelaxation()),
    ],
    ids=["quadratic", "perturbed", "pool", "calibrated"],
)
def test_the_same_run_goes_on_with_new_objects_and_with_the_old_ones(make: Callable[[], Any], tmp_path: Path) -> None:
    loss = make()
    run(tmp_path, False, loss=loss)
    assert len(run(tmp_path, True, loss=make())) == 2
    assert len(run(tmp_path, True, loss=loss, epochs=3)) == 3


@pytest.mark.filterwarnings("ignore::foresolve.NoImprovementWarning")
def test_a_schedule_changes_what_it_changes(tmp_path: Path) -> None:
    loss = smoothed(0.5)
    run(tmp_path, False, loss=loss, anneal=geometric(10, 0.1))
    assert len(run(tmp_path, True, loss=loss, anneal=geometric(10, 0.1))) == 2
    with mistake("checkpoint", "anneal gamma = "):
        run(tmp_path, True, loss=loss, anneal=geometric(10, 0.2))


@pytest.mark.filterwarnings("ignore::foresolve.NoImprovementWarning")
@pytest.mark.parametrize("first", [False, True])
def test_compiled_or_not_it_is_the_same_model(first: bool, tmp_path: Path) -> None:
    """Compiling changes how fast it is; the weights keep their names."""
    models = [MLP(3, 5, seed=0), torch.compile(MLP(3, 5, seed=0), backend="eager")]
    run(tmp_path, False, model=models[first])
    assert len(run(tmp_path, True, model=models[not first])) == 2
    plain = MLP(3, 5, seed=0)
    run(tmp_path / "plain", True, model=plain)
    for parameter, other in zip(models[not first].parameters(), plain.parameters(), strict=True):
        assert torch.equal(parameter, other)


def test_settings_are_flat_and_what_training_changes_does_not_count() -> None:
    perturbed = DecisionLoss(PerturbedAdditive(samples=3, sigma=0.5, seed=7))
    described = settings_of(perturbed)
    assert described["class"] == "DecisionLoss"
    assert described["layer"] == "PerturbedAdditive"
    assert (described["layer.samples"], described["layer.sigma"]) == (3, 0.5)
    perturbed(torch.rand(2, 5), top_k_data(2)[:2]).mean()
    assert settings_of(perturbed) == described
    assert settings_of(MSE()) == {"class": "MSE"}


def test_functions_count_by_code_and_by_the_numbers_they_hold() -> None:
    def make(factor: float) -> Callable[[float], float]:
        return lambda x: factor * x

    assert function_digest(make(1.0)) == function_digest(make(1.0))
    assert function_digest(make(1.0)) != function_digest(make(2.0))
    assert function_digest(make(torch.ones(2))) == function_digest(make(torch.ones(2)))  # type: ignore[arg-type]
    assert function_digest(make(torch.ones(2))) != function_digest(make(torch.zeros(2)))  # type: ignore[arg-type]
    assert function_digest(lambda x: x + 1) != function_digest(lambda x: x + 2)
    assert function_digest(partial(round, ndigits=1)) != function_digest(partial(round, ndigits=2))
    assert function_digest(abs) == "builtins.abs"
