"""Paired comparisons in the tables of pages."""

from __future__ import annotations

from foresolve._base.numbers import signed
from foresolve.learning.paired import PairedComparison, interval_words
from foresolve.report.pages.document import Entry

LEAST_P = 1e-4  # smaller ones are called so


def gained_entry(pair: PairedComparison) -> Entry:
    """The gain over its interval; nothing for the reference."""
    if pair.is_reference:
        return Entry("", value=0.0)
    ends = interval_words(pair.interval)
    return Entry(signed(pair.gained), (ends,) if ends else (), pair.gained)


def p_entry(pair: PairedComparison) -> Entry:
    """The p-value; nothing where there is none."""
    if pair.p_value is None:
        return Entry("")
    return Entry(f"{pair.p_value:.2g}" if pair.p_value >= LEAST_P else f"< {LEAST_P:g}", value=pair.p_value)


def p_words(pair: PairedComparison) -> str:
    """
    >>> p_words(PairedComparison(name="a", reference="b", p_value=0.021))
    'p = 0.021'
    """
    value = pair.p_value or 0.0
    return f"p = {value:.2g}" if value >= LEAST_P else f"p < {LEAST_P:g}"
