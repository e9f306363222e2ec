from __future__ import annotations

import json
import shutil
from dataclasses import replace
from pathlib import Path

import pandas as pd
import pytest

from foresolve.errors import FileError, ForesolveError, ForesolveWarning
from foresolve.projects import Project, Run
from foresolve.projects.run import slug
from foresolve.projects.schema import Missing
from mistakes import mistake
from projects.runs import change, quick_project


def test_it_holds_all_that_deciding_needs(run: Run, tmp_path: Path) -> None:
    """The files of training are not needed, nor their folder."""
    shutil.copytree(run.folder, tmp_path / "elsewhere")
    moved = Run.open(tmp_path / "elsewhere")
    assert moved.settings.values == run.settings.values
    result = moved.decide(run.folder.parent / "tomorrow.csv", tmp_path / "out.csv")
    assert result.instances == 7
    assert moved.monitor(*(run.folder.parent / name for name in ("later.csv", "later_actuals.csv"))).report.value < 0


def test_scores_are_those_of_the_study(run: Run) -> None:
    for row in run.comparison():
        scores = run.scores(row.name)
        assert len(scores) == 144
        assert scores["regret"].mean() == pytest.approx(row.regret)
        assert scores["value"].mean() == pytest.approx(row.value)
        assert (scores["value"] >= scores["optimum"] - 1e-9).all()  # minutes
    assert run.scores()["method"].unique().tolist() == [run.method]
    with mistake("method", "'spo'"):
        run.scores("spo")


def test_evaluation_tells_costs_as_costs(run: Run) -> None:
    files = [run.folder.parent / name for name in ("later.csv", "later_actuals.csv")]
    own, gains = run.evaluate(*files), run.monitor(*files).report
    assert own.value == -gains.value > 0
    assert own.intervals["value"] == tuple(-end for end in reversed(gains.intervals["value"]))
    assert own.regret == gains.regret == pytest.approx(own.value - own.optimum)


def test_instances_that_are_left_out_are_told(run: Run, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    features, truth = (run.folder.parent / name for name in ("later.csv", "later_actuals.csv"))
    table = pd.read_csv(truth)
    table.iloc[:3, -1] = None
    table.to_csv(tmp_path / "gaps.csv", index=False)
    values = run.settings.values
    data = values.data.model_copy(update={"missing": Missing(parameters="drop")})
    dropping = replace(run.settings, values=replace(values, data=data))
    monkeypatch.setattr(run, "settings", dropping)
    with pytest.warns(ForesolveWarning, match="^3 instances"):
        report = run.evaluate(features, tmp_path / "gaps.csv")
    assert len(report) == len(table) - 3
    monitoring = run.monitor(features, tmp_path / "gaps.csv")
    assert monitoring.headline.startswith(f"{len(report)} decisions (3 more without their whole truth are left out): ")


def test_policies_that_were_kept(tmp_path: Path) -> None:
    quick_project(tmp_path, "top-k")
    run = Project.load(tmp_path).study(tmp_path / "run", keep=["spo+"], progress=False)
    assert run.policy_folder("spo+") == run.folder / "policies" / "spoplus"
    assert run.policy("spo+").record["method"] == "spo+"
    assert run.policy().record["method"] == run.method
    missing = next(name for name in ("mean", "ridge") if name != run.method)
    with mistake("method", f"--keep '{missing}'"):
        run.policy(missing)


def test_a_method_without_a_policy_is_named(tmp_path: Path) -> None:
    folder = quick_project(tmp_path, "top-k")
    change(folder, {"references": '["last value", "mean"]'})
    with pytest.warns(ForesolveWarning, match="'last value'"):
        run = Project.load(folder).study(tmp_path / "run", keep=["last value", "mean"], progress=False)
    assert run.record["policies"] == ["mean"]
    deployable = {row.name: row.method.deployable for row in run.comparison()}
    assert deployable["mean"]
    assert not deployable["last value"]
    assert run.method != "last value"


def test_a_run_that_has_not_finished(tmp_path: Path) -> None:
    with mistake("", str(tmp_path), "`foresolve train`", kind=FileError):
        Run.open(tmp_path)
    (tmp_path / "training").mkdir()
    with mistake("", str(tmp_path), "`foresolve train --resume`", kind=FileError):
        Run.open(tmp_path)


@pytest.mark.parametrize("change", [{"kind": "x"}, {"schema": 9}])
def test_other_folders(change: dict[str, object], run: Run, tmp_path: Path) -> None:
    (tmp_path / "run.json").write_text(json.dumps(run.record | change))
    with mistake("", str(tmp_path / "run.json"), kind=FileError):
        Run.open(tmp_path)


@pytest.mark.parametrize("schema", [1, 2])
def test_studies_of_older_versions_are_told_from_damaged_ones(schema: int, run: Run, tmp_path: Path) -> None:
    """They have differences of regret, not gains: read as gains, their signs would be wrong."""
    shutil.copytree(run.folder, tmp_path / "run")
    if schema == 1:
        old = Run(tmp_path / "run", run.settings, run.record | {"schema": 1})
    else:
        old, path = Run.open(tmp_path / "run"), tmp_path / "run" / "study.json"
        path.write_text(json.dumps(json.loads(path.read_text()) | {"schema": 2}))
    for read in (old.study, old.comparison, old.verdict):
        with pytest.raises(ForesolveError) as caught:
            read()
        assert "study.json" in str(caught.value)
        assert "Train again" in str(caught.value)


def test_what_it_was_trained_on_is_recorded(run: Run) -> None:
    assert set(run.record["files"]) == {"file", "features", "parameters"}
    assert all(len(digest) == 64 for digest in run.record["files"].values())


def test_names_of_folders() -> None:
    assert slug("boosted spo+") == "boosted-spoplus"
    assert slug("a/../b") == "a-b"


def test_scores_keep_the_keys(run: Run) -> None:
    dates = pd.to_datetime(run.scores()["date"])
    assert dates.is_monotonic_increasing
    assert dates.is_unique
