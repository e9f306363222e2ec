"""The same numbers on a GPU as on the CPU."""

from __future__ import annotations

import numpy as np
import pytest
import scipy.sparse
import torch

import foresolve
from instances import draw
from mistakes import mistake
from quadratic_programs import FORMS, of_form

pytestmark = [
    pytest.mark.cuda,
    pytest.mark.filterwarnings("ignore::foresolve.NoGradientWarning"),
]


def problems() -> list[foresolve.LinearProgram]:
    general, tall = draw(0, n=30, m_eq=4, m_ub=10), draw(1, n=8, m_eq=1, m_ub=40, dependent=True, fixed=True, free=True)
    return [
        general.problem(),
        tall.problem(),
        foresolve.BipartiteMatching(12, 9),
        foresolve.BipartiteMatching(50, 50),
        foresolve.BipartiteMatching(66, 65),  # too large for the fused kernel
        foresolve.problems.Assignment(7, 9),
        foresolve.problems.Assignment(64, 40),
        foresolve.ShortestPath.grid(12, 12),
        foresolve.Knapsack(np.arange(1.0, 21.0), 50.0),
        foresolve.TopK(40, 7),
    ]


@pytest.mark.parametrize("problem", problems(), ids=lambda p: repr(p).split("(")[0])
@pytest.mark.parametrize("gamma", [0.01, 0.3])
def test_cpu_and_gpu_agree(problem: foresolve.LinearProgram, gamma: float) -> None:
    generator = torch.Generator().manual_seed(0)
    theta, v = (torch.randn(20, problem.n, generator=generator, dtype=torch.float64) for _ in range(2))
    results = []
    for device in ("cpu", "cuda"):
        layer, leaf = foresolve.QuadraticRelaxation(gamma), theta.to(device).requires_grad_()
        solution = layer.solve(leaf, problem.to(device))
        assert bool(solution.converged.all())
        assert solution.x.device == leaf.device
        (gradient,) = torch.autograd.grad((solution.x * v.to(device)).sum(), leaf)
        results.append((solution.x.detach().cpu(), gradient.cpu()))
    torch.testing.assert_close(results[0][0], results[1][0], atol=1e-9, rtol=0)
    torch.testing.assert_close(results[0][1], results[1][1], atol=1e-6 / gamma, rtol=0)


def test_theta_on_another_device_is_refused() -> None:
    with mistake("theta", "(cpu)", "cuda"):
        foresolve.QuadraticRelaxation(1.0)(torch.zeros(2, 4, device="cuda"), foresolve.TopK(4, 2))


@pytest.mark.parametrize("own", [False, True], ids=["shared", "per instance"])
@pytest.mark.parametrize("form", [*FORMS, "huge sparse"])
def test_cpu_and_gpu_agree_on_quadratic_programs(form: str, own: bool) -> None:
    """Decisions, duals and gradients of everything; "huge sparse" is beyond what a GPU fills in."""
    huge = {"n": 3_100} if form == "huge sparse" else {}
    program, given = of_form("large sparse" if huge else form, 1, **huge)
    count = 3 if own or program.n > 1000 else 12
    parts = {name: part.toarray() if scipy.sparse.issparse(part) else part for name, part in given.items()}
    scales = torch.linspace(1.0, 1.5, count, dtype=torch.float64)
    generator = torch.Generator().manual_seed(0)
    theta, v = (torch.randn(count, program.n, generator=generator, dtype=torch.float64) for _ in range(2))
    results = []
    for device in ("cpu", "cuda"):
        leaves = {"theta": theta + torch.as_tensor(program.theta), "b_ub": torch.as_tensor(program.b_ub)}
        for name, part in parts.items():
            whole = torch.as_tensor(part)
            leaves[name] = torch.stack([scale * whole for scale in scales]) if own else whole
        leaves = {name: leaf.to(device).requires_grad_() for name, leaf in leaves.items()}
        shape = {name: leaves[name].to_sparse() if "sparse" in form else leaves[name] for name in parts}
        rows = {name: torch.as_tensor(getattr(program, name), device=device) for name in ("A_ub", "A_eq", "b_eq")}
        bounds = tuple(torch.as_tensor(side, device=device) for side in (program.lower, program.upper))
        problem = foresolve.QuadraticProgram(**shape, **rows, b_ub=leaves["b_ub"], bounds=bounds)
        solution = foresolve.QuadraticRelaxation(0.25 if form == "factor" else 0.0).solve(leaves["theta"], problem)
        assert bool(solution.converged.all())
        assert solution.x.device.type == device
        value = (solution.x * v.to(device)).sum() + solution.duals.eq.sum() + solution.duals.ub.sum()
        slopes = torch.autograd.grad(value, list(leaves.values()))
        results.append([part.detach().cpu() for part in (solution.x, *vars(solution.duals).values(), *slopes)])
    for ours, theirs in zip(*results, strict=True):
        torch.testing.assert_close(ours, theirs, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_exact_decisions_of_problems_on_a_gpu(form: str) -> None:
    program, given = of_form(form, 2)
    problem, theta = program.problem(**given), torch.as_tensor(program.theta)
    there = problem.to("cuda")
    assert there.Q.device.type == "cuda"
    x = there.solve(theta.cuda())
    assert x.device.type == "cuda"
    torch.testing.assert_close(x.cpu(), problem.solve(theta), atol=1e-9, rtol=0)
    value = there.objective(x, theta.cuda())
    torch.testing.assert_close(value.cpu(), problem.objective(x.cpu(), theta))
    back = type(there).from_config(there.config())
    torch.testing.assert_close(back.to("cpu").solve(theta), x.cpu(), atol=1e-9, rtol=0)


def test_portfolios_and_tracking_on_a_gpu() -> None:
    held = foresolve.problems.Portfolio(np.eye(3), current=[0.2, 0.3, 0.5], cost=0.01, predict="both")
    tracking = foresolve.problems.Tracking(outputs=np.eye(3)[:2], effort=0.1)
    for problem, size in ((held, 12), (tracking, 2)):
        theta = torch.eye(3, dtype=torch.float64).flatten()
        theta = torch.cat([torch.tensor([0.1, 0.2, 0.3], dtype=torch.float64), theta])[:size]
        here, there = problem.solve(theta), problem.to("cuda").solve(theta.cuda())
        torch.testing.assert_close(here, there.cpu(), atol=1e-9, rtol=0)
        values = [p.objective(x, t) for p, x, t in ((problem, here, theta), (problem.to("cuda"), there, theta.cuda()))]
        torch.testing.assert_close(values[0], values[1].cpu())
    moved = held.to("cuda")
    assert moved.trades(moved.solve(theta_of().cuda())).device.type == "cuda"
    assert repr(type(moved).from_config(moved.config())) == repr(held)


def theta_of() -> torch.Tensor:
    """No returns, and unit variances."""
    return torch.cat([torch.zeros(3), torch.eye(3).flatten()]).double()


def test_a_form_on_another_device_is_refused() -> None:
    rows = torch.ones(1, 2, dtype=torch.float64)
    with mistake("Q", "cuda"):
        foresolve.QuadraticProgram(torch.eye(2, device="cuda"), rows, [1.0])
