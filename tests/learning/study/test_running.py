from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import pytest
import torch

from foresolve._base.container import checksum, line_of
from foresolve.errors import ForesolveError
from foresolve.layers.quadratic import QuadraticRelaxation
from foresolve.learning.study import running
from foresolve.learning.study.budget import Plan
from foresolve.learning.study.folder import OtherStudyError, Store
from foresolve.learning.study.methods import Family
from foresolve.learning.study.running import StudyInterrupted, StudyProgress
from foresolve.learning.study.trial import Trial, run_trial
from foresolve.losses.decision import DecisionLoss
from learning.study.instances import dated, paths, quick
from mistakes import mistake

pytest.importorskip("safetensors")
MORE: dict[str, Any] = {"methods": ["spo+", "boosted spo+"], "trials": 3, "epochs": 3}


class Stop:
    """Ctrl-C after so many trials."""

    def __init__(self, after: int) -> None:
        self.after = after

    def __call__(self, told: StudyProgress) -> None:
        if told.total and told.done >= self.after:
            raise KeyboardInterrupt


@pytest.mark.parametrize("after", [1, 3, 7, 11])
def test_a_study_goes_on_where_it_was_stopped(tmp_path: Path, after: int) -> None:
    whole = quick(paths(), **MORE)
    with pytest.raises(StudyInterrupted, match=rf"{after} of 13 trials done.*resume=True"):
        quick(paths(), **MORE, folder=tmp_path, progress=Stop(after))
    assert len((tmp_path / "trials.jsonl").read_text().splitlines()) == after
    again = quick(paths(), **MORE, folder=tmp_path, resume=True)
    assert [trial.regret for trial in again.trials] == [trial.regret for trial in whole.trials]
    assert again.comparison == whole.comparison
    assert again.verdict == whole.verdict
    for row in whole.comparison.rows:
        features = whole.parts.test.features
        assert torch.equal(again.model(row.name)(features), whole.model(row.name)(features))
    finished = quick(paths(), **MORE, folder=tmp_path, resume=True)  # everything is there
    assert finished.comparison == whole.comparison


def test_ctrl_c_within_a_training() -> None:
    calls = 0

    def stop(told: StudyProgress) -> None:
        nonlocal calls
        calls += told.label.startswith("network")
        if calls == 2:
            raise KeyboardInterrupt

    with pytest.raises(StudyInterrupted, match="2 of 4 trials done"):
        quick(paths(60), progress=stop)


@pytest.mark.parametrize("label", ["best decisions under the truth", "preparing ridge", "network, 1 epoch"])
def test_ctrl_c_at_any_time(label: str, tmp_path: Path) -> None:
    def stop(told: StudyProgress) -> None:
        if told.label == label:
            raise KeyboardInterrupt

    with pytest.raises(StudyInterrupted, match="stopped"):
        quick(paths(60), progress=stop, budget=100.0, folder=tmp_path)
    assert quick(paths(60), folder=tmp_path, resume=True).comparison == quick(paths(60)).comparison


def test_only_models_that_are_needed_are_kept(tmp_path: Path) -> None:
    told = quick(paths(), **MORE, folder=tmp_path)
    names = {path.stem for path in (tmp_path / "models").iterdir()}
    best = {row.name: told.trial(row.name).number for row in told.comparison.rows}
    assert names == {f"{name.replace('+', 'plus').replace(' ', '-')}-{number}" for name, number in best.items()}


