"""Every ```python block of the README and of docs/ runs, in order, one namespace a file; `python no-run` is skipped.

Blocks that are marked `python needs PACKAGE` run where that package is, as a test of their own.
"""

from __future__ import annotations

import importlib.util
import re
from pathlib import Path

import pytest
from tools.settings_page import page_with_settings

import foresolve
from foresolve.learning import study
from foresolve.reproduce.domains import registry
from losses.compatibility import markdown

ROOT = Path(__file__).parents[1]
# Dynamo looks at `.grad` of tensors on its way, and torch warns of that.
pytestmark = pytest.mark.filterwarnings("ignore:The .grad attribute of a Tensor that is not a leaf")
PAGES = [ROOT / "README.md", *sorted((ROOT / "docs").rglob("*.md"))]
# Studies of a minute: small ones here, and as they are written in slow tests.
QUICK = {"references": ["mean", "ridge"], "methods": ["spo+"], "trials": 1, "epochs": 2, "budget": None}
ELSEWHERE = "first_decision.md"  # of tests/test_first_decision.py
BLOCK = re.compile(r"^```python([^\n]*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)


def slow(page: Path) -> tuple[pytest.MarkDecorator, ...]:
    """Tutorials train in earnest."""
    return (pytest.mark.slow,) if page.parent.name == "tutorials" else ()


def needed(page: Path) -> list[str]:
    """The packages that blocks of the page are marked to need."""
    return sorted(set(re.findall(r"^```python needs (\w+)$", page.read_text(encoding="utf-8"), re.MULTILINE)))


@pytest.fixture(params=PAGES, ids=lambda page: page.name)
def page(request: pytest.FixtureRequest) -> Path:
    return request.param


@pytest.mark.parametrize("page", [pytest.param(page, marks=slow(page), id=page.name) for page in PAGES])
def test_the_code_runs(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    if page.name == ELSEWHERE:
        pytest.skip("run by tests/test_first_decision.py")
    if page.name == "README.md":
        monkeypatch.setattr(foresolve, "study", lambda data, **given: study(data, **(given | QUICK)))
    monkeypatch.chdir(tmp_path)
    run(page, monkeypatch)


@pytest.mark.slow
def test_the_readme_as_it_is_written(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    run(ROOT / "README.md", monkeypatch)


@pytest.mark.slow
@pytest.mark.filterwarnings("ignore")  # those packages' own
@pytest.mark.parametrize("page", [pytest.param(page, id=page.name) for page in PAGES if needed(page)])
def test_the_code_that_needs_more_packages(page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    lacking = [package for package in needed(page) if importlib.util.find_spec(package) is None]
    if lacking:
        pytest.skip(f"not installed: {', '.join(lacking)}")
    monkeypatch.chdir(tmp_path)
    run(page, monkeypatch, needing=True)


def run(page: Path, monkeypatch: pytest.MonkeyPatch, *, needing: bool = False) -> None:
    monkeypatch.setattr(registry, "DOMAINS", dict(registry.DOMAINS))  # what a page registers ends with it
    text = page.read_text(encoding="utf-8")
    namespace = {"__name__": "__main__"}
    blocks = list(BLOCK.finditer(text))
    assert len(blocks) == text.count("```python")  # none escapes the pattern
    for match in blocks:
        mark = match[1].strip()
        assert mark == "" or mark == "no-run" or mark.startswith("needs "), mark
        if mark == "no-run" or (mark and not needing):
            continue
        line = text.count("\n", 0, match.start()) + 1
        code = "\n" * line + match[2]  # so that a traceback shows the line in the page
        exec(compile(code, str(page), "exec"), namespace)


def test_the_table_of_losses_is_that_of_the_code() -> None:
    assert markdown() in (ROOT / "docs" / "learning.md").read_text(encoding="utf-8")


def test_the_tables_of_settings_are_those_of_the_code() -> None:
    text = (ROOT / "docs" / "shell.md").read_text(encoding="utf-8")
    assert page_with_settings(text) == text


def test_fences_are_closed(page: Path) -> None:
    assert page.read_text(encoding="utf-8").count("```") % 2 == 0


def test_files_of_the_package_that_a_page_names_exist(page: Path) -> None:
    known = {path.relative_to(ROOT).as_posix() for path in ROOT.glob("src/**/*.*")}
    text = page.read_text(encoding="utf-8")
    named = set(re.findall(r"`((?:\w+/)+\w+\.(?:py|cu))`", text))
    floors = tuple(path.name for path in (ROOT / "src" / "foresolve").iterdir() if path.is_dir())
    for name in named:
        if name.startswith(floors):
            assert f"src/foresolve/{name}" in known, name
