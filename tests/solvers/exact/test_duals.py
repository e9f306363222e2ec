from __future__ import annotations

from fractions import Fraction

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
from hypothesis import example, given, settings
from hypothesis import strategies as st

from foresolve.solvers.exact.duals import dual_bound, find_duals, implied_bounds
from foresolve.solvers.exact.verification import Program, as_numpy
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.rows import DenseRows

SEEDS = st.integers(0, 2**31)


def program(matrix: np.ndarray, rhs: np.ndarray, equality: np.ndarray, lower: np.ndarray, upper: np.ndarray) -> Program:
    return Program(scipy.sparse.csr_array(matrix), rhs, equality, lower, upper)


def random_program(rng: np.random.Generator) -> tuple[Program, np.ndarray, np.ndarray]:
    """Whole numbers, some bounds infinite, a feasible point that is exact, and gains of any size."""
    n, m = int(rng.integers(1, 8)), int(rng.integers(0, 6))
    matrix = rng.integers(-4, 5, (m, n)).astype(float) * (rng.random((m, n)) < 0.7)
    point = rng.integers(0, 3, n).astype(float)
    equality = rng.random(m) < 0.4
    rhs = matrix @ point + np.where(equality, 0, rng.integers(0, 3, m))
    lower = np.where(rng.random(n) < 0.2, -np.inf, rng.integers(-2, 1, n))
    upper = np.where(rng.random(n) < 0.4, np.inf, rng.integers(2, 5, n))
    gains = rng.normal(size=n) * 10.0 ** rng.integers(-8, 9)
    return program(matrix, rhs, equality, lower, upper), gains, point


def exact(number: float) -> Fraction:
    return Fraction(float(number))


def exact_bound(instance: Program, gains: np.ndarray, y: np.ndarray) -> Fraction:
    """`b'y + sum_j max(r_j l_j, r_j u_j)` without any rounding; all bounds are finite."""
    m, n = instance.matrix.shape
    dense = instance.matrix.toarray()
    total = sum((exact(y[i]) * exact(instance.rhs[i]) for i in range(m)), Fraction(0))
    for j in range(n):
        slope = exact(gains[j]) - sum((exact(y[i]) * exact(dense[i, j]) for i in range(m)), Fraction(0))
        total += max(slope * exact(instance.lower[j]), slope * exact(instance.upper[j]))
    return total


def duals_of(instance: Program, gains: np.ndarray) -> np.ndarray:
    import torch

    tensors = [torch.from_numpy(part)[None] for part in (instance.rhs, instance.lower, instance.upper)]
    rows = DenseRows(torch.from_numpy(instance.matrix.toarray()))
    polytope = Polytope(rows, tensors[0], torch.from_numpy(instance.equality), *tensors[1:])
    return find_duals(as_numpy(polytope), gains[None], np.zeros(1, dtype=np.int64))


@given(seed=SEEDS)
@settings(max_examples=200, deadline=None)
def test_rounding_never_lowers_the_bound(seed: int) -> None:
    rng = np.random.default_rng(seed)
    instance, gains, _ = random_program(rng)
    lower, upper = (np.where(np.isfinite(side), side, end) for side, end in ((instance.lower, -7), (instance.upper, 9)))
    m, n = instance.matrix.shape
    scale = 10.0 ** rng.integers(-6, 7, m)
    boxed = program(
        instance.matrix.toarray() * scale[:, None] / 3, instance.rhs * scale / 3, instance.equality, lower, upper
    )
    y = rng.normal(size=m) * 10.0 ** rng.integers(-6, 7)
    y = np.where(boxed.equality, y, np.abs(y))
    bound = dual_bound(boxed, gains[None], y[None]).bound[0]
    truth = exact_bound(boxed, gains, y)
    assert exact(bound) >= truth
    size = float(np.abs(y) @ np.abs(boxed.rhs) + (np.abs(gains) + np.abs(boxed.matrix.T) @ np.abs(y)) @ np.full(n, 9.0))
    assert float(exact(bound) - truth) <= 1e-12 * size  # and it is not given away either


@given(seed=SEEDS, noise=st.sampled_from([0.0, 1e-9, 1.0]))
@settings(max_examples=200, deadline=None)
def test_no_feasible_point_beats_the_bound_whatever_the_multipliers(seed: int, noise: float) -> None:
    rng = np.random.default_rng(seed)
    instance, gains, point = random_program(rng)
    y = duals_of(instance, gains)[0] * (1 + noise * rng.normal(size=len(instance.rhs)))
    y += noise * rng.normal(size=len(y)) * np.abs(gains).max()
    bound = dual_bound(instance, gains[None], y[None]).bound[0]
    value = sum((exact(g) * exact(x) for g, x in zip(gains, point)), Fraction(0))
    assert bound == np.inf or exact(bound) >= value


