"""Convexity of every form."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

from foresolve.problems.convexity import check_convex, definite_on_null_space_of
from foresolve.problems.quadratic_term import QuadraticTerm
from foresolve.solvers.projection.definiteness import MOST_DENSE
from mistakes import mistake
from quadratic_programs import FORMS, of_form, tensor


def is_definite(own: QuadraticTerm) -> bool:
    return bool(own.definite.all())


def is_definite_on_null_space(own: QuadraticTerm, rows: torch.Tensor) -> bool:
    return bool(definite_on_null_space_of(own, rows).all())


def term(Q: object = None, diagonal: object = None, factor: object = None) -> QuadraticTerm:
    return QuadraticTerm.parse(Q, diagonal, factor)


@pytest.mark.parametrize("form", FORMS)
def test_what_is_definite(form: str) -> None:
    program, given = of_form(form, 1)
    own = term(**given)
    check_convex(own)
    assert is_definite(own) == (form not in {"factor", "leaning"})
    assert is_definite_on_null_space(own, tensor(program.A_eq)) == (form != "factor")


def test_a_factor_for_every_variable_is_definite() -> None:
    assert is_definite(term(factor=np.eye(3)))
    assert not is_definite(term(factor=np.ones((3, 3))))
    assert is_definite(term(diagonal=[0.0, 1.0], factor=[[1.0], [0.0]]))
    assert not is_definite(term(diagonal=[0.0, 1.0], factor=[[0.0], [1.0]]))
    assert not is_definite(term(diagonal=[0.0, 1.0]))


def test_one_instance_that_is_not_definite_counts() -> None:
    forms = torch.stack([torch.eye(2), torch.ones(2, 2), torch.eye(2)])
    assert term(forms).definite.tolist() == [True, False, True]
    assert is_definite(term(forms[[0, 2]]))
    rows = tensor([[[1.0, 0.0]], [[1.0, 1.0]], [[0.0, 1.0]]])
    # (1, -1) is in the null space of both in the second.
    assert definite_on_null_space_of(term(forms), rows).tolist() == [True, False, True]
    assert is_definite_on_null_space(term(forms), rows[[0, 0, 2]])
    assert is_definite_on_null_space(term(torch.ones(2, 2)), rows[[0, 2]])


@pytest.mark.parametrize("n", [50, MOST_DENSE + 1])
def test_sparse_forms_on_both_sides_of_the_size_that_is_filled_in(n: int) -> None:
    side = scipy.sparse.diags_array([np.full(n - 1, -1.0), np.full(n, 2.0), np.full(n - 1, -1.0)], offsets=[-1, 0, 1])
    check_convex(term(side))
    assert is_definite(term(side))
    singular = scipy.sparse.lil_array(side)
    singular[0, 0] = singular[n - 1, n - 1] = 1.0  # the Laplacian of a path
    check_convex(term(scipy.sparse.csr_array(singular)))
    assert not is_definite(term(scipy.sparse.csr_array(singular)))
    singular[0, 0] = 0.5
    with mistake("Q", "eigenvalue -0.16"):
        check_convex(term(scipy.sparse.csr_array(singular)))
