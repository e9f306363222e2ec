from __future__ import annotations

import io
import math
import sys
from datetime import UTC, datetime

import pytest

from foresolve._base.table import Cell, Table, Tabular
from foresolve.errors import MissingExtraError
from mistakes import mistake

TABLE = Table(
    ("method", "k = 5", "k = 10"),
    [
        ("a|b", Cell("1.25", "[1.00, 1.50]", note="1.30", bold=True), Cell()),
        ("<c> & [d]", 2, None),
    ],
    "a [title]",
    "paper",
)


def test_text_is_aligned() -> None:
    table = Table(("", "mean"), [("a", "1"), ("longer", "22.5")], "title")
    assert table.text().splitlines() == ["title", "        mean", "------  ----", "a          1", "longer  22.5"]
    assert Table(("a",), []).text().splitlines() == ["a", "-"]


def test_text_fits_a_terminal() -> None:
    """Intervals go below their figures, and titles on, where lines would have more than 80 characters."""
    row = ("x", Cell("1.5", "1 to 2"), Cell("2.5"))
    short = Table(("", "mean", "value"), [row])
    assert short.text().splitlines()[2] == "x  1.5 1 to 2    2.5"
    long = Table(("", "mean", "v" * 70), [row], "word " * 30).text().splitlines()
    assert max(map(len, long)) <= 86  # headers cannot be broken
    assert [line.split() for line in long[-2:]] == [["x", "1.5", "2.5"], ["1", "to", "2"]]
    assert long[:2] == ["word " * 15 + "word", " ".join(["word"] * 14)]


def test_what_stands_apart_is_below_a_rule() -> None:
    table = Table(("", "mean"), [("a", Cell("1", "0 to 2")), ("b", "2"), ("mean", "3")], apart=1)
    rule = "----  --------"
    assert table.text().splitlines() == [
        "          mean", rule, "a     1 0 to 2", "b            2", rule, "mean         3",
    ]  # fmt: skip
    wide = Table(("", "v" * 78), table.rows, apart=1).text().splitlines()  # intervals are below their figures
    assert [line.split()[0] for line in wide[2:] if line[0] != " "] == ["a", "b", "-" * 4, "mean"]
    assert table.html().count("<tbody") == 2
    assert table.html().partition("border-top")[2].count("<tr>") == 1
    assert Table(("", "mean"), [("a", 1)], apart=1).text().count("----") == 1  # nothing above
    console, stream = pytest.importorskip("rich.console"), io.StringIO()
    console.Console(file=stream, width=80).print(table.rich())
    shown = stream.getvalue().splitlines()
    assert sum(line.startswith("├") for line in shown) == 1
    assert shown.index(next(line for line in shown if "mean" in line and "3" in line)) > shown.index(
        next(line for line in shown if line.startswith("├"))
    )


def test_html_escapes_and_keeps_the_rest_aside() -> None:
    html = TABLE.html("figures")
    assert html.startswith('<table class="figures">\n<caption>a [title]</caption>\n<thead><tr><th>method</th>')
    assert '<td><b>1.25</b><span class="aside">[1.00, 1.50]</span><span class="aside">1.30</span></td>' in html
    assert "<td>&lt;c&gt; &amp; [d]</td>" in html
    assert "<caption>" not in Table(("a",), []).html()


def test_markdown_gives_notes_columns_of_their_own() -> None:
    assert TABLE.has_notes
    assert TABLE.markdown().splitlines() == [
        "| method | k = 5 | paper | k = 10 | paper |",
        "| --- | ---: | ---: | ---: | ---: |",
        "| a\\|b | **1.25 [1.00, 1.50]** | 1.30 |  |  |",
        "| <c> & [d] | 2 |  |  |  |",
    ]
    assert Table(("a", "b"), [("c", 1)]).markdown() == "| a | b |\n| --- | ---: |\n| c | 1 |"


def test_a_cell_is_written_by_its_format_and_sorted_by_its_value() -> None:
    percent = "{:.1%}".format
    cell = Cell(0.1234, (0.1, 0.2), format=percent)
    assert (cell.figure, cell.ends, cell.number) == ("12.3%", "10.0% to 20.0%", 0.1234)
    assert cell.text == "12.3% 10.0% to 20.0%"
    assert (Cell((0.1, 0.2), format=percent).figure, Cell((0.1, 0.2)).number) == ("10.0% to 20.0%", 0.1)
    assert [Cell(value, format=percent).figure for value in (None, "", "12 of 13")] == ["", "", "12 of 13"]
    assert [Cell(value).number for value in (None, "12", True, math.nan, math.inf)] == [None, None, 1.0, None, None]
    time = Cell(datetime(1970, 1, 1, 0, 1, tzinfo=UTC), format="{:%H:%M}".format)
    assert (time.figure, time.number) == ("00:01", 60.0)
    assert Table(("a", "b"), [(cell, time)]).csv() == "a,b\n0.1234,1970-01-01 00:01:00+00:00\n"


def test_csv_is_in_full_precision_and_empty_where_there_is_nothing() -> None:
    assert Table(("a", "b"), [("x,y", 0.1 + 0.2), (None, 1)]).csv() == 'a,b\n"x,y",0.30000000000000004\n,1\n'


@pytest.mark.parametrize("light", [False, True])
def test_the_terminal_takes_brackets_for_text(light: bool) -> None:
    console = pytest.importorskip("rich.console")
    stream = io.StringIO()
    console.Console(file=stream, width=80).print(TABLE.rich(light=light))
    shown = stream.getvalue()
    assert all(text in shown for text in ("<c> & [d]", "[1.00, 1.50]", "(1.30)", "k = 10"))
    assert ("a [title]" in shown) is not light


def test_what_shows_itself_as_a_table() -> None:
    class Shown(Tabular):
        def _table(self) -> Table:
            return TABLE

    assert str(Shown()) == TABLE.text()
    assert Shown()._repr_html_() == TABLE.html()
    assert Shown().__rich__().row_count == len(TABLE.rows)


def test_without_rich_there_is_an_error_that_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "rich.table", None)
    with mistake("", "foresolve[cli]", kind=MissingExtraError):
        TABLE.rich()


def test_lines_tell_the_bold_rows() -> None:
    table = Table(("", "mean"), [(Cell("a", bold=True), Cell("1", "0 to 2")), ("ab", "2"), ("a", "3")], "a", apart=1)
    assert [bold for _, bold in table.lines()] == [False, False, False, True, False, False, False]
    wide = Table(("", "v" * 78), table.rows, apart=1).lines()
    assert [bold for _, bold in wide] == [False, False, True, True, False, False, False]
