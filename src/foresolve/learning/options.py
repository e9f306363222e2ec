"""The options of `fit`, checked."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Literal, Self, get_args

import torch
from torch import Tensor, nn

from foresolve._base import checks
from foresolve.data.dataset import DecisionDataset
from foresolve.data.fingerprint import fingerprint
from foresolve.data.solutions import Failure
from foresolve.learning.history import History
from foresolve.learning.identity import function_digest
from foresolve.losses.base import Loss

Monitor = Literal["regret", "agreement", "loss"]
Schedule = Callable[[float], Any]
LEAST_PATIENCE = 5


@dataclass(frozen=True)
class Options:
    """The keyword arguments of `fit`, which documents them, with its defaults and in its order."""

    epochs: int = 100
    batch_size: int | Literal["auto"] = 32
    lr: float | Literal["auto"] | None = None
    optimizer: torch.optim.Optimizer | Callable[..., torch.optim.Optimizer] | None = None
    scheduler: Any = "auto"
    anneal: Schedule | Mapping[str, Schedule] | None = None
    gamma: Literal["auto"] | None = None
    warm_start: Loss | Literal["two-stage"] | None = None
    patience: int | Literal["auto"] | None = "auto"
    monitor: Monitor | None = None
    clip: float | None = None
    device: torch.device | str | None = None
    seed: int = 0
    checkpoint: str | Path | None = None
    resume: bool = False
    progress: bool | Callable[[History], Any] | None = None
    on_failure: Failure = "raise"

    def changed(self) -> dict[str, Any]:
        """The arguments that are not at their defaults."""
        values = {field.name: (getattr(self, field.name), field.default) for field in fields(self)}
        return {name: value for name, (value, default) in values.items() if value is not default and value != default}

    def checked(self, valid: DecisionDataset | None, loss: Loss | None = None) -> Self:
        """The same, each of its type; an error for the first that makes no sense."""
        if self.patience is not None and self.patience != "auto":
            checks.positive_int("patience", self.patience)
            if valid is None:
                raise checks.fail("valid", "given where `patience` is", "None", "Patience is about validation")
        _check_maker("optimizer", self.optimizer, torch.optim.Optimizer, "torch.optim.Adam")
        if self.scheduler != "auto":
            _check_maker("scheduler", self.scheduler, object, "lambda optimizer: CosineAnnealingLR(optimizer, 20)")
        if not (self.progress is None or isinstance(self.progress, bool | int) or callable(self.progress)):
            raise checks.fail("progress", "True, False, None or a function of the History", repr(self.progress))
        self._check_search(valid)
        return replace(
            self,
            epochs=checks.positive_int("epochs", self.epochs, zero=True),
            batch_size="auto" if self.batch_size == "auto" else checks.positive_int("batch_size", self.batch_size),
            lr=self._checked_lr(loss),
            anneal=_schedules(self.anneal),
            monitor=self._checked_monitor(valid, loss),
            clip=None if self.clip is None else checks.positive("clip", self.clip),
            checkpoint=None if self.checkpoint is None else checks.path("checkpoint", self.checkpoint),
            on_failure=checks.one_of("on_failure", self.on_failure, get_args(Failure)),
        )

    def patience_for(self, valid: DecisionDataset | None, anneals: bool) -> int | None:
        """By default half of the epochs, where there is validation data and nothing that is yet to change.

        Fewer would stop before the learning rate has fallen, whose last steps are worth a percent or two.
        """
        if self.patience != "auto":
            return self.patience
        return None if valid is None or anneals else max(LEAST_PATIENCE, self.epochs // 2)

    def _checked_monitor(self, valid: DecisionDataset | None, loss: Loss | None) -> Monitor | None:
        """By default regret; where the truth is not known, the distance to the decisions on record ("agreement").

        Nothing without validation data: a run that is resumed is validated as it was before, or not at all.

        Where `theta` makes constraints, decisions under a prediction may be infeasible: without a `repair` of the loss
        their regret means nothing, and the loss is watched.
        """
        if self.monitor is not None:
            checks.one_of("monitor", self.monitor, get_args(Monitor))
        if valid is None:
            return None
        known = valid.has_theta
        feasible = "fixed" in valid.problem.traits or (loss is not None and loss.repair is not None)
        if self.monitor is None:
            return ("regret" if feasible else "loss") if known else "agreement"
        if self.monitor == "regret" and not feasible:
            remedy = "Such decisions may be infeasible under the truth; `DecisionLoss(..., repair=...)` mends them"
            raise checks.fail("monitor", '"loss" where `theta` makes constraints', "'regret'", remedy)
        if self.monitor == "regret" and not known:
            remedy = 'Of decisions alone no regret is known; leave `monitor` out for "agreement"'
            raise checks.fail("monitor", '"agreement" or "loss" for such validation data', "'regret'", remedy)
        return self.monitor

    def _checked_lr(self, loss: Loss | None) -> Any:
        """A number where an optimizer is made with it; `torch.optim` has no use for a negative one, some for 0."""
        if self.lr == "auto":
            return self.lr
        if self.lr is None:
            return Loss.lr if loss is None else loss.lr
        if self.optimizer is None:
            return checks.positive("lr", self.lr)
        return checks.between("lr", self.lr, "[0, inf)") if isinstance(self.optimizer, type) else self.lr

    @property
    def searched(self) -> tuple[str, ...]:
        """What is left to choose, in the order in which it is."""
        return tuple(name for name in ("lr", "batch_size", "gamma") if getattr(self, name) == "auto")

    def _check_search(self, valid: DecisionDataset | None) -> None:
        """Refuse "auto" where candidates cannot be trained from the same start, or not be judged."""
        if self.gamma not in (None, "auto"):
            remedy = "A number goes to the layer, `QuadraticRelaxation(gamma=0.1)`"
            raise checks.fail("gamma", 'None or "auto"', repr(self.gamma), remedy)
        if not self.searched:
            return
        names = "`, `".join(self.searched)
        if valid is None:
            raise checks.fail("valid", f'given where `{names}` is "auto"', "None", "Candidates are judged on it")
        for name, value in (("optimizer", self.optimizer), ("scheduler", self.scheduler)):
            if _steps(value):
                expected = f'a class or a function that makes one, where `{names}` is "auto"'
                remedy = "Each candidate is trained with one of its own"
                raise checks.fail(name, expected, f"an instance of {type(value).__name__}", remedy)
        if self.lr == "auto" and self.optimizer is not None and not isinstance(self.optimizer, type):
            remedy = "A function of the parameters has a learning rate of its own"
            raise checks.fail("optimizer", 'None or a class, where `lr` is "auto"', "a function", remedy)

    @property
    def schedules(self) -> Mapping[str, Schedule]:
        """What is annealed, by attribute."""
        return _schedules(self.anneal)

    @property
    def bar(self) -> bool | None:
        """Whether a bar is shown: never where a function gets the progress, and `None` for a terminal only."""
        return False if callable(self.progress) else self.progress

    def optimizer_for(self, model: nn.Module, loss: nn.Module | None = None) -> torch.optim.Optimizer:
        """The one that was given, or made for the parameters that train: the model's, and those that the loss has."""
        parameters = [p for p in model.parameters() if p.requires_grad]
        if not parameters:
            raise checks.fail("model", "one with parameters to train", f"{type(model).__name__}, which has none")
        trained = parameters + [p for p in ([] if loss is None else loss.parameters()) if p.requires_grad]
        make = torch.optim.Adam if self.optimizer is None else self.optimizer
        if isinstance(make, torch.optim.Optimizer):
            optimizer = make
        elif isinstance(make, type):
            optimizer = _made("optimizer", make, trained, lr=self.lr)
        else:
            optimizer = make(trained)
        if not isinstance(optimizer, torch.optim.Optimizer):
            raise checks.fail("optimizer", "an optimizer, or a function that makes one", type(optimizer).__name__)
        if isinstance(optimizer, torch.optim.LBFGS):
            raise checks.fail(
                "optimizer", "one that steps without a closure", "LBFGS", "For example `torch.optim.Adam`"
            )
        held = {id(p) for group in optimizer.param_groups for p in group["params"]}
        if held.isdisjoint(map(id, parameters)):
            remedy = "Give its class, or a function of the parameters, and it is made for this model"
            raise checks.fail("optimizer", "of parameters of `model`", "one that has none of them", remedy)
        return optimizer

    def scheduler_for(self, optimizer: torch.optim.Optimizer) -> Any:
        """The one that was given, or made for the optimizer; `None` where there is none."""
        make = self.scheduler
        if make == "auto":
            make = self._falling if self.optimizer is None else None
        if make is None or _steps(make):
            return make
        scheduler = _made("scheduler", make, optimizer) if isinstance(make, type) else make(optimizer)
        if scheduler is not None and not _steps(scheduler):
            expected = "a function that makes a scheduler, which has a `step()`"
            raise checks.fail("scheduler", expected, f"one that makes {type(scheduler).__name__}")
        return scheduler

    def _falling(self, optimizer: torch.optim.Optimizer) -> torch.optim.lr_scheduler.LambdaLR:
        """Half a cosine, from the learning rate to 0 after all epochs."""
        epochs = max(1, self.epochs)
        return torch.optim.lr_scheduler.LambdaLR(optimizer, lambda done: (1 + math.cos(math.pi * done / epochs)) / 2)

    def identity(self, instances: int, weights: Tensor | None = None) -> dict[str, Any]:
        """What a run must have in common with the one that it resumes; the optimizer's state brings its own `lr`."""
        names: dict[str, Any] = {"seed": self.seed, "batch_size": self.batch_size, "instances": instances}
        names |= {"monitor": self.monitor, "weights": None if weights is None else fingerprint(weights)[:16]}
        if self.warm_start is not None:
            names["warm_start"] = (
                self.warm_start if isinstance(self.warm_start, str) else type(self.warm_start).__name__
            )
        names |= {"clip": self.clip} | {f"anneal {name}": function_digest(s) for name, s in self.schedules.items()}
        return names if self.optimizer is not None else names | {"lr": self.lr}


