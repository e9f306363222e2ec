"""Tables of text, and how they are written: terminal, Markdown, CSV."""

from __future__ import annotations

import csv
import io
from dataclasses import dataclass, field
from typing import Any

from foresolve._base.extras import need


@dataclass(frozen=True)
class Cell:
    """Ours, the paper's, and whether ours is the best of what is learned."""

    text: str = ""
    published: str = ""
    bold: bool = False


@dataclass(frozen=True)
class Block:
    """One domain's part of a table."""

    title: str
    headers: tuple[str, ...]
    rows: tuple[tuple[str, tuple[Cell, ...]], ...]

    @property
    def has_published(self) -> bool:
        return any(cell.published for _, cells in self.rows for cell in cells)


@dataclass(frozen=True)
class Table:
    """A table in blocks, one a domain, since domains differ in methods and budgets.

    Attributes
    ----------
    columns, lines: the same in full precision, one line a figure, for CSV.
    """

    title: str
    caption: str
    blocks: tuple[Block, ...]
    columns: tuple[str, ...] = ()
    lines: tuple[tuple[Any, ...], ...] = field(default=(), repr=False)

    def rich(self) -> Any:
        """What a rich console prints; the paper's figures stand below ours, so that 80 columns are enough."""
        need("rich", "a table in the terminal", "cli")
        from rich import box
        from rich.console import Group
        from rich.table import Table as RichTable
        from rich.text import Text

        parts: list[Any] = [Text(self.title, style="bold")]
        for block in self.blocks:
            drawn = RichTable(box=box.SIMPLE_HEAD, pad_edge=False)
            drawn.add_column("method")
            for header in block.headers:
                drawn.add_column(header, justify="right")
            for name, cells in block.rows:
                # An interval goes below its mean: three of them side by side are too wide.
                lines = [cell.text.replace(" [", "\n[") for cell in cells]
                texts = [Text(line, style="bold" if cell.bold else "") for line, cell in zip(lines, cells)]
                for text, cell in zip(texts, cells):
                    if cell.published:
                        text.append(f"\n({cell.published})", style="dim not bold")
                drawn.add_row(Text(name), *texts)
            parts += [Text(f"\n{block.title}"), drawn]
        return Group(*parts, Text(self.caption, style="dim"))

    def markdown(self) -> str:
        """One Markdown table for each block; the paper's figures have columns of their own."""
        parts = [f"**{self.title}.** {self.caption}"]
        for block in self.blocks:
            extra = block.has_published
            headers = [text for header in block.headers for text in ((header, "paper") if extra else (header,))]
            lines = [["method", *headers], ["---", *["---:"] * len(headers)]]
            for name, cells in block.rows:
                texts = [(f"**{c.text}**" if c.bold else c.text, c.published) for c in cells]
                lines.append([name, *(text for pair in texts for text in (pair if extra else pair[:1]))])
            drawn = "\n".join("| " + " | ".join(text.replace("|", "\\|") for text in line) + " |" for line in lines)
            parts.append(f"{block.title}\n\n{drawn}")
        return "\n\n".join(parts) + "\n"

    def csv(self) -> str:
        """One line for each figure, in full precision; empty where there is none."""
        stream = io.StringIO()
        writer = csv.writer(stream, lineterminator="\n")
        writer.writerow(self.columns)
        writer.writerows(["" if entry is None else entry for entry in line] for line in self.lines)
        return stream.getvalue()
