"""A table of several domains, and how it is written: terminal, Markdown, CSV."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from foresolve._base.extras import need
from foresolve._base.table import Table


@dataclass(frozen=True)
class BlockTable:
    """A table in blocks, one a domain, since domains differ in methods and budgets.

    Attributes
    ----------
    blocks: the domains' parts; what the paper published is in the notes of the cells.
    figures: the same in full precision, one row a figure, for CSV.
    notes: sentences that cells name by their number, from 1.
    words: whether the cells are text, which begins at the left.
    """

    title: str
    caption: str
    blocks: tuple[Table, ...]
    figures: Table = field(default=Table((), ()), repr=False)
    notes: tuple[str, ...] = ()
    words: bool = False

    def rich(self) -> Any:
        """What a rich console prints; the paper's figures stand below ours, so that 80 columns are enough."""
        text = need("rich.text", "a table in the terminal", "cli").Text
        parts: list[Any] = [text(self.title, style="bold")]
        for block in self.blocks:
            drawn = block.rich(light=True)
            for column in drawn.columns if self.words else ():
                column.justify, column.overflow = "left", "fold"
            parts += [text(f"\n{block.title}"), drawn]
        parts += [text(f"({i}) {note}", style="dim") for i, note in enumerate(self.notes, 1)]
        return need("rich.console", "a table in the terminal", "cli").Group(*parts, text(self.caption, style="dim"))

    def markdown(self) -> str:
        """One Markdown table for each block; the paper's figures have columns of their own."""
        parts = [f"**{self.title}{'' if self.title.endswith('?') else '.'}** {self.caption}"]
        for block in self.blocks:
            drawn = block.markdown()
            parts.append(f"{block.title}\n\n" + (drawn.replace("---:", "---") if self.words else drawn))
        notes = "\n".join(f"{i}. {note}" for i, note in enumerate(self.notes, 1))
        return "\n\n".join([*parts, *filter(None, [notes])]) + "\n"

    def csv(self) -> str:
        """One line for each figure, in full precision; empty where there is none."""
        return self.figures.csv()
