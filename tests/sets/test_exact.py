"""The ways to an exact optimum agree: branch and bound, cuts, all bases, and a mixed-integer program of SciPy."""

from __future__ import annotations

from collections.abc import Callable

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import torch
from hypothesis import given
from torch import Tensor

from foresolve.errors import SolverError
from foresolve.problems import SubmodularProblem
from foresolve.sets import (
    FacilityLocation,
    GraphicMatroid,
    LaminarMatroid,
    Matroid,
    PartitionMatroid,
    ProbabilisticCoverage,
    SetFunction,
    UniformMatroid,
    exact,
)
from foresolve.solvers.submodular.branch import branch_and_bound
from foresolve.solvers.submodular.cuts import Bases, maximize_by_cuts
from mistakes import mistake
from problems.conformance import conform, seeds
from problems.test_submodular import FUNCTIONS, MATROIDS, TARGETS, N, Root, brute_force, draw_theta, every_base

LAMINAR = MATROIDS[:3]
SUMS = [2.0 * ProbabilisticCoverage() + FacilityLocation(), 0.5 * Root() + FacilityLocation().of(torch.sqrt)]


def by_cuts(function: SetFunction, matroid: Matroid, theta: Tensor) -> float:
    parts = function.cuts(theta[None], matroid.n)
    start = every_base(matroid)[-1].bool().numpy()
    chosen = maximize_by_cuts(parts, Bases(*matroid.rows(), matroid.rank), start, 1e-9, 60.0)
    return value_of(function, matroid, theta, chosen)


def by_branching(function: SetFunction, matroid: Matroid, theta: Tensor) -> float:
    increments = function.increments(theta[None], matroid.n)
    start = every_base(matroid)[-1].bool().numpy()
    chosen = branch_and_bound(
        increments, matroid.rank, start, gap=1e-9, addable=lambda sets: matroid.addable(torch.from_numpy(sets)).numpy()
    )
    assert chosen is not None
    return value_of(function, matroid, theta, chosen)


def value_of(function: SetFunction, matroid: Matroid, theta: Tensor, mask: np.ndarray) -> float:
    x = torch.from_numpy(mask).double()
    assert bool(matroid.independent(x))
    assert int(x.sum()) == matroid.rank
    return float(function.value(x, theta))


@pytest.mark.parametrize("route", [by_cuts, by_branching])
@pytest.mark.parametrize("matroid", LAMINAR, ids=lambda m: type(m).__name__)
@pytest.mark.parametrize("function", [*FUNCTIONS, *SUMS], ids=repr)
@conform
@given(seed=seeds)
def test_routes_reach_the_best_of_all_bases(
    function: SetFunction, matroid: Matroid, route: Callable[..., float], seed: int
) -> None:
    theta = draw_theta((), seed)
    best = brute_force(SubmodularProblem(function, matroid), theta)
    assert route(function, matroid, theta) == pytest.approx(best, rel=1e-9, abs=1e-12)


@pytest.mark.parametrize("scale", [1e-9, 1e9])
def test_routes_do_not_depend_on_the_units(scale: float) -> None:
    theta = scale * draw_theta((), 2)
    best = brute_force(SubmodularProblem(FacilityLocation(), MATROIDS[0]), theta)
    for route in (by_cuts, by_branching):
        assert route(FacilityLocation(), MATROIDS[0], theta) == pytest.approx(best, rel=1e-9)


def program(theta: np.ndarray, matroid: Matroid, *, coverage: bool) -> float:
    """The textbook mixed-integer programs of 0/1 coverage and of facility location, by SciPy."""
    n, m = theta.shape
    rows, rhs = matroid.rows()
    eye = scipy.sparse.eye_array
    if coverage:  # max sum_j y_j, y_j <= sum_i theta_ij x_i
        gain, link, side = np.ones(m), scipy.sparse.hstack([-theta.T, eye(m)]), np.zeros(m)
    else:  # max sum_ij theta_ij z_ij, z_ij <= x_i, sum_i z_ij <= 1
        gain = theta.ravel()
        each = scipy.sparse.hstack([-scipy.sparse.kron(eye(n), np.ones((m, 1))), eye(n * m)])
        once = scipy.sparse.hstack([scipy.sparse.csr_array((m, n)), scipy.sparse.kron(np.ones((1, n)), eye(m))])
        link, side = scipy.sparse.vstack([each, once]), np.concatenate([np.zeros(n * m), np.ones(m)])
    constraints = scipy.sparse.hstack([rows, scipy.sparse.csr_array((len(rhs), len(gain)))])
    result = scipy.optimize.milp(
        np.concatenate([np.zeros(n), -gain]),
        constraints=scipy.optimize.LinearConstraint(
            scipy.sparse.csr_array(scipy.sparse.vstack([constraints, link])), -np.inf, np.concatenate([rhs, side])
        ),
        bounds=scipy.optimize.Bounds(0, 1),
        integrality=np.repeat([1, 0], [n, len(gain)]),
        options={"mip_rel_gap": 0.0},
    )
    assert result.success
    return -float(result.fun)


