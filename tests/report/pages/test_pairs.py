from __future__ import annotations

import math

from foresolve.learning import PairedComparison
from foresolve.report.pages.pairs import gained_entry, p_entry

PAIR = PairedComparison(name="a", reference="b", gained=1.0, interval=(0.5, math.inf), p_value=1e-7)


def test_cells_are_sorted_by_numbers() -> None:
    gained, p = gained_entry(PAIR), p_entry(PAIR)
    assert (gained.text, gained.aside, gained.value) == ("+1", ("[+0.5, unbounded]",), 1.0)
    assert (p.text, p.value) == ("< 0.0001", 1e-7)
    reference = PairedComparison(name="b", reference="b")
    assert (gained_entry(reference).text, gained_entry(reference).value, p_entry(reference).text) == ("", 0.0, "")
