from __future__ import annotations

import errno
import json
import logging
import os
import shutil
import signal
import sys
from pathlib import Path
from typing import Any

import pytest
from typer.testing import CliRunner

from cli.calls import document, invoke, process, refused
from foresolve._base.log import log
from foresolve.cli import build
from foresolve.cli.program import told
from foresolve.errors import ForesolveError
from foresolve.projects import init


def test_a_command_that_there_is_not() -> None:
    assert refused(2, "trian") == "No such command 'trian'. Did you mean 'train'?"


def test_options_are_named_as_they_are_typed(sample: Path, run: Path) -> None:
    data = sample / "tomorrow.csv"
    assert refused(2, "decide", run) == "Missing option '--data'."
    assert "'--data'" in refused(2, "decide", run, "--data", "nope.csv", "--out", "x.csv")
    assert "--dat (Possible options: --data" in refused(2, "decide", run, "--dat", data, "--out", "x.csv")
    message = refused(2, "decide", run, "--data", data, "--out", "x.xlsx")
    assert message == "Invalid value for '--out': must be a .csv or .parquet file; got 'x.xlsx'"
    message = refused(2, "decide", run, "--data", data, "--out", "x.csv", "--form", "tall")
    assert message == "Invalid value for '--form': 'tall' is not one of 'long', 'wide'."
    message = refused(2, "decide", run, "--data", data, "--out", "x.csv", "--address", "auto")
    assert message == "Invalid value for '--address': only --engine ray has an --address"


@pytest.mark.parametrize("command", ["decide", "evaluate", "monitor", "report", "compare"])
def test_a_folder_without_a_run(command: str, sample: Path, tmp_path: Path) -> None:
    data = str(sample / "later.csv")
    others = {
        "decide": ["--data", data, "--out", "x.csv"], "evaluate": ["--data", data],
        "monitor": ["--data", data, "--actuals", data], "report": [], "compare": [str(sample / "run")],
    }[command]  # fmt: skip
    assert f"{tmp_path} holds no run. `foresolve train` makes one" in refused(2, command, tmp_path, *others)


@pytest.mark.filterwarnings("ignore:.* has no column 'date':foresolve.ForesolveWarning")
def test_where_an_error_came_from_is_shown_on_demand(sample: Path, run: Path) -> None:
    words = ["decide", str(run), "--data", str(sample / "roads.csv"), "--out", "x.csv"]
    assert "Traceback" not in invoke(*words).stderr
    for verbose in (["-v", *words], [*words, "--verbose"]):
        result = invoke(*verbose)
        assert result.exit_code == 1
        assert "Traceback" in result.stderr


def test_errors_of_the_disk_name_the_file() -> None:
    assert told(OSError(28, "No space left on device", "a.csv")) == "a.csv: No space left on device"
    assert told(ForesolveError("no")) == "no"


def test_what_is_ours_to_mend_is_not_hidden(monkeypatch: pytest.MonkeyPatch, run: Path) -> None:
    monkeypatch.setattr("foresolve.projects.tables.study_table", lambda run: 1 / 0)
    assert isinstance(invoke("report", run).exception, ZeroDivisionError)


@pytest.mark.filterwarnings("default")
def test_warnings_are_a_line_on_stderr(sample: Path, run: Path, tmp_path: Path) -> None:
    import pandas

    table = pandas.read_csv(sample / "tomorrow.csv")
    table["rain"] += 1e6
    table.to_csv(tmp_path / "wet.csv", index=False)
    result = invoke("decide", run, "--data", tmp_path / "wet.csv", "--out", tmp_path / "x.csv")
    assert result.exit_code == 0
    (line,) = result.stderr.splitlines()
    assert line.startswith("foresolve: warning: features lie far outside of training: 'rain' is 1e+06")


@pytest.mark.slow
def test_no_color_in_a_pipe(run: Path) -> None:
    for words in (["report", str(run)], ["--help"], ["train", "nowhere"]):
        out, err = process(*words, env={**os.environ, "TERM": "xterm-256color"}).communicate(timeout=120)
        assert out or err
        assert "\x1b" not in out + err


