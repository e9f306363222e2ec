"""A training in one stage, or in two: predictions first, then decisions."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Any

from torch import nn

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.learning.checkpoint import Checkpoint
from foresolve.learning.distributed import original
from foresolve.learning.history import History
from foresolve.learning.options import Options
from foresolve.learning.preparation import Preparation
from foresolve.learning.search import check_search, choose
from foresolve.learning.steps import holders
from foresolve.losses.base import Loss
from foresolve.losses.prediction import MSE, OF_PREDICTION, CrossEntropy
from foresolve.models.reference import Reference

TWO_STAGE = "two-stage"


def train_once(
    model: nn.Module,
    loss: Loss,
    train: DecisionDataset,
    valid: DecisionDataset | None,
    options: Options,
    *,
    name: str = "training",
    warm_start: History | None = None,
) -> History:
    """One stage: what is left to choose is chosen, then the model is trained; `warm_start` is the stage before."""
    options = options.checked(valid, loss)
    check_search(options, loss)
    ready = Preparation.of(model, loss, train, valid, options)
    try:
        options, chosen = choose(ready, options)
    except KeyboardInterrupt:
        return History(planned=options.epochs, warm_start=warm_start, interrupted=True)
    loop = ready.loop(options, name)
    loop.history.warm_start, loop.history.chosen = warm_start, chosen
    with loop.writing():
        loop.start()
        return loop.run()


def train_twice(
    model: nn.Module, loss: Loss, train: DecisionDataset, valid: DecisionDataset | None, options: Options
) -> History:
    """Predictions first, by a loss of their own, then `loss` from there: two calls of `fit` in one.

    Both have a checkpoint of their own. Where that of the second is there, the first is over.
    """
    first = _first_loss(options.warm_start, model, loss, train)
    _check_second(loss, train, valid, options)
    file = None if options.checkpoint is None else Checkpoint(options.checkpoint, {})
    if file is not None and file.exists():
        file.check_new(options.resume)
        return train_once(model, loss, train, valid, options, name="decisions")
    path = None if file is None else _beside(file.path)
    # What belongs to layers has no meaning for a loss of predictions, nor has a regret that only `loss` can repair.
    monitor = None if options.monitor == "regret" and loss.repair is not None else options.monitor
    settings = replace(options, warm_start=None, anneal=None, gamma=None, monitor=monitor, checkpoint=path)
    history = train_once(model, first, train, valid, settings, name="predictions")
    if history.interrupted:
        return History(planned=options.epochs, warm_start=history, interrupted=True)
    return train_once(model, loss, train, valid, options, name="decisions", warm_start=history)


def _first_loss(asked: Any, model: nn.Module, loss: Loss, train: DecisionDataset) -> Loss:
    """What a warm start minimizes: by default the error that suits the range of the model's predictions."""
    expected = f'"{TWO_STAGE}" or a loss of prediction such as `LogMSE()`'
    if isinstance(loss, OF_PREDICTION):
        got = f"{asked!r} with {type(loss).__name__}" if isinstance(asked, str) else type(asked).__name__
        remedy = (
            f"{type(loss).__name__} learns predictions already: leave `warm_start` out, or take a loss of decisions"
        )
        raise checks.fail("warm_start", "None where `loss` is one of prediction", got, remedy)
    if asked != TWO_STAGE and not isinstance(asked, OF_PREDICTION):
        name = repr(asked) if isinstance(asked, str) else type(asked).__name__
        remedy = "A baseline as the start is the forecaster of `Correction(baseline, network)`"
        raise checks.fail("warm_start", expected, name, remedy)
    if not train.has_theta:
        remedy = "Leave `warm_start` out"
        raise checks.fail("train", "with `theta`, which a warm start learns to predict", "decisions alone", remedy)
    if isinstance(asked, Loss):
        return asked
    reference = original(model)
    probable = isinstance(reference, Reference) and reference.head == "probability"
    in_range = bool(((train.theta >= 0) & (train.theta <= 1)).all())
    return CrossEntropy() if probable and in_range else MSE()


def _check_second(loss: Loss, train: DecisionDataset, valid: DecisionDataset | None, options: Options) -> None:
    """What would be wrong with the second stage is said before the first."""
    checked = options.checked(valid, loss)
    check_search(checked, loss)
    loss.check_data(train)
    for name in checked.schedules:
        holders(loss, name)


def _beside(path: Path) -> Path:
    """The file of the first stage."""
    return path.with_name(f"warm_start-{path.name}")
