from __future__ import annotations

from typing import Any

import pytest
import torch

from foresolve.learning.evaluation import evaluate
from foresolve.learning.fitting import fit
from foresolve.losses.prediction import MSE
from learning.instances import Squares, model, same, top_k_data


def test_early_stopping_goes_back_to_the_best_weights() -> None:
    train, valid = top_k_data(16), top_k_data(16, seed=1)
    net = model()
    history = fit(net, MSE(), train, valid, epochs=200, lr=0.3, patience=4, monitor="loss")
    assert history.stopped_early
    assert history.best_epoch == len(history) - 5
    assert history.valid_loss[history.best_epoch] == min(history.valid_loss)  # type: ignore[type-var]
    assert evaluate(net, valid, bootstrap=0).mse == pytest.approx(min(history.valid_loss), rel=1e-5)  # type: ignore[type-var]


def test_without_patience_the_last_weights_stay() -> None:
    settings: dict[str, Any] = {
        "train": top_k_data(16),
        "valid": top_k_data(16, seed=1),
        "epochs": 40,
        "lr": 0.3,
        "monitor": "loss",
    }
    patient, stopped = model(), model()
    history = fit(patient, MSE(), **settings)
    assert history.best_epoch is not None
    assert history.best_epoch < len(history) - 1 == 39
    assert not history.stopped_early
    fit(stopped, MSE(), patience=40, **settings)
    assert not same(patient, stopped)


def test_progress_gets_the_history() -> None:
    seen: list[int] = []
    fit(model(), MSE(), top_k_data(), epochs=3, progress=lambda history: seen.append(len(history)))
    assert seen == [1, 2, 3]


def test_ctrl_c_ends_it_with_the_epochs_so_far() -> None:
    def stop(history: object) -> None:
        raise KeyboardInterrupt

    history = fit(model(), MSE(), top_k_data(), epochs=5, progress=stop)
    assert history.interrupted
    assert (len(history), history.planned) == (1, 5)


def test_an_error_puts_the_global_generator_back() -> None:
    before = torch.get_rng_state()
    with pytest.raises(ValueError, match="enough"):
        fit(model(), Squares(), top_k_data(), progress=lambda history: _raise(ValueError("enough")))
    assert torch.equal(torch.get_rng_state(), before)


def _raise(error: Exception) -> None:
    raise error
