from __future__ import annotations

from typing import Any

import numpy as np
import pytest
import torch

from foresolve.data.real.edges import as_pairs, split_rows
from mistakes import mistake


@pytest.mark.parametrize(
    ("lines", "cells", "separator"),
    [
        (["# made by hand\n", "\n", "1  2\n", "3 4\n"], [["1", "2"], ["3", "4"]], " "),
        (["1::2,5\n", "3::4,5\n"], [["1", "2,5"], ["3", "4,5"]], "::"),
        (["% x\n", "a b\tc\n"], [["a b", "c"]], "\t"),
        (["1,2\n", "3\n"], [["1", "2"], ["3"]], ","),
    ],
)
def test_the_separator_is_that_of_the_first_row(lines: list[str], cells: list[list[str]], separator: str) -> None:
    rows = list(split_rows(lines))
    assert [row.cells for row in rows] == cells
    assert {row.separator for row in rows} == {separator}
    assert rows[-1].number == len(lines)


@pytest.mark.parametrize(
    "edges", [[(0, 1), (0, 2), (0, 1)], np.array([[0, 1], [0, 2]]), torch.tensor([[0, 1], [0, 2]])]
)
def test_pairs_count_once(edges: Any) -> None:
    assert as_pairs(edges) == [(0, 1), (0, 2)]


@pytest.mark.parametrize("edges", [[], [(0, 1), (2,)], ["ab"], [1]])
def test_what_is_no_pair_is_refused(edges: Any) -> None:
    with mistake("edges"):
        as_pairs(edges)
