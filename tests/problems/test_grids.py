from __future__ import annotations

import numpy as np
import pytest

from foresolve.problems.grids import cell_number, grid_arcs


@pytest.mark.parametrize(("moves", "reach"), [("right-down", None), ("4", 1), ("8", 2)])
def test_arcs_join_the_cells_beside_each_other(moves: str, reach: int | None) -> None:
    arcs = grid_arcs(3, 4, moves)
    step = np.stack(np.divmod(arcs[:, 1], 4), 1) - np.stack(np.divmod(arcs[:, 0], 4), 1)
    if reach is None:
        assert {tuple(move) for move in step.tolist()} == {(0, 1), (1, 0)}
    else:
        assert np.abs(step).max() == 1
        assert np.abs(step).sum(1).max() == reach
        assert {(b, a) for a, b in arcs.tolist()} == {(a, b) for a, b in arcs.tolist()}


def test_cells_by_place_or_number() -> None:
    assert cell_number("source", (2, 1), (3, 4)) == 9
    assert cell_number("source", [np.int64(0), 3], (3, 4)) == 3
    assert cell_number("source", 7, (3, 4)) == 7
