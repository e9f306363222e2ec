from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path

import pytest
from typer.testing import CliRunner

import foresolve
from experiments.configs import BUDGET, MATCHING
from foresolve import MissingExtraError
from foresolve.cli import Part, build, main
from foresolve.experiments import demo
from foresolve.experiments.budget_demo import BudgetConfig
from foresolve.experiments.comparison import Config, Progress, Result
from foresolve.experiments.matching_demo import MatchingConfig


@pytest.fixture
def asked(monkeypatch: pytest.MonkeyPatch) -> list[Config]:
    """The demos at their smallest; the list collects the settings that were asked for."""
    asked: list[Config] = []
    run = demo.run_demos

    def run_demos(configs: Sequence[Config], progress: Progress) -> list[Result]:
        asked.extend(configs)
        return run([{"matching": MATCHING, "budget": BUDGET}[config.name] for config in configs], progress)

    monkeypatch.setattr(demo, "run_demos", run_demos)
    return asked


def test_version() -> None:
    result = CliRunner().invoke(build(), ["--version"])
    assert result.exit_code == 0
    assert result.stdout == f"foresolve {foresolve.__version__}\n"


def test_demo_prints_the_tables_and_the_path(asked: list[Config], tmp_path: Path) -> None:
    out = tmp_path / "out"
    result = CliRunner().invoke(build(), ["demo", "--seed", "3", "--epochs", "4", "--out", str(out)])
    assert result.exit_code == 0, result.output
    assert asked == [MatchingConfig(seed=3, epochs=4), BudgetConfig(seed=3, epochs=4)]
    for name in ("Matching", "random matching", "optimum", "Budget allocation", "random channels", "greedy on truth"):
        assert name in result.stdout
    for name in ("untrained", "│ two-stage", "│ decision-focused", "Decision-focused minus two-stage"):
        assert result.stdout.count(name) == 2
    assert str(out / "report.html") in result.stdout
    assert (out / "report.html").is_file()


@pytest.mark.parametrize("part", list(Part))
def test_one_part_of_the_demo(part: Part, asked: list[Config], tmp_path: Path) -> None:
    result = CliRunner().invoke(build(), ["demo", "--only", part, "--hidden", "5", "--out", str(tmp_path)])
    assert result.exit_code == 0, result.output
    assert asked == [demo.DEMOS[part](hidden=5)]
    assert result.stdout.count("Decision-focused minus two-stage") == 1


def test_every_demo_can_be_asked_for() -> None:
    assert list(Part) == list(demo.DEMOS)


@pytest.mark.parametrize(
    "arguments", [["demo", "--epochs", "0"], ["demo", "--seed", "-1"], ["demo", "--only", "x"], ["y"]]
)
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
