from __future__ import annotations

import sys
from pathlib import Path

import pytest
from typer.testing import CliRunner

import foresolve
from experiments.test_matching_demo import TINY
from foresolve import MissingExtraError
from foresolve.cli import build, main
from foresolve.experiments import matching_demo


@pytest.fixture
def quick(monkeypatch: pytest.MonkeyPatch) -> list[matching_demo.DemoConfig]:
    """The demo at its smallest; the list collects the settings that were asked for."""
    asked: list[matching_demo.DemoConfig] = []
    run = matching_demo.run_demo

    def run_demo(config: matching_demo.DemoConfig, progress: matching_demo.Progress) -> matching_demo.DemoResult:
        asked.append(config)
        return run(TINY, progress)

    monkeypatch.setattr(matching_demo, "run_demo", run_demo)
    return asked


def test_version() -> None:
    result = CliRunner().invoke(build(), ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"foresolve {foresolve.__version__}\n"


def test_demo_prints_the_table_and_the_path(quick: list[matching_demo.DemoConfig], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(build(), ["demo", "--seed", "3", "--epochs", "4", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert (quick[0].seed, quick[0].epochs) == (3, 4)
    for name in ("random matching", "two-stage", "decision-focused", "optimum", "Decision-focused minus two-stage"):
        assert name in result.stdout
    assert str(out / "report.html") in result.stdout
    assert (out / "report.html").is_file()


@pytest.mark.parametrize("arguments", [["demo", "--epochs", "0"], ["demo", "--seed", "-1"], ["no-such-command"]])
def test_bad_arguments_are_refused(arguments: list[str]) -> None:
    assert CliRunner().invoke(build(), arguments).exit_code == 2


def test_out_must_not_be_a_file(tmp_path: Path) -> None:
    path = tmp_path / "file"
    path.touch()
    assert CliRunner().invoke(build(), ["demo", "--out", str(path)]).exit_code == 2


@pytest.mark.parametrize("missing", ["typer", "rich.console"])
def test_a_missing_extra_is_named(missing: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, missing, None)
    with pytest.raises(MissingExtraError, match=r"pip install foresolve\[cli\]"):
        build()
    with pytest.raises(SystemExit, match=r"pip install foresolve\[cli\]"):
        main()
