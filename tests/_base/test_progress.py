from __future__ import annotations

import sys

import pytest

from foresolve._base import progress
from foresolve._base.progress import duration, reporting
from foresolve.errors import MissingExtraError
from mistakes import mistake


def test_a_function_of_the_caller_is_called() -> None:
    seen: list[tuple[int, int]] = []
    with reporting(lambda done, total: seen.append((done, total)), "work") as step:
        step(1, 2)
    assert seen == [(1, 2)]


@pytest.mark.parametrize("wanted", [None, False])
def test_nothing_is_written_off_a_terminal_or_where_nothing_is_asked_for(
    wanted: bool | None, capsys: pytest.CaptureFixture[str]
) -> None:
    with reporting(wanted, "work", patience=0.0) as step:
        step(1, 2)
        step(2, 2, "label")
    assert capsys.readouterr() == ("", "")


@pytest.mark.parametrize(("unit", "count"), [("%", "50%"), ("bytes", "1/2 bytes"), ("jobs", "1/2 jobs")])
def test_a_bar_that_was_asked_for_is_on_stderr(
    unit: progress.Unit, count: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("COLUMNS", "120")
    with reporting(True, "work", unit=unit) as step:
        step(0, None)
        step(1, 2, "the first")
    out, err = capsys.readouterr()
    assert out == ""
    assert "work" in err
    assert count in err
    assert "the first" in err


def test_on_a_terminal_a_bar_appears_once_it_takes_long(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    monkeypatch.setenv("TERM", "xterm")
    with reporting(None, "work") as step:
        step(1, 2)
    assert capsys.readouterr().err == ""
    with reporting(None, "work", patience=0.0) as step:
        step(2, 2)
    assert capsys.readouterr().err == ""  # it is done at once
    with reporting(None, "work", patience=0.0) as step:
        step(0, 2)
    assert "work" in capsys.readouterr().err


def test_the_time_left_follows_from_what_was_done_since_it_began(
    capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    times = iter([0.0, 0.0, 60.0])
    monkeypatch.setattr(progress.time, "monotonic", lambda: next(times, 60.0))
    monkeypatch.setenv("COLUMNS", "120")
    with reporting(True, "work", unit="jobs") as step:
        step(10, 20)  # a run that goes on: ten were done before
        step(12, 20)
    assert "about 4 min left" in capsys.readouterr().err


def test_without_rich_a_bar_is_an_error_only_where_it_was_asked_for(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.progress", None)
    with mistake("", "rich", kind=MissingExtraError), reporting(True, "work"):
        pass
    monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
    with reporting(None, "work") as step:
        step(1, 2)


def test_durations() -> None:
    assert [duration(s) for s in (0.4, 99, 125, 5999, 7260)] == ["0 s", "99 s", "2 min", "1 h 40 min", "2 h 1 min"]
