"""The smoothed multilinear layer: its conditions, its gradients, its diagnostics."""

from __future__ import annotations

import functools
import gc
import itertools
import warnings
from dataclasses import replace

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import foresolve
from foresolve.sets.ascent import maximize
from foresolve.sets.functions.coverage import CoverageLocal
from foresolve.sets.smoothed import SmoothedProgram
from instances import finite_differences
from layers.conformance import LayerConformance
from mistakes import caution, mistake
from submodular_instances import FUNCTIONS, MATROIDS, draw_theta, function, matroid, smooth_theta

N, TARGETS = 9, 7
PAIRS = tuple(itertools.product(FUNCTIONS, MATROIDS))
DIAGONAL = tuple(zip(FUNCTIONS, MATROIDS, strict=True))  # each function and each matroid once


def problem_of(function_kind: str, matroid_kind: str) -> foresolve.SubmodularProblem:
    return foresolve.SubmodularProblem(function(function_kind, TARGETS), matroid(matroid_kind, N))


def layer_of(gamma: float = 0.6, **settings: object) -> foresolve.MultilinearRelaxation:
    return foresolve.MultilinearRelaxation(gamma, tol=1e-12, **settings)  # type: ignore[arg-type]


@functools.cache
def smooth_cases(settings: str, pairs: tuple[tuple[str, str], ...]) -> list[tuple[foresolve.SubmodularProblem, Tensor]]:
    """Closed forms under matroids, for a layer told by its `extra_repr`."""
    options = dict(part.split("=") for part in settings.split(", "))
    layer = layer_of(float(options["gamma"]), base=options["base"] == "True")
    problems = [problem_of(*kinds) for kinds in pairs]
    return [(problem, smooth_theta(layer, problem, 2, TARGETS)) for problem in problems]


class TestConformance(LayerConformance):
    pairs = PAIRS
    directions = 2  # in each case

    def layer(self) -> foresolve.MultilinearRelaxation:
        return layer_of()

    def cases(self) -> list[tuple[foresolve.SubmodularProblem, Tensor]]:
        return smooth_cases(self.layer().extra_repr(), self.pairs)


class TestSlackBudget(TestConformance):
    """A large gamma leaves the budget unspent: no budget row may enter the system."""

    pairs = DIAGONAL

    def layer(self) -> foresolve.MultilinearRelaxation:
        return layer_of(2.5, base=False)

    def test_the_budget_is_slack_in_some_cases_and_tight_in_others(self) -> None:
        slack = [
            bool((self.layer()(theta, problem).sum(-1) < problem.matroid.rank - 1e-6).all())
            for problem, theta in self.cases()
        ]
        assert any(slack)
        tight = layer_of(0.3, base=False)(draw_theta((2,), N, TARGETS, 0), problem_of("coverage", "uniform"))
        torch.testing.assert_close(tight.sum(-1), torch.full((2,), 3.0, dtype=torch.float64))


class TestTightIndependence(TestConformance):
    pairs = DIAGONAL

    def layer(self) -> foresolve.MultilinearRelaxation:
        return layer_of(0.6, base=False)


class TestRelativeGamma(TestConformance):
    """Gamma follows theta, and its own derivative is part of the gradient."""

    def layer(self) -> foresolve.MultilinearRelaxation:
        return foresolve.MultilinearRelaxation(foresolve.layers.RelativeGamma(2.0), tol=1e-12)

    def cases(self) -> list[tuple[foresolve.SubmodularProblem, Tensor]]:
        return self._left()

    @classmethod
    @functools.cache
    def _left(cls) -> list[tuple[foresolve.SubmodularProblem, Tensor]]:
        return [case for case in TestConformance().cases() if cls()._smooth(*case)]

    def _smooth(self, problem: foresolve.SubmodularProblem, theta: Tensor) -> bool:
        solution = self.layer().solve(theta, problem)
        inside = torch.maximum(torch.minimum(solution.x, 1 - solution.x), solution.lower + solution.upper)
        return bool((inside > 1e-3).all()) and bool((solution.free > 0).all())

    def test_some_cases_are_left(self) -> None:
        assert len(self.cases()) >= 4


def stationarity(
    problem: foresolve.SubmodularProblem, theta: Tensor, solution: foresolve.layers.MultilinearSolution, gamma: float
) -> Tensor:
    """`grad F - 2 gamma x - price + lower - upper`, which must vanish."""
    gradient = problem.function.gradient(solution.x.detach(), theta)
    return gradient - 2 * gamma * solution.x.detach() - solution.price + solution.lower - solution.upper


