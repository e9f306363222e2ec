from __future__ import annotations

import math
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

from foresolve.learning.study import running, studying
from foresolve.learning.study.budget import HALF, LEAST_TREES, ROWS, TRAINING, TREES, Plan, warm_up
from foresolve.learning.study.catalog import focused
from foresolve.learning.study.contrast import Contrast
from foresolve.learning.study.facts import Facts
from foresolve.learning.study.methods import Context, MeanMethod, Network
from foresolve.learning.study.running import StudyInterrupted, StudyProgress
from foresolve.learning.study.trial import run_trial
from learning.study.instances import paths, quick

ASKED = 8


def test_without_a_budget_everything_is_done() -> None:
    assert Plan.begin(None, 100, 4) == Plan(100, TREES, 4)


def test_with_a_budget_it_begins_with_as_little_as_can_be_trained() -> None:
    assert Plan.begin(60.0, 100, 4) == Plan(1, LEAST_TREES, 4, settled=False)


def test_a_round_takes_half_of_the_time_that_is_left() -> None:
    begun = Plan.begin(60.0, 100, 4)
    longer = begun.longer(100, seconds=1.0, left=50.0)
    assert longer == Plan(25, 25, 4, settled=False)
    assert longer is not None
    assert longer.epochs * 1.0 <= HALF * 50.0
    assert begun.longer(100, seconds=0.1, left=50.0) == Plan(100, TREES, 4, settled=False)
    assert begun.longer(100, seconds=0.1, left=math.inf) == Plan(100, TREES, 4, settled=False)


def test_a_round_is_not_done_again_for_little() -> None:
    plan = Plan(20, 20, 4, settled=False)
    assert plan.longer(100, seconds=10.0, left=28.0) is None
    assert plan.longer(100, seconds=10.0, left=-1.0) is None
    assert plan.longer(24, seconds=10.0, left=28.0) == Plan(24, TREES, 4, settled=False)  # all that was asked for
    assert plan.longer(20, seconds=0.1, left=1e3) is None


def test_what_was_reduced_is_said() -> None:
    begun = Plan.begin(60.0, 100, 4)
    settled = begun.settle(100, {"mean": 0.1, "spo+": 80.0}, late=True)
    assert settled.seconds == {"mean": 0.1, "spo+": 80.0}
    assert settled.notes == (
        "epochs (and trees) reduced from 100 to 1 for all, to keep the time budget",
        "one setting of each method took 80 s, all of the time budget",
    )
    assert settled.cut(1).notes[-1] == "settings tried cut from 4 to 1 for all: the time budget was used up"
    assert Plan(100, 100, 4, settled=False).settle(100, {}, late=False) == Plan(100, 100, 4)


def test_plans_survive_json() -> None:
    for plan in (Plan.begin(60.0, 100, 4), Plan(25, 25, 4).settle(100, {"mean": 0.1}, late=False)):
        assert Plan.from_dict(plan.to_dict()) == plan


