from __future__ import annotations

import inspect
from dataclasses import fields

import pytest
import torch
from torch import nn

from foresolve.errors import InvalidInputError
from foresolve.learning.fitting import fit
from foresolve.learning.options import Options


def test_they_are_the_arguments_of_fit_in_order_and_with_its_defaults() -> None:
    keywords = [p for p in inspect.signature(fit).parameters.values() if p.kind is p.KEYWORD_ONLY]
    assert [(p.name, p.default) for p in keywords] == [(field.name, field.default) for field in fields(Options)]


def test_what_was_changed() -> None:
    assert Options().changed() == {}
    assert Options(epochs=20, lr=1e-3, progress=None).changed() == {}
    assert Options(lr=0.1, resume=True, progress=False).changed() == {"lr": 0.1, "resume": True, "progress": False}


def test_checked_options_have_their_types() -> None:
    options = Options(epochs=torch.tensor(3), clip=1, anneal=lambda p: p).checked(None)  # type: ignore[arg-type]
    assert (options.epochs, options.clip, list(options.schedules)) == (3, 1.0, ["gamma"])
    assert Options(anneal={"sigma": lambda p: 2 * p}).checked(None).schedules["sigma"](3.0) == 6.0


def test_a_bar_is_shown_unless_a_function_gets_the_progress() -> None:
    assert [Options(progress=value).bar for value in (None, True, False, print)] == [None, True, False, False]


def test_an_optimizer_for_the_parameters_that_train() -> None:
    model = nn.Sequential(nn.Linear(2, 3), nn.Linear(3, 2))
    model[0].requires_grad_(False)
    group = Options(lr=0.5).optimizer_for(model).param_groups[0]
    assert (group["lr"], len(group["params"])) == (0.5, 2)
    assert isinstance(Options(optimizer=torch.optim.SGD).optimizer_for(model), torch.optim.SGD)
    with pytest.raises(InvalidInputError, match="`model` must be one with parameters to train"):
        Options().optimizer_for(model.requires_grad_(False))


def test_the_learning_rate_identifies_a_run_only_where_it_is_used() -> None:
    assert Options(lr=0.5, seed=3).identity(10) == {"seed": 3, "batch_size": 32, "instances": 10, "lr": 0.5}
    assert "lr" not in Options(optimizer=torch.optim.SGD).identity(10)
