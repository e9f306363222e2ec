"""How much can be tried in the time that there is: measured first, then reduced for all alike."""

from __future__ import annotations

import math
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import pairwise
from pathlib import Path
from typing import Any

import torch

from foresolve._base import files
from foresolve._base.progress import duration
from foresolve.data.dataset import DecisionDataset
from foresolve.errors import ForesolveError
from foresolve.learning.study.methods import Context, Method, Network, begin

ROWS = (8, 32, 128, 512)  # of the samples that are timed, until the next would take too long; half as many validate
TIMING = 0.15  # of the budget, for timing
EPOCHS = 6  # of a network that is timed: the median counts
FEW, MANY = 4, 20  # trees of the two ensembles that are timed
SHARE = 0.75  # of the budget, for what measuring misses
LEAST_EPOCHS = 10  # below which trials are reduced first
TREES = 100  # where epochs are as they were asked for; reduced with them


@dataclass(frozen=True)
class Plan:
    """How long is trained, and how often.

    Attributes
    ----------
    epochs, trees: of networks, and of forests and boosted trees.
    trials: settings of each method.
    seconds: of one trial, by method, as measured; nothing where there is no budget.
    notes: what was reduced, in words.
    """

    epochs: int
    trees: int
    trials: int
    seconds: dict[str, float] = field(default_factory=dict)
    notes: tuple[str, ...] = ()

    def to_dict(self) -> dict[str, Any]:
        """Fit for JSON."""
        return {**asdict(self), "notes": list(self.notes)}

    @classmethod
    def from_dict(cls, document: Any, path: Path = Path("plan")) -> Plan:
        """What `to_dict` gave; an error that names the file where it did not."""
        epochs, trees, trials = (files.field(document, name, int, path) for name in ("epochs", "trees", "trials"))
        seconds, notes = files.field(document, "seconds", dict, path), files.field(document, "notes", list, path)
        numbers = all(isinstance(value, int | float) for value in seconds.values())
        if min(epochs, trees, trials) < 1 or not numbers or not all(isinstance(note, str) for note in notes):
            raise ForesolveError(f"{path} is damaged: its plan must have counts, seconds by method, and notes")
        return cls(epochs, trees, trials, seconds, tuple(notes))


@dataclass(frozen=True)
class Pace:
    """Seconds of one trial: `once + each * epochs`."""

    once: float
    each: float

    def seconds(self, epochs: float) -> float:
        return self.once + self.each * epochs

    def __add__(self, other: Pace) -> Pace:
        return Pace(self.once + other.once, self.each + other.each)


def plan_for(
    budget: float | None, epochs: int, trials: int, methods: Sequence[Method], context: Context, spent: float,
    told: Callable[[str], Any],
) -> Plan:  # fmt: skip
    """Reduce epochs, then trials, then epochs again, equally for all, until everything fits into the budget.

    `spent` are the seconds that are gone already; `told` is called with the name of what is timed.
    """
    if budget is None:
        return Plan(epochs, TREES, trials)
    began, paces = time.perf_counter(), {}
    networks = [method.name for method in methods if isinstance(method, Network)]
    timed = [*methods, *([Network()] if networks and Network.name not in networks else [])]
    for number, method in enumerate(timed):
        told(method.name)
        left = TIMING * budget - (time.perf_counter() - began)
        paces[method.name] = measure(method, context, max(0.0, left) / (len(timed) - number))
    if networks:  # the first of them also trains what all go on from
        paces[networks[0]] += paces[Network.name]
    paces = {method.name: paces[method.name] for method in methods}
    spent += time.perf_counter() - began
    counts = {method.name: len(method.settings(context.facts)) for method in methods}
    return reduced(SHARE * (budget - spent), epochs, trials, paces, counts)


