"""Checks in each row's own terms, and proofs that there is no solution."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

from foresolve.solvers.exact.verification import FEASIBLE, Program, RowCheck, as_numpy, whole_bounds
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.rows import DenseRows, Rows
from foresolve.solvers.projection.sparse_rows import SparseRows

ROWS = np.array([[1.0, 1.0, 0.0], [0.0, 1e6, -1.0]])


def program(lower: float = 0.0, upper: float = 1.0, rhs: tuple[float, float] = (1.0, 0.0)) -> Program:
    """`x + y = rhs, 10^6 y - z <= rhs`."""
    bounds = np.full(3, lower), np.full(3, upper)
    return Program(scipy.sparse.csr_array(ROWS), np.array(rhs), np.array([True, False]), *bounds)


def body(rows: Rows, batch: int = 1) -> Polytope:
    data = torch.zeros(batch, 3, dtype=torch.float64)
    rhs = torch.tensor([[1.0, 0.0]] * batch, dtype=torch.float64)
    return as_numpy(Polytope(rows, rhs, torch.tensor([True, False]), data, data + 1))


def test_a_row_is_measured_by_its_own_terms() -> None:
    broken = program().broken(np.array([0.5, 0.5 + 1e-8, 0.25]))
    np.testing.assert_allclose(broken, [1e-8 / 2, 1.0], rtol=1e-4)
    assert program().broken(np.array([1.0, 0.0, 0.0])).tolist() == [0.0, 0.0]
    assert [program().row_name(i) for i in range(2)] == ["A_eq row 0", "A_ub row 0"]


@pytest.mark.parametrize("kind", ["dense", "sparse", "dense per instance", "sparse per instance"])
def test_a_batch_is_checked_like_its_instances(kind: str) -> None:
    index = torch.tensor([[0, 0, 1, 1], [0, 1, 1, 2]])
    dense = torch.from_numpy(ROWS)
    entries = torch.tensor([1.0, 1.0, 1e6, -1.0], dtype=torch.float64)
    batch = 4 if "per instance" in kind else 1
    rows = {
        "dense": DenseRows(dense),
        "sparse": SparseRows(2, 3, index, entries),
        "dense per instance": DenseRows(dense.repeat(4, 1, 1)),
        "sparse per instance": SparseRows(2, 3, index, entries.repeat(4, 1)),
    }[kind]
    x = np.array([[1.0, 0.0, 0.0], [1.0, 1e-7, 0.5], [1.0 + 1e-10, 0.0, 1.0], [1.0 - 1e-6, 1e-6, 1.0]])
    check = RowCheck(body(rows, batch))
    for model_of in (np.arange(4), np.array([3, 0, 1, 2])) if batch > 1 else (np.zeros(4, dtype=int),):
        expected = [bool((program().broken(row) > FEASIBLE).any()) for row in x]
        assert check.broken(x, model_of).tolist() == expected == [False, True, False, False]


def test_leftovers_of_rounding_are_removed() -> None:
    """Nothing flows there, and the row that says so is broken by all of its terms."""
    flow = DenseRows(torch.tensor([[0.0, 1.0, -1.0], [1.0, 0.0, 0.0]], dtype=torch.float64))
    bounds = torch.zeros(1, 3, dtype=torch.float64)
    rhs = torch.tensor([[0.0, 7e4]], dtype=torch.float64)
    check = RowCheck(as_numpy(Polytope(flow, rhs, torch.tensor([True, True]), bounds, bounds + 1e6)))
    x, shared = np.array([[7e4, 1e-14, 0.0]]), np.zeros(1, dtype=int)
    assert check.broken(x, shared).tolist() == [True]
    snapped = check.snapped(x, shared)
    assert snapped.tolist() == [[7e4, 0.0, 0.0]]
    assert check.broken(snapped, shared).tolist() == [False]
    meant = np.array([[1.0, 1e-7, 0.0]])
    assert check.snapped(meant, shared).tolist() == meant.tolist()


class TestProofs:
    def test_multipliers_that_prove_it(self) -> None:
        """`x + y = 3` within [0, 1], each multiplied by -1."""
        tight = program(rhs=(3.0, 0.0))
        assert tight.refuted_by(np.array([-1.0, 0.0]))
        assert not tight.refuted_by(np.array([1.0, 0.0]))
        assert not tight.refuted_by(np.zeros(2))

    def test_multipliers_of_inequalities_must_not_be_negative(self) -> None:
        assert not program(rhs=(1.0, 3e6)).refuted_by(np.array([0.0, -1.0]))

    def test_no_proof_through_an_infinite_bound(self) -> None:
        assert not program(upper=np.inf, rhs=(3.0, 0.0)).refuted_by(np.array([-1.0, 0.0]))

    @pytest.mark.parametrize("unit", [1e-12, 1.0, 1e12])
    def test_units_do_not_matter(self, unit: float) -> None:
        assert program(upper=unit, rhs=(3 * unit, 0.0)).refuted_by(np.array([-1.0, 0.0]))
        assert not program(upper=unit, rhs=(2 * unit, 0.0)).refuted_by(np.array([-1.0, 0.0]))

    def test_rounding_proves_nothing(self) -> None:
        matrix = scipy.sparse.csr_array(np.array([[0.1], [0.3]]))
        bounds = np.zeros(1), np.full(1, np.inf)
        both = Program(matrix, np.array([0.1, 0.3 - 1e-17]), np.array([True, True]), *bounds)
        assert not both.refuted_by(np.array([-3.0, 1.0]))
        assert not both.refuted_by(np.array([3.0, -1.0]))

    def test_bounds_that_cross(self) -> None:
        assert program(lower=1.0, upper=0.0).refuted_by(np.zeros(2))


def test_bounds_of_integers_are_integers() -> None:
    polytope = body(DenseRows(torch.from_numpy(ROWS)))
    odd = Polytope(
        polytope.rows,
        polytope.rhs,
        polytope.equality,
        np.array([[0.5, 0.5, -np.inf]]),
        np.array([[2.5, 2.5, 3 - 1e-12]]),
    )
    whole = whole_bounds(odd, np.array([True, False, True]))
    assert whole.lower.tolist() == [[1.0, 0.5, -np.inf]]
    assert whole.upper.tolist() == [[2.0, 2.5, 3.0]]
    assert whole_bounds(odd, None) is odd
