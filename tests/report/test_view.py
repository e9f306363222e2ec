from __future__ import annotations

import re
from dataclasses import replace
from pathlib import Path

import pytest

from foresolve.report import figures, tables
from foresolve.report.pages.reproduction import report_html
from foresolve.report.view import RunView
from reproduce.fakes import fake_run


def test_what_is_worked_out_once_belongs_to_the_view() -> None:
    run, calls = fake_run(splits=1), []

    def count(seen: RunView) -> int:
        calls.append(seen)
        return len(calls)

    assert [run.once("count", count) for _ in range(3)] == [1, 1, 1]
    assert replace(run, seconds=1.0).once("count", count) == 2


def test_tables_and_figures_are_made_once_for_files_page_and_terminal(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    run, calls = fake_run(splits=2), []
    for module, name in ((figures, "_draw"), (figures, "to_svg"), (tables, "_block1"), (tables, "_block2")):

        def counted(*arguments: object, name: str = name, work: object = getattr(module, name)) -> object:
            calls.append(name)
            return work(*arguments)  # type: ignore[operator]

        monkeypatch.setattr(module, name, counted)
    tables.write_tables([run], tmp_path)
    figures.write_figures(run, tmp_path)
    report_html([run])
    tables.table1([run])
    assert sorted(calls) == ["_block1", "_block2", "_draw", *["to_svg"] * 7]


def test_devices_are_those_of_the_sessions_that_worked() -> None:
    run = fake_run("budget", device="cuda")
    assert run.devices == ["cuda"]
    sessions = [{"jobs": 3, "device": "cpu"}, {"jobs": 0, "device": "cuda"}, {"jobs": 2, "device": "cpu"}]
    worked = replace(run, sessions=sessions)
    assert worked.devices == ["cpu"]
    assert "--device cpu" in re.sub("<[^>]+>", "", report_html([worked]))  # each word is a span


def test_heuristics_are_not_in_table_2_where_its_scales_are_the_papers() -> None:
    exact, paper = (tables.table2([fake_run("matching", protocol=protocol)]) for protocol in ("exact", "paper"))
    assert "NN2-2Stage" in paper.csv()
    assert "TF-IDF" not in paper.csv()
    assert exact.csv().count("NN2-2Stage") == paper.csv().count("NN2-2Stage")
