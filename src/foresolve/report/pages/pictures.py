"""Matplotlib's figures as blocks of a page, with their numbers in words for readers who cannot see them."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from foresolve._base.drawing.intervals import Number, Row
from foresolve._base.drawing.rendering import to_svg
from foresolve._base.numbers import signed
from foresolve.errors import MissingExtraError
from foresolve.learning.pictures.differences import draw_forest
from foresolve.report.pages.document import Block, Drawing, Text


def picture(draw: Callable[[], Any], title: str, caption: str, alt: str) -> Block:
    """The figure that `draw` gives, or whose axes; without matplotlib, how to get it, and its numbers in words."""
    try:
        return Drawing(to_svg(draw().figure), caption, alt, title)
    except MissingExtraError as error:
        return Text((f"There is no figure: {error}.", alt), note=True)


def forest(
    title: str, rows: Sequence[Row], label: str, *, level: str = "95 %", caption: str = "", number: Number = signed
) -> Block:
    """Paired differences, the best on top, better to the right of zero.

    Parameters
    ----------
    label: the differences and their unit.
    level: of the intervals.
    """
    ordered = sorted(rows, key=lambda row: -row.mean)
    told = [f"{', '.join(filter(None, (row.name, row.context)))} {row.text(number)} ({row.verdict})" for row in ordered]
    return picture(
        lambda: draw_forest(ordered, label, f"{level} interval", None, number=number),
        title, caption, f"{label[:1].upper()}{label[1:]}: {'; '.join(told) or 'nothing to compare with'}.",
    )  # fmt: skip


def percent(share: float) -> str:
    """A share as text.

    >>> percent(0.95)
    '95 %'
    """
    return f"{100 * share:g} %"
