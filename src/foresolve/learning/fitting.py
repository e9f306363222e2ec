"""Training: `fit`."""

from __future__ import annotations

import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import torch
from torch import nn

from foresolve._base import checks
from foresolve._base.devices import find_device
from foresolve._base.randomness import Seed, as_seed
from foresolve.data.dataset import DecisionDataset, Failure
from foresolve.learning.checkpoint import Checkpoint, identity_of
from foresolve.learning.distributed import unwrap
from foresolve.learning.evaluation import evaluate
from foresolve.learning.history import History
from foresolve.learning.loop import TrainingLoop
from foresolve.learning.options import Monitor, Options, Schedule, check_data
from foresolve.learning.steps import Trainer
from foresolve.losses.base import Loss
from foresolve.losses.prediction import MSE, CrossEntropy, PredictionLoss
from foresolve.models.reference import Baseline


def fit(
    model: nn.Module,
    loss: Loss | None,
    train: DecisionDataset,
    valid: DecisionDataset | None = None,
    *,
    epochs: int = 20,
    batch_size: int = 32,
    lr: float = 1e-3,
    optimizer: torch.optim.Optimizer | Callable[..., torch.optim.Optimizer] | None = None,
    scheduler: Any = None,
    anneal: Schedule | Mapping[str, Schedule] | None = None,
    patience: int | None = None,
    monitor: Monitor = "regret",
    clip: float | None = None,
    device: torch.device | str | None = None,
    seed: Seed = 0,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: bool | Callable[[History], Any] | None = None,
    on_failure: Failure = "raise",
) -> History:
    r"""Train a model, in place, to minimise the mean of a loss; or fit a baseline.

    Parameters
    ----------
    model: any module from features to `theta`, or a `Baseline`, which is fitted in one go by its own rule: then `loss`
        is `None` or one of prediction (and not used), and of the keyword arguments only `progress` has a meaning; any
        other that is not at its default is refused by name.
    loss: a `Loss`; its layers and generators are part of what a checkpoint remembers. Only the model is trained.
    train: with the best decisions under the truth, which are worked out first where the loss needs them.
    valid: scored after each epoch, by `monitor`.
    epochs, batch_size: `batch_size` is that of each process, where there are several.
    lr, optimizer: Adam by default; an instance, a class (made with `lr`), or a function of the parameters.
    scheduler: an instance, or a function of the optimiser; one step an epoch.
    anneal: a function from progress (0 in the first epoch, 1 in the last) to the `gamma` of the layers in the loss, for
        example `schedules.geometric(10, 0.1)` or `lambda p: RelativeGamma(1 - 0.9 * p)`; or a dict of such functions by
        attribute, `{"sigma": ...}`. The layers keep the last value.
    patience: stop after this many epochs without a better validation, and go back to the best weights.
    monitor: "regret" (normalised, of exact decisions) or "loss".
    clip: the largest norm of the gradient.
    device: where to train; that of the model by default. The model is moved there, and stays.
    seed: of the order of the data and of the global generators within training, from which dropout draws; an integer,
        or a generator that draws one. Each epoch starts from the seed and its number; the caller's own global
        generators are left as they were.
    checkpoint: a file or folder, written after every epoch. One that is there is refused, unless `resume` says to go
        on from it, which gives the weights of a run without a break, bit for bit. (Progress in `anneal` is that of
        `epochs` in this call.)
    progress: a bar where stderr is a terminal; True or False; or a function that gets the `History` after each epoch.
    on_failure: what a `SolverError` in the loss does: "raise" it with the instance's name, or "skip" the instance, and
        count it in `History.skipped`.

    Ctrl-C ends training without an error: the checkpoint is that of the last whole epoch, `History.interrupted` is
    set, and the model has its best weights (with `patience`) or its last. Where `torch.distributed` is initialised
    (`torchrun`), each process takes its share of every epoch and gradients are averaged (DistributedDataParallel); the
    first one writes the checkpoint.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.data import DecisionDataset
    >>> from foresolve.learning import fit
    >>> from foresolve.models import MLP
    >>> from foresolve.losses import SPOPlus
    >>> g = torch.Generator().manual_seed(0)
    >>> features = torch.randn(64, 3, generator=g)
    >>> data = DecisionDataset(features, features @ torch.randn(3, 4, generator=g), foresolve.TopK(4, 2))
    >>> history = fit(MLP(3, 4, seed=g), SPOPlus(), data, epochs=5, lr=0.1)
    >>> history.train_loss[-1] < history.train_loss[0]
    True
    """
    options = Options(
        epochs, batch_size, lr, optimizer, scheduler, anneal, patience, monitor, clip, device, as_seed("seed", seed),
        checkpoint, resume, progress, on_failure,
    )  # fmt: skip
    check_data("train", train)
    if valid is not None:
        check_data("valid", valid)
    if isinstance(model, Baseline):
        return _fit_baseline(model, loss, train, valid, options)
    if not isinstance(model, nn.Module):
        raise checks.fail("model", "an nn.Module or a Baseline", type(model).__name__)
    if not isinstance(loss, Loss):
        raise checks.fail("loss", "a foresolve Loss", "None" if loss is None else type(loss).__name__)
    loop = _prepared(model, loss, train, valid, options.checked(valid))
    loop.start()
    return loop.run()


