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
    """

    title: str
    caption: str
    blocks: tuple[Table, ...]
    figures: Table = field(default=Table((), ()), repr=False)

    def rich(self) -> Any:
        """What a rich console prints; the paper's figures stand below ours, so that 80 columns are enough."""
        text = need("rich.text", "a table in the terminal", "cli").Text
        parts: list[Any] = [text(self.title, style="bold")]
        for block in self.blocks:
            parts += [text(f"\n{block.title}"), block.rich(light=True)]
        return need("rich.console", "a table in the terminal", "cli").Group(*parts, text(self.caption, style="dim"))

    def markdown(self) -> str:
        """One Markdown table for each block; the paper's figures have columns of their own."""
        parts = [f"**{self.title}.** {self.caption}"]
        return "\n\n".join(parts + [f"{block.title}\n\n{block.markdown()}" for block in self.blocks]) + "\n"

    def csv(self) -> str:
        """One line for each figure, in full precision; empty where there is none."""
        return self.figures.csv()
