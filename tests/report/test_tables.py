"""The tables and their renderings, on made-up records."""

from __future__ import annotations

import csv
import io
from dataclasses import replace
from pathlib import Path

import pytest
from rich.console import Console

from foresolve._base.table import Table
from foresolve.report.formats import number
from foresolve.report.table import BlockTable
from foresolve.report.tables import difference_table, table1, table2, write_tables
from foresolve.report.view import RunView
from mistakes import mistake
from reproduce.fakes import fake_run, record

DOMAINS = ("budget", "matching", "recommendation")


@pytest.fixture(scope="module")
def runs() -> list[RunView]:
    return [fake_run(domain) for domain in DOMAINS]


def methods(block: Table) -> list[str]:
    return [row[0] for row in block.rows]


def entry(table: BlockTable, domain: int, method: str, column: int) -> tuple[str, str, bool]:
    cell = {row[0]: row[1:] for row in table.blocks[domain].rows}[method][column]
    return cell.text, cell.note, cell.bold


def lines(table: BlockTable) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(table.csv())))


def test_table1_has_ours_beside_the_published_figures(runs: list[RunView]) -> None:
    table = table1(runs)
    assert [block.headers for block in table.blocks] == [
        ("method", "k = 5", "k = 10", "k = 20"),
        ("method", "value"),
        table.blocks[0].headers,
    ]
    row = runs[0].row("NN1-Decision", 10)
    assert row is not None
    assert entry(table, 0, "NN1-Decision", 1) == (number(row.value), "72.62 ± 0.33", True)
    assert entry(table, 0, "NN2-Decision", 1)[1:] == ("67.64 ± 0.62", False)
    # A heuristic and the best decision are larger, but nothing of theirs is learned.
    assert entry(table, 1, "NN2-Decision", 0)[2]
    assert entry(table, 1, "TF-IDF", 0)[1:] == ("", False)
    assert not entry(table, 1, "Chosen", 0)[2]
    assert methods(table.blocks[1])[-3:] == ["Chosen", "Random", "OPT"]


def test_the_paper_protocol_shows_fractional_decisions(runs: list[RunView]) -> None:
    exact, paper = runs[0], fake_run("budget", protocol="paper")
    row = exact.row("NN2-Decision", 5)
    assert row is not None
    assert row.fractional is not None
    assert entry(table1([exact]), 0, "NN2-Decision", 0)[0] == number(row.value)
    assert entry(table1([paper]), 0, "NN2-Decision", 0)[0] == number(row.fractional)
    assert entry(table1([paper]), 0, "RF-2Stage", 0) == entry(table1([exact]), 0, "RF-2Stage", 0)
    assert "fractional" in table1([paper]).caption
    assert "fractional" not in table1([exact]).caption
    assert {line["shown"] for line in lines(table1([paper]))} == {"fractional", "rounded"}


def test_matchings_are_exact_under_both_protocols(runs: list[RunView]) -> None:
    paper = fake_run("matching", protocol="paper")
    assert entry(table1([paper]), 0, "NN2-Decision", 0) == entry(table1([runs[1]]), 0, "NN2-Decision", 0)
    assert "fractional" not in table1([paper]).caption


def test_csv_is_exact_and_long(runs: list[RunView]) -> None:
    rows = lines(table1(runs))
    assert len(rows) == sum(len(run.rows) for run in runs)
    (line,) = [x for x in rows if (x["domain"], x["method"], x["k"]) == ("budget", "NN1-Decision", "10")]
    row = runs[0].row("NN1-Decision", 10)
    assert row is not None
    assert float(line["value"]) == row.value.mean
    assert float(line["value_low"]) == row.value.low
    assert (line["published"], line["published_half_width"], line["splits"]) == ("72.62", "0.33", "30")
    (opt,) = [x for x in rows if (x["domain"], x["method"]) == ("matching", "OPT")]
    assert opt["fractional"] == opt["published"] == opt["k"] == ""


def test_table2_scores_predictions_at_its_budget(runs: list[RunView]) -> None:
    table = table2(runs)
    assert [block.headers for block in table.blocks] == [
        ("method", "MSE (x 1e-2)"),
        ("method", "CE", "AUC"),
        ("method", "CE", "AUC"),
    ]
    assert table.blocks[0].title.endswith("k = 10")
    assert entry(table, 0, "NN1-Decision", 0)[:2] == ("0.8673 ± 0.0000", "0.8673 ± 0.0183")
    assert entry(table, 0, "RF-2Stage", 0)[2]
    assert entry(table, 1, "NN2-2Stage", 0)[2]
    assert entry(table, 1, "NN2-Decision", 1)[2]
    assert "Random" not in methods(table.blocks[0])
    assert {line["k"] for line in lines(table)} == {"10", ""}
    assert len(lines(table)) == 5 * 5


def test_another_budget_in_table2_has_nothing_published(runs: list[RunView]) -> None:
    run = replace(runs[0], records=[r for r in runs[0].records if r.k == 20])
    table = table2([run])
    assert table.blocks[0].title.endswith("k = 20")
    assert not table.blocks[0].has_notes


def test_quick_runs_stand_alone() -> None:
    run = fake_run(quick=True, splits=2)
    table = table1([run])
    assert not table.blocks[0].has_notes
    assert "left out" in table.caption
    assert "paper |" not in table.markdown()


def test_domains_that_are_not_in_the_paper() -> None:
    run = fake_run(splits=2)
    elsewhere = replace(
        run,
        config=replace(run.config, domain="knapsack"),
        records=[replace(r, domain="knapsack") for r in run.records],
    )
    assert not table1([elsewhere]).blocks[0].has_notes
    assert "paper's" not in table1([elsewhere]).caption


