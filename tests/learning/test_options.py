from __future__ import annotations

import inspect
from dataclasses import fields
from typing import Any

import pytest
import torch
from torch import nn

from foresolve.data import DecisionDataset
from foresolve.learning import fit
from foresolve.learning.options import Options
from foresolve.losses import MSE, PredictionLoss, SPOPlus
from learning.instances import top_k_data
from mistakes import mistake


def test_they_are_the_arguments_of_fit_in_order_and_with_its_defaults() -> None:
    keywords = [p for p in inspect.signature(fit).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert [(p.name, p.default) for p in keywords] == [(field.name, field.default) for field in fields(Options)]


def test_what_was_changed() -> None:
    assert Options().changed() == {}
    assert Options(epochs=100, lr=None, patience="auto", progress=None).changed() == {}
    assert Options(lr=0.1, resume=True, progress=False).changed() == {"lr": 0.1, "resume": True, "progress": False}


def test_checked_options_have_their_types() -> None:
    options = Options(epochs=torch.tensor(3), clip=1, anneal=lambda p: p).checked(None)  # type: ignore[arg-type]
    assert (options.epochs, options.clip, list(options.schedules)) == (3, 1.0, ["gamma"])
    assert Options(anneal={"sigma": lambda p: 2 * p}).checked(None).schedules["sigma"](3.0) == 6.0


@pytest.mark.parametrize(("epochs", "patience"), [(0, 5), (3, 5), (20, 10), (40, 20), (100, 50)])
def test_patience_is_half_of_the_epochs_where_there_is_validation(epochs: int, patience: int) -> None:
    data, options = top_k_data(4), Options(epochs=epochs)
    assert options.patience_for(data, anneals=False) == patience
    assert options.patience_for(None, anneals=False) is None
    assert options.patience_for(data, anneals=True) is None
    assert Options(epochs=epochs, patience=None).patience_for(data, anneals=False) is None
    assert Options(epochs=epochs, patience=7).patience_for(data, anneals=True) == 7


def test_the_learning_rate_is_that_of_the_loss_unless_told_otherwise() -> None:
    for loss in (MSE(), SPOPlus()):
        assert Options().checked(None, loss).lr == loss.lr
        assert Options(optimizer=torch.optim.SGD).checked(None, loss).lr == loss.lr
        assert Options(lr=0.5).checked(None, loss).lr == 0.5
    assert MSE.lr == PredictionLoss.lr > SPOPlus.lr


def test_what_is_monitored() -> None:
    data = top_k_data(4)
    decisions = DecisionDataset(data.features, decisions=data.decisions, problem=data.problem)
    assert Options().checked(data).monitor == "regret"
    assert Options().checked(decisions).monitor == "agreement"
    assert Options(monitor="loss").checked(data).monitor == "loss"
    assert Options(monitor="loss").checked(None).monitor is None  # nothing to validate on


def test_a_bar_is_shown_unless_a_function_gets_the_progress() -> None:
    assert [Options(progress=value).bar for value in (None, True, False, print)] == [None, True, False, False]


def test_an_optimizer_for_the_parameters_that_train() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    model[0].requires_grad_(False)
    group = Options(lr=0.5).optimizer_for(model).param_groups[0]
    assert (group["lr"], len(group["params"])) == (0.5, 2)
    assert isinstance(Options(lr=0.1, optimizer=torch.optim.SGD).optimizer_for(model), torch.optim.SGD)
    with mistake("model", "Sequential"):
        Options().optimizer_for(model.requires_grad_(False))


def test_the_learning_rate_identifies_a_run_only_where_it_is_used() -> None:
    run = {"seed": 3, "batch_size": 32, "instances": 10, "monitor": None, "weights": None, "clip": None}
    assert Options(lr=0.5, seed=3).identity(10) == run | {"lr": 0.5}
    assert "lr" not in Options(optimizer=torch.optim.SGD).identity(10)


def test_the_monitor_and_the_weights_identify_a_run() -> None:
    loss = Options(monitor="loss").identity(3)
    assert loss["monitor"] == "loss"
    light, heavy = (Options().identity(3, torch.tensor(w))["weights"] for w in ([1.0, 1.0, 1.0], [1.0, 1.0, 2.0]))
    assert len({None, light, heavy}) == 3
    assert Options().identity(3, torch.tensor([1.0, 1.0, 2.0]))["weights"] == heavy


class Idle(torch.optim.Optimizer):
    """An optimizer that is made with parameters alone."""

    def __init__(self, params: Any) -> None:
        super().__init__(params, {})


STEP = torch.optim.lr_scheduler.StepLR


@pytest.mark.parametrize(
    ("arguments", "fact"),
    [
        ({"lr": "x"}, "> 0; got 'x'"),
        ({"lr": True}, "> 0; got True"),
        ({"lr": "x", "optimizer": torch.optim.SGD}, "[0, inf); got 'x'"),
        ({"lr": -1, "optimizer": torch.optim.SGD}, "[0, inf); got -1"),
        ({"optimizer": "adam"}, "`torch.optim.Adam`; got 'adam'"),
        ({"optimizer": nn.Linear}, "got Linear"),
        ({"optimizer": {"lr": 1}}, "got dict"),
        ({"scheduler": "cosine"}, "got 'cosine'"),
        ({"clip": "x"}, "got 'x'"),
        ({"progress": "x"}, "got 'x'"),
        ({"checkpoint": 5}, "got 5"),
    ],
)
def test_what_makes_no_sense_is_refused_before_any_work(arguments: dict[str, Any], fact: str) -> None:
    with mistake(next(iter(arguments)), fact):
        Options(**arguments).checked(None)


def test_a_learning_rate_is_looked_at_only_where_it_is_used() -> None:
    model = nn.Linear(1, 1)
    for optimizer in (torch.optim.SGD(model.parameters(), lr=0.1), lambda p: torch.optim.SGD(p, lr=0.1)):
        assert Options(lr="x", optimizer=optimizer).checked(None).optimizer_for(model)  # type: ignore[arg-type]
    assert Options(lr=torch.tensor(0.5)).checked(None).lr == 0.5  # type: ignore[arg-type]
    assert Options(lr=0, optimizer=torch.optim.SGD).checked(None).lr == 0


@pytest.mark.parametrize(
    ("optimizer", "fact"),
    [
        (Idle, "got Idle"),
        (torch.optim.LBFGS, "got LBFGS"),
        (torch.optim.SGD(nn.Linear(2, 2).parameters(), lr=0.1), "`model`"),
        (lambda p: None, "got NoneType"),
    ],
)
def test_optimizers_that_cannot_train_the_model(optimizer: Any, fact: str) -> None:
    with mistake("optimizer", fact):
        Options(optimizer=optimizer).checked(None).optimizer_for(nn.Linear(1, 1))


def test_schedulers() -> None:
    optimizer = torch.optim.SGD(nn.Linear(1, 1).parameters(), lr=0.1)
    assert isinstance(Options(scheduler=lambda o: STEP(o, 2)).checked(None).scheduler_for(optimizer), STEP)
    assert Options(scheduler=lambda o: None).checked(None).scheduler_for(optimizer) is None
    made = STEP(optimizer, 2)
    assert Options(scheduler=made).checked(None).scheduler_for(optimizer) is made
    with mistake("scheduler", "StepLR", "step_size"):
        Options(scheduler=STEP).checked(None).scheduler_for(optimizer)
    with mistake("scheduler", "step()", "int"):
        Options(scheduler=lambda o: 5).checked(None).scheduler_for(optimizer)
