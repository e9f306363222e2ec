from __future__ import annotations

import math
import sys
import tomllib
from pathlib import Path

import pytest

from foresolve._base import extras
from foresolve._base.extras import need
from foresolve.errors import MissingExtraError
from mistakes import mistake


def test_the_module_itself() -> None:
    assert need("math", "counting", "learn") is math


@pytest.mark.parametrize(
    ("module", "extra", "expected"),
    [
        ("rich.table", "cli", 'a table needs rich. Install it with: pip install "foresolve[cli]"'),
        ("sklearn", "learn", 'a table needs scikit-learn. Install it with: pip install "foresolve[learn]"'),
    ],
)
def test_the_extra_is_quoted_for_the_shell(
    module: str, extra: str, expected: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, module, None)
    with pytest.raises(MissingExtraError) as caught:
        need(module, "a table", extra)
    assert str(caught.value) == expected
    assert isinstance(caught.value, ImportError)


def test_what_comes_with_foresolve_but_cannot_be_imported_says_why(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "highspy", None)
    with mistake("", "pip install highspy", "Close it", kind=MissingExtraError):
        need("highspy", "solving", note="Close it")


PLATFORMS = [
    ("win32", "AMD64", True),
    ("win32", "ARM64", True),
    ("linux", "aarch64", True),
    ("linux", "x86_64", False),
    ("darwin", "arm64", False),
]


@pytest.mark.parametrize(("system", "machine", "left_out"), PLATFORMS)
def test_where_an_extra_leaves_something_out_the_way_out_is_named(
    system: str, machine: str, left_out: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "pymetis", None)
    monkeypatch.setattr(extras.sys, "platform", system)
    monkeypatch.setattr(extras.platform, "machine", lambda: machine)
    with pytest.raises(MissingExtraError) as caught:
        need("pymetis", "cutting", "reproduce", "Or do without")
    message = str(caught.value)
    assert ("no wheels for it. Build it, which takes a C compiler, with: pip install pymetis" in message) == left_out
    assert ('pip install "foresolve[reproduce]"' in message) != left_out
    assert message.endswith(". Or do without")


@pytest.mark.parametrize(("system", "machine", "left_out"), PLATFORMS)
def test_extras_leave_out_what_their_markers_leave_out(system: str, machine: str, left_out: bool) -> None:
    markers = pytest.importorskip("packaging.requirements")
    project = tomllib.loads((Path(__file__).parents[2] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    wanted = [markers.Requirement(text) for text in project["optional-dependencies"]["reproduce"]]
    (pymetis,) = (requirement for requirement in wanted if requirement.name == "pymetis")
    here = {"sys_platform": system, "platform_machine": machine}
    assert pymetis.marker.evaluate(here) != left_out
