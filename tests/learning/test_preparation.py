from __future__ import annotations

import torch

from foresolve.learning.options import Options
from foresolve.learning.preparation import Preparation
from foresolve.losses import SPOPlus
from learning.instances import Squares, model, same, top_k_data
from mistakes import mistake


def test_decisions_are_known_and_the_model_has_its_units() -> None:
    train, valid, network = top_k_data(), top_k_data(seed=1), model()
    ready = Preparation.of(network, SPOPlus(), train, valid, Options().checked(valid))
    assert ready.train.solved
    assert ready.valid is not None
    assert ready.valid.solved
    assert ready.left_out == 0
    assert network.units_in is not None
    assert bool(network.units_in.known)


def test_copies_leave_model_and_loss_alone() -> None:
    options = Options(epochs=2).checked(None)
    ready = Preparation.of(model(), Squares(), top_k_data(), None, options)
    copied = ready.copied()
    assert copied.train is ready.train
    copied.loop(options).run()
    untrained = Preparation.of(model(), Squares(), top_k_data(), None, options).model
    assert same(ready.model, untrained)
    assert not same(copied.model, untrained)


def test_a_model_without_numbers_is_refused() -> None:
    with torch.device("meta"):
        empty = torch.nn.Linear(3, 5)
    with mistake("device", "meta"):
        Preparation.of(empty, Squares(), top_k_data(), None, Options().checked(None))
