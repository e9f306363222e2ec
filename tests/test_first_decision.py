"""docs/first_decision.md: three ways from files to decisions, each in Python and in the shell, which decide alike."""

from __future__ import annotations

import re
import shlex
import subprocess
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from tools.transcripts import blocks, commands, output
from typer.testing import CliRunner

import foresolve
from foresolve.cli import build
from foresolve.learning import study as study_of
from foresolve.projects import init

PAGE = Path(__file__).parents[1] / "docs" / "first_decision.md"
BLOCK = re.compile(r"^```python\n(.*?)^```$", re.MULTILINE | re.DOTALL)
MOST_LINES = 15
# What is decided, by the folder that the page puts it into, and what Python calls the file of decisions.
FOLDERS = {"town": "routes.csv", "van": "loads.csv", "bakery": "plans.csv"}
QUICK: dict[str, Any] = {"references": ["mean", "ridge"], "methods": ["spo+"], "trials": 1, "epochs": 2}
TOML = {"references": '["mean", "ridge"]', "decision": '["spo+"]', "trials": "1", "epochs": "2"}


def section(folder: str) -> tuple[str, list[str]]:
    """The Python and the commands of a section; without `init`, which both have."""
    text = next(part for part in PAGE.read_text(encoding="utf-8").split("\n## ") if f'"{folder}")' in part)
    _, code = BLOCK.findall(text)
    (transcript,) = blocks(text)
    return f"import foresolve\n{code}", commands(transcript)


def in_process(command: str) -> None:
    """`foresolve` here, where it starts at once; anything else by itself."""
    program, *words = shlex.split(command)
    if program != "foresolve":
        subprocess.run([program, *words], check=True, capture_output=True)
        return
    result = CliRunner().invoke(build(), words)
    assert result.exit_code == 0, f"{command}: {result.output}"
    if words[0] == "init":
        _hurry(Path(words[2], "foresolve.toml"))


def _hurry(settings: Path) -> None:
    text = settings.read_text(encoding="utf-8")
    for key, value in TOML.items():
        text, count = re.subn(rf"^# {key} = .*$", f"{key} = {value}", text, flags=re.MULTILINE)
        assert count == 1
    settings.write_text(text, encoding="utf-8")


def walk(folder: str, run: Callable[[str], None]) -> tuple[Path, Path]:
    """Both ways through a section, in the current folder; the two files of decisions."""
    code, lines = section(folder)
    for command in lines:
        run(command)
    exec(compile(code, str(PAGE), "exec"), {})
    return Path(folder, FOLDERS[folder]), Path(folder, "decisions.csv")


@pytest.mark.parametrize("folder", FOLDERS)
def test_python_is_short(folder: str) -> None:
    code, _ = section(folder)
    assert len([line for line in code.splitlines() if line and not line.startswith("#")]) <= MOST_LINES


@pytest.mark.parametrize("folder", FOLDERS)
def test_python_and_the_shell_decide_alike(
    folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(foresolve, "study", lambda data, **given: study_of(data, **(given | QUICK)))
    python, shell = (pandas.read_csv(path) for path in walk(folder, in_process))
    assert len(python) > 3
    pandas.testing.assert_frame_equal(python, shell[python.columns], check_exact=False, rtol=1e-12)
    assert f"{len(QUICK['references']) + 1} trials, 2 epochs" in " ".join(capsys.readouterr().out.split())


@pytest.mark.slow
@pytest.mark.parametrize("folder", FOLDERS)
def test_as_it_is_written(folder: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """With the page's own settings, in processes of their own; what the study chooses depends on the time it has."""
    pandas = pytest.importorskip("pandas")
    monkeypatch.chdir(tmp_path)
    printed: dict[str, str] = {}

    def run(command: str) -> None:
        printed[command] = output(command, tmp_path)

    decisions = [pandas.read_csv(path) for path in walk(folder, run)]
    assert len({len(set(frame.iloc[:, 0])) for frame in decisions}) == 1
    assert all(printed.values())
    assert re.search(r"(?i)decisions (pays|does not pay)", printed[f"foresolve train {folder}"])


def test_an_mps_file_of_highs(tmp_path: Path) -> None:
    """The bakery's plan, written again by HiGHS, is decided alike."""
    highspy = pytest.importorskip("highspy")
    init("mps", tmp_path)
    model = highspy.Highs()
    model.silent()
    model.readModel(str(tmp_path / "plan.mps"))
    model.writeModel(str(tmp_path / "again.mps"))
    predict = ["bread", "rolls", "cakes", "tarts"]
    plans = [foresolve.LinearProgram.from_mps(tmp_path / name, predict=predict) for name in ("plan.mps", "again.mps")]
    data = [
        foresolve.DecisionDataset.from_frames(tmp_path / "features.csv", tmp_path / "prices.csv", plan, key="date")
        for plan in plans
    ]
    assert (data[0].theta == data[1].theta).all()
    assert plans[0].names == plans[1].names
    assert (data[0].values - data[1].values).abs().max() <= 1e-9 * data[0].values.abs().max()
