"""The epochs of a run: validation, patience, checkpoints, Ctrl-C."""

from __future__ import annotations

import copy
import math
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

import torch

from foresolve._base import checks
from foresolve._base.locks import NAME, WriterLock
from foresolve._base.log import log
from foresolve._base.progress import reporting
from foresolve._base.randomness import own_randomness
from foresolve._base.reading import one_line
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError, NoImprovementWarning, SolverError
from foresolve.learning.checkpoint import Checkpoint
from foresolve.learning.distributed import original
from foresolve.learning.history import History
from foresolve.learning.resuming import check_loaded
from foresolve.learning.steps import Trainer
from foresolve.solvers.statistics import solver_statistics

BETTER = 0.9  # of the squared error before training, below which predictions have clearly got better
NEGLIGIBLE = 1e-6  # a regret, or a share of entries, that no training need lower: the rounding of single precision


class TrainingLoop:
    """The loop over epochs, its best weights and its checkpoints.

    Parameters
    ----------
    trainer: of the steps; its options are those of the loop.
    valid: scored before the first epoch and after each.
    file: where the state is kept; `None` for nowhere.
    history: without epochs; where a run is resumed, its own takes the place.
    name: what progress says is being done.
    """

    def __init__(
        self,
        trainer: Trainer,
        valid: DecisionDataset | None,
        file: Checkpoint | None,
        history: History,
        name: str = "training",
    ) -> None:
        self.trainer, self.options, self.valid = trainer, trainer.options, valid
        self.file, self.history, self.name = file, history, name
        self.best, self.best_state = math.inf, None

    @contextmanager
    def writing(self) -> Iterator[None]:
        """Nobody else writes the checkpoint meanwhile."""
        if self.file is None or self.trainer.group.rank != 0:
            yield
            return
        path = self.file.path
        lock = WriterLock(path.with_name(f".{path.name}{NAME}"), path, "give another `checkpoint`")
        try:
            yield
        finally:
            lock.release()

    def start(self) -> None:
        """Resume from the checkpoint, or write the first one: there always is one to go back to."""
        if self.file is None:
            return
        if not self.file.exists():
            self.trainer.group.wait()  # no process may look for the file after another has written it
            self._save()
            return
        self.file.check_new(self.options.resume)
        state = self.file.load()
        try:
            history = History.from_dict(state["history"])
            self.trainer.load_state(state)
            self.best, self.best_state = float(state["best"]), state["best_state"]
            check_loaded(original(self.trainer.module), self.trainer.optimizer, self.best_state)
        except Exception as error:  # whatever torch makes of a state that is none
            raise ForesolveError(f"{self.file.path} does not hold the state of this run: {one_line(error)}") from error
        history.planned, history.left_out, history.interrupted = self.history.planned, self.history.left_out, False
        self.history = history
        log.info("%s: continues after epoch %d, from %s", self.name, len(history), self.file.path)
        self.trainer.group.wait()

    def run(self) -> History:
        """All epochs; Ctrl-C ends them without an error. Where they are validated, the best weights come back."""
        progress, epochs = self.options.progress, self.options.epochs
        with own_randomness(self.trainer.device), reporting(self.options.bar, self.name) as report:
            try:
                self._validate_start()
                self._epochs(progress if callable(progress) else lambda history: report(len(history), epochs))
            except KeyboardInterrupt:
                self.history.interrupted = True
        if self.best_state is not None:
            original(self.trainer.module).load_state_dict(self.best_state)
        self._warn_of_start()
        return self.history

    def _validate_start(self) -> None:
        """The weights that training begins with are the first candidate."""
        if self.valid is None or len(self.history):
            return
        try:
            self.history.start = self.trainer.validate(self.valid)
            self.history.start_mse = self.trainer.valid_mse
        except SolverError:
            if self.options.on_failure == "raise":
                raise
            return  # on no instance is there a decision: any epoch is better
        self._remember(self.history.start, 0)

    def _remember(self, score: float, epoch: int) -> None:
        """Keep the weights where they validate better than all before."""
        if score < self.best:
            self.best, self.history.best_epoch = score, epoch
            self.best_state = copy.deepcopy(original(self.trainer.module).state_dict())

    def _warn_of_start(self) -> None:
        """Where training was for nothing, though there was something to gain."""
        history, shares = self.history, self.options.monitor != "loss"
        if history.best_epoch != 0 or history.interrupted or not len(history) or (shares and self.best <= NEGLIGIBLE):
            return
        monitored = [value for value in history.monitored if value is not None]
        checks.warn(
            f"none of {len(history)} epochs validated better than the weights before training "
            f"({self.options.monitor} {self.best:.4g}, at best {min(monitored):.4g} after an epoch): "
            f"the initial weights are restored. {self._remedy()}; docs/choosing.md",
            NoImprovementWarning,
        )

    def _remedy(self) -> str:
        """What to do where nothing validated better; predictions may have, which is all that some losses are about."""
        start, errors = self.history.start_mse, [error for error in self.history.valid_mse if error is not None]
        if self.options.monitor == "loss" or start is None or min(errors, default=start) > BETTER * start:
            return "Lower `lr`, or take another loss"
        fell = f"The squared error of predictions fell all the same, from {start:.4g} to {min(errors):.4g}"
        return f'{fell}: to train a forecast, `monitor="loss"`; otherwise lower `lr`, or take another loss'

    def _epochs(self, report: Callable[[History], Any]) -> None:
        history, trainer, monitor = self.history, self.trainer, self.options.monitor
        for epoch in range(len(history), self.options.epochs):
            if self._out_of_patience():
                history.stopped_early = True
                break
            began = time.perf_counter()
            lr = float(trainer.optimizer.param_groups[0]["lr"])
            with solver_statistics(calls=False) as solved:
                train_loss = trainer.epoch(epoch)
                score = None if self.valid is None else trainer.validate(self.valid)
            self._step_scheduler(train_loss if score is None else score)
            history.append(
                train_loss=train_loss,
                valid_loss=score if monitor == "loss" else None,
                valid_regret=score if monitor == "regret" else None,
                valid_distance=score if monitor == "agreement" else None,
                valid_mse=trainer.valid_mse,
                seconds=time.perf_counter() - began,
                gamma=trainer.gamma,
                lr=lr,
                skipped=trainer.skipped,
                solver_seconds=solved.seconds,
                solver_iterations=solved.iterations,
                unconverged=solved.unconverged,
            )
            log.info("%s", self._told(epoch, score))
            if score is not None:
                self._remember(score, epoch + 1)
            history.stopped_early = self._out_of_patience() and len(history) < self.options.epochs
            self._save()
            report(history)

    def _told(self, epoch: int, score: float | None) -> str:
        """An epoch in a line."""
        history = self.history
        scored = "" if score is None else f", {self.options.monitor} {score:.6g}"
        return (
            f"{self.name}: epoch {epoch + 1} of {self.options.epochs}, loss {history.train_loss[-1]:.6g}{scored}; "
            f"{history.seconds[-1]:.2f} s, {history.solver_seconds[-1]:.2f} s of them in solvers, "
            f"{history.solver_iterations[-1]} iterations, {history.unconverged[-1]} not solved to tolerance"
        )

    def _out_of_patience(self) -> bool:
        best, patience = self.history.best_epoch, self.options.patience_for(self.valid, self.trainer.anneals)
        return patience is not None and best is not None and len(self.history) - best >= patience

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
        if self.trainer.group.rank == 0:
            best = None if self.best_state is None else dict(self.best_state)
            self.file.save(state | {"history": self.history.to_dict(), "best": self.best, "best_state": best})
            log.debug("%s: wrote %s", self.name, self.file.path)
