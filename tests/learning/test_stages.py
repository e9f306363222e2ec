from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
import torch

import foresolve
from foresolve.data import DecisionDataset
from foresolve.layers import PerturbedAdditive
from foresolve.learning import History, fit
from foresolve.learning.options import Options
from foresolve.learning.stages import train_once
from foresolve.losses import MSE, CrossEntropy, DecisionLoss, FenchelYoung, LogMSE, PredictionLoss, SPOPlus
from foresolve.models import MLP, LinearRegression
from foresolve.problems import TopK
from foresolve.schedules import geometric
from learning.instances import Squares, model, same, top_k_data
from mistakes import mistake

TRAIN, VALID = top_k_data(24, noise=1.0), top_k_data(16, seed=1, noise=1.0)
OPTIONS: dict[str, Any] = {"epochs": 4, "lr": 0.05, "batch_size": 8, "seed": 3, "patience": None}
pytestmark = pytest.mark.filterwarnings("ignore::foresolve.errors.NoImprovementWarning")


def numbers(history: History) -> dict[str, Any]:
    """All but the times."""
    document = history.to_dict()
    first = document["warm_start"]
    timeless: dict[str, Any] = {"seconds": None, "solver_seconds": None}
    return {**document, **timeless, "warm_start": first and {**first, **timeless}}


@pytest.mark.parametrize("valid", [None, VALID])
def test_two_stages_are_two_calls(valid: DecisionDataset | None) -> None:
    once, twice = model(hidden=(4,)), model(hidden=(4,))
    history = fit(once, SPOPlus(), TRAIN, valid, warm_start="two-stage", **OPTIONS)
    first = fit(twice, MSE(), TRAIN, valid, **OPTIONS)
    second = fit(twice, SPOPlus(), TRAIN, valid, **OPTIONS)
    assert same(once, twice)
    assert history.warm_start is not None
    assert numbers(history.warm_start) == numbers(first)
    assert numbers(history) | {"warm_start": None} == numbers(second)
    if valid is not None:
        assert second.start == first.best


def test_a_loss_of_ones_own() -> None:
    data = DecisionDataset(TRAIN.features, TRAIN.theta.exp(), TRAIN.problem)
    once, twice = model(head="positive"), model(head="positive")
    fit(once, SPOPlus(), data, warm_start=LogMSE(), **OPTIONS)
    fit(twice, LogMSE(), data, **OPTIONS)
    fit(twice, SPOPlus(), data, **OPTIONS)
    assert same(once, twice)
    history = fit(model(), SPOPlus(), TRAIN, warm_start=PredictionLoss(lambda a, b: (a - b).abs()), **OPTIONS)
    assert history.warm_start is not None


def test_probabilities_are_learned_by_their_likelihood() -> None:
    data = DecisionDataset(TRAIN.features, TRAIN.theta.sigmoid(), TRAIN.problem)
    for theta, first in ((data.theta, CrossEntropy()), (2 * data.theta, MSE())):
        part = DecisionDataset(data.features, theta, data.problem)
        once, twice = model(head="probability"), model(head="probability")
        fit(once, SPOPlus(), part, warm_start="two-stage", **OPTIONS)
        fit(twice, first, part, **OPTIONS)
        fit(twice, SPOPlus(), part, **OPTIONS)
        assert same(once, twice)


def test_what_belongs_to_layers_waits_for_the_second_stage() -> None:
    def loss() -> DecisionLoss:
        return DecisionLoss(foresolve.QuadraticRelaxation(gamma=1.0))

    once, twice = model(), model()
    fit(once, loss(), TRAIN, warm_start="two-stage", anneal=geometric(3.0, 1.0), **OPTIONS)
    fit(twice, MSE(), TRAIN, **OPTIONS)
    fit(twice, loss(), TRAIN, anneal=geometric(3.0, 1.0), **OPTIONS)
    assert same(once, twice)


class Stop:
    """Ctrl-C after so many epochs of both stages."""

    def __init__(self, epochs: int) -> None:
        self.left, self.seen = epochs, []

    def __call__(self, history: History) -> None:
        self.left -= 1
        self.seen.append((len(history), history.warm_start is not None))
        if self.left == 0:
            raise KeyboardInterrupt


