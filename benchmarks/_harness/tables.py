"""Cells, and tables as text, Markdown and CSV: rows of strings, the header first. Standard library only."""

from __future__ import annotations

import csv
import io
from collections.abc import Sequence
from typing import Any

Row = tuple[str, ...]


def seconds(value: float | None) -> str:
    if value is None:
        return "-"
    if value < 1e-3:
        return f"{value * 1e6:.0f} us"
    return f"{value * 1e3:.3g} ms" if value < 1.0 else f"{value:.3g} s"


def megabytes(value: int | None) -> str:
    return "-" if value is None else f"{value / 1e6:.0f} MB"


def error(value: float | None) -> str:
    return "-" if value is None else f"{value:.0e}"


def ratio(theirs: float | None, ours: float | None) -> str:
    if not theirs or not ours:
        return "-"
    return f"{theirs / ours:,.0f}x" if theirs >= 10 * ours else f"{theirs / ours:.2g}x"


def failure(record: dict[str, Any], width: int = 110) -> str:
    """What became of a worker that did not finish; empty where it did."""
    if record["status"] == "ok":
        return ""
    return f"{record['status']}: {' '.join(str(record.get('error', '')).split())[:width]}"


def as_text(title: str, rows: Sequence[Row]) -> str:
    """Numbers to the right; the first column and the last, a note, to the left."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]) - 1)]
    lines = [
        "  ".join(cell.rjust(width) if at else cell.ljust(width) for at, (cell, width) in enumerate(zip(row, widths)))
        + f"  {row[-1]}"
        for row in rows
    ]
    return "\n".join([title.ljust(70), *(line.rstrip() for line in lines), ""])


def as_markdown(rows: Sequence[Row], align: str | None = None) -> list[str]:
    """Lines; `align` has an l or r for each column (default: as in the text)."""
    align = align or "l" + "r" * (len(rows[0]) - 2) + "l"
    head, *body = ([cell.replace("|", "/") for cell in row] for row in rows)
    rule = "|".join("---" if side == "l" else "---:" for side in align)
    return [f"| {' | '.join(head)} |", f"|{rule}|", *(f"| {' | '.join(row)} |" for row in body), ""]


def as_csv(rows: Sequence[Row]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()
