from __future__ import annotations

import importlib.metadata
import re
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

from cli.calls import invoke
from foresolve.testing import machine


def test_all_is_well(capsys: pytest.CaptureFixture[str]) -> None:
    import json

    result = invoke("doctor", "--json")
    assert result.exit_code == 0, result.output
    document = json.loads(result.stdout)
    assert document["ok"] is True
    assert document["versions"]["torch"]
    assert len(document["tests"]) > 3


def test_a_failure_has_a_remedy_and_status_1(monkeypatch: pytest.MonkeyPatch) -> None:
    sound = machine.check_machine()
    first = replace(sound.findings[0], verdict="failed", detail="wrong by 3", remedy="Install another torch")
    monkeypatch.setattr(machine, "check_machine", lambda: replace(sound, findings=(first, *sound.findings[1:])))
    result = invoke("doctor")
    assert result.exit_code == 1
    assert "wrong by 3" in result.stdout
    assert "What to do: Install another torch" in result.stdout
    assert result.stderr.startswith(f"foresolve: 1 of {len(sound.findings)} tests failed")


def test_what_is_not_installed_is_named_with_the_way_to_get_it(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(package: str) -> str:
        raise importlib.metadata.PackageNotFoundError(package)

    monkeypatch.setattr(machine.importlib.metadata, "version", missing)
    result = invoke("doctor")
    assert result.exit_code == 0, result.output
    assert 'not installed: pip install "foresolve[learn]"' in result.stdout
    assert "not installed: pip install scipy" in result.stdout
    assert "foresolve[foresolve]" not in result.stdout


def test_extras_bring_what_they_are_named_for() -> None:
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    extras = project["optional-dependencies"]
    brought = {
        extra: {re.split(r"[^\w-]", requirement)[0] for requirement in requirements}
        for extra, requirements in extras.items()
    }
    assert all(package in brought[extra] for package, extra in machine.OPTIONAL.items())
    of_users = set().union(*(brought[extra] for extra in extras if extra not in ("dev", "docs")))
    assert set(machine.OPTIONAL) == of_users - {"foresolve"}