@pytest.mark.parametrize("folder", [False, True])
@pytest.mark.parametrize("epochs", [1, 3, 4, 5, 7])
def test_a_run_goes_on_in_either_stage(epochs: int, folder: bool, tmp_path: Path) -> None:
    path = tmp_path / ("run" if folder else "run.safetensors")
    loss = lambda: FenchelYoung(PerturbedAdditive(2, sigma=0.3, seed=1))  # noqa: E731
    straight, broken = model(hidden=(4,)), model(hidden=(4,))
    options = {**OPTIONS, "warm_start": "two-stage"}
    whole = fit(straight, loss(), TRAIN, VALID, **options)
    stopped = fit(broken, loss(), TRAIN, VALID, checkpoint=path, progress=Stop(epochs), **options)
    assert stopped.interrupted
    assert (stopped.warm_start is None) == (stopped.planned == 0)
    assert len(stopped) == max(0, epochs - 4)
    again = model(seed=9, hidden=(4,))  # weights come from the file
    resumed = fit(again, loss(), TRAIN, VALID, checkpoint=path, resume=True, **options)
    assert same(again, straight)
    assert numbers(resumed) == numbers(whole)
    names = {file.name for file in tmp_path.rglob("*.safetensors")}
    assert names == ({"checkpoint.safetensors", "warm_start-checkpoint.safetensors"} if folder else
                     {"run.safetensors", "warm_start-run.safetensors"})  # fmt: skip


def test_a_file_that_is_there_is_refused_before_any_training(tmp_path: Path) -> None:
    path = tmp_path / "run"
    fit(model(), SPOPlus(), TRAIN, warm_start="two-stage", checkpoint=path, **OPTIONS)
    (path / "warm_start-checkpoint.safetensors").unlink()
    fresh = model()
    with mistake("checkpoint", "resume=True"):
        fit(fresh, SPOPlus(), TRAIN, warm_start="two-stage", checkpoint=path, **OPTIONS)
    assert same(fresh, model())
    with mistake("checkpoint", "warm_start"):
        fit(fresh, SPOPlus(), TRAIN, checkpoint=path, resume=True, **OPTIONS)


def test_progress_shows_both() -> None:
    told = Stop(100)
    fit(model(), SPOPlus(), TRAIN, warm_start="two-stage", progress=told, **OPTIONS)
    assert told.seen == [(epoch, stage) for stage in (False, True) for epoch in (1, 2, 3, 4)]


def spread(x: torch.Tensor, known: Any) -> torch.Tensor:
    """As much more of everything as the true right-hand side asks for."""
    return x + (known.b_eq - x.sum(-1, keepdim=True)) / 3


def test_the_repair_of_the_second_loss_is_not_asked_of_the_first() -> None:
    problem = foresolve.LinearProgram(A_eq=[[1.0, 1.0, 1.0]], b_eq=[0.0], bounds=(-9, 9), sense="min").parametrized(
        [1.0, 2.0, 4.0], b_eq=foresolve.problems.Affine([[1.0, 2.0]])
    )
    theta = 1 + torch.rand(12, 2, generator=torch.Generator().manual_seed(0))
    data = DecisionDataset(theta.clone(), theta, problem)
    loss = DecisionLoss(foresolve.QuadraticRelaxation(gamma=0.1), repair=spread)
    history = fit(MLP(2, 2, seed=0), loss, data, data, warm_start="two-stage", monitor="regret", epochs=1)
    assert history.warm_start is not None
    assert (history.warm_start.monitor, history.monitor) == ("loss", "regret")


DECISIONS = DecisionDataset(TRAIN.features, decisions=TRAIN.decisions, problem=TopK(5, 2))


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"loss": MSE()}, ["warm_start", "`loss`", "MSE"]),
        ({"loss": "log_mse"}, ["warm_start", "`loss`", "LogMSE"]),
        ({"warm_start": "ridge"}, ["warm_start", "'ridge'", "`Correction("]),
        ({"warm_start": SPOPlus()}, ["warm_start", "got SPOPlus"]),
        ({"warm_start": LinearRegression()}, ["warm_start", "got LinearRegression", "`Correction("]),
        ({"model": LinearRegression(), "loss": None}, ["warm_start", "LinearRegression"]),
        ({"train": DECISIONS, "loss": FenchelYoung(PerturbedAdditive())}, ["train", "`theta`"]),
        ({"anneal": geometric(3.0, 1.0)}, ["anneal", "`gamma`"]),
        ({"epochs": -1}, ["epochs", "got -1"]),
    ],
)
def test_what_is_refused_before_any_training(arguments: dict[str, Any], about: list[str]) -> None:
    given: dict[str, Any] = {"model": model(), "loss": SPOPlus(), "train": TRAIN, "warm_start": "two-stage"}
    with mistake(*about):
        fit(**{**given, **arguments})
    assert same(given["model"], model())


def test_one_stage_says_what_came_before() -> None:
    before = History(planned=2)
    history = train_once(model(), Squares(), TRAIN, None, Options(epochs=1), warm_start=before)
    assert history.warm_start is before
