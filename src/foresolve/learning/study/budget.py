"""The time budget of a study: a first round of all methods, which grows longer while time allows."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path
from typing import Any

import torch

from foresolve._base import files
from foresolve._base.progress import duration
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning.study.methods import Context, Method

TREES = 100  # where epochs are as they were asked for; reduced with them
LEAST_TREES = 5
FIRST_EPOCHS = 1  # of the round that finds out how long more take
HALF = 0.5  # of the time that is left, for a longer first round: the other half is for a second one
GAIN = 1.5  # times the epochs, at least, for which a round is done again
ROWS = 8  # to warm up on
TRAINING = 0.9  # of the budget; the rest is for the comparison


@dataclass(frozen=True)
class Plan:
    """The length and the number of trainings.

    Attributes
    ----------
    epochs, trees: of networks, and of forests and boosted trees.
    trials: settings of each method.
    seconds: of the first trial, by method; nothing where there is no budget.
    notes: what was reduced, in words.
    settled: whether epochs and trees are final; a first round may still show that there is time for more.
    """

    epochs: int
    trees: int
    trials: int
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()
    settled: bool = True

    @classmethod
    def begin(cls, budget: float | None, epochs: int, trials: int) -> Plan:
        """Everything that is asked for, or with a budget as little as can be trained: the first round lengthens it."""
        first = epochs if budget is None else min(epochs, FIRST_EPOCHS)
        return cls(first, _trees(first, epochs), trials, settled=budget is None)

    def longer(self, asked: int, seconds: float, left: float) -> Plan | None:
        """With more epochs, up to those that were asked for, so that a round takes half of the time that is left.

        `seconds` is how long a round takes now. It takes longer in proportion at most: what a training takes whatever
        its epochs are makes it less, and so does early stopping. `None` where little would be gained.
        """
        most = HALF * left / max(seconds, 1e-9) * self.epochs
        epochs = asked if most >= asked else math.floor(most)
        if epochs <= self.epochs or epochs < min(asked, GAIN * self.epochs):
            return None
        return replace(self, epochs=epochs, trees=_trees(epochs, asked))

    def settle(self, asked: int, seconds: Mapping[str, float], late: bool) -> Plan:
        """The final plan, with what it takes and what it lacks; `late` where a single epoch was too long already."""
        notes = list(self.notes)
        if self.epochs < asked:
            notes.append(f"epochs (and trees) reduced from {asked} to {self.epochs} for all, to keep the time budget")
        if late:
            notes.append(f"one setting of each method took {duration(sum(seconds.values()))}, all of the time budget")
        rounded = {name: round(value, 3) for name, value in seconds.items()}
        return replace(self, seconds=rounded, notes=tuple(notes), settled=True)

    def cut(self, trials: int) -> Plan:
        """With fewer settings, because time is up."""
        note = f"settings tried cut from {self.trials} to {trials} for all: the time budget was used up"
        return replace(self, trials=trials, notes=(*self.notes, note))

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return {**asdict(self), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, document: Any, path: Path = Path("plan")) -> Plan:
        """The inverse of `to_dict`; an error that names the file if the document is not sound."""
        epochs, trees, trials = (files.field(document, name, int, path) for name in ("epochs", "trees", "trials"))
        seconds, notes = files.field(document, "seconds", dict, path), files.field(document, "notes", list, path)
        settled = files.field(document, "settled", bool, path)
        numbers = all(isinstance(value, int | float) for value in seconds.values())
        if min(epochs, trees, trials) < 1 or not numbers or not all(isinstance(note, str) for note in notes):
            raise ForesolveError(f"{path} is damaged: its plan must have counts, seconds by method, and notes")
        return cls(epochs, trees, trials, seconds, tuple(notes), settled)


def warm_up(methods: Sequence[Method], context: Context, told: Callable[[str], Any]) -> None:
    """Train every method on a few rows, which nobody looks at: imports and first solves count for no epoch.

    `told` is called with the name of each.
    """

    def few(data: DecisionDataset) -> DecisionDataset:
        return data.subset(torch.arange(min(ROWS, len(data))))

    sample = replace(
        context, train=few(context.train), valid=few(context.valid), epochs=1, trees=1, starts={}, histories=[]
    )
    for method in methods:
        told(method.name)
        with suppress(Exception):  # what fails here fails in its trials too, and is reported there
            method.train(method.settings(sample.facts)[0], 0, sample)


def _trees(epochs: int, asked: int) -> int:
    """As large a share of all trees as of all epochs."""
    return max(LEAST_TREES, round(TREES * epochs / asked))
