"""How networks of a run learned, from its records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace

import pytest

from foresolve.report import courses
from foresolve.report.records import Course
from foresolve.report.view import RunView
from reproduce.fakes import fake_run


def learned(run: RunView, known: Mapping[str, Sequence[Course]]) -> RunView:
    """The run with courses of its splits, at each budget."""
    made = [
        replace(record, course=known[record.method][record.split]) if record.method in known else record
        for record in run.records
    ]
    return replace(run, records=made)


def test_means_over_splits_at_the_budget_of_the_figures_as_far_as_all_came() -> None:
    first: Course = {"regret": [None, 0.5, 0.25], "mse": [1.0, 2.0, 4.0]}
    second: Course = {"regret": [0.75, 0.25], "mse": [2.0, 3.0]}
    run = learned(fake_run("budget", splits=2, pictures=False, curves=False), {"NN1-Decision": [first, second]})
    other = [replace(r, course=second) if r.method == "NN1-2Stage" and r.k == 5 else r for r in run.records]
    run = replace(run, records=other)  # not the budget of the figures
    (history,) = courses.histories(run).values()
    assert list(courses.histories(run)) == ["NN1-Decision"]
    assert (history.start, history.valid_regret) == (None, [pytest.approx(0.375)])
    assert (history.start_mse, history.valid_mse) == (1.5, [2.5])
    assert courses.cut(run)
    assert courses.without(run) == ["NN2-Decision", "NN1-2Stage", "NN2-2Stage", "RF-2Stage"]


def test_folders_of_earlier_versions_have_none() -> None:
    run = fake_run(splits=2, pictures=False, curves=False)
    assert courses.histories(run) == {}
    assert not courses.cut(run)