@pytest.mark.parametrize("base", [True, False])
@pytest.mark.parametrize("kinds", PAIRS, ids="-".join)
@settings(max_examples=8)  # of each function, matroid and base
@given(seed=st.integers(0, 1000), log_gamma=st.floats(-2.0, 1.0))
def test_optimality_conditions(kinds: tuple[str, str], base: bool, seed: int, log_gamma: float) -> None:
    problem, gamma = problem_of(*kinds), 10**log_gamma
    theta = draw_theta((3,), N, TARGETS, seed)
    solution = foresolve.MultilinearRelaxation(gamma, tol=1e-10, base=base).solve(theta, problem)
    assert bool(solution.converged.all())
    assert problem.check(solution.x, tol=1e-8, relaxed=True)
    assert float(stationarity(problem, theta, solution, gamma).abs().max()) < 1e-7 * max(1.0, gamma)
    assert bool((solution.lower >= 0).all())
    assert bool((solution.upper >= 0).all())
    assert float((solution.lower * solution.x).abs().max()) < 1e-8
    assert float((solution.upper * (1 - solution.x)).abs().max()) < 1e-8
    if base:
        torch.testing.assert_close(solution.x.sum(-1), torch.full((3,), float(problem.matroid.rank)).double())
    else:
        assert bool((solution.price >= 0).all())
        loose = (problem.matroid.rank - solution.x.sum(-1)) > 1e-6
        if kinds[1] == "uniform":
            assert float((solution.price * loose.unsqueeze(-1)).max()) < 1e-8


@given(seed=st.integers(0, 1000))
def test_the_point_is_a_local_maximum(seed: int) -> None:
    """No feasible point nearby is better, in random directions."""
    problem, gamma = problem_of("coverage", "uniform"), 0.3
    theta = draw_theta((), N, TARGETS, seed)
    x = layer_of(gamma)(theta, problem)
    generator = torch.Generator().manual_seed(seed)

    def height(point: Tensor) -> Tensor:
        return problem.objective(point, theta) - gamma * point.square().sum(-1)

    nearby = x + 1e-3 * torch.randn(200, N, generator=generator, dtype=torch.float64)
    nearby = problem.matroid.project(nearby).x
    assert float((height(nearby) - height(x)).max()) < 1e-12


def test_implicit_and_unrolled_agree() -> None:
    for problem, theta in smooth_cases(layer_of().extra_repr(), PAIRS):
        gradients = []
        v = torch.randn(2, N, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        for differentiate in ("implicit", "unrolled"):
            leaf = theta.clone().requires_grad_()
            layer = layer_of(differentiate=differentiate, max_iter=1000)
            (layer(leaf, problem) * v).sum().backward()
            gradients.append(leaf.grad)
        scale = gradients[0].abs().max()
        assert float((gradients[0] - gradients[1]).abs().max() / scale) < 1e-6


@pytest.mark.parametrize(
    ("differentiate", "kinds"),
    [
        *(pytest.param("implicit", kinds, id=f"implicit-{'-'.join(kinds)}") for kinds in PAIRS),
        *(pytest.param("unrolled", kinds, id=f"unrolled-{'-'.join(kinds)}") for kinds in DIAGONAL),
    ],
)
def test_items_that_add_nothing_have_the_derivative_into_the_domain(differentiate: str, kinds: tuple[str, str]) -> None:
    """At the edge of theta's domain, all-zero rows and a budget that is slack, tight or both: one-sided differences."""
    problem, exact = problem_of(*kinds), layer_of(1.5, base=False)
    generator, step = torch.Generator().manual_seed(1), 1e-7
    layer = (
        exact
        if differentiate == "implicit"
        else foresolve.MultilinearRelaxation(1.5, base=False, differentiate="unrolled", max_iter=300)
    )
    theta = draw_theta((8,), N, TARGETS, 0)
    theta[torch.rand(8, N, generator=generator) < 0.5] = 0.0
    leaf = theta.clone().requires_grad_()
    x = layer(leaf, problem)
    v = torch.randn(x.shape, generator=generator, dtype=torch.float64)
    (x * v).sum().backward()
    inward = torch.rand(theta.shape, generator=generator, dtype=torch.float64)
    rise = ((exact(theta + step * inward, problem) - exact(theta, problem)) * v).sum(-1) / step
    assert leaf.grad is not None
    torch.testing.assert_close((leaf.grad * inward).sum((-1, -2)), rise, rtol=1e-5, atol=1e-5)
    idle = (theta == 0).all(-1)
    assert bool((leaf.grad.abs().sum(-1) > 0)[idle].any())


def test_an_item_that_adds_nothing_is_worth_raising() -> None:
    """All predicted zero: x = 0, and yet the gradient says which item to raise; `x = theta / 2 gamma` near by."""
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 2))
    theta = torch.zeros(3, 1, dtype=torch.float64, requires_grad=True)
    solution = layer_of(0.5, base=False).solve(theta, problem)
    (solution.x * torch.tensor([1.0, 2.0, 3.0])).sum().backward()
    assert theta.grad is not None
    assert theta.grad.flatten().tolist() == [1.0, 2.0, 3.0]
    assert int(solution.free) == 3


