"""What is said of numbers that cannot be trusted, and that nothing is said of those that can."""

from __future__ import annotations

import os
import warnings
from pathlib import Path

import numpy as np
import pytest
import scipy.linalg
import torch
from torch import Tensor

import foresolve
from foresolve.layers import QuadraticRelaxation
from foresolve.solvers.projection.project import project
from foresolve.solvers.status import Status
from mistakes import caution

MODELS = Path(os.environ.get("FORESOLVE_DATA", "")) / "lp"
SMALL = [
    "adlittle", "afiro", "boeing1", "fffff800", "finnis", "forplan", "ganges", "israel", "kb2", "maros",
    "perold", "pilot4", "recipe", "sc50b", "scsd1", "sierra", "stair", "tuff", "vtpbase",
]  # fmt: skip
LARGE = ["80bau3b", "cycle", "d2q06c", "fit2p", "greenbea"]


def tensor(*values: float) -> Tensor:
    return torch.tensor(values, dtype=torch.float64)


@pytest.mark.parametrize("limit", [1e3, 1e9, 1e10, 1e12])
def test_a_number_for_no_limit_changes_nothing(limit: float) -> None:
    problem = foresolve.LinearProgram(A_ub=[[1.0, 1.0], [1.0, -1.0]], b_ub=[1.0, limit])
    solution = QuadraticRelaxation(0.5).solve(tensor(1.0, 1.0), problem)
    assert bool(solution.converged)
    torch.testing.assert_close(solution.x, tensor(0.5, 0.5), atol=1e-12, rtol=0)


@pytest.mark.parametrize("unit", [1e-12, 1e-9, 1e-7, 1e-3, 1e6])
def test_budgets_in_any_unit(unit: float) -> None:
    problem = foresolve.LinearProgram(A_ub=[[1.0, 1.0]], b_ub=[unit])
    solution = QuadraticRelaxation(0.5 / max(unit, 1.0)).solve(tensor(1.0, 0.9), problem)
    reference = max(1.0, unit) * (tensor(1.0, 0.9) - tensor(1.0, 0.9).mean()) + unit / 2
    reference = reference.clamp(0.0, unit)
    assert bool(solution.converged)
    torch.testing.assert_close(solution.x, reference, atol=1e-10 * unit, rtol=0)


@pytest.mark.parametrize("size", [3e3, 1e5, 1e6, 1e9])
def test_a_large_entry_of_a_fixed_variable_leaves_the_gradient_alone(size: float) -> None:
    entries = torch.tensor([[1.0, 1.0, size]], dtype=torch.float64, requires_grad=True)
    problem = foresolve.LinearProgram(A_eq=entries, b_eq=[1.0], bounds=(0, tensor(5.0, 5.0, 0.0)))
    theta = tensor(2.0, 1.5, 1.0).requires_grad_()
    QuadraticRelaxation(0.5)(theta, problem)[0].backward()
    torch.testing.assert_close(theta.grad, tensor(0.5, -0.5, 0.0), atol=1e-12, rtol=0)
    assert entries.grad is not None
    assert abs(float(entries.grad[0, 2])) < 1e-12  # it multiplies zero


@pytest.mark.parametrize("angle", [1e-3, 3e-4, 1e-4, 1e-6])
def test_nearly_dependent_rows_keep_their_gradient(angle: float) -> None:
    problem = foresolve.LinearProgram(
        A_eq=[[1.0, 1.0, 1.0, 0.0], [1.0, 1.0, 1.0 + angle, angle]], b_eq=[1.0, 1.0], bounds=(-9, 9)
    )
    theta = tensor(2.0, 1.5, 1.0, 1.0).requires_grad_()
    solution = QuadraticRelaxation(0.5).solve(theta, problem)
    solution.x[3].backward()
    # The rows say x3 = -x2 and x0 + x1 + x2 = 1: along (1, -1, 0, 0) and (1, 1, -2, 2).
    torch.testing.assert_close(theta.grad, 0.2 * tensor(1.0, 1.0, -2.0, 2.0), atol=1e-8, rtol=0)
    assert bool(solution.converged)
    assert float(solution.derivative_error) < 1e-8


def test_rounding_is_called_by_its_name() -> None:
    problem = foresolve.BipartiteMatching(2, 2)
    with caution("instance 1", "gamma", kind=foresolve.ConvergenceWarning):
        solution = QuadraticRelaxation(1e-6).solve(
            torch.stack([tensor(3.0, 1, 1, 2), 1e8 * tensor(3.0, 1, 1, 2)]), problem
        )
    assert solution.status.tolist() == [int(Status.CONVERGED), int(Status.ILL_CONDITIONED)]
    assert float(solution.residual[1]) > 0.01
    torch.testing.assert_close(solution.x, tensor(1.0, 0, 0, 1).expand(2, 4))


def test_a_gradient_that_fails_its_check_is_told() -> None:
    """Rows that differ in the tenth digit, a variable that hangs on their difference."""
    rows = torch.tensor([[1.0, 1, 1, 0], [1, 1, 1 + 1e-10, 1e-10]], dtype=torch.float64)
    problem = foresolve.LinearProgram(A_eq=rows, b_eq=rows @ tensor(0.3, 0.3, 0.4, 0.5), bounds=(-9, 9))
    theta = tensor(2.0, 1.5, 1.0, 1.0).requires_grad_()
    with caution("layer.solve(...).residual", kind=foresolve.ConvergenceWarning):
        solution = QuadraticRelaxation(0.5).solve(theta, problem)
    assert not bool(solution.converged)


