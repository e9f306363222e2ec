"""The trials of a study: a round of all methods for each number of settings."""

from __future__ import annotations

import math
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from foresolve._base.log import log
from foresolve.learning.study.budget import HALF, TRAINING, Plan
from foresolve.learning.study.folder import Store
from foresolve.learning.study.methods import Context, Method, Settings
from foresolve.learning.study.trial import Trial, run_trial


@dataclass(frozen=True)
class StudyProgress:
    """The progress of a study.

    Attributes
    ----------
    done, total: trials; more than one may be done at first where a study is resumed.
    share: of all work, by the time that was measured for each method, from 0 to 1.
    label: what is being trained.
    seconds_left: as far as that can be said; `None` at first.
    """

    done: int
    total: int
    share: float
    label: str
    seconds_left: float | None = None


class StudyInterrupted(KeyboardInterrupt):
    """Ctrl-C, with a message that says how far the study got and how to continue."""


class Rounds:
    """The trials that a store lacks, done one after the other.

    Parameters
    ----------
    context: what trials work with; its epochs and trees are set to those of the plan.
    methods: in the order of a round.
    store: with a plan; it is changed as time asks for.
    asked: epochs, of which the plan has fewer where it is not settled.
    budget: seconds, after which only whole rounds count; `None` for all rounds.
    spent: seconds that were gone before.
    told: called with a `StudyProgress`.
    """

    def __init__(
        self, context: Context, methods: Sequence[Method], store: Store, asked: int, budget: float | None, spent: float,
        told: Callable[[StudyProgress], Any],
    ) -> None:  # fmt: skip
        assert store.plan is not None
        self.context, self.methods, self.store, self.asked = context, methods, store, asked
        self.told, self.limit = told, math.inf if budget is None else TRAINING * budget
        self.began = time.perf_counter() - spent - sum(trial.seconds for trial in store.trials.values())
        self.settings = {method.name: method.settings(context.facts)[: store.plan.trials] for method in methods}
        self.work = {name: store.plan.seconds.get(name) or 1e-3 for name in self.settings}  # seconds, as far as known
        self.done_work, self.first_work, self.first_time, self.share = 0.0, 0.0, time.perf_counter(), 0.0

    @property
    def plan(self) -> Plan:
        assert self.store.plan is not None
        return self.store.plan

    def run(self) -> Plan:
        """All rounds, or as many whole ones as the budget allows: then the plan says so. The first is always done."""
        self.store.forget(self.plan.trials)  # of a session that was killed after it had cut the plan
        try:
            self._first()
            for number in range(1, self.plan.trials):
                if self._late(self._expected(number)) or not self._whole(number, hurry=True):
                    self._cut(number)
                    break
        except KeyboardInterrupt:
            total = sum(map(len, self.settings.values()))
            raise StudyInterrupted(_stopped(self.store, f"{len(self.store.trials)} of {total} trials")) from None
        return self.plan

    hurry = stopped = False  # by the clock

    def _first(self) -> None:
        """The first round, with more and more epochs until it takes half of the time that is left.

        So all that matters is measured: imports, the size of the data, early stopping. A round that takes too long
        after all gives way to the shorter one before it.
        """
        before: tuple[Plan, list[tuple[Trial, nn.Module | None]]] | None = None
        while True:
            self.context.epochs, self.context.trees = self.plan.epochs, self.plan.trees
            self.context.starts.clear()
            if not self._whole(0, hurry=before is not None):
                assert before is not None
                self._replace(*before)
                break
            longer = None if self.plan.settled else self.plan.longer(self.asked, *self._pace())
            if longer is None:
                break
            growing = [trial for trial in self.store.trials.values() if trial.method in self._growing]
            before = self.plan, [(trial, None if trial.failure else self.store.model(trial)) for trial in growing]
            self.work = {name: work * self._growth(name, longer) for name, work in self._measured().items()}
            self._replace(longer)
        self.work = self._measured()
        self.done_work = sum(self.work.values())
        if not self.plan.settled:
            late = self._late() and before is None
            self.store.begin(self.plan.settle(self.asked, self.work, late))
        self.context.epochs, self.context.trees = self.plan.epochs, self.plan.trees
        self.context.starts.clear()

    @property
    def _growing(self) -> set[str]:
        """The methods that take longer with more epochs: the results of others stay."""
        return {method.name for method in self.methods if method.costs_epochs}

    def _growth(self, name: str, longer: Plan) -> float:
        return longer.epochs / self.plan.epochs if name in self._growing else 1.0

    def _measured(self) -> dict[str, float]:
        """Seconds of the first trial of each method."""
        return {name: self.store.trials[name, 0].seconds for name in self.settings}

    def _pace(self) -> tuple[float, float]:
        """Seconds of a round of the methods that take longer with more epochs, and those that are left."""
        seconds = sum(value for name, value in self._measured().items() if name in self._growing)
        return seconds, self.limit - (time.perf_counter() - self.began)

    def _replace(self, plan: Plan, trials: Sequence[tuple[Trial, nn.Module | None]] = ()) -> None:
        """Another plan, with these trials; what is forgotten first is trained again where that is interrupted."""
        self.store.forget(0, self._growing)
        self.store.begin(plan)
        for trial, model in trials:
            self.store.add(trial, model, keep=True)

    def _expected(self, number: int) -> float:
        """Seconds of what is missing of a round, by what the first took."""
        missing = (name for name, choices in self.settings.items() if number < len(choices))
        return sum(self.work[name] for name in missing if (name, number) not in self.store.trials)

    def _late(self, more: float = 0.0) -> bool:
        return time.perf_counter() - self.began + more > self.limit

    def _cut(self, number: int) -> None:
        """No further rounds; what is there of one that is not whole is left out, so that all have tried as much."""
        self.store.begin(self.plan.cut(number))
        self.store.forget(number)

    def _whole(self, number: int, hurry: bool) -> bool:
        """Do a round; False where it is in a hurry and time was up before its end."""
        self.hurry, self.stopped = hurry, False
        try:
            self._round(number)
        except KeyboardInterrupt:
            if not self.stopped:
                raise
        return not self.stopped

    def _round(self, number: int) -> None:
        for method in self.methods:
            choices = self.settings[method.name]
            if number >= len(choices):
                continue
            trial = self.store.trials.get((method.name, number))
            if trial is None:
                self._check_time(self.work[method.name])
                trial, model = self._trial(method, choices[number], number)
                self._keep(method, trial, model)
            self.done_work += self.work[method.name]
        self._drop_superseded()

    def _check_time(self, more: float = 0.0) -> None:
        """Stop a training that would end too late, if a shorter result is there already."""
        if self.hurry and self._late(more):
            self.stopped = True
            raise KeyboardInterrupt  # the one thing that ends a training without an error

    def _trial(self, method: Method, settings: Settings, number: int) -> tuple[Trial, nn.Module | None]:
        def told(share: float) -> None:
            self._check_time()
            self._tell(method, number, share)

        told(0.0)
        return run_trial(method, settings, number, replace(self.context, told=told))

    def _keep(self, method: Method, trial: Trial, model: nn.Module | None) -> None:
        """The best model of a method is kept."""
        before = best_trial(self.store.trials.values(), method.name)
        better = before is None or trial.rank < before.rank
        self.store.add(trial, model, better)
        outcome = f"failed: {trial.failure}" if trial.failure else f"regret {trial.regret:.6g}"
        log.info("%s, settings %d: %s; %.2f s", trial.method, trial.number + 1, outcome, trial.seconds)

    def _drop_superseded(self) -> None:
        """Models that are not needed any more, now that the round is whole; an earlier session may have left some."""
        for method in self.methods:
            own = [trial for trial in self.store.trials.values() if trial.method == method.name]
            best = best_trial(own, method.name)
            for trial in own:
                if trial is not best:
                    self.store.drop(trial)

    def _tell(self, method: Method, number: int, share: float) -> None:
        """By the work that is done; while the plan is not settled, by the clock."""
        count, now, left = sum(map(len, self.settings.values())), time.perf_counter(), None
        if self.plan.settled:
            total = sum(len(choices) * self.work[name] for name, choices in self.settings.items())
            work = self.done_work + share * self.work[method.name]
            if not self.first_work:
                self.first_work, self.first_time = max(work, 1e-9), now
            gained, done = work - self.first_work, work / total
            left = (total - work) * (now - self.first_time) / gained if gained > 0.01 * total else None
            label = f"{method.name}, {number + 1} of {len(self.settings[method.name])}"
        else:
            done = HALF * min(1.0, (now - self.began) / self.limit)
            label = f"{method.name}, {self.plan.epochs} epoch{'s' * (self.plan.epochs != 1)}"
        self.share = max(self.share, min(1.0, done))
        self.told(StudyProgress(len(self.store.trials), count, self.share, label, left))


@contextmanager
def interruptible(store: Store) -> Iterator[None]:
    """Ctrl-C at any time as one error, that says what is kept."""
    try:
        yield
    except StudyInterrupted:
        raise
    except KeyboardInterrupt:
        raise StudyInterrupted(_stopped(store, f"{len(store.trials)} trials")) from None


def _stopped(store: Store, count: str) -> str:
    if not store.trials:
        return "stopped before anything was trained"
    text = f"stopped with {count} done. "
    if store.folder is None:
        return text + "Nothing is kept without a folder: `study(..., folder=...)`"
    return text + f"They are kept in {store.folder}; the same call with `resume=True` continues from there"


def best_trial(trials: Any, method: str) -> Trial | None:
    """The trial of a method with the least regret on validation data."""
    sound = [trial for trial in trials if trial.method == method and not trial.failure]
    return min(sound, key=lambda trial: trial.rank, default=None)
