"""One table and its renderings: text, terminal, HTML, Markdown, CSV."""

from __future__ import annotations

import csv
import io
import math
import textwrap
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import datetime
from html import escape
from typing import Any

from foresolve._base.extras import need

WIDTH = 80  # of a terminal


@dataclass(frozen=True)
class Cell:
    """A value, the format that writes it, and what goes with it.

    Attributes
    ----------
    value: a number, a time or a text, which is written as it is; a pair of numbers is an interval, `None` is nothing.
    interval: the interval of the number, a pair or a text; stands behind the figure, or below it where room is short.
    note: another figure to stand beside it.
    bold: the best of its kind.
    format: writes a number, and the ends of its interval.

    Examples
    --------
    >>> Cell(0.25, (0.2, 0.3), format="{:.0%}".format).text
    '25% 20% to 30%'
    """

    value: Any = None
    interval: tuple[float, float] | str | None = None
    note: str = ""
    bold: bool = False
    format: Callable[[Any], str] = field(default=str, kw_only=True)

    @property
    def figure(self) -> str:
        """The value as it is written."""
        return self._written(self.value)

    @property
    def ends(self) -> str:
        """The interval as it is written."""
        return self._written(self.interval)

    @property
    def text(self) -> str:
        """Figure and interval."""
        return " ".join(filter(None, (self.figure, self.ends)))

    @property
    def asides(self) -> list[str]:
        """Interval and note, unless they are empty."""
        return [text for text in (self.ends, self.note) if text]

    @property
    def number(self) -> float | None:
        """The number by which a table is sorted, of an interval its lower end; `None` for text."""
        first = self.value[0] if isinstance(self.value, tuple) else self.value
        if isinstance(first, datetime):
            return first.timestamp()
        return float(first) if isinstance(first, int | float) and math.isfinite(first) else None

    def _written(self, value: Any) -> str:
        if value is None or isinstance(value, str):
            return value or ""
        return " to ".join(map(self.format, value)) if isinstance(value, tuple) else self.format(value)


