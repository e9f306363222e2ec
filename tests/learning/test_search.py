from __future__ import annotations

import math
from pathlib import Path
from typing import Any

import pytest
import torch
from torch import nn

import foresolve
from foresolve.errors import ForesolveError
from foresolve.layers import CalibratedGamma, RelativeGamma
from foresolve.learning import History, fit, search
from foresolve.learning.search import BATCH_SIZES, MULTIPLES, RATES, smooth_by, smoothing_of
from foresolve.losses import MSE, DecisionLoss, SPOPlus
from foresolve.schedules import geometric
from learning.instances import model, same, top_k_data
from mistakes import mistake

TRAIN, VALID = top_k_data(48), top_k_data(24, seed=1)
pytestmark = pytest.mark.filterwarnings("ignore::foresolve.errors.NoImprovementWarning")


def decision(gamma: Any = 1.0) -> DecisionLoss:
    return DecisionLoss(foresolve.QuadraticRelaxation(gamma=gamma))


class Runs:
    """Which trials there were: candidates and epochs, with scores that a function gives."""

    def __init__(self, score: Any) -> None:
        self.score, self.trials = score, []

    def __call__(self, candidate: Any, epochs: int) -> float:
        self.trials.append((candidate, epochs))
        return self.score(candidate)


def halved(candidates: list[Any], score: Any, default: float = 1.0, budget: float = 50) -> tuple[Any, Runs]:
    runs = Runs(score)
    return search._halved(candidates, default, runs, budget, lambda done, total: None), runs


def test_the_worse_half_goes_in_each_round_at_half_the_cost() -> None:
    best, runs = halved(list(RATES), lambda rate: abs(math.log(rate / 3e-3)))
    assert best == 3e-3
    counts = [epochs for _, epochs in runs.trials]
    assert counts == [2] * 7 + [4] * 4 + [8] * 2
    assert sum(counts) <= 50


def test_each_candidate_has_an_epoch_at_least() -> None:
    assert halved(list(MULTIPLES), lambda gamma: gamma, budget=0)[1].trials == [
        *((multiple, 1) for multiple in MULTIPLES), (0.1, 1), (0.3, 1),
    ]  # fmt: skip


def test_ties_go_to_the_default_and_a_single_candidate_needs_no_run() -> None:
    assert halved([0.1, 0.3, 1.0, 3.0], lambda gamma: 0.0)[0] == 1.0
    best, runs = halved([8], lambda size: 0.0)
    assert (best, runs.trials) == (8, [])


def failing(bad: set[float]) -> Any:
    def score(candidate: float) -> float:
        if candidate in bad:
            raise ForesolveError("the loss is nan")
        return candidate

    return score


def test_what_diverges_loses_and_is_told_only_where_all_do() -> None:
    assert halved([1.0, 2.0, 3.0], failing({1.0}))[0] == 2.0
    with mistake("", "nan", kind=ForesolveError):
        halved([1.0, 2.0], failing({1.0, 2.0}))


def test_a_learning_rate_is_chosen_and_trained_with() -> None:
    chosen, plain = model(), model()
    history = fit(chosen, MSE(), TRAIN, VALID, lr="auto", epochs=12, monitor="loss")
    assert history.chosen["lr"] in (1e-2, 3e-2, 1e-1)  # twelve epochs of two batches are few
    assert set(history.chosen) == {"lr"}
    again = fit(plain, MSE(), TRAIN, VALID, lr=history.chosen["lr"], epochs=12, monitor="loss")
    assert same(chosen, plain)
    assert again.chosen == {}
    assert again.train_loss == history.train_loss
    assert "lr 0." in repr(history)


def test_all_three_at_once_by_the_seed_alone() -> None:
    def run() -> tuple[History, nn.Module, DecisionLoss]:
        network, loss = model(hidden=(4,)), decision(0.5)
        options: dict[str, Any] = {"lr": "auto", "batch_size": "auto", "gamma": "auto"}
        return fit(network, loss, TRAIN, VALID, epochs=4, seed=5, **options), network, loss

    state = torch.get_rng_state()
    history, network, loss = run()
    assert torch.equal(torch.get_rng_state(), state)
    assert list(history.chosen) == ["lr", "batch_size", "gamma"]
    assert history.chosen["batch_size"] in (8, 32)  # there are 48 instances
    assert history.chosen["gamma"] in [0.5 * multiple for multiple in MULTIPLES]
    assert loss.layer.gamma == history.chosen["gamma"]
    again, other, _ = run()
    assert again.chosen == history.chosen
    assert same(network, other)
    plain = model(hidden=(4,))
    settings: dict[str, Any] = {"lr": history.chosen["lr"], "batch_size": history.chosen["batch_size"]}
    fit(plain, decision(history.chosen["gamma"]), TRAIN, VALID, epochs=4, seed=5, **settings)
    assert same(network, plain)


def test_small_data_has_one_batch_size() -> None:
    few = top_k_data(5)
    assert fit(model(), MSE(), few, VALID, batch_size="auto", epochs=1).chosen == {"batch_size": 5}
    assert BATCH_SIZES == (8, 32, 128)


def test_a_calibrated_smoothing_is_chosen_as_a_whole() -> None:
    loss, plain = decision(CalibratedGamma()), decision(CalibratedGamma())
    plain.prepare(TRAIN)
    history = fit(model(), loss, TRAIN, VALID, gamma="auto", epochs=2, lr=0.01)
    known, usual = loss.layer.calibration, plain.layer.calibration
    assert known.gamma == pytest.approx(history.chosen["gamma"])
    assert known.first / known.last == pytest.approx(usual.first / usual.last)
    assert known.gamma / usual.gamma == pytest.approx(min(MULTIPLES, key=lambda m: abs(m - known.gamma / usual.gamma)))