def reduced(available: float, epochs: int, trials: int, paces: dict[str, Pace], counts: dict[str, int]) -> Plan:
    """The plan for that many seconds; `counts` are the settings that each method has at most."""

    def total(epochs: float, trials: int) -> float:
        return sum(min(trials, counts[name]) * pace.seconds(epochs) for name, pace in paces.items())

    def fitting(trials: int, least: int) -> int:
        """The most epochs for that many trials, at least `least`."""
        once = total(0, trials)
        each = total(1, trials) - once
        most = (available - once) / each if each > 0 else math.inf
        return max(least, min(epochs, math.floor(most) if math.isfinite(most) else epochs))

    notes, least = [], min(epochs, LEAST_EPOCHS)
    fewer, shorter = trials, fitting(trials, least)
    while fewer > 1 and total(shorter, fewer) > available:
        fewer -= 1
        shorter = fitting(fewer, least)
    if total(shorter, fewer) > available:
        shorter = fitting(fewer, 1)
    if shorter < epochs:
        notes.append(f"epochs (and trees) reduced from {epochs} to {shorter} for all, to keep the time budget")
    if fewer < trials:
        notes.append(f"settings tried reduced from {trials} to {fewer} for each method, to keep the time budget")
    if total(shorter, fewer) > available:
        notes.append(f"even so it may take about {duration(total(shorter, fewer))}, longer than the time budget")
    seconds = {name: round(pace.seconds(shorter), 3) for name, pace in paces.items()}
    return Plan(shorter, max(5, round(TREES * shorter / epochs)), fewer, seconds, tuple(notes))


def measure(method: Method, context: Context, allowance: float = math.inf) -> Pace:
    """Time short trainings on growing samples of the data, for about `allowance` seconds."""
    began, size, rate = time.perf_counter(), len(context.train), TREES / max(1, context.epochs)
    paces: dict[int, Pace] = {}
    times: dict[int, float] = {}
    for rows, following in pairwise([*(rows for rows in ROWS if rows < size), min(size, ROWS[-1]), size]):
        try:
            paces[rows], times[rows] = _measured(method, _sample(context, rows), rate, allowance)
        except Exception:  # what fails here fails in its trials too, and is reported there
            return Pace(0.0, 0.0)
        left = allowance - (time.perf_counter() - began)
        expected = extended(times, following) if len(times) > 1 else 2 * times[rows]  # mostly not of rows at first
        if rows == min(size, ROWS[-1]) or expected > left:
            break
    each = extended({rows: pace.each for rows, pace in paces.items()}, size)
    once = {rows: pace.once for rows, pace in paces.items()}
    return Pace(list(once.values())[-1] if isinstance(method, Network) else extended(once, size), each)


def extended(seconds: dict[int, float], size: int) -> float:
    """Seconds for `size` rows from those for fewer: along the last two, or in proportion where there is but one.

    Samples of less than a batch of 32 say nothing about what a row takes beside others.

    >>> extended({128: 2.0, 512: 3.0}, 896), extended({8: 1.0, 32: 1.5}, 64), extended({32: 2.0, 128: 1.0}, 256)
    (4.0, 3.0, 1.0)
    """
    (first, before), (last, now) = [(0, 0.0), *seconds.items()][-2:]
    if first < 32:
        return now * size / last
    return min(now * size / last, now + max(0.0, now - before) / (last - first) * (size - last))


def _sample(context: Context, rows: int) -> Context:
    def spread(data: DecisionDataset, count: int) -> DecisionDataset:
        return data.subset(torch.linspace(0, len(data) - 1, min(count, len(data))).long())

    train, valid = spread(context.train, rows), spread(context.valid, rows // 2)
    return replace(context, train=train, valid=valid, epochs=EPOCHS, trees=FEW, starts={})


def _measured(method: Method, sample: Context, scale: float, allowance: float) -> tuple[Pace, float]:
    """The pace on a sample, with `scale` trees an epoch, and the seconds it takes once everything is imported."""
    if isinstance(method, Network):
        stamps: list[float] = []
        timed = replace(sample, told=lambda share: stamps.append(time.perf_counter()))
        total = _timed(method, timed, stamps)
        each = statistics.median(b - a for a, b in pairwise(stamps))
        return Pace(max(0.0, total - EPOCHS * each), each), total
    few = min(_timed(method, sample), _timed(method, sample))  # the first imports what it needs
    if not method.costs_epochs:
        return Pace(few, 0.0), 2 * few
    if few * MANY / FEW > allowance:
        return Pace(0.0, few / FEW * scale), math.inf
    many = _timed(method, replace(sample, trees=MANY))
    tree = max(0.0, (many - few) / (MANY - FEW))
    return Pace(max(0.0, few - FEW * tree), tree * scale), 2 * few + many


def _timed(method: Method, sample: Context, stamps: list[float] | None = None) -> float:
    settings = method.settings(sample.facts)[0]
    if stamps is not None:
        begin(settings, 0, sample)  # not counted; far from any prediction, solvers take longer
        stamps.clear()
    began = time.perf_counter()
    method.train(settings, 0, sample)
    return time.perf_counter() - began