class Slow:
    """A clock by which trainings take as long as is said: so many seconds once, and so many an epoch."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch, once: float = 0.5, each: float = 1.0) -> None:
        self.now, self.once, self.each, self.done = 0.0, once, each, list[tuple[str, int, int]]()
        clock = SimpleNamespace(perf_counter=lambda: self.now)
        monkeypatch.setattr(running, "time", clock)
        monkeypatch.setattr(studying, "time", clock)
        monkeypatch.setattr(running, "run_trial", self.trial)

    def trial(self, method: Any, settings: Any, number: int, context: Any) -> Any:
        epochs, began = context.epochs if method.costs_epochs else 0, self.now
        self.now += self.once
        for epoch in range(epochs):
            self.now += self.each
            context.told((epoch + 1) / epochs)
        self.done.append((method.name, number, epochs))
        trial, model = run_trial(method, settings, number, context)
        return type(trial)(**{**vars(trial), "seconds": self.now - began}), model


def hurried(budget: float, **changes: Any) -> Any:
    return quick(paths(60), **({"epochs": ASKED, "trials": 3, "budget": budget, "methods": "spo+"} | changes))


@pytest.mark.parametrize("budget", [10.0, 25.0, 60.0, 100.0, 1e3])
@pytest.mark.parametrize("once", [0.01, 2.0])
def test_the_budget_is_kept_and_used(budget: float, once: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """Never exceeded but by the first round of an epoch; and what is left is less than another round."""
    clock = Slow(monkeypatch, once=once)
    told = hurried(budget)
    epochs, trials = told.plan.epochs, told.plan.trials
    assert {(trial.method, trial.number) for trial in told.trials} == {
        ("mean", 0), *((name, number) for name in ("ridge", "network", "spo+") for number in range(trials))
    }  # fmt: skip
    for trial in told.trials:  # all had the same epochs, those of the plan
        assert trial.history is None or trial.history["planned"] == epochs
    first = 4 * once + 2 * clock.each
    assert clock.now <= max(first, TRAINING * budget)
    if trials < 3:
        assert TRAINING * budget - clock.now < 3 * once + 2 * epochs * clock.each
    if budget >= 100:
        assert epochs == ASKED


def test_given_the_plan_results_depend_on_the_seed_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    Slow(monkeypatch)
    told = hurried(30.0)
    assert 1 < told.plan.epochs < ASKED
    monkeypatch.undo()
    monkeypatch.setattr(studying.Plan, "begin", lambda *_: told.plan)
    again = hurried(1e6)
    assert again.comparison == told.comparison
    assert [trial.regret for trial in again.trials] == [trial.regret for trial in told.trials]


def test_a_round_that_takes_too_long_gives_way_to_the_shorter_one(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Trainings become ten times as slow once epochs are more: the machine is busy now."""
    clock = Slow(monkeypatch, once=0.01)

    def busy(method: Any, settings: Any, number: int, context: Any) -> Any:
        clock.each = 1.0 if context.epochs == 1 else 10.0
        return clock.trial(method, settings, number, context)

    monkeypatch.setattr(running, "run_trial", busy)
    told = hurried(20.0, folder=tmp_path)
    assert (told.plan.epochs, told.plan.trials, told.plan.settled) == (1, 1, True)
    assert clock.now <= 20.0 + 10.0  # an epoch
    assert any("reduced from 8 to 1" in warning for warning in told.warnings)
    monkeypatch.undo()
    monkeypatch.setattr(studying.Plan, "begin", lambda *_: Plan(1, LEAST_TREES, 1))
    expected = quick(paths(60), epochs=ASKED, trials=3, budget=None)
    assert told.comparison == expected.comparison
    again = hurried(20.0, folder=tmp_path, resume=True)
    assert again.comparison == told.comparison


@cache
def uninterrupted() -> Contrast:
    """The comparison of a study that nothing stops."""
    return quick(paths(60), epochs=ASKED, trials=3, budget=None).comparison


@pytest.mark.parametrize("after", range(1, 18))
def test_ctrl_c_while_the_first_round_grows(after: int, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """What is there afterwards goes on, and ends with one plan for all methods."""
    calls = 0

    def stop(_: StudyProgress) -> None:
        nonlocal calls
        calls += 1
        if calls == after:
            raise KeyboardInterrupt

    Slow(monkeypatch)
    with pytest.raises(StudyInterrupted, match="stopped"):
        hurried(40.0, folder=tmp_path, progress=stop)
    monkeypatch.undo()
    told = hurried(1e6, folder=tmp_path, resume=True)
    assert (told.plan.epochs, told.plan.notes) == (ASKED, ())
    assert told.comparison == uninterrupted()


def test_warming_up_trains_copies_of_a_few_rows() -> None:
    """And what fails then is no reason to stop."""
    train, valid = paths(60).split(40, 20)
    context = Context(train.solve(), valid.solve(), Facts.of(train), 0, 50, TREES)
    sizes: list[int] = []

    class Fails(MeanMethod):
        def train(self, settings: Any, number: int, context: Context) -> Any:
            sizes.extend((len(context.train), len(context.valid), context.epochs))
            raise RuntimeError("no license")

    told: list[str] = []
    warm_up([Fails(), Network(), *focused("spo+", train.problem)[0]], context, told.append)
    assert told == ["mean", "network", "spo+"]
    assert sizes == [ROWS, ROWS, 1]
    assert (context.starts, context.histories) == ({}, [])


def test_imports_count_for_no_epoch(monkeypatch: pytest.MonkeyPatch) -> None:
    """The first call of a method takes ten seconds: by that, no second epoch would fit."""
    clock, cold = Slow(monkeypatch, once=0.01, each=0.1), {"network", "spo+"}

    def trained(self: Any, settings: Any, number: int, context: Any) -> Any:
        if self.name in cold:
            cold.discard(self.name)
            clock.now += 10.0
        return train(self, settings, number, context)

    train = Network.train
    monkeypatch.setattr(Network, "train", trained)
    assert hurried(30.0).plan.epochs == ASKED
