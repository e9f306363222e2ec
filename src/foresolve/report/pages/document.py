"""What a page holds, in plain values: cards, sections, and the blocks that these are made of."""

from __future__ import annotations

import datetime
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, ClassVar, Literal

from foresolve._base import checks
from foresolve._base.drawing.palette import Role
from foresolve._base.files import write_text
from foresolve._base.table import Cell, Table, as_cell

Tone = Literal["good", "bad", "open", "plain"]


@dataclass(frozen=True)
class Card:
    """A question and its answer.

    Attributes
    ----------
    answer: a sentence, with its interval.
    tone: whether it is good news; "open" where the data do not tell.
    caution: why not to rely on it, such as how small the sample is; shown with the answer.
    terms: names that the answer uses, to be explained below it.
    more: a further sentence or two.
    """

    question: str
    answer: str
    tone: Tone = "plain"
    caution: str = ""
    terms: tuple[str, ...] = ()
    more: str = ""


@dataclass(frozen=True)
class Block:
    """A part of a section; the template of its `kind` draws it."""

    kind: ClassVar[str]


@dataclass(frozen=True)
class Text(Block):
    """Paragraphs; a note is set smaller."""

    kind: ClassVar[str] = "text"
    paragraphs: tuple[str, ...]
    note: bool = False


@dataclass(frozen=True)
class Bullets(Block):
    """A list of sentences; numbered where tables name them by number."""

    kind: ClassVar[str] = "bullets"
    items: tuple[str, ...]
    numbered: bool = False


@dataclass(frozen=True)
class Heading(Block):
    """Of a part of a section."""

    kind: ClassVar[str] = "heading"
    text: str


@dataclass(frozen=True)
class Line:
    """A row of a table; the cell that names it first.

    Attributes
    ----------
    role: of the method, for its color.
    apart: whether it is a reference, set apart from what is compared.
    """

    cells: tuple[Cell, ...]
    role: Role | None = None
    apart: bool = False


@dataclass(frozen=True)
class Grid(Block):
    """A table that readers can sort.

    Attributes
    ----------
    words: whether its cells are text, at the left.
    """

    kind: ClassVar[str] = "grid"
    title: str
    headers: tuple[str, ...]
    lines: tuple[Line, ...]
    caption: str = ""
    words: bool = False

    @property
    def compared(self) -> list[Line]:
        """The rows that are compared."""
        return [line for line in self.lines if not line.apart]

    @property
    def references(self) -> list[Line]:
        """The rows that are set apart."""
        return [line for line in self.lines if line.apart]


@dataclass(frozen=True)
class Drawing(Block):
    """A figure as an SVG file of `to_svg`, and its content in words for readers who cannot see it."""

    kind: ClassVar[str] = "drawing"
    svg: str
    caption: str
    alt: str
    title: str = ""


@dataclass(frozen=True)
class Folded(Block):
    """Blocks that show when they are asked for.

    Attributes
    ----------
    open: whether they show at first.
    printed: whether paper shows them although they are closed.
    """

    kind: ClassVar[str] = "folded"
    summary: str
    blocks: tuple[Block, ...]
    open: bool = False
    printed: bool = True


@dataclass(frozen=True)
class Command(Block):
    """What to type; lines break between its words, never in the middle of an option."""

    kind: ClassVar[str] = "command"
    text: str

    @property
    def words(self) -> list[tuple[str, str]]:
        """Each word, and the space behind it."""
        return re.findall(r"(\S+)(\s*)", self.text)


@dataclass(frozen=True)
class Section:
    """A part of the page that the contents name."""

    title: str
    blocks: tuple[Block, ...]
    short: str = ""

    @property
    def anchor(self) -> str:
        """The name of the place in the page."""
        return re.sub(r"\W+", "-", self.title.lower()).strip("-")


@dataclass(frozen=True)
class Page:
    """A report as one HTML file that needs no other file and no network.

    Attributes
    ----------
    title: the heading.
    lead: what was run, in a sentence or two.
    cards: questions and their answers, which come first.
    sections: what follows, in order.
    terms: the names of methods, and what they stand for.
    date: the date of the results.

    Examples
    --------
    >>> from foresolve.report import Page
    >>> page = Page("Title", "What was run.", cards=(), sections=())
    >>> "What was run." in page.html()
    True
    """

    title: str
    lead: str
    cards: tuple[Card, ...]
    sections: tuple[Section, ...]
    terms: Mapping[str, str] = field(default_factory=dict)
    date: str = ""

    def html(self) -> str:
        """The whole document."""
        from foresolve.report.pages.rendering import render

        return render(self)

    def save(self, path: str | Path) -> Path:
        """Write the page, whole or not at all; give its path back."""
        return write_text(checks.path("path", path), self.html())


def today() -> str:
    """The date of a result that has none of its own."""
    return datetime.datetime.now().astimezone().date().isoformat()


def line(cells: Sequence[Any], role: Role | None = None, apart: bool = False) -> Line:
    """A row from cells and values."""
    return Line(tuple(map(as_cell, cells)), role, apart)


def grid(table: Table, caption: str = "", *, words: bool = False) -> Grid:
    """A table that readers can sort."""
    return Grid(table.title, tuple(table.headers), tuple(map(line, table.rows)), caption, words)


def unseen(number: float) -> str:
    """Format of a number that a table is only sorted by."""
    return ""


def bolded(lines: Sequence[Line], columns: Sequence[int], least: Sequence[int] = ()) -> tuple[Line, ...]:
    """With the largest value of each of these columns in bold, the least of those in `least`; references aside."""
    best: dict[int, float] = {}
    for column in columns:
        cells = [row.cells[column] for row in lines if not row.apart]
        numbers = [cell.number for cell in cells if cell.number is not None]
        if len(numbers) > 1:
            best[column] = (min if column in least else max)(numbers)

    def marked(row: Line) -> Line:
        cells = [
            replace(cell, bold=column in best and cell.number == best[column]) for column, cell in enumerate(row.cells)
        ]
        return row if row.apart else replace(row, cells=tuple(cells))

    return tuple(marked(row) for row in lines)
