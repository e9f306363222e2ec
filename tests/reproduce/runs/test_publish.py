from __future__ import annotations

import sys
from pathlib import Path

import pytest

from foresolve.report.records import DomainInfo
from foresolve.reproduce import Run, publish, run, view
from reproduce import toys

INFO = DomainInfo(
    "toy", "A toy", ("Its story.",), (5, 10), 5, ("mse",), "rows", "columns", ("NN2-SPO+", "NN1-Decision"), {}
)


@pytest.fixture
def done(tmp_path: Path) -> Run:
    return run(toys.config(), tmp_path / "run", toys.HereEngine(), work=toys.work, jobs=toys.jobs)


def test_a_view_has_what_the_folder_has(done: Run) -> None:
    seen = view(done, INFO)
    assert (seen.config, seen.records, seen.info, seen.seconds) == (done.config, done.records, INFO, done.seconds)
    assert list(seen.pictures) == list(toys.PLAIN)
    assert seen.versions == {**done.environment, "date": done.sessions[0]["date"]}


def test_versions_are_those_of_who_did_the_work(done: Run) -> None:
    """Not of who merged it, or only looked."""
    done.sessions = [done.sessions[0] | {"torch": "0.1", "jobs": 0}, done.sessions[0] | {"torch": "9.9"}]
    assert view(done, INFO).versions["torch"] == "9.9"
    done.sessions = []
    assert view(done, INFO).versions == done.environment


def test_a_view_has_every_session(done: Run) -> None:
    done.sessions.append(done.sessions[0] | {"torch": "9.9", "code": "ab12cd"})
    seen = view(done, INFO)
    assert seen.sessions == done.sessions
    assert seen.versions["torch"] != "9.9"


@pytest.mark.parametrize("plot", [True, False])
def test_publish(plot: bool, tmp_path: Path, done: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    done.pictures = dict  # the toys' pictures are not whole
    if not plot:
        monkeypatch.setitem(sys.modules, "matplotlib", None)
        monkeypatch.setitem(sys.modules, "matplotlib.figure", None)
    path = publish([view(done, INFO)], [done.folder], tmp_path / "out")
    assert path == tmp_path / "out" / "report.html"
    assert "Its story." in path.read_text()
    names = {path.name for path in (tmp_path / "out" / "tables").iterdir()}
    assert {"table1.csv", "reproduced.csv", "reproduced.md", "claims.csv", "claims.md"} <= names
    assert (done.folder / "figures" / "values.svg").is_file() == plot
