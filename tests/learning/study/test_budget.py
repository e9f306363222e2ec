from __future__ import annotations

from types import SimpleNamespace

import pytest
from torch import nn

from foresolve.learning.study import budget
from foresolve.learning.study.budget import LEAST_EPOCHS, TREES, Pace, Plan, measure, plan_for, reduced
from foresolve.learning.study.catalog import focused
from foresolve.learning.study.facts import Facts
from foresolve.learning.study.methods import Context, Forest, MeanMethod, Method, Network
from learning.study.instances import paths

PACES = {"mean": Pace(0.1, 0.0), "network": Pace(1.0, 0.1), "spo+": Pace(1.0, 0.4)}
COUNTS = {"mean": 1, "network": 8, "spo+": 8}


def seconds(plan: Plan) -> float:
    return sum(min(plan.trials, COUNTS[name]) * pace.seconds(plan.epochs) for name, pace in PACES.items())


def test_everything_fits() -> None:
    plan = reduced(1e4, 100, 4, PACES, COUNTS)
    assert (plan.epochs, plan.trees, plan.trials, plan.notes) == (100, TREES, 4, ())
    assert plan.seconds == {"mean": 0.1, "network": 11.0, "spo+": 41.0}


def test_epochs_are_reduced_first() -> None:
    plan = reduced(100, 100, 4, PACES, COUNTS)
    assert plan.trials == 4
    assert LEAST_EPOCHS <= plan.epochs < 100
    assert plan.trees == plan.epochs
    assert seconds(plan) <= 100
    assert plan.notes == (f"epochs (and trees) reduced from 100 to {plan.epochs} for all, to keep the time budget",)


def test_then_trials_and_then_epochs_again() -> None:
    plan = reduced(15, 100, 4, PACES, COUNTS)
    assert (plan.trials, plan.epochs) == (2, LEAST_EPOCHS)
    assert seconds(plan) <= 15
    plan = reduced(5, 100, 4, PACES, COUNTS)
    assert plan.trials == 1
    assert 1 <= plan.epochs < LEAST_EPOCHS
    assert seconds(plan) <= 5
    assert len(plan.notes) == 2


def test_what_cannot_fit_is_said() -> None:
    plan = reduced(-1.0, 100, 4, PACES, COUNTS)
    assert (plan.trials, plan.epochs) == (1, 1)
    assert "longer than the time budget" in plan.notes[-1]


def test_the_first_network_pays_for_the_start_of_all(monkeypatch: pytest.MonkeyPatch) -> None:
    """It is trained twice as long: until it predicts, from where all go on, and as long again."""
    train, valid = paths(60).split(40, 20)
    context = Context(train, valid, Facts.of(train), 0, 50, TREES)
    loss = focused("spo+", train.problem)[0][0]
    monkeypatch.setattr(budget, "measure", lambda method, *given: Pace(1.0, 1.0 if method.name == "network" else 2.0))
    plan = plan_for(1e6, 50, 1, [Network(), loss], context, 0.0, lambda name: None)
    assert plan.seconds == {"network": 102.0, "spo+": 101.0}
    plan = plan_for(1e6, 50, 1, [loss], context, 0.0, lambda name: None)
    assert plan.seconds == {"spo+": 152.0}


def test_few_epochs_that_were_asked_for_stay() -> None:
    assert reduced(20, 5, 4, PACES, COUNTS).epochs == 5


def test_plans_survive_json() -> None:
    plan = reduced(15, 100, 4, PACES, COUNTS)
    assert Plan.from_dict(plan.to_dict()) == plan


def test_measuring_trains_copies() -> None:
    train, valid = paths(60).split(40, 20)
    context = Context(train.solve(), valid.solve(), Facts.of(train), 0, 50, TREES)
    loss = focused("spo+", train.problem)[0][0]
    for method in (MeanMethod(), Forest(), Network(), loss):
        pace = measure(method, context)
        assert pace.once >= 0
        assert (pace.each > 0) == (method.costs_epochs and pace.each != 0)
    assert context.starts == {}
    told: list[str] = []
    plan = plan_for(1e6, 50, 3, [MeanMethod(), loss], context, 0.0, told.append)
    assert told == ["mean", "spo+", "network"]  # the last is where all networks begin
    assert list(plan.seconds) == ["mean", "spo+"]
    assert (plan.epochs, plan.trials) == (50, 3)
    assert plan_for(None, 50, 3, [loss], context, 0.0, told.append) == Plan(50, TREES, 3)


class Slow(Method):
    """A method that takes a second for each row and tree, or epoch, on a clock of its own."""

    name = "slow"
    costs_epochs = True

    def __init__(self, clock: list[float], each: float, fixed: float = 0.0) -> None:
        self.clock, self.each, self.fixed = clock, each, fixed

    def settings(self, facts: Facts) -> list[dict[str, object]]:
        return [{}]

    def train(self, settings: object, number: int, context: Context) -> nn.Module:
        self.clock[0] += (self.fixed + self.each * len(context.train)) * context.trees
        return nn.Identity()


def test_timing_tells_what_a_row_takes_from_what_a_training_takes(monkeypatch: pytest.MonkeyPatch) -> None:
    """Half a second for each tree, whatever the rows: ten times the rows do not take ten times as long."""
    train, valid = paths(1200).split(1000, 200)
    clock = [0.0]
    monkeypatch.setattr(budget, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    context = Context(train, valid, Facts.of(train), 0, 100, TREES)
    assert measure(Slow(clock, 1e-5, fixed=0.5), context, allowance=100.0).seconds(100) == pytest.approx(51.0)


@pytest.mark.parametrize("each", [1e-5, 1e-3, 0.1, 10.0])
def test_timing_a_slow_method_keeps_to_its_allowance(each: float, monkeypatch: pytest.MonkeyPatch) -> None:
    train, valid = paths(1200).split(1000, 200)
    clock = [0.0]
    monkeypatch.setattr(budget, "time", SimpleNamespace(perf_counter=lambda: clock[0]))
    context = Context(train, valid, Facts.of(train), 0, 100, TREES)
    pace = measure(Slow(clock, each), context, allowance=10.0)
    first = 2 * budget.FEW * budget.ROWS[0] * each  # the least that can be timed
    assert clock[0] <= max(2.5 * 10.0, first)
    assert pace.seconds(100) >= 1000 * 100 * each * 0.999
    assert pace.seconds(100) <= 1000 * 100 * each * 1.001