def test_ordinary_programs_are_not_warned_of() -> None:
    """Long grids: one in a thousand once stopped early and blamed its limit."""
    problem = foresolve.ShortestPath.grid(30, 30)
    for seed, instance in ((7, 14), (25, 5)):
        theta = 1 + torch.rand(64, 1740, dtype=torch.float64, generator=torch.Generator().manual_seed(seed))
        solution = QuadraticRelaxation().solve(theta[instance - 1 : instance + 1], problem)
        assert bool(solution.converged.all())
        assert bool((solution.residual <= 1e-10).all())


def real(name: str) -> foresolve.LinearProgram:
    path = MODELS / f"{name}.mps.gz"
    if not path.is_file():
        pytest.skip("FORESOLVE_DATA does not point at the models")
    return foresolve.LinearProgram.from_mps(path)


def broken(problem: foresolve.LinearProgram, x: Tensor) -> float:
    """The largest violation of a row, in its own terms."""
    rows, rhs = problem.constraints.rows.scipy().astype(np.longdouble), problem.constraints.rhs.numpy()
    excess, terms = rows @ x.numpy() - rhs, abs(rows) @ abs(x.numpy()) + abs(rhs)
    amount = np.where(problem.constraints.equality.numpy(), abs(excess), np.maximum(excess, 0.0))
    return float((amount / np.where(terms > 0, terms, 1.0)).max())


def smoothings(problem: foresolve.LinearProgram) -> list[QuadraticRelaxation]:
    costs = problem.nominal
    assert costs is not None
    return [QuadraticRelaxation(), QuadraticRelaxation(float(1e-3 * costs.norm() / problem.solve(costs).norm()))]


@pytest.mark.parametrize("name", SMALL + [pytest.param(name, marks=pytest.mark.slow) for name in LARGE])
def test_real_programs(name: str) -> None:
    """Every row in its own terms; whoever is not right is warned of."""
    problem = real(name)
    costs = problem.nominal
    assert costs is not None
    for hardest, layer in zip((False, name == "greenbea"), smoothings(problem)):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            solution = layer.solve(costs, problem)
        if hardest and not bool(solution.converged):  # with the small gamma it runs out of iterations, and says so
            assert any(issubclass(warning.category, foresolve.ConvergenceWarning) for warning in caught)
            continue
        assert bool(solution.converged)
        assert broken(problem, solution.x) < 1e-10
        assert bool(((solution.x >= problem.lower) & (solution.x <= problem.upper)).all())


@pytest.mark.parametrize("name", [name for name in SMALL if name not in {"ganges", "maros", "sierra"}])
def test_gradients_of_real_programs_agree_with_an_orthogonal_projection(name: str) -> None:
    problem = real(name)
    costs = problem.nominal
    assert costs is not None
    for layer in smoothings(problem):
        gamma = float(layer.smoothing(costs, problem))
        set_ = problem.polytope(torch.Size([1])).expand(1).numeric()
        result = project(problem.gain(costs).numpy()[None] / (2 * gamma), set_, tol=1e-10, max_iter=100)
        g = np.random.default_rng(0).standard_normal((1, problem.n))
        u = result.tangent.along(g)[0]
        free, active = result.face.free[0], result.face.active[0]
        rows = set_.rows.scipy()[active][:, free].toarray()
        norms = np.linalg.norm(rows, axis=1)
        rows = rows[norms > 0] / norms[norms > 0, None]
        _, values, basis = scipy.linalg.svd(rows, full_matrices=False)
        basis = basis[values > 1e-11 * values[0]]
        expected = g[0, free]
        for _ in range(2):
            expected = expected - basis.T @ (basis @ expected)
        np.testing.assert_allclose(u[free], expected, atol=1e-6 * abs(g).max())
        assert result.tangent.error[0] < 1e-6


def test_no_false_infeasibility() -> None:
    """The multipliers once claimed it, and nobody asked an independent solver."""
    problem = real("ganges")
    assert problem.nominal is not None
    assert bool(QuadraticRelaxation().solve(problem.nominal, problem).converged)


@pytest.mark.cuda
def test_devices_end_on_the_same_face() -> None:
    """Where complementarity is strict: the same free coordinates, the same status, x within 1e-10 of its size."""
    generator = torch.Generator().manual_seed(3)

    def uniform(*shape: int) -> Tensor:
        return torch.rand(*shape, dtype=torch.float64, generator=generator)

    scales = 10.0 ** (6 * uniform(12, 1) - 3)
    programs = (
        (foresolve.ShortestPath.grid(30, 30), 1 + uniform(16, 1740)),
        (foresolve.BipartiteMatching(20, 20), uniform(16, 400)),
        (foresolve.LinearProgram(A_ub=scales * (uniform(12, 30) - 0.3), b_ub=3 * scales[:, 0]), uniform(16, 30)),
    )
    for problem, theta in programs:
        here = QuadraticRelaxation().solve(theta, problem)
        there = QuadraticRelaxation().solve(theta.cuda(), problem.to("cuda"))
        assert here.status.tolist() == there.status.cpu().tolist()
        size = here.x.abs().amax(-1, keepdim=True)
        assert bool(((here.x - there.x.cpu()).abs() <= 1e-10 * size).all())
        assert torch.equal(here.x == 0, there.x.cpu() == 0)
