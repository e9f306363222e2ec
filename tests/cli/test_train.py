from __future__ import annotations

import json
import signal
import sys
import time
from pathlib import Path

import pandas as pd
import pytest

from cli.calls import done, invoke, process, refused
from foresolve.projects import Project, Run
from projects.runs import change, quick_project


@pytest.mark.parametrize("suffix", [".csv", ".parquet"])
def test_a_run_from_files(suffix: str, tmp_path: Path) -> None:
    quick_project(tmp_path, "top-k")
    if suffix == ".parquet":
        for path in tmp_path.glob("*.csv"):
            pd.read_csv(path).to_parquet(path.with_suffix(suffix), index=False)
            path.unlink()
        settings = tmp_path / "foresolve.toml"
        settings.write_text(settings.read_text().replace(".csv", suffix))
    result = invoke("train", tmp_path, "--json", "--keep", "all")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert {row["name"] for row in document["comparison"]["rows"]} == {"mean", "ridge", "spo+"}
    run = Run.open(tmp_path / "run")
    assert run.method == document["policy"]
    assert run.policy("spo+").problem.names == run.policy().problem.names
    assert {path.name for path in run.folder.iterdir()} >= {"foresolve.toml", "run.json", "scores.csv", "study.json"}


def test_what_it_says(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """The table, the verdict, the policy and what to type next on stdout; progress on stderr."""
    monkeypatch.chdir(quick_project(tmp_path, "knapsack"))
    result = done("train", "--out", "there")
    assert "raining on decisions" in result.stdout or "Too little data" in result.stdout
    assert "The policy is that of" in result.stdout
    assert result.stdout.rstrip().endswith("foresolve decide there --data NEW.csv --out decisions.csv")
    assert "of 3 trials done" in result.stderr
    assert "\x1b" not in result.output


def test_a_folder_that_is_taken(tmp_path: Path) -> None:
    quick_project(tmp_path, "top-k")
    (tmp_path / "run").mkdir()
    (tmp_path / "run" / "thesis.txt").write_text("mine")
    message = refused(2, "train", tmp_path)
    assert message.startswith("Invalid value for '--out': must be new or empty")
    assert "with --resume" in message


@pytest.mark.parametrize(
    ("table", "key", "value", "told"),
    [
        ("problem", "source", '"J1"', "'J01'"),
        ("data", "key", '"dat"', "`date`"),
        ("data", "features", '"featurs.csv"', "`features.csv`"),
        ("training", "trials", "0", "got 0"),
        ("methods", "references", '["rigde"]', "'ridge'"),
    ],
)
def test_settings_that_are_wrong_are_told_with_table_and_key(
    table: str, key: str, value: str, told: str, tmp_path: Path
) -> None:
    quick_project(tmp_path)
    change(tmp_path, {key: value})
    path = tmp_path / "foresolve.toml"
    message = refused(2, "train", path)
    assert message.startswith(f"{path}: [{table}] {key} ")
    assert told in message
    assert not (tmp_path / "run" / "run.json").exists()


def test_a_key_that_there_is_not(tmp_path: Path) -> None:
    quick_project(tmp_path)
    path = tmp_path / "foresolve.toml"
    path.write_text(path.read_text().replace("trials =", "trails ="))
    assert "[training] trails is not a key of this table. Did you mean `trials`?" in refused(2, "train", path)


def test_options_that_make_no_sense(tmp_path: Path) -> None:
    quick_project(tmp_path, "top-k")
    message = refused(2, "train", tmp_path, "--budget", "soon")
    assert message == "Invalid value for '--budget': 'soon' is no time such as \"10 min\" or 600"
    assert "Create one with `foresolve init`" in invoke("train", tmp_path / "nowhere").stderr


@pytest.mark.parametrize("kept", [True, False])
def test_stopped_before_the_first_trial(kept: bool, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """While data are read, or methods are timed: it says how to go on as well."""
    folder = quick_project(tmp_path, "top-k")

    def stopped(project: Project, run: Path, **_: object) -> None:
        if kept:
            (run / "training").mkdir(parents=True)
        raise KeyboardInterrupt

    monkeypatch.setattr(Project, "study", stopped)
    message = refused(130, "train", folder, "--keep", "spo+", "--keep", "mean", "--budget", "2 min")
    assert message.startswith("stopped")
    assert f"foresolve train {folder} --out {folder / 'run'} --budget '2 min' --keep spo+ --keep mean" in message
    assert message.endswith("--resume") == kept


def _begun(folder: Path, command: object) -> None:
    """Waits until something is finished."""
    end = time.monotonic() + 300
    while not list((folder / "run" / "training").rglob("*.json")) and time.monotonic() < end:
        assert command.poll() is None  # type: ignore[attr-defined]
        time.sleep(0.01)
    time.sleep(0.5)


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
@pytest.mark.parametrize("end", [signal.SIGKILL, signal.SIGINT])
def test_it_goes_on_after_it_was_stopped(end: signal.Signals, tmp_path: Path) -> None:
    """And comes to what a run finds that nobody stops."""
    quick_project(tmp_path, "top-k")
    change(tmp_path, {"epochs": "60", "trials": "3", "budget": '"1 h"'})
    command = process("train", tmp_path)
    _begun(tmp_path, command)
    command.send_signal(end)
    _, told = command.communicate(timeout=120)
    assert command.returncode == (-9 if end == signal.SIGKILL else 130)
    if end == signal.SIGINT:
        assert "continue with: foresolve train" in told
        assert "--resume" in told
    assert "has not finished" in refused(2, "report", tmp_path / "run")
    kept = {path: path.stat().st_mtime_ns for path in (tmp_path / "run" / "training").rglob("*.json")}
    assert kept
    done("train", tmp_path, "--resume")
    done("train", tmp_path, "--out", tmp_path / "whole")
    stopped, whole = (Run.open(tmp_path / name).scores() for name in ("run", "whole"))
    pd.testing.assert_frame_equal(stopped, whole)
