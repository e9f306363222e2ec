"""Numbers that may have marks between thousands: "12.500" is twelve and a half, or a thousand times as much."""

from __future__ import annotations

import re
import warnings
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from foresolve._base import reading
from foresolve._base.leading_zeros import any_entry, text_frames
from foresolve.errors import ForesolveError

MARKS = (".", ",")
_GROUPED = r"[+-]?[1-9]\d{0,2}(?:[.,]\d{3})+"
_NUMBER = rf"(?:[+-]?\d+|{_GROUPED})(?:[.,]\d+)?"  # 27.05.2024 is none
_SUSPICIOUS = re.compile(rb'[;\t"\r\n] *[+-]?[1-9]\d{0,2}[.,]\d{3}[ ;\t"\r\n]')


@dataclass
class _Column:
    """What is known of a column of numbers: by mark, an entry that has it, and whether all could be grouped."""

    numeric: bool = True
    bare: bool = False
    trailing: bool = False  # zeros after a mark, which whoever writes 12.5 leaves out
    marked: dict[str, str] = field(default_factory=dict)
    grouped: bool = True

    def add(self, texts: Any) -> None:
        self.numeric = self.numeric and bool(texts.str.fullmatch(_NUMBER).all())
        if not self.numeric:
            return
        marked = texts[texts.str.contains("[.,]", regex=True)]
        self.bare = self.bare or len(marked) < len(texts)
        self.trailing = self.trailing or bool(marked.str.endswith("0").any())
        self.grouped = self.grouped and bool(marked.str.fullmatch(_GROUPED).all())
        for mark in MARKS:
            having = marked[marked.str.contains(mark, regex=False)]
            if len(having):
                self.marked.setdefault(mark, str(having.iloc[0]))


def check_marks(path: Path, options: Mapping[str, Any]) -> None:
    """Refuse a file with a column whose marks may stand between thousands; `options` are those of pandas.

    They may where three digits follow each mark, and other columns have the other mark, or entries below a thousand
    have none while zeros at the end are written out.
    """
    with reading.opened_table(path) as stream:
        if not any_entry(stream, _SUSPICIOUS):
            return
    columns: dict[str, _Column] = {}
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # what is wrong with rows is told when they are read
        for frame in text_frames(path, options):
            for name in frame.columns:
                columns.setdefault(name, _Column()).add(frame[name].dropna().str.strip())
    numeric = {name: column for name, column in columns.items() if column.numeric and column.marked}
    for name, column in numeric.items():
        mark, example = next(iter(column.marked.items()))
        others = {title: list(other.marked.values())[-1] for title, other in numeric.items()
                  if set(other.marked) - set(column.marked)}  # fmt: skip
        if len(column.marked) == 1 and column.grouped and (others or (column.bare and column.trailing)):
            beside = "".join(f", and {entry!r} in {title!r}" for title, entry in list(others.items())[:1])
            raise ForesolveError(
                f"{path} has {example!r} in the column {name!r}{beside}: {mark!r} may stand between thousands, or "
                "before decimals. Write all numbers of the file as 1234.5"
            )
