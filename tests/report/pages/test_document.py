from __future__ import annotations

from pathlib import Path

from foresolve.report.pages.document import Entry, Grid, Page, Section, bolded, entry, line


def test_cells_are_sorted_by_the_number_they_begin_with() -> None:
    texts = ("24.30 ± 1.2", "-3", "−3.5 %", "1,234", "2e-3", "NN1", "", "k = 5")
    assert [entry(text).value for text in texts] == [24.3, -3.0, -3.5, 1234.0, 0.002, None, None, None]
    assert entry(None) == Entry("")


def test_bold_is_the_largest_of_what_is_compared_or_the_least() -> None:
    lines = [line(["a", 1.0, 1.0]), line(["b", 2.0, 0.5]), line(["best", 9.0, 0.1], "bound", apart=True)]
    assert [[cell.bold for cell in row.cells] for row in bolded(lines, [1, 2], [2])] == [
        [False, False, False], [False, True, True], [False, False, False],
    ]  # fmt: skip
    ties = bolded([line(["a", 1.0]), line(["b", 1.0])], [1])
    assert [row.cells[1].bold for row in ties] == [True, True]
    assert not bolded([line(["a", 1.0])], [1])[0].cells[1].bold


def test_references_are_set_apart() -> None:
    grid = Grid("", ("",), (line(["OPT"], "bound", apart=True), line(["a"])))
    assert ([row.cells[0].text for row in grid.compared], [row.cells[0].text for row in grid.references]) == (
        ["a"],
        ["OPT"],
    )


def test_a_page_is_written_whole(tmp_path: Path) -> None:
    page = Page("A title", "", (), (Section("By how much?", ()),))
    assert page.sections[0].anchor == "by-how-much"
    path = page.save(tmp_path / "new" / "page.html")
    assert path.read_text(encoding="utf-8") == page.html()
    assert [known.name for known in path.parent.iterdir()] == ["page.html"]
