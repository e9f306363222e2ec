"""The quadratic relaxation: against an independent solver, finite differences, an unrolled solve and the theory."""

from __future__ import annotations

import itertools
import warnings
from collections.abc import Iterator

import numpy as np
import pytest
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

import foresolve
from foresolve import QuadraticRelaxation
from foresolve.solvers.projection import cholesky
from instances import Instance, draw, finite_differences, margin
from layers.conformance import LayerConformance
from mistakes import caution, mistake
from oracles import instances, reference


def tensor(array: object) -> Tensor:
    return torch.as_tensor(array, dtype=torch.float64)


def kkt_residual(instance: Instance, problem: foresolve.LinearProgram, solution: foresolve.layers.Solution) -> float:
    """The largest violation of stationarity, feasibility, signs and complementarity."""
    x, duals, theta = solution.x, solution.duals, tensor(instance.theta)
    A_ub, A_eq = tensor(problem.A_ub.toarray()), tensor(problem.A_eq.toarray())
    stationarity = theta - 2 * instance.gamma * x - duals.eq @ A_eq - duals.ub @ A_ub + duals.lower - duals.upper
    slack = (problem.b_ub - x @ A_ub.T) / A_ub.norm(dim=-1).clamp_min(1e-300)
    finite_gap = [
        (duals.lower * (x - problem.lower)).nan_to_num(0, 0, 0),
        (duals.upper * (problem.upper - x)).nan_to_num(0, 0, 0),
        duals.ub * A_ub.norm(dim=-1) * slack,
    ]
    parts = [stationarity, x @ A_eq.T - problem.b_eq, slack.clamp_max(0), *finite_gap]
    parts += [dual.clamp_max(0) for dual in (duals.ub, duals.lower, duals.upper)]
    return max(float(part.abs().max()) for part in parts if part.numel())


class TestConformance(LayerConformance):
    def layer(self) -> QuadraticRelaxation:
        return QuadraticRelaxation(gamma=0.4)

    def cases(self) -> list[tuple[foresolve.LinearProgram, Tensor]]:
        generator = torch.Generator().manual_seed(3)

        def theta(n: int) -> Tensor:
            return torch.rand(3, n, generator=generator, dtype=torch.float64)

        general = draw(0)
        flow = foresolve.problems.MaxFlow(
            [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)], 0, 3, capacity=[1.0, 2.0, 1.0, 1.5, 1.0]
        )
        return [
            (general.problem(), tensor(general.theta)),
            (foresolve.BipartiteMatching(4, 5), theta(20)),
            (foresolve.problems.Assignment(4), theta(16)),
            (foresolve.ShortestPath.grid(4, 4), theta(24)),
            (flow, theta(5)),
            (foresolve.Knapsack(np.arange(1.0, 9.0), 12.0), theta(8)),
            (foresolve.TopK(6, 2), theta(6)),
        ]


@given(instances())
def test_optimality_conditions_hold_whatever_the_instance(instance: Instance) -> None:
    problem = instance.problem()
    solution = QuadraticRelaxation(instance.gamma).solve(tensor(instance.theta), problem)
    assert bool(solution.converged.all())
    assert kkt_residual(instance, problem, solution) <= 1e-8 * (1 + abs(instance.theta).max())


@given(instances())
def test_agrees_with_an_independent_solver(instance: Instance) -> None:
    x = QuadraticRelaxation(instance.gamma)(tensor(instance.theta), instance.problem())
    for ours, theta in zip(x.numpy(), instance.theta):
        expected = reference(instance, theta)
        # Strong concavity: whoever is feasible and has the larger objective is nearer. Clarabel reaches about 1e-6 on
        # degenerate instances, so distances are compared at that level and objectives much more closely.
        value, best = (theta @ v - instance.gamma * v @ v for v in (ours, expected))
        assert value >= best - 1e-7 * (1 + abs(best))
        if instance.gamma >= 0.1:
            np.testing.assert_allclose(ours, expected, atol=2e-5)


