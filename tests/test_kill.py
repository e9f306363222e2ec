"""A slice of `make kill`, and that the harness sees what it is there to see: it must be able to fail."""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

import pytest
import torch

pytest.importorskip("safetensors")
if sys.platform != "linux":
    pytest.skip("processes are watched through /proc", allow_module_level=True)

from foresolve._base import files
from tests.kill import __main__ as command
from tests.kill import campaign, report, shell
from tests.kill.bits import bits_of, differences
from tests.kill.campaign import Arena, Outcome
from tests.kill.processes import while_writing
from tests.kill.victims import GROUPS, VICTIMS, Victim

SLOW = [name for name, victim in VICTIMS.items() if victim.group != "fit" or "perturbed" in name]


@pytest.fixture
def arena(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Arena:
    monkeypatch.setenv(shell.SHARED, "")
    return Arena(tmp_path)


# -- the slice ---------------------------------------------------------------------------------------------------------


@pytest.mark.slow
@pytest.mark.parametrize("name", ["fit: quadratic"])
def test_a_training_that_is_killed_ends_as_if_nothing_had_happened(name: str, arena: Arena) -> None:
    outcome = arena.attack(name, 1, kills=2)
    assert outcome.failures == []


@pytest.mark.slow
@pytest.mark.parametrize("name", SLOW)
def test_commands_that_are_killed_end_as_if_nothing_had_happened(name: str, arena: Arena) -> None:
    shell.prepare(arena.folder / "shared")
    if VICTIMS[name].group == "decide":
        arena.once(shell.prepare_run)
    outcome = arena.attack(name, 1, kills=3)
    assert outcome.failures == []


# -- the harness -------------------------------------------------------------------------------------------------------


def _begun(folder: Path) -> bool:
    """Whether an earlier process was here; the first one waits until it is killed, where anything is killed."""
    before = (folder / "mark").exists()
    files.write_text(folder / "mark", "")
    return before


def _wait(folder: Path) -> None:
    if folder.name != shell.UNDISTURBED:
        time.sleep(60)


def careful(folder: Path) -> None:
    if not _begun(folder):
        _wait(folder)
    files.write_text(folder / "result", "1")


def littering(folder: Path) -> None:
    if not _begun(folder):
        if folder.name != shell.UNDISTURBED:
            (folder / f"{os.getpid()}.tmp").touch()
        _wait(folder)
    files.write_text(folder / "result", "1")


def forgetful(folder: Path) -> None:
    begun = _begun(folder)
    if not begun:
        _wait(folder)
    files.write_text(folder / "result", "2" if begun else "1")


def losing(folder: Path) -> None:
    if not _begun(folder):
        _wait(folder)
        files.write_text(folder / "result", "1")


def stumbling(folder: Path) -> None:
    if _begun(folder):
        raise SystemExit(3)
    _wait(folder)


@pytest.mark.parametrize(
    ("work", "told"),
    [(careful, ""), (littering, "litter: "), (forgetful, "other bits: result"), (losing, "missing: result"),
     (stumbling, "ended with exit code 3")],
)  # fmt: skip
def test_what_a_kill_breaks_is_told(
    work: Callable[[Path], None], told: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def marked(*_: object) -> Callable[[BaseProcess, Path], bool]:
        def wait(process: BaseProcess, folder: Path) -> bool:
            while process.is_alive() and not (folder / "mark").exists():
                time.sleep(0.01)
            return process.is_alive()

        return wait

    monkeypatch.setattr(campaign, "after", marked)
    monkeypatch.setattr(campaign, "while_writing", marked)
    monkeypatch.setitem(VICTIMS, "toy", Victim("toys", work))  # type: ignore[arg-type]
    outcome = Arena(tmp_path).attack("toy", 0, kills=1)
    assert (outcome.kills, outcome.workers) == (1, 0)
    assert "; ".join(outcome.failures).startswith(told) or told in "; ".join(outcome.failures)
    assert bool(outcome.failures) == bool(told)


def test_a_decision_file_that_is_half_there_is_told(tmp_path: Path) -> None:
    whole = {"decisions.csv": "0123"}
    assert shell.whole_or_absent(tmp_path, whole) == ""
    (tmp_path / ".decisions.csv.0123456789abcdef.part").touch()
    assert shell.whole_or_absent(tmp_path, whole) == ""
    (tmp_path / "decisions.csv").write_text("half")
    assert "not whole: decisions.csv" in shell.whole_or_absent(tmp_path, whole)


def test_bits_leave_out_the_clock_and_nothing_else(tmp_path: Path) -> None:
    def write(folder: Path, seconds: float, value: float) -> None:
        files.write_text(folder / "a.json", json.dumps({"seconds": seconds, "rows": [{"date": seconds, "x": value}]}))
        lines = [json.dumps({"seconds": seconds, "split": split, "x": value}) for split in (0, 1)]
        order = lines if seconds < 2 else lines[::-1]
        files.write_text(folder / "b.jsonl", "\n".join(order))
        files.write_text(folder / "c.csv", f"method,seconds,value\na,{seconds},{value}\n")
        files.write_text(folder / "figures" / "cost.svg", f"{value} in {seconds} s")
        files.write_bytes(
            folder / "d.safetensors", files.tensor_bytes({"w": torch.tensor(value)}, {"seconds": seconds})
        )

    for name, seconds, value in (("a", 1.0, 1.0), ("b", 2.0, 1.0), ("c", 1.0, 1.5)):
        write(tmp_path / name, seconds, value)
    first, second, third = (bits_of(tmp_path / name) for name in "abc")
    assert differences(second, first) == ""
    assert differences(third, first) == "other bits: a.json, b.jsonl, c.csv, d.safetensors"


def test_a_kill_while_writing_waits_for_a_file_of_its_own_session(tmp_path: Path) -> None:
    class Ended:
        lives = 3

        def is_alive(self) -> bool:
            self.lives -= 1
            return self.lives > 0

    (tmp_path / ".old.0123456789abcdef.part").touch()
    assert not while_writing(1)(Ended(), tmp_path)  # type: ignore[arg-type]


def test_every_group_is_killed_as_often() -> None:
    due = command.shares(list(VICTIMS), 52)
    for group in GROUPS:
        assert sum(count for name, count in due.items() if VICTIMS[name].group == group) >= 52


def test_the_table_counts_failures(tmp_path: Path) -> None:
    outcomes = [Outcome("train", 0, kills=4, writing=2), Outcome("train", 1, kills=3, failures=["litter: x"])]
    document = report.record(["train"], outcomes, 0, 60.0)
    assert document["failures"] == ["train, seed 1: litter: x"]
    assert "7 kills (seeds 0 and on, 1.0 minutes): 1 failures" in report.as_text(document)
    page = tmp_path / "page.md"
    page.write_text(f"before\n{report.BEGIN}stale{report.END}\nafter\n")
    report.write_page(document, page)
    assert "| train | 2 | 7 | 0 | 2 |" in page.read_text()
    assert "stale" not in page.read_text()