def test_one_split_has_means_only() -> None:
    table = table1([fake_run(splits=1)])
    assert "±" not in entry(table, 0, "NN2-Decision", 0)[0]
    assert "1 split)" in table.blocks[0].title


def test_a_run_without_records_makes_empty_tables() -> None:
    run = replace(fake_run(splits=1), records=[])
    for table in (table1([run]), table2([run]), difference_table([run])):
        assert table.csv().count("\n") == 1
        assert table.markdown()
        Console(file=io.StringIO()).print(table.rich())


def test_differences(runs: list[RunView]) -> None:
    table = difference_table(runs)
    assert methods(table.blocks[1]) == [
        "NN1-Decision - NN1-2Stage",
        "NN2-Decision - NN2-2Stage",
        "Chosen - TF-IDF",
    ]
    text = entry(table, 1, "NN2-Decision - NN2-2Stage", 0)[0]
    assert text.startswith("+2.6")
    assert text.endswith("]")
    verdicts = {(x["domain"], x["method"], x["k"]): x["verdict"] for x in lines(table)}
    assert verdicts["budget", "NN1-Decision", "5"] == "ahead"
    assert verdicts["matching", "NN1-Decision", ""] == "behind"
    assert verdicts["matching", "Chosen", ""] == "no significant difference"


def test_markdown_is_a_table_of_even_width(runs: list[RunView]) -> None:
    text = table1(runs).markdown()
    blocks = [[line for line in part.splitlines() if line.startswith("|")] for part in text.split("\n\n")]
    drawn = [block for block in blocks if block]
    assert len(drawn) == 3
    for block in drawn:
        assert len({line.count("|") for line in block}) == 1
    assert "| method | k = 5 | paper | k = 10 | paper | k = 20 | paper |" in text
    assert "**" in text


def test_the_terminal_needs_80_columns(runs: list[RunView]) -> None:
    for table in (table1(runs), table2(runs), difference_table(runs)):
        stream = io.StringIO()
        Console(file=stream, width=80).print(table.rich())
        text = stream.getvalue()
        assert "…" not in text
        for _, *cells in (row for block in table.blocks for row in block.rows):
            for cell in cells:
                assert all(part in text for part in cell.text.split(" ["))
                assert cell.note in text


def test_brackets_are_not_markup() -> None:
    stream = io.StringIO()
    Console(file=stream).print(BlockTable("[t]", "", (Table(("[red]",), (), "[bold]"),)).rich())
    assert all(text in stream.getvalue() for text in ("[t]", "[bold]", "[red]"))


def test_small_values_have_more_places() -> None:
    run = replace(fake_run(splits=1), records=[record(0, "NN2-Decision", 0.12345), record(1, "NN2-Decision", 0.12345)])
    assert entry(table1([run]), 0, "NN2-Decision", 0)[0].startswith("0.1235 ± 0.0000") or entry(
        table1([run]), 0, "NN2-Decision", 0
    )[0].startswith("0.1234 ± 0.0000")


def test_records_of_another_domain_are_refused() -> None:
    run = fake_run(splits=1)
    with mistake("records", "matching", "budget"):
        replace(run, records=[*run.records, record(0, "NN1-Decision", 1.0, domain="budget")])


def test_files(runs: list[RunView], tmp_path: Path) -> None:
    paths = write_tables(runs, tmp_path / "tables")
    assert sorted(path.name for path in paths) == sorted(
        f"{name}.{ending}"
        for name in ("table1", "table2", "differences", "reproduced", "claims")
        for ending in ("csv", "md")
    )
    assert paths[0].read_text(encoding="utf-8") == table1(runs).csv()


def test_variants_stand_beside_the_row_that_is_judged() -> None:
    run = fake_run(splits=3)
    name = "NN2-Decision (exact layer)"
    more = [record(split, name, 30.0 + split) for split in range(3)]
    varied = replace(
        run, records=[*run.records, *more], config=replace(run.config, methods=(*run.config.methods, name))
    )
    assert varied.learned(name)
    table = table1([varied])
    text, note, bold = entry(table, 0, name, 0)
    assert text.startswith("31.00")
    assert (note, bold) == ("", True)  # the largest mean among learned methods
    assert not entry(table, 0, "NN2-Decision", 0)[2]
    assert f"{name} - NN2-2Stage" in methods(difference_table([varied]).blocks[0])


def by_steps(run: RunView) -> RunView:
    """With the best by ten steps beside the best decisions known."""
    return replace(run, records=[replace(r, fractional=0.9 * r.value) if r.method == "OPT" else r for r in run.records])


def test_shares_are_of_the_best_figure_that_is_shown() -> None:
    run = by_steps(fake_run("budget", protocol="paper"))
    best = {row.k: row.shown("paper").mean for row in run.rows if row.method == "OPT"}
    assert best[5] == pytest.approx(0.9 * 52, abs=0.3)
    for line, row in zip(lines(table1([run])), run.rows, strict=True):
        assert float(line["share"]) == pytest.approx(row.shown("paper").mean / best[row.k])
        assert line["share_of"] == "the best by the same ten steps"
    assert "OPT there is the same layer on the true theta" in table1([run]).caption
    for other in (fake_run("budget", protocol="paper"), by_steps(fake_run("budget")), fake_run(protocol="paper")):
        for line, row in zip(lines(table1([other])), other.rows, strict=True):
            assert float(line["share"]) == row.shown(other.scored).mean / row.optimum.mean
            assert line["share_of"] == "the best decisions known"
        assert "OPT there" not in table1([other]).caption
