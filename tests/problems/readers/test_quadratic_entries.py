from __future__ import annotations

import numpy as np

from foresolve.problems.readers.quadratic_entries import kept, mirrored, sparse, uneven


def test_entries_by_place() -> None:
    matrix = sparse({(1, 0): 2.0, (0, 2): 0.5, (1, 1): 0.0}, 2, 3)
    assert matrix.toarray().tolist() == [[0.0, 0.0, 0.5], [2.0, 0.0, 0.0]]
    assert matrix.nnz == 2
    assert sparse({}, 0, 3).shape == (0, 3)


def test_one_triangle_makes_both() -> None:
    matrix = mirrored({(0, 0): 2.0, (2, 1): -1.0, (0, 2): 0.5, (1, 1): 0.0}, 3)
    assert matrix is not None
    assert matrix.toarray().tolist() == [[2.0, 0.0, 0.5], [0.0, 0.0, -1.0], [0.5, -1.0, 0.0]]
    assert matrix.nnz == 5


def test_nothing_is_none() -> None:
    assert mirrored({}, 3) is None
    assert mirrored({(0, 1): 0.0}, 3) is None
    assert kept(np.zeros((2, 2))) is None


def test_the_entry_that_is_not_matched() -> None:
    assert uneven({(0, 0): 1.0, (0, 1): 2.0, (1, 0): 2.0, (1, 2): 0.0}) is None
    assert uneven({(0, 0): 1.0, (0, 1): 2.0, (1, 0): 3.0}) == (0, 1)
    assert uneven({(2, 1): 2.0}) == (2, 1)
