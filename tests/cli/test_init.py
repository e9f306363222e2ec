from __future__ import annotations

from pathlib import Path

import pytest

from cli.calls import done, refused
from foresolve.projects import Project
from foresolve.projects.samples.registry import SAMPLES


@pytest.mark.parametrize("kind", SAMPLES)
def test_samples_are_complete(kind: str, tmp_path: Path) -> None:
    result = done("init", kind, tmp_path / "here")
    named = {Path(line.strip()).name for line in result.stdout.splitlines() if line.startswith(f"  {tmp_path}")}
    assert named == {path.name for path in (tmp_path / "here").iterdir()}
    assert "foresolve.toml" in named
    project = Project.load(tmp_path / "here")
    assert len(project.data()) > 100
    assert f"cd {tmp_path / 'here'} && foresolve train" in result.stdout


def test_nothing_is_overwritten(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    done("init", "top-k")
    Path("foresolve.toml").write_text("mine")
    message = refused(2, "init", "top-k").replace("Invalid value: ", "")
    assert message.startswith(". has foresolve.toml, ")
    assert "nothing was written. Use --force to replace them, or another folder" in message
    assert Path("foresolve.toml").read_text() == "mine"
    done("init", "top-k", "--force")
    assert Project.load().problem().n == 12


def test_a_kind_that_there_is_not(tmp_path: Path) -> None:
    message = refused(2, "init", "knapsak", tmp_path)
    assert message.endswith("'knapsak' is not one of " + ", ".join(SAMPLES) + ". Did you mean 'knapsack'?")
    assert not list(tmp_path.iterdir())