@given(seed=SEEDS)
@example(seed=4740)
@settings(max_examples=150, deadline=None)
def test_the_multipliers_of_an_optimum_prove_it(seed: int) -> None:
    instance, gains, _ = random_program(np.random.default_rng(seed))
    equal, matrix = instance.equality, instance.matrix.toarray()
    blocks = {"A_ub": matrix[~equal], "b_ub": instance.rhs[~equal], "A_eq": matrix[equal], "b_eq": instance.rhs[equal]}
    scale = np.abs(gains).max()
    bounds = np.stack([instance.lower, instance.upper], 1)
    # HiGHS' presolve calls some programs infeasible that have a feasible point and are unbounded.
    reference = scipy.optimize.linprog(-gains / scale, **blocks, bounds=bounds, options={"presolve": False})
    y = duals_of(instance, gains)
    bound = dual_bound(instance, gains[None], y).bound[0]
    if reference.status == 0:
        best = -reference.fun * scale
        assert bound >= best - 1e-7 * scale * (1 + np.abs(reference.x).sum())
        assert bound <= best + 1e-7 * scale * (1 + np.abs(reference.x).sum())
    else:
        assert reference.status in (3, 4)
        assert bound == np.inf


def test_rows_imply_bounds() -> None:
    simplex = program(np.array([[1.0, 2.0, 0.0], [0.0, -1.0, 1.0]]), np.array([4.0, 0.0]), np.array([False, True]),
                      np.zeros(3), np.full(3, np.inf))  # fmt: skip
    lower, upper = implied_bounds(simplex)
    assert lower.tolist() == [0, 0, 0]
    np.testing.assert_allclose(upper, [4, 2, 2], rtol=1e-12)  # the last in a second pass, from x_3 = x_2
    assert (upper >= [4, 2, 2]).all()  # rounded outwards
    free = program(np.zeros((1, 2)), np.ones(1), np.array([False]), np.array([0.0, -np.inf]), np.full(2, np.inf))
    assert implied_bounds(free)[1].tolist() == [np.inf, np.inf]


@pytest.mark.parametrize(
    ("slope", "expected"),
    [(-1.0, 0.0), (0.0, 0.0), (1e-9, np.inf), (1e-17, 0.0)],
)
def test_unbounded_variables(slope: float, expected: float) -> None:
    """A reduced cost that leads out of the set makes the bound infinite, unless it is rounding of its own terms."""
    ray = program(np.array([[1.0, -1.0]]), np.zeros(1), np.array([True]), np.zeros(2), np.full(2, np.inf))
    bound = dual_bound(ray, np.array([[1.0 + slope, -1.0]]), np.array([[1.0]])).bound[0]
    assert bound == expected or (np.isfinite(expected) and abs(bound - expected) < 1e-12)


def test_multipliers_of_the_wrong_sign_and_no_numbers() -> None:
    box = program(np.array([[1.0]]), np.array([2.0]), np.array([False]), np.zeros(1), np.array([5.0]))
    gains = np.array([[1.0]])
    assert dual_bound(box, gains, np.array([[-3.0]])).bound[0] == pytest.approx(5.0)  # as with 0
    assert dual_bound(box, gains, np.array([[1.0]])).bound[0] == pytest.approx(2.0)
    for wrong in (np.nan, np.inf):
        assert dual_bound(box, gains, np.array([[wrong]])).bound[0] == np.inf


def test_a_cost_that_is_next_to_nothing_beside_others() -> None:
    """Unbounded variables whose optimum leaves a reduced cost of the wrong sign, within the solver's tolerance."""
    rng = np.random.default_rng(0)
    for _ in range(50):
        m, n = 4, 12
        matrix = rng.normal(size=(m, n))
        rhs = matrix @ rng.random(n)
        gains = matrix.T @ rng.normal(size=m) - rng.uniform(0.5, 1.0, n) * 1e-8
        instance = program(matrix, rhs, np.ones(m, dtype=bool), np.zeros(n), np.full(n, np.inf))
        y = duals_of(instance, gains)
        assert np.isfinite(dual_bound(instance, gains[None], y).bound[0])
