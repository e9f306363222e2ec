from __future__ import annotations

import math

from foresolve.learning import PairedComparison
from foresolve.report.pages.pairs import gained_cell, p_cell

PAIR = PairedComparison(name="a", reference="b", gained=1.0, interval=(0.5, math.inf), p_value=1e-7)


def test_cells_are_sorted_by_numbers() -> None:
    gained, p = gained_cell(PAIR), p_cell(PAIR)
    assert (gained.figure, gained.asides, gained.number) == ("+1", ["[+0.5, unbounded]"], 1.0)
    assert (p.figure, p.number) == ("< 0.0001", 1e-7)
    reference = PairedComparison(name="b", reference="b")
    assert (gained_cell(reference).text, gained_cell(reference).number, p_cell(reference).text) == ("", 0.0, "")
