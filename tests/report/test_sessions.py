from __future__ import annotations

from dataclasses import replace
from datetime import UTC, datetime
from typing import Any

import pytest

from foresolve._base.table import as_cell
from foresolve.report.sessions import one_code, session_table
from reproduce.fakes import fake_run

SESSION: dict[str, Any] = {
    "foresolve": "0.1.0", "torch": "2.9.0", "numpy": "2.1", "scipy": "1.16", "python": "3.12.1",
    "platform": "Linux-6.1", "cpus": "8", "date": "2026-11-16T10:00:00+00:00", "code": "ab12cd", "engine": "local",
    "workers": 4, "threads": 1, "jobs": 12, "seconds": 7500.0,
}  # fmt: skip


def test_a_row_for_each_session() -> None:
    old = {name: value for name, value in SESSION.items() if name not in ("code", "workers")}
    table = session_table([replace(fake_run(splits=1), sessions=[SESSION, old]), fake_run("budget", splits=1)])
    versions = "foresolve 0.1.0, torch 2.9.0, numpy 2.1, scipy 1.16, python 3.12.1"
    first = ("Bipartite matching (protocol exact)", datetime(2026, 11, 16, 10, tzinfo=UTC), "Linux-6.1, 8 cores")
    assert [[as_cell(entry).value for entry in row] for row in table.rows] == [
        [*first, versions, "ab12cd", "local x 4", 12, 7500.0],
        [*first, versions, "not noted", "local", 12, 7500.0],
    ]
    assert all(text in table.text() for text in ("2026-11-16 10:00:00", "2 h 5 min"))


def test_a_date_that_is_none_leaves_its_cell_empty() -> None:
    (row,) = session_table([replace(fake_run(splits=1), sessions=[SESSION | {"date": "yesterday"}])]).rows
    assert row[1].figure == ""


@pytest.mark.parametrize(
    ("codes", "sentence"),
    [
        ([], ""),
        (["a", "a"], "All records come from one version of the code, a."),
        (["b", "a", "b"], "The records come from 2 versions of the code: a and b."),
        ([None, "a", None], "The records come from code a, and from 2 sessions that did not note theirs."),
        ([None], "No session noted its version of the code, so the records may come from several."),
    ],
)
def test_whether_the_code_was_the_same(codes: list[str | None], sentence: str) -> None:
    sessions = [SESSION | {"code": code} if code else {"jobs": 1} for code in codes]
    runs = [replace(fake_run(splits=1), sessions=[session]) for session in sessions]
    assert one_code(runs) == sentence
    idle = SESSION | {"code": "z", "jobs": 0}  # made no records
    assert one_code([*runs, replace(fake_run(splits=1), sessions=[idle])]) == sentence
