from __future__ import annotations

import copy
import math
from typing import Any

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from foresolve.data import Batch, DecisionDataset
from foresolve.errors import NoImprovementWarning, SolverError
from foresolve.layers import PerturbedAdditive
from foresolve.learning import evaluate, fit
from foresolve.losses import MSE, FenchelYoung
from foresolve.problems import OracleProblem, TopK
from learning.instances import Squares, model, same, top_k_data
from mistakes import caution


def test_early_stopping_goes_back_to_the_best_weights() -> None:
    train, valid = top_k_data(16), top_k_data(16, seed=1)
    net = model()
    history = fit(net, MSE(), train, valid, epochs=200, lr=0.3, patience=4, monitor="loss")
    assert history.stopped_early
    assert history.best_epoch == len(history) - 4
    assert history.best == history.valid_loss[history.best_epoch - 1] == min(history.valid_loss)  # type: ignore[type-var]
    assert evaluate(net, valid, bootstrap=0).mse == pytest.approx(history.best, rel=1e-5)


def test_patience_is_half_of_the_epochs_or_none_and_the_best_weights_come_back() -> None:
    settings: dict[str, Any] = {
        "train": top_k_data(16),
        "valid": top_k_data(16, seed=1),
        "epochs": 40,
        "lr": 0.1,
        "monitor": "loss",
    }
    usual, patient, unvalidated = (model(hidden=(32,)) for _ in range(3))
    stopped = fit(usual, MSE(), **settings)
    assert stopped.stopped_early
    assert stopped.best_epoch == len(stopped) - 20
    history = fit(patient, MSE(), patience=None, **settings)
    assert len(history) == 40
    assert not history.stopped_early
    assert history.best_epoch is not None
    assert history.best_epoch < 40
    assert evaluate(patient, settings["valid"], bootstrap=0).mse == pytest.approx(history.best, rel=1e-5)
    last = fit(unvalidated, MSE(), settings["train"], epochs=40, lr=0.1)
    assert last.train_loss == history.train_loss
    assert (last.monitor, last.start, last.best_epoch, last.best) == (None, None, None, None)
    assert not same(patient, unvalidated)  # without validation, the last weights stay


def test_weights_are_never_returned_that_validate_worse_than_those_that_came() -> None:
    """A perfect model, spoiled by noise: `fit` once gave it back with a regret of 1.6 %, without a word."""
    theta = torch.rand(50, 4, generator=torch.Generator().manual_seed(0))
    data = DecisionDataset(theta, theta, TopK(4, 2))
    net = nn.Linear(4, 4)
    nn.init.eye_(net.weight)
    nn.init.zeros_(net.bias)
    before = copy.deepcopy(net)
    loss = FenchelYoung(PerturbedAdditive(2, sigma=5.0))
    history = fit(net, loss, data, data, epochs=5, lr=0.5, patience=3)  # nothing to gain: no warning
    assert min(history.valid_regret) > 0  # type: ignore[type-var]
    assert (history.start, history.best, history.best_epoch) == (0.0, 0.0, 0)
    assert (len(history), history.stopped_early) == (3, True)
    assert same(net, before)


def test_where_no_epoch_is_better_a_warning_says_so() -> None:
    train, valid = top_k_data(), top_k_data(seed=1)
    net = model()
    fit(net, MSE(), train, valid)
    before, score = copy.deepcopy(net), evaluate(net, valid, bootstrap=0).normalized_regret
    with caution("10 epochs", f"{score:.4g}", kind=NoImprovementWarning):
        history = fit(net, MSE(), train, valid, epochs=20, lr=30.0)
    assert same(net, before)
    assert history.best_epoch == 0
    assert history.best == history.start == pytest.approx(score)
    assert "before training: no epoch improved it" in repr(history)


def test_forecasts_that_got_better_while_decisions_did_not_are_told() -> None:
    """The start decides well and predicts nothing; training learns the level, and an order that is wrong elsewhere."""
    features = torch.rand(60, 4, generator=torch.Generator().manual_seed(0))
    train = DecisionDataset(features, 100 - features, TopK(4, 2))
    valid = DecisionDataset(features, 100 + features + 0.1 * features.roll(1), TopK(4, 2))
    net = nn.Linear(4, 4)
    nn.init.eye_(net.weight)
    nn.init.zeros_(net.bias)
    with caution('`monitor="loss"`', kind=NoImprovementWarning):
        fit(net, MSE(), train, valid, epochs=20, lr=1.0)


def test_a_start_without_a_number_is_no_candidate() -> None:
    class Late(Squares):
        """NaN in validation until a step was taken."""

        def forward(self, theta_hat: Tensor, batch: Batch) -> Tensor:
            self.stepped = getattr(self, "stepped", False) or self.training
            return super().forward(theta_hat, batch) * (1.0 if self.stepped else math.nan)

    net = model()
    history = fit(net, Late(), top_k_data(), top_k_data(seed=1), epochs=3, lr=0.1, monitor="loss")
    assert history.start is not None
    assert math.isnan(history.start)
    assert history.best_epoch == 3
    assert history.best == min(history.valid_loss)  # type: ignore[type-var]


def test_a_start_without_decisions_is_skipped_where_failures_are() -> None:
    """An oracle that has no answer to the predictions of the start."""

    def oracle(theta: np.ndarray) -> np.ndarray:
        if (theta < 0).any():
            raise RuntimeError("negative")
        return np.eye(3)[theta.argmax()]

    theta = torch.rand(20, 3, generator=torch.Generator().manual_seed(0))
    data = DecisionDataset(torch.ones(20, 1), theta, OracleProblem(oracle, n=3))

    def net() -> nn.Module:
        linear = nn.Linear(1, 3, bias=False)
        nn.init.constant_(linear.weight, -0.02)
        return linear

    with pytest.raises(SolverError):
        fit(net(), MSE(), data, data, epochs=1, lr=0.1)
    history = fit(net(), MSE(), data, data, epochs=1, lr=0.1, on_failure="skip")
    assert history.start is None
    assert (history.best_epoch, history.best) == (1, history.valid_regret[0])


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
