from __future__ import annotations

from dataclasses import replace

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