@given(instances(smooth=True))
def test_gradients_agree_with_finite_differences_at_smooth_points(instance: Instance) -> None:
    problem, theta = instance.problem(), tensor(instance.theta)
    layer = QuadraticRelaxation(instance.gamma)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", foresolve.NoGradientWarning)
        solution = layer.solve(theta.requires_grad_(), problem)
        step = 1e-5 * instance.gamma
        assume(margin(problem, solution, instance.gamma) > 1e-3)
        v = torch.randn(theta.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        (gradient,) = torch.autograd.grad((solution.x * v).sum(), theta)
    expected = finite_differences(lambda t: layer(t, problem), theta.detach(), v, step)
    assert float((gradient - expected).abs().max()) * 2 * instance.gamma <= 1e-6


def unrolled(theta: Tensor, instance: Instance, steps: int) -> Tensor:
    """Accelerated projected gradient on the dual, every step on the autograd tape."""
    C = tensor(np.concatenate([instance.A_eq, instance.A_ub]))
    rhs = tensor(np.concatenate([instance.b_eq, instance.b_ub]))
    lower, upper, equalities = tensor(instance.lower), tensor(instance.upper), len(instance.b_eq)
    point, rate = theta / (2 * instance.gamma), 1 / torch.linalg.matrix_norm(C, 2) ** 2
    y = previous = torch.zeros(len(theta), len(rhs), dtype=torch.float64)
    momentum = 1.0
    for _ in range(steps):
        x = torch.minimum(torch.maximum(point - y @ C, lower), upper)
        raw = y - rate * (rhs - x @ C.T)
        current = torch.cat([raw[:, :equalities], raw[:, equalities:].clamp_min(0)], -1)
        following = (1 + (1 + 4 * momentum**2) ** 0.5) / 2
        y = current + (momentum - 1) / following * (current - previous)
        previous, momentum = current, following
    return torch.minimum(torch.maximum(point - y @ C, lower), upper)


def test_three_routes_give_one_gradient() -> None:
    instance = draw(11, gamma=0.5)
    problem, theta = instance.problem(), tensor(instance.theta).requires_grad_()
    v = torch.randn(theta.shape, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    layer = QuadraticRelaxation(instance.gamma)
    assert margin(problem, layer.solve(theta, problem), instance.gamma) > 5e-3
    (implicit,) = torch.autograd.grad((layer(theta, problem) * v).sum(), theta)
    (unroll,) = torch.autograd.grad((unrolled(theta, instance, 3_000) * v).sum(), theta)
    differences = finite_differences(lambda t: layer(t, problem), theta.detach(), v)
    torch.testing.assert_close(implicit, unroll, atol=1e-7, rtol=1e-6)
    torch.testing.assert_close(implicit, differences, atol=1e-7, rtol=1e-6)


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("sparse", [True, False])
def test_gradients_of_predicted_constraints(shared: bool, sparse: bool) -> None:
    instance = draw(4, n=6, m_eq=1, m_ub=3, batch=3, fixed=False)
    data = [instance.A_ub, instance.b_ub, instance.A_eq, instance.b_eq, instance.lower, instance.upper]
    noise = np.random.default_rng(0)
    tensors = []
    for array in data:
        batched = array if shared else np.stack([array + 0.01 * noise.standard_normal(array.shape) for _ in range(3)])
        tensors.append(tensor(batched).requires_grad_())

    def decide(
        theta: Tensor, A_ub: Tensor, b_ub: Tensor, A_eq: Tensor, b_eq: Tensor, low: Tensor, up: Tensor
    ) -> Tensor:
        rows = A_ub.to_sparse() if sparse else A_ub
        problem = foresolve.LinearProgram(rows, b_ub, A_eq, b_eq, bounds=(low, up))
        return QuadraticRelaxation(instance.gamma)(theta, problem)

    assert torch.autograd.gradcheck(decide, [tensor(instance.theta).requires_grad_(), *tensors], eps=1e-7, atol=1e-5)


def test_gradient_of_shared_data_is_the_sum_over_the_batch() -> None:
    instance = draw(5)
    side = tensor(instance.b_ub).requires_grad_()
    v = torch.randn(3, 8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    layer = QuadraticRelaxation(instance.gamma)
    (together,) = torch.autograd.grad((layer(tensor(instance.theta), instance.problem(b_ub=side)) * v).sum(), side)
    parts = [
        torch.autograd.grad((layer(tensor(theta), instance.problem(b_ub=side)) * weights).sum(), side)[0]
        for theta, weights in zip(instance.theta, v)
    ]
    torch.testing.assert_close(together, sum(parts))
    assert float(together.abs().max()) > 0


def test_gradient_of_gamma_and_of_the_relative_default() -> None:
    instance = draw(6, m_eq=1, m_ub=2)
    problem, theta = instance.problem(), tensor(instance.theta).requires_grad_()
    gammas = tensor([0.3, 0.5, 0.9]).requires_grad_()
    assert torch.autograd.gradcheck(
        lambda t, g: QuadraticRelaxation(g)(t, problem), [theta, gammas], eps=1e-7, atol=1e-5
    )
    assert torch.autograd.gradcheck(lambda t: QuadraticRelaxation()(t, problem), [theta], eps=1e-7, atol=1e-5)


def test_predicted_rows_with_the_default_gamma_can_be_used_again() -> None:
    instance = draw(6, m_eq=0, m_ub=2)
    A_ub, theta = tensor(instance.A_ub).requires_grad_(), tensor(instance.theta).requires_grad_()
    problem = foresolve.LinearProgram(A_ub, instance.b_ub)  # no finite box: the default looks at the rows
    layer, gradients = QuadraticRelaxation(), []
    for _ in range(2):
        gradients.append(torch.autograd.grad(layer(theta, problem).square().sum(), [theta, A_ub]))
    for first, second in zip(*gradients):
        torch.testing.assert_close(first, second)


def test_default_gamma_is_free_of_scale() -> None:
    problem = foresolve.BipartiteMatching(4, 4)
    theta = torch.rand(3, 16, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    x = QuadraticRelaxation()(theta, problem)
    torch.testing.assert_close(QuadraticRelaxation()(1e6 * theta, problem), x)
    torch.testing.assert_close(QuadraticRelaxation()(1e-6 * theta, problem), x)
    wide = [foresolve.LinearProgram([[1.0] * 4], [2.0 * k], bounds=(0, k)) for k in (1.0, 1000.0)]
    narrow, large = (QuadraticRelaxation()(theta[:, :4], p) for p in wide)
    torch.testing.assert_close(1000 * narrow, large)
    assert bool(torch.isfinite(QuadraticRelaxation()(torch.zeros(2, 16), problem)).all())


def test_double_backward_works_for_theta_and_says_so_for_constraints() -> None:
    instance = draw(7)
    problem, theta = instance.problem(), tensor(instance.theta).requires_grad_()
    layer = QuadraticRelaxation(instance.gamma)
    assert torch.autograd.gradgradcheck(lambda t: layer(t, problem), [theta])
    side = tensor(instance.b_ub).requires_grad_()
    value = layer(theta, instance.problem(b_ub=side)).square().sum()
    with mistake("", "create_graph=True", kind=foresolve.ForesolveError):
        torch.autograd.grad(value, theta, create_graph=True)


# -- the theory --------------------------------------------------------------------------------------------------------


@given(instances(), st.sampled_from([0.01, 0.3]))
def test_dependent_rows_change_nothing(instance: Instance, gamma: float) -> None:
    """Theorem 1 of the paper: rows that follow from others may stay or go."""
    theta = tensor(instance.theta).requires_grad_()
    more = instance.problem(
        A_eq=np.concatenate([instance.A_eq, 2 * instance.A_eq]), b_eq=np.concatenate([instance.b_eq, 2 * instance.b_eq])
    )
    layer = QuadraticRelaxation(gamma)
    layer._warned = True
    left, right = layer(theta, instance.problem()), layer(theta, more)
    torch.testing.assert_close(left, right, atol=1e-8, rtol=1e-8)
    v = torch.randn(left.shape, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    assume(margin(instance.problem(), layer.solve(theta, instance.problem()), gamma) > 1e-4)
    (first,), (second,) = (torch.autograd.grad((x * v).sum(), theta) for x in (left, right))
    torch.testing.assert_close(first, second, atol=1e-6 / gamma, rtol=1e-6)


def test_gradient_of_dependent_right_hand_sides_has_minimum_norm() -> None:
    A = tensor([[1.0, 1.0, 0.0], [2.0, 2.0, 0.0]])
    side = tensor([1.0, 2.0]).requires_grad_()
    problem = foresolve.LinearProgram(A_eq=A, b_eq=side, bounds=(-9, 9))
    x = QuadraticRelaxation(0.5)(tensor([[0.3, 0.1, 0.2]]), problem)
    (gradient,) = torch.autograd.grad(x[0, 0], side)
    expected = torch.linalg.pinv(A)[0]
    torch.testing.assert_close(gradient, expected, atol=1e-7, rtol=0)


@given(instances())
def test_loss_of_smoothing_is_bounded(instance: Instance) -> None:
    """Theorem 2, in the form that holds for every polytope."""
    assume(bool(np.isfinite(instance.lower).all() and np.isfinite(instance.upper).all()))
    problem, theta = instance.problem(), tensor(instance.theta)
    x, best = QuadraticRelaxation(instance.gamma)(theta, problem), problem.solve(theta)
    loss = problem.objective(best, theta) - problem.objective(x, theta)
    bound = instance.gamma * (best.square() - x.square() - (best - x).square()).sum(-1)
    assert bool((loss <= bound + 1e-7).all())


@given(st.integers(0, 1000), st.sampled_from([0.01, 0.1, 1.0]))
def test_paper_bound_on_0_1_polytopes(seed: int, gamma: float) -> None:
    """Theorem 2 as printed, `theta'x >= OPT - gamma D`, for matchings of side k: `D` is at most `2 k`."""
    problem = foresolve.BipartiteMatching(4, 4)
    theta = torch.randn(3, 16, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
    value = problem.objective(QuadraticRelaxation(gamma)(theta, problem), theta)
    best = problem.objective(problem.solve(theta), theta)
    assert bool((value >= best - gamma * 8 - 1e-9).all())


def test_paper_bound_fails_off_the_0_1_polytopes() -> None:
    """The design's counter-example: x in [10, 11], theta 20, gamma 1; the corrected bound holds."""
    problem = foresolve.LinearProgram(bounds=(10, 11), n=1)
    theta = tensor([[20.0]])
    x = QuadraticRelaxation(1.0)(theta, problem)
    assert float(20 * 11 - 20 * x) > 1.0
    assert float(20 * 11 - 20 * x) <= float(1.0 * (121 - x**2 - (11 - x) ** 2)) + 1e-9


@pytest.mark.parametrize("gamma", [1e-3, 1e-5, 1e-7])
def test_vanishing_gamma_recovers_the_unique_vertex(gamma: float) -> None:
    generator = torch.Generator().manual_seed(0)
    for problem in (foresolve.BipartiteMatching(5, 5), foresolve.ShortestPath.grid(5, 5), foresolve.TopK(9, 3)):
        theta = torch.rand(4, problem.n, generator=generator, dtype=torch.float64)
        torch.testing.assert_close(QuadraticRelaxation(gamma)(theta, problem), problem.solve(theta), atol=1e-6, rtol=0)


@given(st.permutations(range(8)), st.integers(0, 100))
def test_permuting_variables_permutes_the_decision(order: list[int], seed: int) -> None:
    instance = draw(seed)
    permuted = foresolve.LinearProgram(
        instance.A_ub[:, order], instance.b_ub, instance.A_eq[:, order], instance.b_eq,
        bounds=(instance.lower[order], instance.upper[order]),
    )  # fmt: skip
    layer, theta = QuadraticRelaxation(instance.gamma), tensor(instance.theta)
    torch.testing.assert_close(
        layer(theta[:, order], permuted), layer(theta, instance.problem())[:, order], atol=1e-9, rtol=0
    )


# -- everyday input ----------------------------------------------------------------------------------------------------


def test_empty_row_blocks_and_unbounded_variables() -> None:
    theta = tensor([[1.0, -2.0, 30.0]])
    box = foresolve.LinearProgram(bounds=(None, [1.0, 1.0, np.inf]), n=3)
    torch.testing.assert_close(QuadraticRelaxation(0.5)(theta, box), tensor([[1.0, -2.0, 30.0]]))
    no_rows = foresolve.LinearProgram(np.zeros((0, 3)), np.zeros(0), np.zeros((0, 3)), np.zeros(0), bounds=(0, 1))
    torch.testing.assert_close(QuadraticRelaxation(0.5)(theta, no_rows), tensor([[1.0, 0.0, 1.0]]))
    free = foresolve.LinearProgram(A_eq=[[1.0, 1.0, 1.0]], b_eq=[1.0], bounds=(None, None))
    torch.testing.assert_close(QuadraticRelaxation(0.5)(theta, free), theta + (1 - theta.sum()) / 3)


def test_zero_rows_are_harmless_where_they_hold() -> None:
    problem = foresolve.LinearProgram([[0.0, 0.0], [1.0, 1.0]], [0.0, 1.0], [[0.0, 0.0]], [0.0])
    x = QuadraticRelaxation(0.5)(tensor([[1.0, 0.5]]), problem)
    torch.testing.assert_close(x, tensor([[0.75, 0.25]]))


def test_a_single_point_and_an_empty_batch() -> None:
    point = foresolve.LinearProgram(bounds=[(1.0, 1.0), (2.0, 2.0)], A_ub=[[1.0, 1.0]], b_ub=[3.0])
    torch.testing.assert_close(QuadraticRelaxation(1.0)(tensor([[5.0, 5.0]]), point), tensor([[1.0, 2.0]]))
    theta = torch.zeros(0, 16, requires_grad=True)
    x = QuadraticRelaxation(1.0)(theta, foresolve.BipartiteMatching(4, 4))
    assert x.shape == (0, 16)
    x.sum().backward()


@given(st.integers(0, 1000), st.sampled_from([1e-4, 1.0, 100.0]))
def test_equalities_that_leave_a_single_point(seed: int, gamma: float) -> None:
    instance = draw(seed, n=5, m_eq=6, m_ub=3, fixed=True)
    point = np.linalg.lstsq(instance.A_eq, instance.b_eq, rcond=None)[0]
    x = QuadraticRelaxation(gamma)(tensor(instance.theta), instance.problem())
    np.testing.assert_allclose(x.numpy(), np.broadcast_to(point, x.shape), atol=1e-6)


def test_more_rows_than_variables() -> None:
    """The variable space is the smaller one; the answer is the same as with the rows that matter."""
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((300, 5))
    sides = np.linalg.norm(rows, axis=1)
    problem = foresolve.LinearProgram(rows, sides, bounds=(None, None))
    theta = tensor(3 * rng.standard_normal((4, 5))).requires_grad_()
    layer = QuadraticRelaxation(0.5)
    x = layer(theta, problem)
    tight = (x.detach().numpy() @ rows.T > sides - 1e-7).any(0)
    few = foresolve.LinearProgram(rows[tight], sides[tight], bounds=(None, None))
    torch.testing.assert_close(x, layer(theta, few), atol=1e-9, rtol=0)
    v = torch.ones_like(theta)
    left, right = (torch.autograd.grad((layer(theta, p) * v).sum(), theta)[0] for p in (problem, few))
    torch.testing.assert_close(left, right, atol=1e-7, rtol=0)


def test_one_set_of_constraints_per_instance() -> None:
    parts = [draw(seed, batch=1) for seed in range(3)]
    stacked = {name: np.stack([getattr(part, name) for part in parts]) for name in ("A_ub", "b_ub", "A_eq", "b_eq")}
    bounds = tuple(np.stack([getattr(part, name) for part in parts]) for name in ("lower", "upper"))
    problem = foresolve.LinearProgram(**stacked, bounds=bounds)
    theta = tensor(np.concatenate([part.theta for part in parts]))
    layer = QuadraticRelaxation(0.5)
    alone = torch.cat([layer(tensor(part.theta), part.problem()) for part in parts])
    torch.testing.assert_close(layer(theta, problem), alone, atol=1e-9, rtol=0)
    crossed = layer(theta[:, None].expand(3, 3, 8).transpose(0, 1), problem)  # instance j of each row has problem j
    assert crossed.shape == (3, 3, 8)
    torch.testing.assert_close(torch.stack([crossed[i, i] for i in range(3)]), alone, atol=1e-9, rtol=0)


def test_one_hard_instance_neither_stops_nor_poisons_a_batch() -> None:
    problem = foresolve.BipartiteMatching(6, 6)
    easy = torch.rand(5, 36, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    mixed = torch.cat([easy, 1e9 * easy[:1]])
    layer = QuadraticRelaxation(0.1)
    solution = layer.solve(mixed, problem)
    assert bool(solution.converged.all())
    assert torch.equal(solution.x[:5], layer(easy, problem))


def test_degenerate_assignments_converge() -> None:
    """Slow interior convergence, several tries at the active set: what an aliased iterate once spoilt."""
    problem = foresolve.problems.Assignment(7, 9)
    for seed in range(5):
        theta = torch.randn(20, 63, generator=torch.Generator().manual_seed(seed), dtype=torch.float64)
        solution = QuadraticRelaxation(0.01).solve(theta, problem)
        assert bool(solution.converged.all())
        assert problem.check(solution.x, tol=1e-9)


@pytest.fixture
def two_threads() -> Iterator[None]:
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    yield
    torch.set_num_threads(before)


@pytest.mark.usefixtures("two_threads")
@pytest.mark.parametrize("loop", [128, 4])  # a loop over LAPACK, and one batched call of torch
def test_batches_of_large_systems(loop: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Batched LU of this size is wrong in some builds of torch with two threads; nothing here may rest on it."""
    monkeypatch.setattr(cholesky, "LOOP", loop)
    rng = np.random.default_rng(0)
    rows = rng.standard_normal((165, 170))
    problem = foresolve.LinearProgram(rows, rows @ rng.random(170) + 0.1, bounds=(0, 1))
    theta = tensor(rng.standard_normal((12, 170)))
    layer = QuadraticRelaxation(2.0)
    together = layer.solve(theta, problem)
    assert bool(together.converged.all())
    torch.testing.assert_close(together.x[:3], torch.stack([layer(t, problem) for t in theta[:3]]), atol=1e-9, rtol=0)


# -- solutions, warm starts, schedules ---------------------------------------------------------------------------------


def test_warm_starts_are_explicit_and_change_only_the_work() -> None:
    problem = foresolve.BipartiteMatching(8, 8)
    theta = torch.rand(4, 64, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    layer = QuadraticRelaxation(0.1)
    cold = layer.solve(theta, problem)
    again = layer.solve(theta, problem, start=cold)
    near = layer.solve(theta + 1e-4, problem, start=cold)
    assert int(again.iterations.max()) == 0
    before = cold.multipliers.clone()
    layer.solve(-theta, problem, start=cold)
    assert torch.equal(cold.multipliers, before)  # a start is read, never written
    assert int(near.iterations.sum()) < int(cold.iterations.sum())
    torch.testing.assert_close(near.x, layer(theta + 1e-4, problem), atol=1e-9, rtol=0)
    with mistake("start", "(4, 16)", "(2, 16)"):
        layer.solve(theta[:2], problem, start=cold)
    with mistake("start", "Tensor"):
        layer.solve(theta, problem, start=cold.x)  # type: ignore[arg-type]


def test_warm_started_solutions_carry_gradients() -> None:
    problem = foresolve.TopK(6, 2)
    theta = torch.rand(2, 6, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    layer = QuadraticRelaxation(1.0)
    first = layer.solve(theta, problem)
    second = layer.solve(theta, problem, start=first)
    left, right = (torch.autograd.grad((s.x * theta.detach()).sum(), theta)[0] for s in (first, second))
    torch.testing.assert_close(left, right)
    assert float(left.abs().max()) > 0


def test_free_counts_the_coordinates_that_can_move() -> None:
    problem = foresolve.TopK(4, 2)
    layer = QuadraticRelaxation(1.0)
    solution = layer.solve(tensor([[9.0, 1.0, 0.9, -9.0], [9.0, 8.0, -8.0, -9.0]]), problem)
    assert solution.free.tolist() == [2, 0]


def test_one_warning_when_no_gradient_can_flow() -> None:
    problem = foresolve.TopK(4, 2)
    theta = tensor([[9.0, 8.0, -8.0, -9.0]]).requires_grad_()
    layer = QuadraticRelaxation(0.1)
    with caution("layer.solve(...).passing", kind=foresolve.NoGradientWarning):
        layer(theta, problem)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer(theta, problem).sum().backward()
    assert float(theta.grad.abs().max()) == 0  # type: ignore[union-attr]


def test_schedules() -> None:
    ratio, difference = foresolve.schedules.geometric(1.0, 0.01), foresolve.schedules.linear(1.0, 0.0 + 0.5)
    assert [ratio(t) for t in (0.0, 0.5, 1.0, 2.0)] == pytest.approx([1.0, 0.1, 0.01, 0.01])
    assert [difference(t) for t in (-1.0, 0.0, 0.5, 1.0)] == pytest.approx([1.0, 1.0, 0.75, 0.5])
    layer = QuadraticRelaxation(1.0)
    layer.gamma = ratio(0.5)
    assert layer.gamma == pytest.approx(0.1)
    assert "gamma=0.1" in repr(layer)


# -- bad input ---------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("gamma", [-1.0, float("nan"), float("inf")])
def test_gamma_must_not_be_negative(gamma: float) -> None:
    for value in (gamma, torch.tensor(gamma)):
        with mistake("gamma", "problem.solve"):
            QuadraticRelaxation(value)


def test_a_linear_objective_needs_a_positive_gamma() -> None:
    for gamma in (0.0, 0, torch.tensor(0.0)):
        with mistake("gamma", "got 0", "problem.solve"):
            QuadraticRelaxation(gamma)(torch.ones(4), foresolve.TopK(4, 2))


def test_bad_arguments_are_named() -> None:
    problem = foresolve.TopK(4, 2)
    layer = QuadraticRelaxation(1.0)
    with mistake("theta", "(*batch, 4)", "(2, 3)"):
        layer(torch.zeros(2, 3), problem)
    with mistake("theta", "nan", "[1, 2]"):
        layer(torch.tensor([[0.0, 0, 0, 0], [0, 0, torch.nan, 0]]), problem)
    with mistake("theta", "'meta'"):
        layer(torch.zeros(2, 4, device="meta"), problem)
    with mistake("problem", "LinearProgram"):
        layer(torch.zeros(2, 4), None)  # type: ignore[arg-type]
    with mistake("gamma", "(2,)"):
        QuadraticRelaxation(torch.ones(3))(torch.zeros(2, 4), problem)
    with mistake("tol", "got 0.0"):
        QuadraticRelaxation(1.0, tol=0.0)
    with mistake("max_iter", "got 0"):
        QuadraticRelaxation(1.0, max_iter=0)


def infeasible_in_the_middle(kind: str) -> foresolve.LinearProgram:
    sides = tensor([[1.0], [1.0], [-1.0], [1.0]])
    if kind == "bounds":
        return foresolve.LinearProgram([[1.0, 1.0]], sides, bounds=(0, 1))
    if kind == "unbounded variables":
        rows = [[1.0, -1.0], [-1.0, 1.0]]
        return foresolve.LinearProgram(
            rows, torch.cat([sides, tensor([[0.0], [0], [0.5], [0]])], -1), bounds=(None, None)
        )
    return foresolve.LinearProgram([[0.0, 0.0]], sides)  # a zero row


@pytest.mark.parametrize("kind", ["bounds", "unbounded variables", "zero row"])
def test_an_infeasible_instance_is_named(kind: str) -> None:
    with mistake("", "instance 2", kind=foresolve.InfeasibleError, instances=[2]):
        QuadraticRelaxation(1.0)(torch.zeros(4, 2), infeasible_in_the_middle(kind))


@given(st.integers(0, 1000))
def test_contradicting_equalities_are_infeasible(seed: int) -> None:
    instance = draw(seed, m_eq=2)
    problem = instance.problem(
        A_eq=np.concatenate([instance.A_eq, instance.A_eq]), b_eq=np.concatenate([instance.b_eq, instance.b_eq + 1.0])
    )
    with mistake(kind=foresolve.InfeasibleError, instances=[0, 1, 2]):
        QuadraticRelaxation(1.0)(tensor(instance.theta), problem)


def test_running_out_of_iterations_warns_and_stays_finite() -> None:
    problem = foresolve.BipartiteMatching(6, 6)
    theta = torch.rand(3, 36, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    with caution("max_iter=1", "A_ub row", kind=foresolve.ConvergenceWarning):
        solution = QuadraticRelaxation(0.01, max_iter=1).solve(theta, problem)
    assert set(solution.status.tolist()) <= {0, 1}
    assert not bool(solution.converged.all())
    solution.x.sum().backward()
    assert bool(torch.isfinite(solution.x).all())
    assert bool(torch.isfinite(theta.grad).all())  # type: ignore[arg-type]


@pytest.mark.parametrize(("rows", "gamma"), list(itertools.product([1e-6, 1.0, 1e6], [1e-6, 1.0, 1e4])))
def test_badly_scaled_programs(rows: float, gamma: float) -> None:
    instance = draw(3, gamma=gamma)
    problem = instance.problem(A_ub=rows * instance.A_ub, b_ub=rows * instance.b_ub)
    layer = QuadraticRelaxation(gamma)
    torch.testing.assert_close(
        layer(tensor(instance.theta), problem), layer(tensor(instance.theta), instance.problem())
    )