@pytest.mark.parametrize("coverage", [True, False])
@pytest.mark.parametrize("seed", range(3))
def test_routes_match_a_mixed_integer_program(coverage: bool, seed: int) -> None:
    generator = torch.Generator().manual_seed(seed)
    theta = torch.rand(18, 12, generator=generator, dtype=torch.float64)
    theta = (theta < 0.15).double() if coverage else theta.round(decimals=2)
    function = ProbabilisticCoverage() if coverage else FacilityLocation()
    for matroid in (
        UniformMatroid(18, 4),
        PartitionMatroid([i % 3 for i in range(18)], [1, 2, 1]),
        LaminarMatroid(18, [range(6), range(9), range(18)], [1, 2, 4]),
    ):
        expected = program(theta.numpy(), matroid, coverage=coverage)
        problem = SubmodularProblem(function, matroid, "exact")
        assert problem.objective(problem.solve(theta), theta).item() == pytest.approx(expected, rel=1e-6)
        assert by_cuts(function, matroid, theta) == pytest.approx(expected, rel=1e-6)


def test_cuts_take_over_where_branching_takes_long(monkeypatch: pytest.MonkeyPatch) -> None:
    theta = draw_theta((4,), 2)
    for function in FUNCTIONS:
        problem = SubmodularProblem(function, MATROIDS[2], "exact")
        expected = problem.objective(problem.solve(theta), theta)
        with monkeypatch.context() as patch:
            patch.setattr(exact, "WORK", 0.0)
            torch.testing.assert_close(problem.objective(problem.solve(theta), theta), expected)


def test_graphs_have_branching_alone(monkeypatch: pytest.MonkeyPatch) -> None:
    theta = draw_theta((2,), 2)
    for function in FUNCTIONS:
        problem = SubmodularProblem(function, MATROIDS[3], "exact")
        for value, instance in zip(problem.objective(problem.solve(theta), theta), theta, strict=True):
            assert value.item() == pytest.approx(brute_force(problem, instance))
    monkeypatch.setattr(exact, "WORK", 0.0)
    with mistake("", "GraphicMatroid", "method='greedy'", kind=SolverError, instances=[0]):
        problem.solve(theta)


def test_a_time_limit_is_an_error_that_says_so() -> None:
    problem = SubmodularProblem(FacilityLocation(), MATROIDS[0], "exact", time_limit=1e-9)
    with mistake("", "`time_limit`", kind=SolverError, instances=[0]):
        problem.solve(draw_theta((2,), 2))


@pytest.mark.parametrize("method", ["greedy", "continuous_greedy", "ascent", "exact"])
def test_corners(method: str) -> None:
    """Nothing to take, everything to take, nothing to gain, a single tree."""
    theta = draw_theta((2,), 2)
    for matroid in (
        UniformMatroid(N, N),
        PartitionMatroid([0] * N, [0]),
        GraphicMatroid([[i, i + 1] for i in range(N)]),
    ):
        if method == "ascent" and isinstance(matroid, GraphicMatroid):
            continue
        problem = SubmodularProblem(ProbabilisticCoverage(), matroid, method)  # type: ignore[arg-type]
        assert (problem.solve(theta).sum(-1) == matroid.rank).all()
    for function in FUNCTIONS[:2]:
        problem = SubmodularProblem(function, UniformMatroid(N, 3), method)  # type: ignore[arg-type]
        assert problem.solve(torch.zeros(N, TARGETS)).sum() == 3
