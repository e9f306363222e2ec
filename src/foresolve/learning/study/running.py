"""The trials of a study: a round of all methods for each number of settings."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from typing import Any

from torch import nn

from foresolve._base.log import log
from foresolve.learning.study.budget import Plan
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
    context: what trials work with; its epochs and trees are those of the plan.
    methods: in the order of a round.
    budget: seconds, after which only whole rounds count; `None` for all rounds.
    spent: seconds that were gone before.
    told: called with a `StudyProgress`.
    """

    def __init__(
        self, context: Context, methods: Sequence[Method], plan: Plan, store: Store, budget: float | None, spent: float,
        told: Callable[[StudyProgress], Any],
    ) -> None:  # fmt: skip
        self.context, self.methods, self.plan, self.store = context, methods, plan, store
        self.budget, self.told = budget, told
        self.began = time.perf_counter() - spent - sum(trial.seconds for trial in store.trials.values())
        self.settings = {method.name: method.settings(context.facts)[: plan.trials] for method in methods}
        self.work = {method.name: plan.seconds.get(method.name) or 1e-3 for method in methods}
        self.done_work, self.first_work, self.first_time = 0.0, 0.0, time.perf_counter()

    def run(self) -> Plan:
        """All rounds, or as many whole ones as the budget allows: then the plan says so. The first is always done."""
        self.store.forget(self.plan.trials)  # of a session that was killed after it had cut the plan
        for number in range(self.plan.trials):
            began = time.perf_counter()
            if number and self._late(began - self.round_began):
                return self._cut(number)
            self.round, self.round_began = number, began
            try:
                self._round(number)
            except KeyboardInterrupt:
                if not self.stopped:
                    raise StudyInterrupted(self._stopped()) from None
                return self._cut(number)
        return self.plan

    round, round_began = 0, 0.0
    stopped = False  # by the clock

    def _late(self, more: float = 0.0) -> bool:
        return self.budget is not None and time.perf_counter() - self.began + more > self.budget

    def _cut(self, number: int) -> Plan:
        """No further rounds; what is there of one that is not whole is left out, so that all have tried as much."""
        note = f"settings tried cut from {self.plan.trials} to {number} for all: the time budget was used up"
        self.plan = replace(self.plan, trials=number, notes=(*self.plan.notes, note))
        self.store.begin(self.plan)
        self.store.forget(number)
        return self.plan

    def _round(self, number: int) -> None:
        for method in self.methods:
            choices = self.settings[method.name]
            if number >= len(choices):
                continue
            self._check_time()
            trial = self.store.trials.get((method.name, number))
            if trial is None:
                trial, model = self._trial(method, choices[number], number)
                self._keep(method, trial, model)
            self.done_work += self.work[method.name]
        self._drop_superseded()

    def _check_time(self) -> None:
        """After the first round, what would end too late ends now."""
        if self.round and self._late():
            self.stopped = True
            raise KeyboardInterrupt  # the one thing that ends a training without an error

    def _trial(self, method: Method, settings: Settings, number: int) -> tuple[Trial, nn.Module | None]:
        def told(share: float) -> None:
            self._check_time()
            self._tell(f"{method.name}, {number + 1} of {len(self.settings[method.name])}", share, method)

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

    def _tell(self, label: str, share: float, method: Method) -> None:
        total = sum(len(choices) * self.work[name] for name, choices in self.settings.items())
        work, now = self.done_work + share * self.work[method.name], time.perf_counter()
        if not self.first_work:
            self.first_work, self.first_time = max(work, 1e-9), now
        gained = work - self.first_work
        left = (total - work) * (now - self.first_time) / gained if gained > 0.01 * total else None
        count = sum(map(len, self.settings.values()))
        self.told(StudyProgress(len(self.store.trials), count, min(1.0, work / total), label, left))

    def _stopped(self) -> str:
        count = sum(map(len, self.settings.values()))
        text = f"stopped with {len(self.store.trials)} of {count} trials done. "
        if self.store.folder is None:
            return text + "Nothing is kept without a folder: `study(..., folder=...)`"
        return text + f"They are kept in {self.store.folder}; the same call with `resume=True` continues from there"


def best_trial(trials: Any, method: str) -> Trial | None:
    """The trial of a method with the least regret on validation data."""
    sound = [trial for trial in trials if trial.method == method and not trial.failure]
    return min(sound, key=lambda trial: trial.rank, default=None)
