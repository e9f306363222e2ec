"""What the benchmarks share: which calls are made, how records and tables come out, which tree is compared."""

from __future__ import annotations

import json
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

import foresolve
from benchmarks import compare
from benchmarks._harness import processes, tables
from benchmarks._harness.timing import Calls, medians
from benchmarks._harness.worker import Record
from benchmarks.comparison.cases import CASES
from benchmarks.comparison.names import find

ROWS = [("peer", "time", "note"), ("foresolve", "1 ms", ""), ("other|one", "12 ms", "failed, twice")]


def draws(calls: Calls) -> list[int]:
    used = []
    for _, draw in calls:
        used.append(draw)
        calls.took(0.0)
    return used


def test_no_theta_is_seen_twice_in_a_row() -> None:
    assert draws(Calls(4, budget=60, most=9, enough=60)) == [0, 1, 2, 3, 1, 2, 3, 1, 2]
    assert draws(Calls(1, budget=60, most=3, enough=60)) == [0, 0, 0]


def test_every_draw_is_used_before_it_is_enough_and_none_beyond_the_budget() -> None:
    assert draws(Calls(3, budget=60, most=9, enough=0.0)) == [0, 1, 2]
    calls = Calls(3, budget=60, most=9, enough=60)
    for _ in calls:
        calls.took(40.0, 15.0)
    assert len(calls.timings) == 1


def test_medians_are_of_one_instance() -> None:
    assert medians([(2.0, 4.0), (4.0, 4.0), (8.0, 2.0)], 2) == {
        "forward": 2.0,
        "backward": 2.0,
        "total": 4.0,
        "calls": 3,
    }


def test_a_table_in_three_forms() -> None:
    assert tables.as_text("title", ROWS).splitlines()[2:] == ["foresolve   1 ms", "other|one  12 ms  failed, twice"]
    assert tables.as_markdown(ROWS)[1:] == [
        "|---|---:|---|",
        "| foresolve | 1 ms |  |",
        "| other/one | 12 ms | failed, twice |",
        "",
    ]
    assert tables.as_csv(ROWS).splitlines()[2] == 'other|one,12 ms,"failed, twice"'


@pytest.mark.parametrize(("seconds", "text"), [(None, "-"), (0.5, "0.5x"), (2.0, "2x"), (12_345.0, "12,345x")])
def test_ratios(seconds: float | None, text: str) -> None:
    assert tables.ratio(seconds, 1.0) == text


def test_a_record_keeps_the_largest(tmp_path: Path) -> None:
    record = Record(tmp_path / "record.json", status="started")
    for error in (1.0, 3.0, 2.0):
        record.raise_to(error=error)
    assert json.loads((tmp_path / "record.json").read_text()) == {"status": "started", "error": 3.0}


def test_a_worker_that_fails_leaves_a_record(tmp_path: Path) -> None:
    limits = processes.Limits(timeout=60, threads=1)
    record = processes.record_of(Path(sys.executable), "benchmarks.no_such_module", [], limits, tmp_path)
    assert record["status"] == "failed"
    assert "no_such_module" in record["error"]
    assert record["timings"] == []


def test_names_are_found_at_the_top_and_on_the_floors() -> None:
    assert find("fit") is foresolve.fit
    assert find("IMLE") is foresolve.layers.IMLE
    with pytest.raises(LookupError, match="no public `Nothing`"):
        find("Nothing")


def test_differences_between_two_trees(tmp_path: Path) -> None:
    paths = [tmp_path / "old.npz", tmp_path / "new.npz"]
    for path, x in zip(paths, ([1.0, 2.0], [1.0, 2.5]), strict=True):
        np.savez(path, x=np.array(x))
    assert compare.difference(paths) == 0.5
    np.savez(paths[1], x=np.zeros(3))
    assert compare.difference(paths) == float("inf")


def test_slower_is_said_only_where_every_round_says_so() -> None:
    record = {"case": "c", "old": [[1.0], [1.0]], "new": [[2.0], [2.0]], "difference": 0.0}
    assert compare.row(record)[3:] == ("2.00", "2.00", "2.00", "2.00", "0", "slower")
    assert compare.row(record | {"new": [[2.0], [1.0]]})[-1] == ""
    assert compare.row({"case": "c", "error": "old: gone"})[-1] == "old: gone"


@pytest.mark.slow
def test_a_tree_beside_itself() -> None:
    source = Path(foresolve.__file__).parents[1]
    command = [sys.executable, "benchmarks/compare.py", source, source, "--rounds", "1", "--seconds", "0.01"]
    command += ["--only", "grid", "epoch"]
    table = subprocess.run(command, cwd=source.parent, capture_output=True, text=True, timeout=300, check=True).stdout
    lines = [line for line in table.splitlines() if line.startswith(tuple(CASES))]
    assert len(lines) == 3
    assert all(line.split()[-1] == "0" or line.split()[-2] == "0" for line in lines)
