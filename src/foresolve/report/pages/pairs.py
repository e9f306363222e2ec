"""Paired comparisons in the tables of pages."""

from __future__ import annotations

from foresolve._base.table import Cell
from foresolve.learning.paired import PairedComparison, pair_cells
from foresolve.report.pages.document import unseen

LEAST_P = 1e-4  # smaller ones are called so


def gained_cell(pair: PairedComparison) -> Cell:
    """The gain over its interval; nothing for the reference, which is sorted as zero."""
    return Cell(0.0, format=unseen) if pair.is_reference else pair_cells(pair)[0]


def p_cell(pair: PairedComparison) -> Cell:
    """The p-value; nothing where there is none."""
    return Cell(pair.p_value, format=small_p)


def small_p(value: float) -> str:
    """A p-value as it is written; below 0.0001 it is "< 0.0001"."""
    return f"{value:.2g}" if value >= LEAST_P else f"< {LEAST_P:g}"


def p_words(pair: PairedComparison) -> str:
    """
    >>> p_words(PairedComparison(name="a", reference="b", p_value=0.021))
    'p = 0.021'
    """
    value = pair.p_value or 0.0
    return f"p {'= ' * (value >= LEAST_P)}{small_p(value)}"