@dataclass(frozen=True)
class Table:
    """Rows of cells under headers; the first column is to the left, the others to the right.

    Attributes
    ----------
    rows: of `Cell`s, or of their values.
    notes: what the notes of the cells are; Markdown gives them columns of this name.
    apart: how many of the last rows are below a rule: what the others are compared with.

    Examples
    --------
    >>> table = Table(("", "mean"), (("value", 1.5), ("regret", Cell("0.25", bold=True))), "2 instances")
    >>> print(table.text())
    2 instances
            mean
    ------  ----
    value    1.5
    regret  0.25
    >>> print(table.markdown())
    |  | mean |
    | --- | ---: |
    | value | 1.5 |
    | regret | **0.25** |
    """

    headers: Sequence[str]
    rows: Sequence[Sequence[Any]]
    title: str = ""
    notes: str = ""
    apart: int = 0

    @property
    def has_notes(self) -> bool:
        """True if any cell has one."""
        return any(cell.note for row in self._cells() for cell in row)

    def _cells(self) -> list[list[Cell]]:
        return [[as_cell(entry) for entry in row] for row in self.rows]

    def text(self) -> str:
        """Columns under each other; intervals stand below their figures where lines would be too long otherwise."""
        return "\n".join(line for line, _ in self.lines())

    def lines(self) -> list[tuple[str, bool]]:
        """The lines of `text`, and for each whether it belongs to a row that begins with a bold cell."""
        cells = self._cells()
        head, rows = _aligned(self.headers, [[[cell.text for cell in row]] for row in cells])
        if max(len(line) for line in (*head, *(line for row in rows for line in row))) > WIDTH:
            head, rows = _aligned(self.headers, [_stacked(row) for row in cells])
        title = textwrap.wrap(self.title, WIDTH, break_long_words=False, break_on_hyphens=False)
        lines = [(line, False) for line in (*title, *head)]
        for place, (row, known) in enumerate(zip(rows, cells)):
            if 0 < place == len(cells) - self.apart:
                lines.append((head[1], False))
            lines += [(line, known[0].bold) for line in row]
        return lines

    def rich(self, *, light: bool = False) -> Any:
        """The table for rich's console; `light` leaves out frame and title, for a table among text.

        Intervals and notes stand below their figures: three of them side by side are too wide for a terminal.
        """
        rich = need("rich.table", "a table in the terminal", "cli")
        text = need("rich.text", "a table in the terminal", "cli").Text
        if light:
            drawn = rich.Table(box=need("rich.box", "a table", "cli").SIMPLE_HEAD, pad_edge=False)
        else:
            drawn = rich.Table(title=text(self.title, "table.title"), title_justify="left")
        for i, header in enumerate(self.headers):
            drawn.add_column(text(header), justify="left" if i == 0 else "right")
        for place, row in enumerate(self._cells(), 1):
            parts = [(text("\n".join(filter(None, (c.figure, c.ends))), "bold" if c.bold else ""), c) for c in row]
            for part, cell in parts:
                if cell.note:
                    part.append(f"\n({cell.note})", style="dim not bold")
            drawn.add_row(*(part for part, _ in parts), end_section=place == len(self.rows) - self.apart)
        return drawn

    def html(self, style: str = "") -> str:
        """An HTML table of the class `style`; intervals and notes are spans of the class "aside"."""

        def line(cells: Iterable[str], tag: str) -> str:
            return "<tr>" + "".join(f"<{tag}>{cell}</{tag}>" for cell in cells) + "</tr>"

        opening = f'<table class="{style}">' if style else "<table>"
        caption = f"<caption>{escape(self.title)}</caption>\n" if self.title else ""
        rows = [line(map(_html, row), "td") for row in self._cells()]
        first = len(rows) - self.apart
        body = "<tbody>\n" + "\n".join(rows[:first]) + "\n</tbody>"
        if self.apart:
            body += '\n<tbody style="border-top: 3px double">\n' + "\n".join(rows[first:]) + "\n</tbody>"
        head = line(map(escape, self.headers), "th")
        return f"{opening}\n{caption}<thead>{head}</thead>\n{body}\n</table>"

    def markdown(self) -> str:
        """A Markdown table; notes have columns of their own."""
        noted = self.has_notes
        headers = [self.headers[0], *(text for h in self.headers[1:] for text in ([h, self.notes] if noted else [h]))]
        lines = [headers, ["---", *["---:"] * (len(headers) - 1)]]
        for first, *rest in self._cells():
            pairs = [(f"**{cell.text}**" if cell.bold else cell.text, cell.note) for cell in rest]
            lines.append([first.text, *(text for pair in pairs for text in (pair if noted else pair[:1]))])
        return "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines)

    def csv(self) -> str:
        """Comma-separated, numbers in full precision; empty where there is none."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.headers)
        writer.writerows([as_cell(entry).value for entry in row] for row in self.rows)
        return stream.getvalue()


class Tabular(ABC):
    """Base of results that show themselves as a table: to `print`, to rich's console, to notebooks."""

    @abstractmethod
    def _table(self) -> Table:
        """The table that is shown."""

    def __str__(self) -> str:
        return self._table().text()

    def __rich__(self) -> Any:
        return self._table().rich()

    def _repr_html_(self) -> str:
        return self._table().html()


def as_cell(entry: Any) -> Cell:
    """A cell of a table, which may also be given by its value."""
    return entry if isinstance(entry, Cell) else Cell(entry)


def _aligned(headers: Sequence[str], rows: Sequence[list[list[str]]]) -> tuple[list[str], list[list[str]]]:
    """The headers and a rule, and the lines of each row."""
    widths = [max(len(line[i]) for lines in ([headers], *rows) for line in lines) for i in range(len(headers))]

    def aligned(line: Sequence[str]) -> str:
        first, *rest = zip(line, widths)
        return "  ".join([first[0].ljust(first[1]), *(text.rjust(width) for text, width in rest)]).rstrip()

    return [aligned(headers), "  ".join("-" * width for width in widths)], [list(map(aligned, row)) for row in rows]


def _stacked(row: Sequence[Cell]) -> list[list[str]]:
    """Lines of a row: figures, and where there are intervals, these below."""
    return [part for part in ([c.figure for c in row], [c.ends for c in row]) if any(part)]


def _html(cell: Cell) -> str:
    figure = f"<b>{escape(cell.figure)}</b>" if cell.bold else escape(cell.figure)
    return figure + "".join(f'<span class="aside">{escape(text)}</span>' for text in cell.asides)
