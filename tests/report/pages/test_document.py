from __future__ import annotations

from pathlib import Path

from foresolve._base.table import Cell, Table
from foresolve.report.pages.document import Grid, Page, Section, bolded, grid, line, unseen


def test_columns_are_sorted_by_values_whatever_is_written() -> None:
    cells = [Cell(1234.5, format="{:,.0f} to the left".format), "2026-11-16", None, Cell(0.0, format=unseen), Cell(3)]
    shown = grid(Table(("", "a", "b", "c", "d"), [cells], "a title"))
    assert [cell.number for cell in shown.lines[0].cells] == [1234.5, None, None, 0.0, 3.0]
    html = Page("", "", (), (Section("", (shown,)),)).html()
    assert '<td data-value="0.0"></td>' in html
    assert '<td data-value="3.0">3</td>' in html
    assert "<td>2026-11-16</td>" in html


def test_bold_is_the_largest_of_what_is_compared_or_the_least() -> None:
    lines = [line(["a", 1.0, 1.0]), line(["b", 2.0, 0.5]), line(["best", 9.0, 0.1], "bound", apart=True)]
    assert [[cell.bold for cell in row.cells] for row in bolded(lines, [1, 2], [2])] == [
        [False, False, False], [False, True, True], [False, False, False],
    ]  # fmt: skip
    ties = bolded([line(["a", 1.0]), line(["b", 1.0])], [1])
    assert [row.cells[1].bold for row in ties] == [True, True]
    assert not bolded([line(["a", 1.0])], [1])[0].cells[1].bold


def test_references_are_set_apart() -> None:
    shown = Grid("", ("",), (line(["OPT"], "bound", apart=True), line(["a"])))
    assert ([row.cells[0].value for row in shown.compared], [row.cells[0].value for row in shown.references]) == (
        ["a"],
        ["OPT"],
    )


def test_a_page_is_written_whole(tmp_path: Path) -> None:
    page = Page("A title", "", (), (Section("By how much?", ()),))
    assert page.sections[0].anchor == "by-how-much"
    path = page.save(tmp_path / "new" / "page.html")
    assert path.read_text(encoding="utf-8") == page.html()
    assert [known.name for known in path.parent.iterdir()] == ["page.html"]