def _prepared(
    model: nn.Module, loss: Loss, train: DecisionDataset, valid: DecisionDataset | None, options: Options
) -> TrainingLoop:
    """Everything in its place: what is known beforehand worked out, model, loss and data on one device."""
    where = find_device(options.device, model)
    if where.type == "meta":
        remedy = "For a model on 'meta', `model.to_empty(device=...)` makes room for numbers"
        raise checks.fail("device", "one that holds numbers", "meta", remedy)
    loss.check_problem(train.problem)
    model.to(where)
    loss.to(where)
    total = len(train)
    # Solved before it is moved: the caller's data set keeps its decisions.
    effort: dict[str, Any] = {"on_failure": options.on_failure, "progress": options.bar}
    train = loss.prepare(train, **effort)
    if valid is not None:
        by_regret = options.monitor == "regret"
        valid = valid.solve(**effort) if by_regret else loss.prepare(valid, valid=True, **effort)
    train, valid = train.to(where), None if valid is None else valid.to(where)
    optimizer = options.optimizer_for(model)
    trainer = Trainer(model, loss, train, optimizer, options.scheduler_for(optimizer), options, where)
    history = History(planned=options.epochs, left_out=total - len(train))
    if options.checkpoint is None:
        return TrainingLoop(trainer, valid, None, history)
    identity = identity_of(unwrap(model), loss, optimizer, options.identity(len(train)))
    return TrainingLoop(trainer, valid, Checkpoint(options.checkpoint, identity), history)


def _fit_baseline(
    model: Baseline, loss: Any, train: DecisionDataset, valid: DecisionDataset | None, options: Options
) -> History:
    remedy = f"{type(model).__name__} is fitted in one go, by its own rule"
    if loss is not None and not isinstance(loss, MSE | CrossEntropy | PredictionLoss):
        raise checks.fail("loss", "None for a baseline", type(loss).__name__, remedy)
    refused = {option: value for option, value in options.changed().items() if option != "progress"}
    if refused:
        values = ", ".join(f"{option}={_shown(value)}" for option, value in refused.items())
        raise checks.fail("`, `".join(refused), "left out for a baseline", values, remedy)
    began = time.perf_counter()
    model.fit(train)
    seconds = time.perf_counter() - began
    error = float((model(train.features).double() - train.theta.double()).square().mean())
    history = History(planned=1)
    regret = None
    if valid is not None:
        regret = evaluate(model, valid, metrics=False, bootstrap=0).normalized_regret
        history.best_epoch = 0
    history.append(train_loss=error, valid_regret=regret, seconds=seconds, skipped=0)
    if callable(options.progress):
        options.progress(history)
    return history


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, int | float | str | Path) else type(value).__name__
