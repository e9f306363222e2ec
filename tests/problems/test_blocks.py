"""What users have becomes the same rows, in whichever form they have it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import torch

from foresolve.errors import InvalidInputError
from foresolve.problems.blocks import Block, as_bound, as_integrality, count_variables, split_bounds, stack

CPU = torch.device("cpu")
DENSE = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, 3.0]])


@pytest.mark.parametrize("form", ["numpy", "list", "csr", "coo", "torch", "sparse torch"])
def test_every_form_of_a_matrix_gives_the_same_rows(form: str) -> None:
    forms = {
        "numpy": DENSE,
        "list": DENSE.tolist(),
        "csr": scipy.sparse.csr_array(DENSE),
        "coo": scipy.sparse.coo_matrix(DENSE),
        "torch": torch.from_numpy(DENSE),
        "sparse torch": torch.from_numpy(DENSE).to_sparse(),
    }
    block = Block("A_ub", forms[form])
    assert (block.m, block.n, tuple(block.batch)) == (2, 3, ())
    rows = stack([block, Block("A_eq", np.ones((1, 3)))], 3, CPU)
    np.testing.assert_array_equal(rows.scipy().toarray(), [*DENSE, np.ones(3)])


def test_sparse_matrices_of_a_batch_get_the_union_of_their_patterns() -> None:
    batch = torch.zeros(2, 2, 3, dtype=torch.float64)
    batch[0, 0, 1], batch[1, 1, 2] = 5.0, 7.0
    block = Block("A_ub", batch.to_sparse())
    assert tuple(block.batch) == (2,)
    assert block.values.shape == (2, 2)
    rows = stack([block], 3, CPU)
    for b in range(2):
        np.testing.assert_array_equal(rows.scipy(b).toarray(), batch[b].numpy())


def test_a_large_dense_matrix_with_few_entries_is_stored_by_them_unless_it_has_a_gradient() -> None:
    matrix = torch.zeros(100, 200, dtype=torch.float64)
    matrix[3, 4] = 1.0
    assert Block("A_ub", matrix).dense is None
    assert Block("A_ub", matrix.clone().requires_grad_()).dense is not None
    assert Block("A_ub", torch.ones(100, 200)).dense is not None


def test_bounds_in_the_three_ways_of_scipy() -> None:
    pairs = [(0, None), (None, 2.0)]
    lower, upper = split_bounds(pairs)
    assert lower.tolist() == [0.0, -np.inf]
    assert upper.tolist() == [np.inf, 2.0]
    assert split_bounds((0, 1)) == (0, 1)
    assert split_bounds(scipy.optimize.Bounds(0, 1)) == (0, 1)
    with pytest.raises(InvalidInputError, match="`bounds` must be"):
        split_bounds([(0, 1, 2)])


def test_a_bound_is_a_number_for_all_or_one_for_each() -> None:
    assert as_bound("lower", None, 2, CPU).tolist() == [-np.inf] * 2
    assert as_bound("upper", 3, 2, CPU).tolist() == [3.0, 3.0]
    assert as_bound("upper", torch.ones(4, 2), 2, CPU).shape == (4, 2)
    with pytest.raises(InvalidInputError, match="`lower` must be free of inf"):
        as_bound("lower", [0.0, np.inf], 2, CPU)


def test_flags_of_integers() -> None:
    assert as_integrality(None, 2).tolist() == [False, False]
    assert as_integrality(1, 2).tolist() == [True, True]
    assert as_integrality([0, 1], 2).tolist() == [False, True]
    for bad in ([0, 2], [0, 1, 0]):
        with pytest.raises(InvalidInputError, match="`integrality` must be"):
            as_integrality(bad, 2)


def test_the_arguments_must_agree_on_the_number_of_variables() -> None:
    block = {"A_ub": Block("A_ub", DENSE)}
    assert count_variables(None, block, None, None) == 3
    assert count_variables(None, {}, [0.0] * 5, None) == 5
    with pytest.raises(InvalidInputError, match="disagree on the number of variables: A_ub 3, n 4"):
        count_variables(4, block, None, None)
    with pytest.raises(InvalidInputError, match="unknown: give `n`"):
        count_variables(None, {}, 0, None)