def _steps(value: Any) -> bool:
    return hasattr(value, "step") and not isinstance(value, type)


def _check_maker(name: str, value: Any, kind: type, example: str) -> None:
    """Refuse what neither is an optimizer or scheduler nor makes one."""
    expected = f"an instance, a class or a function that makes one, such as `{example}`"
    if isinstance(value, type):
        if not issubclass(value, kind):
            raise checks.fail(name, expected, value.__name__)
    elif value is not None and not _steps(value) and not callable(value):
        raise checks.fail(name, expected, repr(value) if isinstance(value, str) else type(value).__name__)


def _made(name: str, kind: type, *arguments: Any, **keywords: Any) -> Any:
    """An instance of a class, which may want more than it is given here."""
    try:
        return kind(*arguments, **keywords)
    except (TypeError, ValueError) as error:
        given = "the parameters and `lr`" if keywords else "the optimizer"
        remedy = "Give a function that makes it, with all it needs"
        raise checks.fail(
            name, f"a class that can be made with {given}", f"{kind.__name__}: {error}", remedy
        ) from error


def _schedules(anneal: Any) -> dict[str, Schedule]:
    if anneal is None:
        return {}
    schedules = dict(anneal) if isinstance(anneal, Mapping) else {"gamma": anneal}
    for schedule in schedules.values():
        if not callable(schedule):
            remedy = "For example `foresolve.schedules.geometric(10, 0.1)`"
            raise checks.fail("anneal", "a function of progress in [0, 1]", type(schedule).__name__, remedy)
    return schedules
