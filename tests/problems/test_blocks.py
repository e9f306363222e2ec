"""What users have becomes the same rows, in whichever form they have it."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

from foresolve.problems.blocks import (
    Block,
    as_integrality,
    as_names,
    common_device,
    count_variables,
    refuse_keywords,
    stack,
)
from foresolve.solvers.projection.rows import DenseRows
from mistakes import mistake

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


def test_flags_of_integers() -> None:
    assert as_integrality(None, 2).tolist() == [False, False]
    assert as_integrality(1, 2).tolist() == [True, True]
    assert as_integrality([0, 1], 2).tolist() == [False, True]
    for bad in ([0, 2], [0, 1, 0]):
        with mistake("integrality"):
            as_integrality(bad, 2)


def test_the_arguments_must_agree_on_the_number_of_variables() -> None:
    block, number, vector = {"A_ub": Block("A_ub", DENSE)}, np.array(0.0), np.zeros(5)
    assert count_variables(None, block, number, number) == 3
    assert count_variables(None, {}, vector, number) == 5
    with mistake("", "A_ub 3", "n 4"):
        count_variables(4, block, number, number)
    with mistake("", "A_ub 3", "upper 5"):
        count_variables(None, block, number, vector)
    with mistake("n"):
        count_variables(None, {}, number, number)


def test_a_bound_of_length_one_is_that_of_all_variables_or_of_the_only_one() -> None:
    single = np.zeros(1)
    assert count_variables(None, {}, single, single) == 1
    assert count_variables(None, {}, single, np.zeros(5)) == 5
    assert count_variables(4, {}, single, single) == 4


def test_blocks_without_entries_keep_their_shape() -> None:
    empty = Block("A_ub", scipy.sparse.csr_array((2, 3)))
    assert (empty.m, empty.n, tuple(empty.values.shape)) == (2, 3, (0,))
    per_instance = Block("A_eq", torch.zeros(4, 2, 3).to_sparse())
    rows = stack([empty, per_instance], 3, CPU)
    assert (rows.m, rows.n, tuple(rows.values.shape)) == (4, 3, (4, 0))
    assert rows.squared_norms().shape == (4, 4)
    for none in (torch.zeros(4, 0, 3), torch.zeros(4, 0, 3).to_sparse()):
        rows = stack([Block("A_ub", none)], 3, CPU)
        assert isinstance(rows, DenseRows)
        assert tuple(rows.values.shape) == (4, 0, 3)


def test_a_bad_entry_of_a_sparse_block_is_named_by_its_row_and_column() -> None:
    matrix = np.array([[0.0, 2.0, 0.0], [1.0, 0.0, np.nan]])
    with mistake("A_ub", "nan at [1, 2]"):
        Block("A_ub", scipy.sparse.csr_array(matrix))
    batch = torch.from_numpy(np.stack([DENSE, matrix]))
    with mistake("A_ub", "nan at [1, 1, 2]"):
        Block("A_ub", batch.to_sparse())


def test_names_are_as_many_as_variables_and_all_different() -> None:
    assert as_names(None, 2) is None
    assert as_names(["a", "b"], 2) == ("a", "b")
    assert as_names(iter([1, 2]), 2) == (1, 2)
    for same in ([7, "7"], [7.0, "7"]):  # both are "7" in a table
        with mistake("names", "'7'"):
            as_names(same, 2)
    for missing in (None, float("nan")):
        with mistake("names", "2 variables", "a missing one"):
            as_names(["a", missing], 2)


def test_an_unknown_keyword_is_refused_with_the_one_that_was_meant() -> None:
    class Tall:
        def __init__(self, height: int = 0, *, width: int = 0) -> None: ...

    refuse_keywords(Tall, {})
    with mistake("", "`heigth`", "`height`?"):
        refuse_keywords(Tall, {"heigth": 1})
    with mistake("", "`zzz`", "height, width"):
        refuse_keywords(Tall, {"zzz": 1})


def test_numpy_follows_the_device_of_the_tensors() -> None:
    assert common_device({"A_ub": np.zeros(2)}) == CPU
    assert common_device({"A_ub": np.zeros(2), "b_ub": torch.zeros(1, device="meta")}) == torch.device("meta")
    with mistake("", "A_ub on cpu", "b_ub on meta"):
        common_device({"A_ub": torch.zeros(2), "b_ub": torch.zeros(1, device="meta")})