@pytest.mark.filterwarnings("ignore::foresolve.NoGradientWarning")
@pytest.mark.parametrize("matroid", [
    foresolve.UniformMatroid(3, 1), foresolve.UniformMatroid(3, 0), foresolve.sets.LaminarMatroid(3, [[1, 2]], [0]),
], ids=repr)  # fmt: skip
def test_an_item_without_room_stays_out(matroid: foresolve.sets.PolyhedralMatroid) -> None:
    """The first item fills the budget, at a price that may be zero; the others cannot enter whatever they are worth."""
    problem = foresolve.SubmodularProblem(foresolve.sets.FacilityLocation(), matroid)
    theta = torch.tensor([[1.0], [0.0], [0.0]], dtype=torch.float64, requires_grad=True)
    x = layer_of(0.25, base=False)(theta, problem)
    (x * torch.tensor([0.0, 1.0, 1.0])).sum().backward()
    assert theta.grad is not None
    assert not bool(theta.grad.any())


def test_unrolled_steps_go_on_until_the_derivative_has_converged() -> None:
    """Also from a start that is the solution: the center for items that are alike, and a warm start."""
    problem = foresolve.SubmodularProblem(foresolve.sets.FacilityLocation(), foresolve.UniformMatroid(4, 2))
    alike = torch.eye(4, dtype=torch.float64) + 0.1
    other = torch.rand(4, 4, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    for theta, warm in ((alike, False), (other, True)):
        gradients = []
        for differentiate in ("implicit", "unrolled"):
            leaf, layer = theta.clone().requires_grad_(), layer_of(1.0, differentiate=differentiate, max_iter=1000)
            x = layer.solve(leaf, problem, start=layer_of(1.0).solve(theta, problem) if warm else None).x
            x.square().mul(torch.arange(4.0)).sum().backward()
            gradients.append(leaf.grad)
        torch.testing.assert_close(*gradients, rtol=1e-6, atol=1e-8)
    nothing = foresolve.SubmodularProblem(foresolve.sets.FacilityLocation(), foresolve.UniformMatroid(4, 0))
    leaf = other.clone().requires_grad_()
    with pytest.warns(foresolve.NoGradientWarning):
        layer_of(1.0, differentiate="unrolled")(leaf, nothing).sum().backward()
    assert leaf.grad is not None
    assert not bool(leaf.grad.any())


def test_gamma_receives_a_gradient() -> None:
    problem = problem_of("coverage", "uniform")
    theta = smooth_theta(layer_of(), problem, 2, TARGETS)
    gamma = torch.tensor([0.6, 0.6], dtype=torch.float64, requires_grad=True)
    v = torch.randn(2, N, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    layer = foresolve.MultilinearRelaxation(gamma, tol=1e-12)
    (layer(theta, problem) * v).sum().backward()

    def at(value: Tensor) -> Tensor:
        return foresolve.MultilinearRelaxation(value.squeeze(-1), tol=1e-12)(theta, problem)

    expected = finite_differences(at, gamma.detach().unsqueeze(-1), v).squeeze(-1)
    torch.testing.assert_close(gamma.grad, expected, rtol=1e-6, atol=1e-8)


def test_the_textbook_layer_has_no_gradient() -> None:
    """Without smoothing a local maximum has at most one fractional coordinate (docs/submodular.md)."""
    problem = problem_of("coverage", "uniform")
    theta = draw_theta((20,), N, TARGETS, 1).requires_grad_()
    with pytest.warns(foresolve.NoGradientWarning):
        x = foresolve.MultilinearRelaxation(1e-4, tol=1e-10)(theta, problem)
    fractional = ((x > 1e-9) & (x < 1 - 1e-9)).sum(-1)
    assert int(fractional.max()) <= 1
    x.square().sum().backward()
    assert theta.grad is not None
    assert float(theta.grad.abs().max()) == 0


def test_the_warning_comes_once_per_layer() -> None:
    problem, layer = problem_of("coverage", "uniform"), foresolve.MultilinearRelaxation(1e-4)
    theta = draw_theta((2,), N, TARGETS, 1).requires_grad_()
    with pytest.warns(foresolve.NoGradientWarning):
        layer(theta, problem)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        layer(theta, problem)


def test_free_counts_the_coordinates_that_move() -> None:
    problem = problem_of("coverage", "uniform")
    theta = smooth_theta(layer_of(), problem, 2, TARGETS).requires_grad_()
    solution = layer_of().solve(theta, problem)
    for b in range(2):
        moved = 0
        for i in range(N):
            (row,) = torch.autograd.grad(solution.x[b, i], theta, retain_graph=True)
            moved += int(row.abs().max() > 1e-9)
        assert int(solution.free[b]) == moved


@pytest.mark.parametrize("base", [True, False])
@pytest.mark.parametrize("scale", [2.0**-40, 1e-6, 1e5, 2.0**40])
def test_the_default_gamma_is_free_of_scale(scale: float, base: bool) -> None:
    """With values or weights in other units, decisions and their relative derivatives are the same."""
    theta, matroid = draw_theta((8,), N, TARGETS, 3), foresolve.UniformMatroid(N, 3)
    theta[:, :2] = 0.0
    weights = torch.linspace(0.5, 2.0, TARGETS, dtype=torch.float64)
    layer = foresolve.MultilinearRelaxation(foresolve.layers.RelativeGamma(2.0), tol=1e-12, base=base)

    def run(function: foresolve.sets.SetFunction, theta: Tensor) -> tuple[Tensor, Tensor]:
        leaf = theta.clone().requires_grad_()
        x = layer(leaf, foresolve.SubmodularProblem(function, matroid))
        (x * torch.linspace(-1, 1, N)).sum().backward()
        assert leaf.grad is not None
        return x.detach(), leaf.grad

    facility = foresolve.sets.FacilityLocation()
    x, slope = run(facility, theta)
    scaled = run(facility, scale * theta)
    torch.testing.assert_close(scaled[0], x, atol=1e-9, rtol=0)
    torch.testing.assert_close(scale * scaled[1], slope, atol=1e-7, rtol=1e-7)
    x, slope = run(foresolve.ProbabilisticCoverage(weights), theta)
    scaled = run(foresolve.ProbabilisticCoverage(scale * weights), theta)
    torch.testing.assert_close(scaled[0], x, atol=1e-9, rtol=0)
    torch.testing.assert_close(scaled[1], slope, atol=1e-7, rtol=1e-7)


@pytest.mark.parametrize("size", [1e-14, 1e-9, 1e-4])
def test_small_probabilities_are_nearly_modular(size: float) -> None:
    """`F` is the sum of `x_i theta_i` then: `x = Proj(theta / 2 gamma)`, with its derivative, in any units."""
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(4, 2))
    worth = torch.tensor([[1.0], [0.8], [0.5], [0.1]], dtype=torch.float64)
    theta = (size * worth).requires_grad_()
    solution = foresolve.MultilinearRelaxation(size, tol=1e-10).solve(theta, problem)
    assert bool(solution.converged)
    expected = problem.polytope.project(worth[:, 0] / 2)
    torch.testing.assert_close(solution.x.detach(), expected.x, atol=2 * size, rtol=1e-12)
    torch.testing.assert_close(solution.value / size, solution.x.detach() @ worth[:, 0], atol=10 * size, rtol=1e-12)
    v = torch.tensor([1.0, -1.0, 2.0, 0.5], dtype=torch.float64)
    (solution.x @ v).backward()
    assert theta.grad is not None
    torch.testing.assert_close(2 * size * theta.grad[:, 0], expected.tangent(v), atol=20 * size, rtol=1e-9)


def test_annealing_sharpens() -> None:
    """As gamma falls, decisions go from the center to a vertex."""
    problem = problem_of("coverage", "uniform")
    theta, schedule = draw_theta((10,), N, TARGETS, 2), foresolve.schedules.geometric(100.0, 1e-2)
    layer = foresolve.MultilinearRelaxation()
    spread = []
    for progress in (0.0, 0.5, 1.0):
        layer.gamma = schedule(progress)
        spread.append(float((layer(theta, problem) * (1 - layer(theta, problem))).sum(-1).mean()))
    assert spread[0] > spread[1] > spread[2]
    assert spread[2] < 1e-6


def test_items_that_are_alike_do_not_hold_it_at_a_saddle() -> None:
    """Two equal items start and stay equal along the gradient; with a small gamma that is a saddle."""
    theta = torch.tensor([[0.9, 0.9, 0.0], [0.9, 0.9, 0.0], [0.1, 0.0, 0.5]], dtype=torch.float64)
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
    layer = foresolve.MultilinearRelaxation(0.05, tol=1e-10)
    solution = layer.solve(theta, problem)
    assert bool(solution.converged)
    assert sorted(solution.x.tolist()) == pytest.approx([0.0, 0.0, 1.0], abs=1e-6)
    start = torch.tensor([0.5, 0.5, 0.0], dtype=torch.float64)
    again = layer.solve(theta, problem, start=replace(solution, x=start))
    assert float(again.value - 0.05 * again.x.square().sum()) > 1.8 - 0.05 - 1e-9


@given(seed=st.integers(0, 300))
def test_ascent_without_smoothing_reaches_half_of_the_best(seed: int) -> None:
    """The bound of Hassani, Soltanolkotabi and Karbasi (2017), which the paper builds on, for gamma to zero."""
    problem = problem_of("coverage", "uniform")
    theta = draw_theta((3,), N, TARGETS, seed)
    gamma = torch.full((3,), 1e-9, dtype=torch.float64)
    start = problem.matroid.project(torch.zeros(3, N, dtype=torch.float64)).x
    optimum = maximize(SmoothedProgram(problem.function, problem.matroid, theta, gamma), start, tol=1e-9, max_iter=500)
    best = problem.objective(problem.solve(theta, method="exact"), theta)
    assert bool((problem.objective(optimum.x, theta) >= 0.5 * best - 1e-9).all())


def test_warm_starts_save_steps_and_give_the_same() -> None:
    problem, layer = problem_of("coverage", "laminar"), layer_of()
    theta = smooth_theta(layer, problem, 4, TARGETS)
    cold = layer.solve(theta, problem)
    warm = layer.solve(theta, problem, start=cold)
    torch.testing.assert_close(warm.x, cold.x, atol=1e-11, rtol=0)
    assert int(warm.iterations.max()) <= 1 < int(cold.iterations.max())
    with mistake("start", "MultilinearSolution", "(4,)"):
        layer.solve(theta, problem, start=replace(cold, x=cold.x[0]))
    with mistake("start", "MultilinearSolution", "Tensor"):
        layer.solve(theta, problem, start=cold.x)  # type: ignore[arg-type]


@given(seed=st.integers(0, 300))
def test_permuting_items_permutes_decisions(seed: int) -> None:
    problem = foresolve.SubmodularProblem(function("coverage", TARGETS), foresolve.UniformMatroid(N, 3))
    theta = draw_theta((2,), N, TARGETS, seed)
    order = torch.randperm(N, generator=torch.Generator().manual_seed(seed))
    layer = layer_of(1.0)
    torch.testing.assert_close(layer(theta[:, order], problem), layer(theta, problem)[:, order], atol=1e-9, rtol=0)


def test_exact_at_zeros_and_ones() -> None:
    """0/1 parameters (topic coverage): items at x = 1 make products that vanish."""
    generator = torch.Generator().manual_seed(0)
    theta = (torch.rand(4, N, TARGETS, generator=generator) < 0.3).double().requires_grad_()
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(N, 3))
    layer = foresolve.MultilinearRelaxation(0.5, tol=1e-10)
    solution = layer.solve(theta, problem)
    assert bool(solution.converged.all())
    solution.x.square().sum().backward()
    assert theta.grad is not None
    assert bool(torch.isfinite(theta.grad).all())


