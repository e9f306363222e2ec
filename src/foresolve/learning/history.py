"""The course of a training."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from html import escape
from typing import Any

from foresolve._base.drawing.rendering import with_picture
from foresolve._base.extras import need
from foresolve._base.numbers import significant
from foresolve.errors import ForesolveError
from foresolve.learning.pictures.curves import SHARES, draw_history

OF_SOLVERS = ("solver_seconds", "solver_iterations", "unconverged")
COLUMNS = (
    "train_loss", "valid_loss", "valid_regret", "valid_distance", "valid_mse", "seconds", "gamma", "lr", "skipped",
    *OF_SOLVERS,
)  # fmt: skip
VALIDATED = {"regret": "valid_regret", "agreement": "valid_distance", "loss": "valid_loss"}


@dataclass
class History:
    """One entry an epoch in each list; JSON takes it as `to_dict()`, pandas as `to_frame()`, matplotlib as `plot()`.

    Histories are equal where all but the times is: a training that was stopped and went on has that of one without a
    break. Epoch 0 are the weights before training, the first epoch is 1: `valid_regret[e - 1]` belongs to epoch `e`.

    Attributes
    ----------
    train_loss: the mean over the epoch, while the weights changed.
    valid_loss: the mean after the epoch; `None` unless it was monitored.
    valid_regret: normalized (`sum regret / sum |best value|`) after the epoch, of exact decisions; `None` unless it was
        monitored.
    valid_distance: of decisions to those on record after the epoch, the mean over entries, each in units of its range
        over the validation decisions: the share that differs where entries are 0 or 1; `None` unless agreement was
        monitored.
    valid_mse: mean squared error of predictions after the epoch, which may rise while decisions get better; `None`
        without validation, and where the true parameters are not known.
    seconds: of training and validation together.
    gamma: what `anneal` set the smoothing to; `None` where it is not annealed, or where it follows the data.
    lr: the learning rate of the first parameter group.
    skipped: how many instances a solver failed on (`on_failure="skip"`).
    solver_seconds, solver_iterations: of the forward solves in an epoch, in this process, as
        `foresolve.layers.solver_statistics` counts them; `None` for a baseline, and in files of earlier versions.
    unconverged: how many of the instances that they solved did not reach their tolerance.
    left_out: how many training instances have no best decision and were never used (`on_failure="skip"`).
    planned: the number of epochs that were asked for.
    monitor: what was monitored, "regret", "agreement" or "loss"; `None` without validation.
    start, start_mse: the monitored number and the squared error of epoch 0, before training; `None` without validation.
    best_epoch: that of the smallest monitored number, whose weights the model has at the end; 0 where no epoch was
        better than the start; `None` without validation.
    stopped_early: whether `patience` ran out.
    interrupted: whether Ctrl-C ended it.
    warm_start: the first of two stages, in which predictions were learned (`fit(..., warm_start=...)`); `None` for a
        training in one.
    chosen: what `fit` was left to choose ("auto"), by name: "lr", "batch_size", and "gamma", the smoothing of the first
        layer of the loss (the factor of its rule, where it follows the data).
    """

    train_loss: list[float] = field(default_factory=list)
    valid_loss: list[float | None] = field(default_factory=list)
    valid_regret: list[float | None] = field(default_factory=list)
    valid_distance: list[float | None] = field(default_factory=list)
    valid_mse: list[float | None] = field(default_factory=list)
    seconds: list[float] = field(default_factory=list, compare=False)
    gamma: list[float | None] = field(default_factory=list)
    lr: list[float | None] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    solver_seconds: list[float | None] = field(default_factory=list, compare=False)
    solver_iterations: list[int | None] = field(default_factory=list)
    unconverged: list[int | None] = field(default_factory=list)
    left_out: int = 0
    planned: int = 0
    monitor: str | None = None
    start: float | None = None
    start_mse: float | None = None
    best_epoch: int | None = None
    stopped_early: bool = False
    interrupted: bool = False
    warm_start: History | None = None
    chosen: dict[str, float] = field(default_factory=dict)

    def __len__(self) -> int:
        """The number of epochs that were completed."""
        return len(self.train_loss)

    @property
    def best(self) -> float | None:
        """The smallest monitored number, that of `best_epoch`; `None` without validation."""
        if self.best_epoch is None:
            return None
        return self.start if self.best_epoch == 0 else self.monitored[self.best_epoch - 1]

    @property
    def monitored(self) -> list[float | None]:
        """The monitored number of each epoch from 1 on; nothing without validation."""
        return [] if self.monitor is None else getattr(self, VALIDATED[self.monitor])

    def append(self, **row: Any) -> None:
        """Add an epoch."""
        for name in COLUMNS:
            getattr(self, name).append(row.get(name))

    def to_dict(self) -> dict[str, Any]:
        """Plain lists and numbers."""
        return asdict(self)

    @classmethod
    def from_dict(cls, document: Any) -> History:
        """What `to_dict` gave; an error where it did not."""
        known = {item.name: item for item in fields(cls)}
        if isinstance(document, dict) and isinstance(document.get("train_loss"), list):  # of an earlier version
            document = dict.fromkeys(OF_SOLVERS, [None] * len(document["train_loss"])) | document
        if not isinstance(document, dict) or set(document) != set(known):
            raise ForesolveError("a history must have the entries " + ", ".join(known))
        lists = [document[name] for name in COLUMNS]
        numbers = (int, float, type(None))
        if not all(isinstance(column, list) and all(isinstance(v, numbers) for v in column) for column in lists):
            raise ForesolveError("the columns of a history must be lists of numbers")
        if len({len(column) for column in lists}) != 1:
            raise ForesolveError("the columns of a history must be of one length")
        _check_scalars(document)
        chosen, first = document["chosen"], document["warm_start"]
        if not isinstance(chosen, dict) or not all(isinstance(value, int | float) for value in chosen.values()):
            raise ForesolveError("what a history says was chosen must be numbers by name")
        return cls(**{**document, "warm_start": None if first is None else cls.from_dict(first)})

    def to_frame(self) -> Any:
        """A pandas DataFrame with one row an epoch; epoch 0 is the start, where it was validated."""
        pandas = need("pandas", "a DataFrame", "learn")
        table = {name: getattr(self, name) for name in COLUMNS}
        first = 1
        if self.monitor is not None and self.start is not None:
            first, starts = 0, {"valid_mse": self.start_mse, VALIDATED[self.monitor]: self.start}
            table = {name: [starts.get(name), *column] for name, column in table.items()}
        return pandas.DataFrame(table, index=pandas.RangeIndex(first, len(self) + 1, name="epoch"))

    def plot(self, ax: Any = None) -> Any:
        """Learning curves on matplotlib axes, which are given back: what was monitored, from before training on.

        The error of predictions, where it is known, has the axis on the right: it may rise while regret falls.
        `foresolve.learning.plot_learning` puts several trainings side by side.
        """
        return draw_history(self, ax)

    def curve(self, column: str) -> tuple[list[int], list[float]]:
        """Epochs and numbers of a column, with epoch 0 where it is known."""
        values, start = getattr(self, column), None
        if column == "valid_mse":
            start = self.start_mse
        elif self.monitor is not None and column == VALIDATED[self.monitor]:
            start = self.start
        if start is None:
            return list(range(1, len(values) + 1)), [_number(v) for v in values]
        return list(range(len(values) + 1)), [_number(v) for v in [start, *values]]

    def _repr_html_(self) -> str:
        """What a notebook shows: a line, and the plot where matplotlib is there."""
        return with_picture(f"<code>{escape(repr(self))}</code>", "learning curves", self.plot if len(self) else None)

    def __repr__(self) -> str:
        if not len(self):
            return f"History(no epochs{', interrupted' if self.interrupted else ''})"
        parts = [_epochs(self), f"loss {significant(self.train_loss[-1])}"]
        if self.best_epoch is not None:
            shares = {column: label for column, (label, _) in SHARES.items()}
            column = VALIDATED[self.monitor or "loss"]
            best = _number(self.best)
            what = f"{shares[column]} {best:.2%}" if column in shares else f"validation loss {significant(best)}"
            where = f"after epoch {self.best_epoch}" if self.best_epoch else "before training: no epoch improved it"
            parts.append(f"best {what} {where}")
        parts += [f"{name} {value:.3g}" for name, value in self.chosen.items()]
        parts += [] if self.warm_start is None else [f"after {_epochs(self.warm_start)} on predictions"]
        parts.append(f"{sum(self.seconds):.3g} s")
        if sum(self.skipped):
            parts.append(f"{sum(self.skipped)} skipped")
        late = sum(count or 0 for count in self.unconverged)
        parts += [f"{late} not solved to tolerance"] * (late > 0)
        parts += ["stopped early"] * self.stopped_early + ["interrupted"] * self.interrupted
        return f"History({', '.join(parts)})"


def averaged(histories: Sequence[History]) -> History:
    """The mean regret and error of trainings at each epoch that all of them came to, and before.

    At later epochs the mean would be over other trainings, and move with who is among them. What one of them does not
    know, the mean does not.
    """
    length = min(map(len, histories))
    regret, error = ([getattr(h, column) for h in histories] for column in ("valid_regret", "valid_mse"))
    mean = History(monitor="regret", planned=length, start=_mean([h.start for h in histories]),
                   start_mse=_mean([h.start_mse for h in histories]))  # fmt: skip
    for epoch in range(length):
        of_epoch = {"valid_regret": _mean([c[epoch] for c in regret]), "valid_mse": _mean([c[epoch] for c in error])}
        mean.append(train_loss=math.nan, skipped=0, seconds=0.0, **of_epoch)
    return mean


def _mean(values: Sequence[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if len(known) == len(values) else None


def _epochs(history: History) -> str:
    return f"{len(history)} epoch{'s' if len(history) != 1 else ''}"


def _number(value: float | None) -> float:
    return math.nan if value is None else value


def _check_scalars(document: Any) -> None:
    """Refuse entries of a stored history that are no lists and are not what they should be."""
    if document["monitor"] is not None and document["monitor"] not in list(VALIDATED):
        raise ForesolveError(f"a history must say that one of {', '.join(VALIDATED)} was monitored, or nothing")
    if not all(isinstance(document[name], int) for name in ("left_out", "planned", "stopped_early", "interrupted")):
        raise ForesolveError("a history must count what was left out and planned, and say whether it was stopped")
    if not all(isinstance(document[name], int | float | None) for name in ("start", "start_mse")):
        raise ForesolveError("the start of a history must be numbers")
    best, epochs = document["best_epoch"], len(document["train_loss"])
    if best is not None and not (isinstance(best, int) and 0 <= best <= epochs):
        raise ForesolveError(f"the best epoch of a history must be one of its {epochs}, or the start")
