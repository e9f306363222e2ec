"""Training."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, Literal

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve._base.devices import find_device
from foresolve._base.randomness import own_randomness
from foresolve.data.best import reporting
from foresolve.data.dataset import DecisionDataset, Failure
from foresolve.errors import ForesolveError
from foresolve.learning.checkpoint import Checkpoint, identity_of
from foresolve.learning.distributed import unwrap
from foresolve.learning.evaluation import evaluate
from foresolve.learning.history import History
from foresolve.learning.steps import Schedule, Settings, Trainer
from foresolve.losses.base import Loss
from foresolve.losses.prediction import MSE, CrossEntropy, PredictionLoss
from foresolve.models.reference import Baseline

Monitor = Literal["regret", "loss"]


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
    seed: int = 0,
    checkpoint: str | Path | None = None,
    resume: bool = False,
    progress: bool | Callable[[History], Any] | None = None,
    on_failure: Failure = "raise",
) -> History:
    r"""Train a model, in place, to minimise the mean of a loss; or fit a baseline.

    Parameters
    ----------
    model: any module from features to `theta`, or a `Baseline` (then `loss` is `None` or one of prediction, and not
        used, and of the rest only `valid` matters).
    loss: a `Loss`; its layers and generators are part of what a checkpoint remembers. Only the model is trained.
    train: with the best decisions under the truth, which are worked out first where the loss needs them.
    valid: scored after each epoch, by `monitor`.
    epochs, batch_size: `batch_size` is that of each process, where there are several.
    lr, optimizer: Adam by default; an instance, a class (made with `lr`), or a function of the parameters.
    scheduler: an instance, or a function of the optimiser; one step an epoch.
    anneal: a function from progress (0 in the first epoch, 1 in the last) to the `gamma` of the layers in the loss, for
        example `schedules.geometric(10, 0.1)` or `lambda p: Relative(1 - 0.9 * p)`; or a dict of such functions by
        attribute, `{"sigma": ...}`. The layers keep the last value.
    patience: stop after so many epochs without a better validation, and go back to the best weights.
    monitor: "regret" (normalised, of exact decisions) or "loss".
    clip: the largest norm of the gradient.
    device: where to train; that of the model by default. The model is moved there, and stays.
    seed: of the order of the data and of the global generators within training, from which dropout draws. Each epoch
        starts from the seed and its number; the caller's own global generators are left as they were.
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
    _check_data("train", train)
    if valid is not None:
        _check_data("valid", valid)
    if isinstance(model, Baseline):
        return _fit_baseline(model, loss, train, valid)
    if not isinstance(model, nn.Module):
        raise checks.fail("model", "an nn.Module or a Baseline", type(model).__name__)
    if not isinstance(loss, Loss):
        raise checks.fail("loss", "a foresolve Loss", "None" if loss is None else type(loss).__name__)
    settings = Settings(
        checks.positive_int("epochs", epochs, zero=True), checks.positive_int("batch_size", batch_size), int(seed),
        None if clip is None else checks.positive("clip", clip), _schedules(anneal), on_failure,
    )  # fmt: skip
    _check_options(valid, patience, monitor, on_failure)
    where = find_device(device, model)
    loss.check_problem(train.problem)
    model.to(where)
    loss.to(where)
    shown, given = False if callable(progress) else progress, len(train)
    # Solved before it is moved: the caller's data set keeps what was found.
    if loss.needs_decision:
        train = train.solve(on_failure=on_failure, progress=shown)
    if valid is not None and (loss.needs_decision or monitor == "regret"):
        valid = valid.solve(on_failure=on_failure, progress=shown)
    train, valid = train.to(where), None if valid is None else valid.to(where)
    rule = _optimizer(optimizer, model, lr)
    trainer = Trainer(model, loss, train, rule, _scheduler(scheduler, rule), settings, where)
    names = {"seed": settings.seed, "batch_size": batch_size, "instances": len(train)}
    names |= {} if optimizer is not None else {"lr": lr}
    file = None if checkpoint is None else Checkpoint(checkpoint, identity_of(unwrap(model), loss, rule, names))
    history = History(planned=epochs, left_out=given - len(train))
    run = _Run(trainer, valid, monitor, patience, file, history)
    run.start(resume)
    with own_randomness(where), reporting(shown, "training") as report:
        try:
            run.loop(progress if callable(progress) else lambda history: report(len(history), epochs))
        except KeyboardInterrupt:
            run.history.interrupted = True
    if patience is not None and run.best_state is not None:
        trainer.module.load_state_dict(run.best_state)
    return run.history