def test_too_few_steps_warn_with_the_residual() -> None:
    problem = problem_of("coverage", "uniform")
    layer = foresolve.MultilinearRelaxation(0.3, tol=1e-12, max_iter=1)
    theta = draw_theta((3,), N, TARGETS, 0)
    with caution("instances 0, 1, 2", "tol=1e-12", kind=foresolve.ConvergenceWarning):
        solution = layer.solve(theta, problem)
    assert not bool(solution.converged.any())
    assert bool(torch.isfinite(solution.x).all())


def test_large_batches_in_pieces_equal_a_loop() -> None:
    """More instances than fit the cache, so that several pieces are solved one after the other."""
    problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(60, 6))
    theta = (0.2 * draw_theta((30,), 60, 400, 0)).requires_grad_()
    layer = foresolve.MultilinearRelaxation(1.0, tol=1e-10)
    x = layer(theta, problem)
    (together,) = torch.autograd.grad(x.square().sum(), theta)
    for b in (0, 13, 29):
        alone = layer(theta[b], problem)
        torch.testing.assert_close(x[b], alone, atol=1e-9, rtol=0)
        (gradient,) = torch.autograd.grad(alone.square().sum(), theta)
        torch.testing.assert_close(together[b], gradient[b], atol=1e-7, rtol=0)


