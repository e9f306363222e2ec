"""What happened in training."""

from __future__ import annotations

import math
from dataclasses import asdict, dataclass, field, fields
from typing import Any

from foresolve._base.extras import need
from foresolve.errors import ForesolveError

COLUMNS = ("train_loss", "valid_loss", "valid_regret", "valid_distance", "seconds", "gamma", "lr", "skipped")
VALIDATED = {"regret": "valid_regret", "agreement": "valid_distance", "loss": "valid_loss"}
# What validation was by: what it is called, its column and its unit.
SHARES = (("validation regret", "valid_regret", "normalised regret (%)"),
          ("validation distance", "valid_distance", "distance to decisions on record (%)"))  # fmt: skip


@dataclass
class History:
    """One entry an epoch in each list; JSON takes it as `to_dict()`, pandas as `to_frame()`, matplotlib as `plot()`.

    Epoch 0 are the weights before training, the first epoch is 1: `valid_regret[e - 1]` belongs to epoch `e`.

    Attributes
    ----------
    train_loss: the mean over the epoch, while the weights changed.
    valid_loss: the mean after the epoch; `None` unless it was monitored.
    valid_regret: normalised (`sum regret / sum |best value|`) after the epoch, of exact decisions; `None` unless it was
        monitored.
    valid_distance: of decisions to those on record after the epoch, the mean over entries, each in units of its range
        over the validation decisions: the share that differs where entries are 0 or 1; `None` unless agreement was
        monitored.
    seconds: of training and validation together.
    gamma: what `anneal` set the smoothing to; `None` where it is not annealed, or where it follows the data.
    lr: the learning rate of the first parameter group.
    skipped: how many instances a solver failed on (`on_failure="skip"`).
    left_out: how many training instances have no best decision and were never used (`on_failure="skip"`).
    planned: the number of epochs that were asked for.
    monitor: what was monitored, "regret", "agreement" or "loss"; `None` without validation.
    start: the monitored number of epoch 0, before training; `None` without validation.
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
    seconds: list[float] = field(default_factory=list)
    gamma: list[float | None] = field(default_factory=list)
    lr: list[float | None] = field(default_factory=list)
    skipped: list[int] = field(default_factory=list)
    left_out: int = 0
    planned: int = 0
    monitor: str | None = None
    start: float | None = None
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
        if not isinstance(document, dict) or set(document) != set(known):
            raise ForesolveError("a history must have the entries " + ", ".join(known))
        lists = [document[name] for name in COLUMNS]
        numbers = (int, float, type(None))
        if not all(isinstance(column, list) and all(isinstance(v, numbers) for v in column) for column in lists):
            raise ForesolveError("the columns of a history must be lists of numbers")
        if len({len(column) for column in lists}) != 1:
            raise ForesolveError("the columns of a history must be of one length")
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
            first, watched = 0, VALIDATED[self.monitor]
            table = {name: [self.start if name == watched else None, *column] for name, column in table.items()}
        return pandas.DataFrame(table, index=pandas.RangeIndex(first, len(self) + 1, name="epoch"))

    def plot(self, ax: Any = None) -> Any:
        """Losses, and validated decisions on an axis of their own, over epochs; returns the matplotlib axes."""
        if ax is None:
            ax = need("matplotlib.figure", "a plot", "plot").Figure(layout="constrained").subplots()
        epochs = range(1, len(self) + 1)
        handles = ax.plot(epochs, self.train_loss, label="training loss")
        if any(value is not None for value in self.valid_loss):
            handles += ax.plot(*self._from_start("valid_loss"), label="validation loss")
        ax.set_xlabel("epoch")
        ax.set_ylabel("loss")
        for label, column, unit in SHARES:
            shares = getattr(self, column)
            if any(value is not None for value in shares):
                right = ax.twinx()
                places, numbers = self._from_start(column)
                handles += right.plot(places, [100 * v for v in numbers], color="tab:red", label=label)
                right.set_ylabel(unit)
        if self.best_epoch is not None:
            handles += [ax.axvline(self.best_epoch, color="grey", linestyle=":", label="best epoch")]
        ax.legend(handles=handles)
        return ax

    def _from_start(self, column: str) -> tuple[list[int], list[float]]:
        """Epochs and numbers of a validated column, with epoch 0 where it is known."""
        values, first = getattr(self, column), 1
        if self.start is not None and self.monitor is not None and column == VALIDATED[self.monitor]:
            values, first = [self.start, *values], 0
        return list(range(first, first + len(values))), [_number(v) for v in values]

    def _repr_png_(self) -> bytes | None:
        """A notebook shows the plot, where matplotlib is there."""
        import io

        try:
            figure = self.plot().figure
        except ImportError:
            return None
        target = io.BytesIO()
        figure.savefig(target, format="png")
        return target.getvalue()

    def __repr__(self) -> str:
        if not len(self):
            return f"History(no epochs{', interrupted' if self.interrupted else ''})"
        parts = [_epochs(self), f"loss {self.train_loss[-1]:.4g}"]
        if self.best_epoch is not None:
            shares = {column: label for label, column, _ in SHARES}
            column = VALIDATED[self.monitor or "loss"]
            what = (
                f"{shares.get(column, 'validation loss')} {_number(self.best):{'.2%' if column in shares else '.4g'}}"
            )
            where = f"after epoch {self.best_epoch}" if self.best_epoch else "before training: no epoch improved it"
            parts.append(f"best {what} {where}")
        parts += [f"{name} {value:.3g}" for name, value in self.chosen.items()]
        parts += [] if self.warm_start is None else [f"after {_epochs(self.warm_start)} on predictions"]
        parts.append(f"{sum(self.seconds):.3g} s")
        if sum(self.skipped):
            parts.append(f"{sum(self.skipped)} skipped")
        parts += ["stopped early"] * self.stopped_early + ["interrupted"] * self.interrupted
        return f"History({', '.join(parts)})"


def _epochs(history: History) -> str:
    return f"{len(history)} epoch{'s' if len(history) != 1 else ''}"


def _number(value: float | None) -> float:
    return math.nan if value is None else value