class _Run:
    """The loop over epochs, its best weights and its checkpoints."""

    def __init__(
        self,
        trainer: Trainer,
        valid: DecisionDataset | None,
        monitor: Monitor,
        patience: int | None,
        file: Checkpoint | None,
        history: History,
    ) -> None:
        self.trainer, self.valid, self.monitor, self.patience = trainer, valid, monitor, patience
        self.file, self.history = file, history
        self.best, self.best_state = math.inf, None

    def start(self, resume: bool) -> None:
        """Go on from the checkpoint, or write the first one: there always is one to go back to."""
        if self.file is None:
            return
        if not self.file.exists():
            self.trainer.workers.wait()  # no process may look for the file after another has written it
            self._save()
            return
        if not resume:
            remedy = "Pass `resume=True` to go on from it, or delete it to start anew"
            raise checks.fail("checkpoint", "a new path", f"{self.file.path}, which exists", remedy)
        state = self.file.load()
        try:
            history = History.from_dict(state["history"])
            self.trainer.load_state(state)
            self.best, self.best_state = float(state["best"]), state["best_state"]
        except (KeyError, TypeError, ValueError, RuntimeError, AttributeError, IndexError, ForesolveError) as error:
            raise ForesolveError(f"{self.file.path} does not hold the state of this run: {error}") from error
        history.planned, history.left_out, history.interrupted = self.history.planned, self.history.left_out, False
        self.history = history
        self.trainer.workers.wait()

    def loop(self, report: Callable[[History], Any]) -> None:
        history, trainer = self.history, self.trainer
        for epoch in range(len(history), trainer.settings.epochs):
            if self._out_of_patience():
                history.stopped_early = True
                break
            began = time.perf_counter()
            lr = float(trainer.optimizer.param_groups[0]["lr"])
            train_loss = trainer.epoch(epoch)
            found = None if self.valid is None else trainer.validate(self.valid, self.monitor)
            self._step_scheduler(train_loss if found is None else found)
            history.append(
                train_loss=train_loss,
                valid_loss=found if self.monitor == "loss" else None,
                valid_regret=found if self.monitor == "regret" else None,
                seconds=time.perf_counter() - began,
                gamma=trainer.gamma,
                lr=lr,
                skipped=trainer.skipped,
            )
            if found is not None and found < self.best:
                self.best, history.best_epoch = found, epoch
                self.best_state = copy.deepcopy(trainer.module.state_dict())
            history.stopped_early = self._out_of_patience() and len(history) < trainer.settings.epochs
            self._save()
            report(history)

    def _out_of_patience(self) -> bool:
        best = self.history.best_epoch
        return self.patience is not None and best is not None and len(self.history) - 1 - best >= self.patience

    def _step_scheduler(self, metric: float) -> None:
        scheduler = self.trainer.scheduler
        if isinstance(scheduler, torch.optim.lr_scheduler.ReduceLROnPlateau):
            scheduler.step(metric)
        elif scheduler is not None:
            scheduler.step()

    def _save(self) -> None:
        if self.file is None:
            return
        state = self.trainer.state()
        if self.trainer.workers.rank == 0:
            best = None if self.best_state is None else dict(self.best_state)
            self.file.save(state | {"history": self.history.to_dict(), "best": self.best, "best_state": best})


def _fit_baseline(model: Baseline, loss: Any, train: DecisionDataset, valid: DecisionDataset | None) -> History:
    if loss is not None and not isinstance(loss, MSE | CrossEntropy | PredictionLoss):
        remedy = "It is fitted by its own rule; pass None"
        raise checks.fail("loss", "None for a baseline", type(loss).__name__, remedy)
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
    return history


def _check_data(name: str, data: Any) -> None:
    if not isinstance(data, DecisionDataset):
        remedy = "Make one with `DecisionDataset(features, theta, problem)`"
        raise checks.fail(name, "a DecisionDataset", type(data).__name__, remedy)


def _check_options(valid: Any, patience: int | None, monitor: str, on_failure: str) -> None:
    if patience is not None:
        checks.positive_int("patience", patience)
        if valid is None:
            raise checks.fail("valid", "given where `patience` is", "None", "Patience is about validation")
    if monitor not in ("regret", "loss"):
        raise checks.fail("monitor", '"regret" or "loss"', repr(monitor))
    if on_failure not in ("raise", "skip"):
        raise checks.fail("on_failure", '"raise" or "skip"', repr(on_failure))


def _schedules(anneal: Any) -> dict[str, Schedule]:
    if anneal is None:
        return {}
    schedules = dict(anneal) if isinstance(anneal, Mapping) else {"gamma": anneal}
    for schedule in schedules.values():
        if not callable(schedule):
            remedy = "For example `foresolve.schedules.geometric(10, 0.1)`"
            raise checks.fail("anneal", "a function of progress in [0, 1]", type(schedule).__name__, remedy)
    return schedules


def _optimizer(optimizer: Any, model: nn.Module, lr: float) -> torch.optim.Optimizer:
    parameters: list[Tensor] = [p for p in model.parameters() if p.requires_grad]
    if not parameters:
        raise checks.fail("model", "one with parameters to train", f"{type(model).__name__}, which has none")
    if isinstance(optimizer, torch.optim.Optimizer):
        return optimizer
    if optimizer is None:
        return torch.optim.Adam(parameters, lr=checks.positive("lr", lr))
    made = optimizer(parameters, lr=lr) if isinstance(optimizer, type) else optimizer(parameters)
    if not isinstance(made, torch.optim.Optimizer):
        raise checks.fail("optimizer", "an optimiser, or a function that makes one", type(made).__name__)
    return made


def _scheduler(scheduler: Any, optimizer: torch.optim.Optimizer) -> Any:
    if scheduler is None or (hasattr(scheduler, "step") and not isinstance(scheduler, type)):
        return scheduler
    return scheduler(optimizer)