@pytest.mark.parametrize("summed", [False, True])
def test_weights_of_each_instance(summed: bool) -> None:
    """A batch with weights of its own for each instance equals the loop; so do greedy and exact sets."""
    weights = torch.rand(4, TARGETS, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theta, layer = draw_theta((4,), N, TARGETS, 0), layer_of()

    def problem(w: Tensor) -> foresolve.SubmodularProblem:
        coverage = foresolve.ProbabilisticCoverage(w)
        both = coverage + foresolve.sets.FacilityLocation() if summed else coverage
        return foresolve.SubmodularProblem(both, foresolve.UniformMatroid(N, 3))

    together = problem(weights)
    leaf = theta.clone().requires_grad_()
    x = layer(leaf, together)
    x.square().sum().backward()
    assert leaf.grad is not None
    for b in range(4):
        single = theta[b].clone().requires_grad_()
        alone = layer(single, problem(weights[b]))
        alone.square().sum().backward()
        assert single.grad is not None
        torch.testing.assert_close(x[b], alone, atol=1e-9, rtol=0)
        torch.testing.assert_close(leaf.grad[b], single.grad, atol=1e-7, rtol=0)
        for method in ("greedy", "exact"):
            assert torch.equal(together.solve(theta, method)[b], problem(weights[b]).solve(theta[b], method))
    assert layer(theta[0], together).shape == (4, N)  # one theta for all weights


def test_an_empty_batch() -> None:
    problem = problem_of("coverage", "uniform")
    for differentiate in ("implicit", "unrolled"):
        theta = torch.zeros(0, N, TARGETS, requires_grad=True)
        x = foresolve.MultilinearRelaxation(1.0, differentiate=differentiate)(theta, problem)
        assert x.shape == (0, N)
        x.sum().backward()
        assert theta.grad is not None


def test_what_a_step_holds_is_freed_with_it() -> None:
    """No circles of references: memory must not wait for the garbage collector."""
    problem, theta = problem_of("coverage", "uniform"), draw_theta((2,), N, TARGETS, 0).requires_grad_()

    def locals_alive() -> int:
        return sum(type(thing) is CoverageLocal for thing in gc.get_objects())

    layers = (
        foresolve.MultilinearRelaxation(0.5),
        foresolve.MultilinearRelaxation(0.5, differentiate="unrolled"),
        foresolve.layers.WilderMultilinear(),
    )
    gc.collect()
    gc.disable()
    try:
        before = locals_alive()
        for layer in layers:
            problem.objective(layer(theta, problem), theta).sum().backward()
            assert locals_alive() == before
    finally:
        gc.enable()


def test_bad_input() -> None:
    problem, theta = problem_of("coverage", "uniform"), draw_theta((2,), N, TARGETS, 0)
    layer = foresolve.MultilinearRelaxation(1.0)
    with mistake("problem", "SubmodularProblem", "TopK", "MultilinearRelaxation"):
        layer(theta, foresolve.TopK(N, 3))
    with mistake("theta", "(*batch, 9, 7)", "(2, 7, 9)"):
        layer(theta.mT, problem)
    with mistake("theta", "[0, 1]", "1.5", "[0, 1, 2]"):
        layer(theta.index_put((torch.tensor(0), torch.tensor(1), torch.tensor(2)), torch.tensor(1.5).double()), problem)
    theta[1, 2, 3] = torch.nan
    with mistake("theta", "nan", "[1, 2, 3]"):
        layer(theta, problem)
    for name, value in {"gamma": 0.0, "tol": 0.0, "max_iter": 0, "differentiate": "magic"}.items():
        with mistake(name, str(value)):
            foresolve.MultilinearRelaxation(**{name: value})  # type: ignore[arg-type]
    with mistake("gamma", "(2,)"):
        foresolve.MultilinearRelaxation(torch.ones(3))(draw_theta((2,), N, TARGETS, 0), problem)
