"""Figures as blocks of a page: what they draw, and what they say to readers who cannot see them."""

from __future__ import annotations

import math
import sys

import pytest

from foresolve._base.drawing.intervals import Row
from foresolve.report.pages.document import Block, Drawing, Text
from foresolve.report.pages.pictures import forest

ROWS = [Row("a", 1.0, 0.5, 1.5, "two-stage"), Row("c", 3.0, -math.inf, 7.0, context="a domain"), Row("d", -2.0)]


def drawn(rows: list[Row] = ROWS, **options: str) -> Block:
    return forest("Differences", rows, "minutes saved", **options)


def test_differences_are_drawn_and_told_the_best_first() -> None:
    block = drawn(caption="A caption.", level="90 %")
    assert isinstance(block, Drawing)
    assert (block.title, block.caption) == ("Differences", "A caption.")
    assert block.alt == (
        "Minutes saved: c, a domain +3 [unbounded, +7] (no significant difference); a +1 [+0.5, +1.5] (better); "
        "d −2 (no interval)."
    )
    assert all(words in block.svg for words in ("+1 [+0.5, +1.5]", "a domain", "minutes saved", "90 % interval"))


def test_dollars_are_no_formula() -> None:
    block = forest("", [Row("a $x^2$", 1.0)], "costs ($) against $b$")
    assert isinstance(block, Drawing)
    assert block.alt.startswith("Costs ($) against $b$: a $x^2$ +1")
    assert ">costs ($) against $b$<" in block.svg
    assert ">a $x^2$<" in block.svg


def test_nothing_to_compare_with_is_said() -> None:
    block = drawn([])
    assert isinstance(block, Drawing)
    assert block.alt == "Minutes saved: nothing to compare with."


def test_without_matplotlib_the_numbers_are_told(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "matplotlib.axes", None)
    block = drawn()
    assert isinstance(block, Text)
    missing, numbers = block.paragraphs
    assert 'pip install "foresolve[plot]"' in missing
    assert "a +1 [+0.5, +1.5] (better)" in numbers