def test_models_that_a_killed_session_did_not_drop_are_dropped(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    quick(paths(), **MORE, folder=tmp_path / "whole")

    def killed(self: Any) -> None:
        raise MemoryError

    monkeypatch.setattr(running.Rounds, "_drop_superseded", killed)
    for _ in range(2):
        with pytest.raises(MemoryError):  # in the first round, and again at once
            quick(paths(), **MORE, folder=tmp_path / "killed", resume=True)
    monkeypatch.setattr(running.Rounds, "_drop_superseded", lambda self: None)
    quick(paths(), **MORE, folder=tmp_path / "killed", resume=True)
    monkeypatch.undo()
    quick(paths(), **MORE, folder=tmp_path / "killed", resume=True)
    names = [{path.name for path in (tmp_path / name / "models").iterdir()} for name in ("whole", "killed")]
    assert names[0] == names[1]


def test_a_session_that_is_killed_while_it_cuts_the_plan_is_finished_by_the_next(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def slow(method: Any, settings: Any, number: int, context: Any) -> Any:
        if number == 2 and method.name == "spo+":
            monkeypatch.setattr(running.Rounds, "_late", lambda self, more=0.0: True)
            context.told(0.5)
        return run_trial(method, settings, number, context)

    def killed(self: Any, number: int) -> None:
        if number == 2:
            raise MemoryError

    expected = quick(paths(), **(MORE | {"trials": 2}))
    monkeypatch.setattr(running, "run_trial", slow)
    monkeypatch.setattr(running.Store, "forget", killed)
    with pytest.raises(MemoryError):
        quick(paths(), **MORE, folder=tmp_path)
    monkeypatch.undo()
    assert '"number": 2' in (tmp_path / "trials.jsonl").read_text()
    again = quick(paths(), **MORE, folder=tmp_path, resume=True)
    assert {trial.number for trial in again.trials} == {0, 1}
    assert again.comparison == expected.comparison
    assert not list((tmp_path / "models").glob("*-2.safetensors"))
    assert '"number": 2' not in (tmp_path / "trials.jsonl").read_text()


def test_another_study_is_refused_by_what_differs(tmp_path: Path) -> None:
    quick(paths(), folder=tmp_path)
    with mistake("folder", "resume=True"):
        quick(paths(), folder=tmp_path)
    for changes, fact in (
        ({"seed": 3}, "seed (3)"), ({"epochs": 7}, "epochs"), ({"methods": "cave"}, "methods"),
        ({"split": (0.5, 0.2, 0.3)}, "split"),
    ):  # fmt: skip
        with mistake("folder", fact):
            quick(paths(), folder=tmp_path, resume=True, **changes)
    with mistake("folder", "training data", kind=OtherStudyError) as caught:
        quick(paths(seed=1), folder=tmp_path, resume=True)
    assert caught.value.data == ("features", "parameters")  # type: ignore[attr-defined]


def test_methods_with_other_settings_are_refused_by_what_differs(tmp_path: Path) -> None:
    def decision(gamma: float) -> DecisionLoss:
        return DecisionLoss(QuadraticRelaxation(gamma=gamma))

    quick(paths(), folder=tmp_path, methods=decision(1.0))
    with mistake("folder", "loss.layer.gamma (2.0)", "1.0"):
        quick(paths(), folder=tmp_path, resume=True, methods=decision(2.0))


@pytest.mark.parametrize(
    ("name", "change", "message"),
    [
        ("study.json", lambda d: d.pop("plan"), "`plan` must be dict"),
        ("study.json", lambda d: d["plan"].update(epochs=0), "its plan must have counts"),
        ("study.json", lambda d: d.update(schema=4), "has the schema 4, written by"),  # roles, not families
        ("study.json", lambda d: d.update(identity=3), "`identity` must be dict"),
        ("trials.jsonl", lambda d: d.pop("number"), "line 1: not a trial"),
        ("trials.jsonl", lambda d: d.update(regret="x"), "`regret` of a trial cannot be 'x'"),
        ("trials.jsonl", lambda d: d.update(family="x"), "`family` of a trial cannot be 'x'"),
    ],
)
def test_damaged_folders_are_told(name: str, change: Any, message: str, tmp_path: Path) -> None:
    store = Store.open(tmp_path, {"seed": 0}, resume=False)
    store.begin(Plan(3, 10, 1))
    trial = Trial(method="mean", family=Family.BASELINE, number=0, settings={}, regret=0.5, seconds=0.1)
    store.add(trial, None, keep=False)
    assert Store.open(tmp_path, {"seed": 0}, resume=True).trials == {("mean", 0): trial}
    path = tmp_path / name
    document = json.loads(path.read_text())
    change(document)
    document.pop("sha256")
    text = line_of(document) if name.endswith("l") else json.dumps(document | {"sha256": checksum(document, {})})
    path.write_text(text)
    with pytest.raises(ForesolveError, match=message) as error:
        Store.open(tmp_path, {"seed": 0}, resume=True)
    assert str(tmp_path) in str(error.value)


def test_a_budget_that_is_used_up_leaves_whole_rounds(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def slow(method: Any, settings: Any, number: int, context: Any) -> Any:
        if number == 2 and method.name == "spo+":
            monkeypatch.setattr(running.Rounds, "_late", lambda self, more=0.0: True)
            context.told(0.5)
        return run_trial(method, settings, number, context)

    monkeypatch.setattr(running, "run_trial", slow)
    told = quick(paths(), **MORE, folder=tmp_path)
    assert told.plan.trials == 2
    assert max(trial.number for trial in told.trials) == 1
    assert "settings tried cut from 3 to 2 for all: the time budget was used up" in told.warnings
    monkeypatch.undo()
    fewer = quick(paths(), **(MORE | {"trials": 2}))
    assert told.comparison == fewer.comparison
    again = quick(paths(), **MORE, folder=tmp_path, resume=True)
    assert again.comparison == told.comparison
    document = json.loads((tmp_path / "study.json").read_text())
    assert document["plan"]["trials"] == 2


def test_a_study_of_other_dates_is_another_one(tmp_path: Path) -> None:
    data = dated(60)
    assert data.origin is not None
    assert data.times is not None
    quick(data, folder=tmp_path)
    data.origin = replace(data.origin, times=data.times + np.timedelta64(1, "D"))
    with mistake("folder", "training data", kind=OtherStudyError) as caught:
        quick(data, folder=tmp_path, resume=True)
    assert caught.value.data == ("dates",)  # type: ignore[attr-defined]