def test_smoothing_of_every_kind() -> None:
    for gamma, number in ((2.0, 2.0), (RelativeGamma(0.5), 0.5), (torch.tensor([1.0, 3.0]), 2.0)):
        loss = decision(gamma)
        (layer,) = loss.smoothed_layers
        assert smoothing_of(layer) == number
        smooth_by(loss, 3 * number)
        assert smoothing_of(layer) == 3 * number
    loss = decision(1.0)
    loss.second = decision(RelativeGamma(0.2))
    smooth_by(loss, 0.5)
    assert [smoothing_of(layer) for layer in loss.smoothed_layers] == [0.5, 0.1]


def test_candidates_that_diverge_are_no_error() -> None:
    network = nn.Sequential(nn.Linear(3, 8), nn.Linear(8, 5))
    history = fit(network, MSE(), TRAIN, VALID, lr="auto", optimizer=Wild, epochs=3, monitor="loss")
    assert history.chosen["lr"] < 0.03


class Wild(torch.optim.SGD):
    """Steps that are finite for small learning rates alone."""

    def __init__(self, params: Any, lr: float) -> None:
        super().__init__(params, lr=lr if lr < 0.03 else 1e30)


def test_a_run_that_is_resumed_keeps_what_it_chose(tmp_path: Path) -> None:
    options: dict[str, Any] = {"lr": "auto", "gamma": "auto", "epochs": 4}
    straight, broken = model(), model()
    whole = fit(straight, decision(), TRAIN, VALID, **options)

    def stop(history: History) -> None:
        if len(history) == 2:
            raise KeyboardInterrupt

    loss = decision()
    fit(broken, loss, TRAIN, VALID, checkpoint=tmp_path / "run", progress=stop, **options)
    for again in (loss, decision()):  # with the gamma that was chosen, or before
        resumed = model(seed=7)
        history = fit(resumed, again, TRAIN, VALID, checkpoint=tmp_path / "run", resume=True, **options)
        assert history.chosen == whole.chosen
        assert same(resumed, straight)
        assert again.layer.gamma == whole.chosen["gamma"]
    with mistake("checkpoint", "lr, gamma"):
        fit(model(), loss, TRAIN, VALID, checkpoint=tmp_path / "run", resume=True, lr="auto", epochs=4)


def test_two_stages_are_resumed_with_what_each_chose(tmp_path: Path) -> None:
    options: dict[str, Any] = {"lr": "auto", "epochs": 3, "warm_start": "two-stage", "patience": None}
    straight = model()
    whole = fit(straight, decision(), TRAIN, VALID, gamma="auto", **options)
    for last in (2, 4):  # epochs of both stages together, before Ctrl-C
        left = [last]

        def stop(history: History, left: list[int] = left) -> None:
            left[0] -= 1
            if left[0] == 0:
                raise KeyboardInterrupt

        path = tmp_path / str(last)
        fit(model(), decision(), TRAIN, VALID, gamma="auto", checkpoint=path, progress=stop, **options)
        resumed = model(seed=7)
        history = fit(resumed, decision(), TRAIN, VALID, gamma="auto", checkpoint=path, resume=True, **options)
        assert same(resumed, straight)
        assert history.chosen == whole.chosen
        assert history.warm_start is not None
        assert whole.warm_start is not None
        assert history.warm_start.chosen == whole.warm_start.chosen


def test_ctrl_c_while_choosing(monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupted(*_: Any) -> Any:
        raise KeyboardInterrupt

    monkeypatch.setattr("foresolve.learning.steps.Trainer.epoch", interrupted)
    history = fit(model(), MSE(), TRAIN, VALID, lr="auto", epochs=4)
    assert history.interrupted
    assert len(history) == 0


def test_both_stages_choose_for_themselves() -> None:
    history = fit(model(), SPOPlus(), TRAIN, VALID, warm_start="two-stage", lr="auto", epochs=4)
    assert history.warm_start is not None
    assert set(history.warm_start.chosen) == set(history.chosen) == {"lr"}
    assert History.from_dict(history.to_dict()) == history


@pytest.mark.parametrize(
    ("arguments", "about"),
    [
        ({"lr": "auto", "valid": None}, ["valid", "`lr`"]),
        ({"lr": "auto", "optimizer": lambda p: torch.optim.SGD(p, lr=1.0)}, ["optimizer", "a function"]),
        ({"batch_size": "auto", "optimizer": torch.optim.SGD([torch.zeros(1)], lr=1.0)}, ["optimizer"]),
        ({"gamma": "auto"}, ["gamma", "SPOPlus"]),
        ({"gamma": "auto", "loss": decision(), "anneal": geometric(1, 0.1)}, ["gamma", "`anneal`"]),
        ({"gamma": "auto", "loss": decision(), "monitor": "loss"}, ["gamma", "validation"]),
        ({"gamma": 0.1}, ["gamma", "got 0.1", "QuadraticRelaxation(gamma=0.1)"]),
        ({"lr": "best"}, ["lr", "'best'"]),
    ],
)
def test_what_is_refused(arguments: dict[str, Any], about: list[str]) -> None:
    given: dict[str, Any] = {"loss": SPOPlus(), "valid": VALID, "epochs": 1}
    with mistake(*about):
        fit(model(), train=TRAIN, **{**given, **arguments})


def test_a_layer_that_does_not_smooth_has_nothing_to_choose() -> None:
    program = foresolve.QuadraticProgram(diagonal=[1.0] * 5, bounds=(0, 1))
    data = foresolve.DecisionDataset(TRAIN.features, TRAIN.theta, program)
    with mistake("gamma", "a gamma of 0"):
        fit(model(), decision(0.0), data, data, gamma="auto", epochs=1)
