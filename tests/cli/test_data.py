from __future__ import annotations

import sys
from pathlib import Path
from typing import Any

import pytest

from cli.calls import invoke
from foresolve.cli import main
from foresolve.data import SOURCES
from foresolve.data.real import sources


def test_data_list() -> None:
    result = invoke("data", "list")
    assert result.exit_code == 0
    for source in SOURCES.values():
        assert f"{source.name}: {source.title}" in result.stdout
        assert source.terms in result.stdout


def test_data_check_says_what_is_missing(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("FORESOLVE_DATA", str(tmp_path))
    result = invoke("data", "check", "cora")
    assert result.exit_code == 1
    assert result.stdout.startswith("BAD  cora/cora.content: not there")
    (tmp_path / "pairs.txt").write_text("1 2\n3 4\n")
    result = invoke("data", "check", "edges", "--data", str(tmp_path / "pairs.txt"))
    assert result.exit_code == 0
    assert result.stdout.startswith("ok   edges/pairs.txt")
    assert len(invoke("data", "check").stdout.splitlines()) == sum(len(s.files) for s in SOURCES.values())


def test_data_fetch(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    fetched: list[tuple[str, Path]] = []

    def fetch(name: str, folder: Path, progress: Any) -> Path:
        progress(1, 2)
        fetched.append((name, folder))
        return folder / name

    monkeypatch.setattr(sources, "fetch_source", fetch)
    result = invoke("data", "fetch", "cora", "movielens", "--data", str(tmp_path))
    assert result.exit_code == 0
    assert result.stdout == f"cora: {tmp_path / 'cora'}\nmovielens: {tmp_path / 'movielens'}\n"
    assert fetched == [("cora", tmp_path), ("movielens", tmp_path)]
    assert invoke("data", "fetch", "cora", "chess", "--data", str(tmp_path)).exit_code == 1
    assert len(fetched) == 2


def test_a_missing_data_folder_is_told(monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]) -> None:
    monkeypatch.delenv("FORESOLVE_DATA", raising=False)
    monkeypatch.setattr(sys, "argv", ["foresolve", "data", "check"])
    with pytest.raises(SystemExit) as left:
        main()
    assert left.value.code == 1
    assert capsys.readouterr().err.startswith("foresolve: there is no data folder. Name one with --data")