@pytest.mark.slow
@pytest.mark.skipif(sys.platform == "win32", reason="signals of Unix")
def test_ctrl_c_while_deciding(sample: Path, run: Path, tmp_path: Path) -> None:
    """Status 130, and no file: it appears whole or not at all."""
    import pandas

    table = pandas.read_csv(sample / "features.csv")
    table = pandas.concat([table] * 700, ignore_index=True)
    table["date"] = [f"k{place}" for place in range(len(table))]
    table.to_csv(tmp_path / "large.csv", index=False)
    command = process("decide", run, "--data", tmp_path / "large.csv", "--out", tmp_path / "x.csv")
    while not list(tmp_path.glob(".x.csv.*")):
        assert command.poll() is None
    command.send_signal(signal.SIGINT)
    command.communicate(timeout=120)
    assert command.returncode == 130
    assert [path.name for path in tmp_path.iterdir()] == ["large.csv"]


def test_json_is_one_document(run: Path) -> None:
    assert document("report", run)[0]["run"] == str(run)


@pytest.mark.parametrize("charset", ["ascii", "utf-8"])
def test_what_stdout_cannot_print_is_escaped(run: Path, tmp_path: Path, charset: str) -> None:
    folder = tmp_path / "Z\u00fcrich \udcff"
    try:
        shutil.copytree(run, folder)
    except (OSError, UnicodeError):
        pytest.skip("names of files are text here")
    shown = str(folder).encode(charset, "backslashreplace").decode(charset)
    runner = CliRunner(charset=charset)
    for form in ([], ["--csv"], ["--markdown"], ["--json"]):
        result = runner.invoke(build(), ["report", str(folder), *form])
        assert result.exit_code == 0, result.output
        assert form == ["--json"] or shown.rpartition("/")[2] in result.stdout
    assert json.loads(result.stdout)[0]["run"] == str(folder)


def test_quiet_told_and_traced(tmp_path: Path) -> None:
    quiet, told, more = (invoke(*words, "decide", tmp_path, "--data", __file__, "--out", "x.csv")
                         for words in ([], ["-v"], ["-vv"]))  # fmt: skip
    assert quiet.exit_code == told.exit_code == more.exit_code == 2
    assert "Traceback" not in quiet.stderr
    for result in (told, more):
        assert result.stderr.startswith(quiet.stderr)
        assert "Traceback" in result.stderr


def test_what_is_done_is_told_on_stderr_where_it_is_asked_for(tmp_path: Path) -> None:
    init("top-k", tmp_path)
    settings = tmp_path / "foresolve.toml"
    text = settings.read_text(encoding="utf-8").replace('budget = "1 min"', "trials = 1\nepochs = 1")
    methods = 'references = ["mean", "network"]\ndecision = ["spo+"]\n'
    settings.write_text(text.replace("[methods]\n", f"[methods]\n{methods}"), encoding="utf-8")
    quiet = invoke("train", settings, "--out", tmp_path / "a", "--json")
    more = invoke("train", settings, "--out", tmp_path / "b", "--json", "-vv")
    assert quiet.exit_code == more.exit_code == 0, quiet.output
    for words in ("spo+, settings 1: regret", "exact: "):
        assert words not in quiet.stderr
        assert f"foresolve: {words}" in more.stderr
    assert log.level == logging.NOTSET
    assert len(log.handlers) == 1


def test_a_full_disk_is_told_with_the_file_and_what_to_do(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    def full(*_: Any) -> None:
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr("os.fsync", full)
    result = invoke("init", "top-k", tmp_path)
    assert result.exit_code == 1
    assert "Traceback" not in result.stderr
    assert result.stderr.startswith(f"foresolve: {tmp_path}")
    assert "No space left on device. What was there before is as it was. Free some space" in result.stderr
    assert list(tmp_path.iterdir()) == []
