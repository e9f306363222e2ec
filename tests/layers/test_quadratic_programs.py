"""The layer on quadratic programs: against exact arithmetic, Clarabel, PIQP and finite differences."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from hypothesis import assume, given
from hypothesis import strategies as st
from torch import Tensor

import foresolve
from foresolve import QuadraticProgram, QuadraticRelaxation
from foresolve.problems import Affine, Portfolio, Tracking
from foresolve.solvers.projection import cholesky, whitening
from foresolve.testing.margins import margins
from layers.conformance import LayerConformance
from mistakes import mistake
from quadratic_programs import FORMS, SEMIDEFINITE, Program, by_clarabel, by_piqp, draw, exact, of_form, tensor


def gamma_of(form: str) -> float:
    return 0.25 if form in SEMIDEFINITE else 0.0


class TestConformance(LayerConformance):
    def layer(self) -> QuadraticRelaxation:
        return QuadraticRelaxation(gamma=0.25)

    def cases(self) -> list[tuple[QuadraticProgram, Tensor]]:
        generator = torch.Generator().manual_seed(3)
        cases: list[tuple[QuadraticProgram, Tensor]] = []
        for seed, form in enumerate(("diagonal", "dense", "sparse", "low rank", "factor", "leaning")):
            program, given = of_form(form, seed + 1)
            noise = torch.randn(3, program.n, generator=generator, dtype=torch.float64)
            cases.append((program.problem(**given), tensor(program.theta) + noise))
        covariance = torch.eye(4) + 0.3
        weights = torch.rand(3, 4, generator=generator, dtype=torch.float64)
        cases.append((Portfolio(covariance), weights))
        cases.append((Portfolio(covariance, current=[0.25] * 4, turnover=0.3, cost=0.01), weights))
        cases.append((Tracking([[1.0, 1.0, 1.0, 1.0]], [1.0], outputs=torch.eye(4)[:3], effort=0.5), weights[:, :3]))
        return cases


class TestConformanceWithoutGamma(TestConformance):
    """The programs themselves."""

    def layer(self) -> QuadraticRelaxation:
        return QuadraticRelaxation(gamma=0.0)

    def cases(self) -> list[tuple[QuadraticProgram, Tensor]]:
        return [(problem, theta) for problem, theta in super().cases() if problem.definite]


# -- decisions ---------------------------------------------------------------------------------------------------------


@st.composite
def programs(strategy: Callable[..., Any], spreads: tuple[float, ...] = (0.0, 0.0, 4.0, 8.0)) -> Program:
    n = strategy(st.integers(1, 9))
    flags = {name: strategy(st.booleans()) for name in ("dependent", "fixed", "free", "ties")}
    gamma = strategy(st.sampled_from([0.0, 2.0**-10, 0.25, 1.0]))
    program = draw(
        strategy(st.integers(0, 10_000)), n, strategy(st.integers(0, n // 3)), strategy(st.integers(0, 6)),
        rank=None if gamma == 0 else strategy(st.integers(0, n)), spread=strategy(st.sampled_from(spreads)),
        gamma=gamma, **flags,
    )  # fmt: skip
    if gamma == 0:  # definite, but nearly not so
        lift = np.maximum(program.Q.diagonal(), 2.0**-10) * 2.0 ** -strategy(st.integers(0, 30))
        program = replace(program, Q=program.Q + np.diag(lift))
    return program


def solved(program: Program, problem: QuadraticProgram | None = None) -> foresolve.layers.Solution:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", foresolve.ConvergenceWarning)
        problem = program.problem() if problem is None else problem
        return QuadraticRelaxation(program.gamma).solve(tensor(program.theta)[None], problem)


def guess_of(solution: foresolve.layers.Solution) -> tuple[np.ndarray, np.ndarray]:
    y = torch.cat([solution.duals.eq[0], solution.duals.ub[0]])
    return solution.x[0].detach().numpy(), y.detach().numpy()


@given(programs())
def test_what_is_said_to_be_converged_is_right(program: Program) -> None:
    solution = solved(program)
    x, y = guess_of(solution)
    assert np.isfinite(x).all()
    if not bool(solution.converged.all()):
        assert program.gamma < 0.25  # a program that is well-conditioned is answered
        return
    assert program.broken(x) <= 1e-12
    expected = exact(program, (x, y), by_clarabel(program))
    if expected is not None:
        np.testing.assert_allclose(x, expected, atol=1e-7 * max(np.abs(expected).max(initial=0.0), 1e-300), rtol=0)


@given(programs(spreads=(0.0,)))
def test_agrees_with_clarabel_and_piqp(program: Program) -> None:
    solution = solved(program)
    x, _ = guess_of(solution)
    for found in (by_clarabel(program), by_piqp(program)):
        if found is None or not bool(solution.converged.all()):
            continue
        value, best = program.value(x), program.value(found[0])
        assert value >= best - 1e-7 * (1 + abs(best))
        if program.gamma >= 0.25 and not np.array_equal(found[0], x):
            np.testing.assert_allclose(x, found[0], atol=1e-4 * (1 + np.abs(x).max()), rtol=0)


def terms_of(program: Program, x: np.ndarray) -> float:
    """What an objective is made of."""
    return float(np.abs(program.theta) @ np.abs(x) + np.abs(x) @ np.abs(program.H) @ np.abs(x) / 2)


def not_beaten(program: Program, x: np.ndarray) -> int:
    """Compare with Clarabel and PIQP where these end with a decision that holds; how many did."""
    compared = 0
    for found in (by_clarabel(program), by_piqp(program)):
        if found is None or program.broken(found[0]) > 1e-8:
            continue
        compared += 1
        assert program.value(x) >= program.value(found[0]) - 1e-6 * max(
            terms_of(program, found[0]), terms_of(program, x)
        )
    return compared


@given(programs(spreads=(4.0, 8.0)))
def test_badly_scaled_programs_are_not_beaten_by_clarabel_or_piqp(program: Program) -> None:
    solution = solved(program)
    assume(bool(solution.converged.all()))
    x, _ = guess_of(solution)
    assert program.broken(x) <= 1e-9
    assume(not_beaten(program, x) > 0)


@given(programs(spreads=(0.0, 4.0)), st.integers(0, 8))
def test_exact_decisions_are_not_beaten_by_clarabel_or_piqp(program: Program, rank: int) -> None:
    """Semidefinite, badly scaled; a box around what is free, so that there is a best decision."""
    factor = np.linalg.cholesky(program.Q + np.diag(program.Q.diagonal() + 1.0))[:, : min(rank, program.n)]
    box = {"lower": np.maximum(program.lower, -4.0), "upper": np.minimum(program.upper, 4.0)}
    program = replace(program, **box, gamma=0.0, Q=factor @ factor.T)
    try:
        x = program.problem(factor=factor).solve(tensor(program.theta)).numpy()
    except foresolve.InfeasibleError:  # the box left nothing, as Clarabel must say too
        assert by_clarabel(program) is None
        return
    assert program.broken(x) <= 1e-9
    assume(not_beaten(program, x) > 0)


def kkt(program: Program, solution: foresolve.layers.Solution) -> float:
    """The largest violation of what `Duals` says."""
    x, duals = solution.x[0].detach().numpy(), {k: v[0].detach().numpy() for k, v in vars(solution.duals).items()}
    left = program.theta - program.H @ x
    right = program.A_eq.T @ duals["eq"] + program.A_ub.T @ duals["ub"] - duals["lower"] + duals["upper"]
    size = 1 + np.abs(program.theta).max() + np.abs(program.H).max() * np.abs(x).max()
    with np.errstate(invalid="ignore"):
        idle = [
            np.nan_to_num(duals["lower"] * (x - program.lower), posinf=0.0),
            np.nan_to_num(duals["upper"] * (program.upper - x), posinf=0.0),
            duals["ub"] * (program.b_ub - program.A_ub @ x),
        ]
    signs = [np.minimum(duals[name], 0.0) for name in ("ub", "lower", "upper")]
    return max(float(np.abs(part).max(initial=0.0)) for part in [left - right, *idle, *signs]) / size


@given(programs(spreads=(0.0,)))
def test_duals_satisfy_what_they_say(program: Program) -> None:
    solution = solved(program)
    if bool(solution.converged.all()):
        assert kkt(program, solution) <= 1e-8


def test_duals_stay_moderate_where_a_row_and_a_bound_leave_one_point() -> None:
    """`x <= -0.390625` and `x >= -0.390625`: duals are not unique, but nothing asks for large ones."""
    empty = np.zeros((0, 1))
    program = Program(
        np.array([[4.0]]), np.array([[0.4375]]), np.array([-0.170898437500]), empty, np.zeros(0),
        np.array([-0.390625]), np.array([0.578125]), np.array([4.265625]),
    )  # fmt: skip
    solution = solved(program)
    assert bool(solution.converged.all())
    assert kkt(program, solution) <= 1e-12
    assert float(solution.duals.ub.max()) <= 1e4


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_exact(form: str) -> None:
    for seed in range(4):
        program, given_form = of_form(form, seed)
        program = replace(program, gamma=gamma_of(form))
        solution = solved(program, program.problem(**given_form))
        assert bool(solution.converged.all())
        assert program.broken(solution.x[0].numpy()) <= 1e-13
        assert kkt(program, solution) <= 1e-10
        if program.n < 50:
            expected = exact(program, guess_of(solution))
            assert expected is not None
            np.testing.assert_allclose(solution.x[0].numpy(), expected, atol=1e-12, rtol=0)
        else:
            found = by_clarabel(program)
            assert found is not None
            np.testing.assert_allclose(solution.x[0].numpy(), found[0], atol=1e-7, rtol=0)


@pytest.mark.parametrize("form", FORMS)
def test_a_batch_equals_a_loop(form: str) -> None:
    """Shared, and with a form per instance."""
    program, given_form = of_form(form, 1)
    problem, layer = program.problem(**given_form), QuadraticRelaxation(gamma_of(form))
    noise = torch.randn(2, 3, program.n, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theta = tensor(program.theta) + noise
    together = layer(theta, problem)
    assert together.shape == theta.shape
    alone = torch.stack([torch.stack([layer(t, problem) for t in row]) for row in theta])
    torch.testing.assert_close(together, alone, atol=1e-11, rtol=0)
    scales = tensor([1.0, 2.0, 0.5])
    parts = {
        name: torch.stack([scale * tensor(part.toarray() if scipy.sparse.issparse(part) else part) for scale in scales])
        for name, part in given_form.items()
    }
    if form in {"sparse", "large sparse"}:
        parts = {"Q": parts["Q"].to_sparse()}
    own = layer(theta, program.problem(**parts))
    for i, scale in enumerate(scales.tolist()):
        single = program.problem(**{name: scale * part for name, part in given_form.items()})
        torch.testing.assert_close(own[:, i], layer(theta[:, i], single), atol=1e-10, rtol=0)


@pytest.mark.parametrize("loop", [128, 4])
@pytest.mark.parametrize("few", [0.7, 0.0])
def test_large_batches_and_small_faces(loop: int, few: float, monkeypatch: pytest.MonkeyPatch) -> None:
    """LAPACK in a loop or one call of torch; faces on their own or within all variables: the same decisions."""
    monkeypatch.setattr(cholesky, "LOOP", loop)
    monkeypatch.setattr(whitening, "FEW", few)
    program, given_form = of_form("dense", 4, n=20, m_eq=3, m_ub=5)
    noise = torch.randn(12, 20, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    theta = (4 * tensor(program.theta) + noise).requires_grad_()
    problem, layer = program.problem(**given_form), QuadraticRelaxation(0.0)
    solution = layer.solve(theta, problem)
    assert bool(solution.converged.all())
    (slope,) = torch.autograd.grad(solution.x.square().sum(), theta)
    for i in range(12):
        leaf = theta[i].detach().requires_grad_()
        x = layer(leaf, problem)
        torch.testing.assert_close(solution.x[i], x, atol=1e-11, rtol=0)
        torch.testing.assert_close(slope[i], torch.autograd.grad(x.square().sum(), leaf)[0], atol=1e-9, rtol=0)


@given(st.permutations(range(8)), st.integers(0, 100), st.sampled_from(["dense", "sparse", "low rank", "leaning"]))
def test_permuting_variables_permutes_the_decision(order: list[int], seed: int, form: str) -> None:
    program, given_form = of_form(form, seed)
    turned = {
        "Q": lambda Q: (scipy.sparse.csr_array(Q) if scipy.sparse.issparse(Q) else Q)[order][:, order],
        "diagonal": lambda d: d[order],
        "factor": lambda V: V[order],
    }
    permuted = program.problem(
        **{name: turned[name](part) for name, part in given_form.items()}, A_ub=program.A_ub[:, order],
        A_eq=program.A_eq[:, order], bounds=(program.lower[order], program.upper[order]),
    )  # fmt: skip
    layer, theta = QuadraticRelaxation(0.0), tensor(program.theta)
    torch.testing.assert_close(
        layer(theta[order], permuted), layer(theta, program.problem(**given_form))[order], atol=1e-10, rtol=0
    )


EDGES: dict[str, tuple[Callable[[], QuadraticProgram], list[float]]] = {
    "no constraints": (lambda: QuadraticProgram([[2.0, 1.0], [1.0, 3.0]], bounds=(None, None)), [2.0, 1.0]),
    "only bounds": (lambda: QuadraticProgram([[2.0, 1.0], [1.0, 3.0]], bounds=(0, 1.5)), [1.5, 3.5 / 3]),
    "only equalities": (
        lambda: QuadraticProgram([[2.0, 1.0], [1.0, 3.0]], A_eq=[[1.0, 1.0]], b_eq=[1.0], bounds=(None, None)),
        [2 / 3, 1 / 3],
    ),
    "dependent equalities": (
        lambda: QuadraticProgram(
            [[2.0, 1.0], [1.0, 3.0]], A_eq=[[1.0, 1.0], [2.0, 2.0]], b_eq=[1.0, 2.0], bounds=(None, None)
        ),
        [2 / 3, 1 / 3],
    ),
    "a zero row": (
        lambda: QuadraticProgram([[2.0, 1.0], [1.0, 3.0]], [[0.0, 0.0]], [0.0], bounds=(None, None)),
        [2.0, 1.0],
    ),
    "all fixed": (lambda: QuadraticProgram([[2.0, 1.0], [1.0, 3.0]], bounds=[(1.0, 1.0), (2.0, 2.0)]), [1.0, 2.0]),
    "one fixed": (
        lambda: QuadraticProgram([[2.0, 1.0], [1.0, 3.0]], bounds=[(1.0, 1.0), (None, None)]),
        [1.0, 4 / 3],
    ),
    "a single point": (
        lambda: QuadraticProgram([[2.0, 1.0], [1.0, 3.0]], A_eq=np.eye(2), b_eq=[1.0, 2.0]),
        [1.0, 2.0],
    ),
    "a single point, Q zero": (
        lambda: QuadraticProgram(np.zeros((2, 2)), A_eq=np.eye(2), b_eq=[1.0, 2.0]),
        [1.0, 2.0],
    ),
    "one variable": (lambda: QuadraticProgram([[2.0]]), [2.5]),
}


@pytest.mark.parametrize("kind", EDGES)
def test_edges(kind: str) -> None:
    make, expected = EDGES[kind]
    problem = make()
    theta = torch.full((problem.n,), 5.0, dtype=torch.float64)
    solution = QuadraticRelaxation(0.0).solve(theta, problem)
    assert bool(solution.converged.all())
    torch.testing.assert_close(solution.x, tensor(expected), atol=1e-12, rtol=0)
    torch.testing.assert_close(problem.solve(theta), tensor(expected), atol=1e-9, rtol=0)
    single = QuadraticRelaxation(0.0)(theta.float(), problem)
    assert single.dtype == torch.float32
    torch.testing.assert_close(single, tensor(expected).float())


@pytest.mark.parametrize("form", FORMS)
def test_empty_batches(form: str) -> None:
    program, given_form = of_form(form, 0)
    theta = torch.zeros(0, program.n, requires_grad=True)
    problem, layer = program.problem(**given_form), QuadraticRelaxation(gamma_of(form))
    x = layer(theta, problem)
    assert x.shape == theta.shape
    x.sum().backward()
    solution = layer.solve(theta, problem)
    assert solution.duals.ub.shape == (0, len(program.b_ub))


def test_an_indefinite_corner_is_never_converged() -> None:
    """An eigenvalue of -1e-3 beside an entry of 1e8: refused, or at least no decision that is not the best."""
    Q = np.zeros((3, 3))
    Q[0, 0], Q[1:, 1:] = 1e8, 1e-3 * np.array([[1.0, 2.0], [2.0, 1.0]])
    theta = tensor([1e5, 2e-3, 1e-3])
    with mistake("Q"):
        QuadraticRelaxation(1e-4)(theta, QuadraticProgram(Q, bounds=(-1, 1)))


@pytest.mark.parametrize("form", FORMS)
def test_warm_starts_change_only_the_work(form: str) -> None:
    program, given_form = of_form(form, 2)
    problem, layer = program.problem(**given_form), QuadraticRelaxation(gamma_of(form))
    theta = tensor(program.theta)[None]
    cold = layer.solve(theta, problem)
    again = layer.solve(theta, problem, start=cold)
    assert int(again.iterations.max()) <= 1
    near = layer.solve(theta + 1e-3, problem, start=cold)
    torch.testing.assert_close(near.x, layer(theta + 1e-3, problem), atol=1e-10, rtol=0)
    far = layer.solve(-3 * theta, problem, start=cold)
    torch.testing.assert_close(far.x, layer(-3 * theta, problem), atol=1e-10, rtol=0)


@pytest.mark.parametrize("curvature", [1e-2, 1e-5, 1e-8])
@pytest.mark.parametrize("step", [1e-9, 1e-7, 1e-5])
def test_warm_starts_end_where_cold_ones_do(curvature: float, step: float) -> None:
    """Along a direction of little curvature what looks settled in every coordinate may be far from the end."""
    Q = np.ones((2, 2)) + curvature * np.diag([1.0, 2.0])
    problem, layer = QuadraticProgram(Q, [[1.0, -1.0]], [10.0], bounds=(-5, 5)), QuadraticRelaxation(0.0)
    theta = tensor([[1.0, 1.0 + curvature]])
    start = layer.solve(theta, problem)
    theta = theta + step * curvature * tensor([[1.0, -1.0]])
    cold, warm = layer.solve(theta, problem), layer.solve(theta, problem, start=start)
    assert bool(cold.converged.all())
    assert bool(warm.converged.all())
    torch.testing.assert_close(warm.x, cold.x, atol=1e-7, rtol=0)


def test_a_linear_program_is_a_quadratic_one_without_curvature() -> None:
    program = draw(5, gamma=0.5)
    x = foresolve.LinearProgram(
        program.A_ub, program.b_ub, program.A_eq, program.b_eq, bounds=(program.lower, program.upper)
    )
    theta, layer = tensor(program.theta), QuadraticRelaxation(0.5)
    for form in ({"diagonal": np.zeros(8)}, {"Q": np.zeros((8, 8))}, {"factor": np.zeros((8, 1))}):
        torch.testing.assert_close(layer(theta, program.problem(**form)), layer(theta, x), atol=1e-12, rtol=0)
    shifted = QuadraticRelaxation(0.0)(theta, program.problem(diagonal=np.ones(8)))
    torch.testing.assert_close(shifted, layer(theta, x), atol=1e-12, rtol=0)


# -- gradients ---------------------------------------------------------------------------------------------------------

PARTS = ("theta", "A_ub", "b_ub", "A_eq", "b_eq", "lower", "upper")
NOT_ARGUMENTS = ("theta", "lower", "upper")


def leaves_of(form: str, seed: int, *, shared: bool) -> tuple[Program, dict[str, Tensor]]:
    """Everything that can be differentiated, as leaves; a batch of two thetas."""
    program, given_form = of_form(form, seed, n=5, m_eq=2 if form == "leaning" else 1, m_ub=3)
    rng = np.random.default_rng(seed)
    arrays = {name: getattr(program, name) for name in PARTS} | {
        name: part.toarray() if scipy.sparse.issparse(part) else part for name, part in given_form.items()
    }
    leaves = {}
    for name, array in arrays.items():
        batched = np.stack([array] * 2) if name == "theta" or not shared else array
        noise = rng.standard_normal(batched.shape)
        if name == "Q":
            noise = (noise + noise.swapaxes(-1, -2)) * (batched != 0)
            if form == "leaning":
                noise *= 0
        scale = 1.0 if name == "theta" else 0.01
        leaves[name] = tensor(batched + scale * noise).requires_grad_()
    return program, leaves


def layer_on(
    leaves: dict[str, Tensor], gamma: Tensor | float, places: Tensor | None = None
) -> foresolve.layers.Solution:
    """`places` are those of a sparse Q."""
    given_parts: dict[str, Any] = {name: leaf for name, leaf in leaves.items() if name not in NOT_ARGUMENTS}
    if "Q" in given_parts:
        Q = given_parts["Q"]
        Q = (Q + Q.mT) / 2  # finite differences move one entry at a time
        given_parts["Q"] = Q if places is None else (Q * places).to_sparse()
    problem = QuadraticProgram(**given_parts, bounds=(leaves["lower"], leaves["upper"]))
    return QuadraticRelaxation(gamma).solve(leaves["theta"], problem)


def smooth(form: str, gamma: Tensor | float, *, shared: bool) -> dict[str, Tensor]:
    """Leaves at which no constraint changes sides within the reach of finite differences."""
    for seed in range(60):
        _, leaves = leaves_of(form, seed, shared=shared)
        detached = {name: leaf.detach() for name, leaf in leaves.items()}
        try:
            solution = layer_on(detached, gamma)
        except foresolve.InfeasibleError:
            continue
        plain: dict[str, Any] = {name: leaf for name, leaf in detached.items() if name not in NOT_ARGUMENTS}
        problem = QuadraticProgram(**plain, bounds=(detached["lower"], detached["upper"]))
        number = gamma.detach() if isinstance(gamma, Tensor) else gamma
        pushed = bool((solution.duals.ub > 1e-3).any()) and bool((solution.duals.upper > 1e-3).any())
        if float(margins(problem, solution, number).min()) > 1e-2 and pushed and bool((solution.free > 0).all()):
            return leaves
    raise AssertionError("no smooth instance was drawn")


@pytest.mark.parametrize("shared", [True, False])
@pytest.mark.parametrize("form", ["diagonal", "dense", "sparse", "low rank", "factor", "leaning"])
def test_gradients_agree_with_finite_differences(form: str, shared: bool) -> None:
    """Those of decisions and of all duals, for everything that the layer is given."""
    gamma = tensor(0.3 if form == "factor" else 0.0).requires_grad_(form == "factor")
    leaves = smooth(form, gamma, shared=shared)
    names = list(leaves)
    places = leaves["Q"].detach() != 0 if form == "sparse" else None

    def decide(number: Tensor, *parts: Tensor) -> Any:
        solution = layer_on(dict(zip(names, parts)), number, places)
        return solution.x, *vars(solution.duals).values()

    if form == "leaning":  # noise would make it definite in no direction at all
        leaves["Q"] = leaves["Q"].detach()
    assert torch.autograd.gradcheck(
        decide, (gamma, *leaves.values()), eps=1e-6, atol=1e-5, rtol=1e-4, fast_mode=not shared
    )


@pytest.mark.parametrize("form", ["diagonal", "dense", "sparse", "low rank", "factor"])
def test_gradients_where_nothing_holds_and_where_everything_does(form: str) -> None:
    """No row and no bound holds, or all variables are at bounds: of one batch, gradients of decisions and duals."""
    program, given_form = of_form(form, 0, n=4, m_eq=0, m_ub=3)
    arrays = {name: part.toarray() if scipy.sparse.issparse(part) else part for name, part in given_form.items()}
    arrays |= {"A_ub": program.A_ub, "b_ub": np.full(3, 50.0), "lower": np.full(4, -5.0), "upper": np.full(4, 5.0)}
    arrays["theta"] = np.stack([program.theta / 4, 200 * np.array([1.0, -1.0, 1.0, -1.0])])
    leaves = {name: tensor(array).requires_grad_() for name, array in arrays.items()}
    gamma, names = 0.5 if form in SEMIDEFINITE else 0.0, list(leaves)
    solution = layer_on(leaves, gamma)
    assert solution.free.tolist() == [4, 0]
    assert not bool(solution.duals.ub.any())

    def decide(*parts: Tensor) -> Any:
        solution = layer_on(dict(zip(names, parts)), gamma)
        return solution.x, *vars(solution.duals).values()

    assert torch.autograd.gradcheck(decide, tuple(leaves.values()), eps=1e-6, atol=1e-5, rtol=1e-4)


@pytest.mark.parametrize("rows", [1, 2, 4])
@pytest.mark.parametrize("variance", [1e-2, 1e-4, 1e-6])
def test_gradients_of_a_factor_model_whose_factors_explain_nearly_all(variance: float, rows: int) -> None:
    """By hand: with one row that holds, `u = (v - q a) / Q` along it; more rows than variables as well as fewer."""
    factor, v = np.array([[1.0], [2.0]]), np.array([1.0, 0.0])
    Q = variance * np.eye(2) + factor @ factor.T
    A_ub = np.array([[1.0, 1.0], [1.0, -1.0], [0.0, 1.0], [-1.0, 0.5]])[:rows]
    problem = QuadraticProgram(
        diagonal=np.full(2, variance), factor=factor, A_ub=A_ub, b_ub=[1.0, 9.0, 9.0, 9.0][:rows], bounds=(-9, 9)
    )
    theta = tensor([[4.0, 7.0]]).requires_grad_()
    x = QuadraticRelaxation(0.0)(theta, problem)
    (gradient,) = torch.autograd.grad((x * tensor(v)).sum(), theta)
    saddle = np.block([[Q, np.ones((2, 1))], [np.ones((1, 2)), np.zeros((1, 1))]])
    expected = np.linalg.solve(saddle, np.append(v, 0.0))[:2]
    torch.testing.assert_close(gradient[0], tensor(expected), atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("form", ["dense", "low rank"])
def test_gradients_of_duals_of_rows_that_lean_on_each_other(form: str) -> None:
    """Rows at an angle of a hundredth are independent all the same: no digit of their duals' gradients is given up."""
    program, given_form = of_form(form, 0, n=3, m_eq=0, m_ub=0)
    A_eq = np.array([[1.0, 1.0, 0.0], [1.0, 1.0, 0.01]])
    problem = program.problem(**given_form, A_eq=A_eq, b_eq=[0.25, 0.25], A_ub=None, b_ub=None, bounds=(None, None))
    theta, weights = tensor(program.theta).requires_grad_(), tensor([1.0, -0.5])
    duals = QuadraticRelaxation(0.0).solve(theta, problem).duals.eq
    (gradient,) = torch.autograd.grad((duals * weights).sum(), theta)
    saddle = np.block([[program.Q, A_eq.T], [A_eq, np.zeros((2, 2))]])
    expected = np.linalg.solve(saddle, np.concatenate([np.zeros(3), weights.numpy()]))[:3]
    torch.testing.assert_close(gradient, tensor(expected), atol=0, rtol=1e-7)


@pytest.mark.parametrize("shared", [True, False])
def test_gradients_of_a_large_sparse_form(shared: bool) -> None:
    """By directional differences: entries, diagonal shift, theta and right-hand sides of the sparse route."""
    program, given_form = of_form("large sparse", 1)
    Q = scipy.sparse.coo_array(given_form["Q"])
    index = torch.from_numpy(np.stack(Q.coords))
    rng = np.random.default_rng(0)

    def tied(a: np.ndarray) -> np.ndarray:
        dense = scipy.sparse.coo_array((a, Q.coords), Q.shape)
        full = (dense + dense.T).tocsr() / 2
        return np.asarray(full[Q.coords[0], Q.coords[1]]).ravel()

    count = 1 if shared else 2
    values = tensor(np.stack([Q.data * (1 + 0.1 * i) for i in range(count)]))
    theta = tensor(np.stack([program.theta, 0.5 * program.theta]))
    data = {"values": values, "theta": theta, "b_eq": tensor(program.b_eq), "b_ub": tensor(program.b_ub)}
    weights = tensor(rng.standard_normal((2, program.n)))
    of_duals = tensor(rng.standard_normal((2, len(program.b_eq))))

    def value(parts: dict[str, Tensor]) -> Tensor:
        entries = parts["values"]
        forms = [torch.sparse_coo_tensor(index, own, Q.shape, check_invariants=True) for own in entries]
        form = forms[0] if shared else torch.stack([one.to_dense() for one in forms]).to_sparse()
        problem = program.problem(Q=form, b_eq=parts["b_eq"], b_ub=parts["b_ub"])
        solution = QuadraticRelaxation(0.0).solve(parts["theta"], problem)
        return (solution.x * weights).sum() + (solution.duals.eq * of_duals).sum()

    leaves = {name: part.clone().requires_grad_() for name, part in data.items()}
    gradients = dict(zip(leaves, torch.autograd.grad(value(leaves), list(leaves.values()))))
    for name, part in data.items():
        direction = rng.standard_normal(part.shape)
        if name == "values":
            direction = np.stack([tied(row) for row in direction])
        step = 1e-6 * tensor(direction)
        with torch.no_grad():
            slope = (value(data | {name: part + step}) - value(data | {name: part - step})) / 2e-6
        assert float(slope) == pytest.approx(float((gradients[name] * tensor(direction)).sum()), rel=1e-5, abs=1e-6)


def test_gradient_of_gamma_of_each_instance() -> None:
    program, given_form = of_form("low rank", 3)
    problem = program.problem(**given_form)
    gammas = tensor([0.2, 0.5, 0.9]).requires_grad_()
    theta = tensor(np.stack([program.theta] * 3)).requires_grad_()

    def decide(number: Tensor, point: Tensor) -> Tensor:
        return QuadraticRelaxation(number)(point, problem)

    assert torch.autograd.gradcheck(decide, (gammas, theta), eps=1e-6, atol=1e-5)


@pytest.mark.parametrize("form", ["dense", "low rank"])
def test_shared_gradients_are_sums_over_the_batch(form: str) -> None:
    program, given_form = of_form(form, 1)
    leaves = {name: tensor(part).requires_grad_() for name, part in given_form.items()}
    generator = torch.Generator().manual_seed(0)
    theta = tensor(program.theta) + torch.randn(4, 8, generator=generator, dtype=torch.float64)
    weights = torch.randn(4, 8, generator=generator, dtype=torch.float64)
    problem, layer = program.problem(**leaves), QuadraticRelaxation(0.0)
    together = torch.autograd.grad((layer(theta, problem) * weights).sum(), list(leaves.values()))
    alone = [
        torch.autograd.grad((layer(t, program.problem(**leaves)) * w).sum(), list(leaves.values()))
        for t, w in zip(theta, weights)
    ]
    for whole, *parts in zip(together, *alone):
        torch.testing.assert_close(whole, sum(parts), atol=1e-10, rtol=1e-9)
        assert float(whole.abs().max()) > 0


@pytest.mark.parametrize("form", ["diagonal", "dense", "low rank", "leaning"])
def test_dual_gradients_of_dependent_rows_are_right_where_they_are_unique(form: str) -> None:
    """With a row twice, `y` is not unique but `A'y` is, and so is its derivative."""
    program, given_form = of_form(form, 6)
    twice = {
        "A_eq": np.concatenate([program.A_eq, program.A_eq[:1], 2 * program.A_eq[-1:]]),
        "b_eq": np.concatenate([program.b_eq, program.b_eq[:1], 2 * program.b_eq[-1:]]),
        "A_ub": np.concatenate([program.A_ub, program.A_ub]),
        "b_ub": np.concatenate([program.b_ub, program.b_ub]),
    }
    weights = torch.randn(8, generator=torch.Generator().manual_seed(0), dtype=torch.float64)

    def pulls(theta: Tensor, rows: dict[str, np.ndarray]) -> tuple[Tensor, Tensor]:
        duals = QuadraticRelaxation(0.0).solve(theta, program.problem(**given_form, **rows)).duals
        A_eq, A_ub = (tensor(rows.get(name, getattr(program, name))) for name in ("A_eq", "A_ub"))
        return duals.eq @ A_eq, duals.ub @ A_ub

    theta = tensor(program.theta).requires_grad_()
    for ours, expected in zip(pulls(theta, twice), pulls(theta, {})):
        torch.testing.assert_close(ours, expected, atol=1e-7, rtol=0)
        slopes = [torch.autograd.grad((pull * weights).sum(), theta, retain_graph=True)[0] for pull in (ours, expected)]
        torch.testing.assert_close(slopes[0], slopes[1], atol=1e-6, rtol=1e-6)


@pytest.mark.parametrize("form", FORMS)
def test_double_backward_works_for_theta_and_says_so_for_the_form(form: str) -> None:
    program, given_form = of_form(form, 1)
    if program.n > 50:
        program, given_form = of_form("sparse", 1)
    problem, layer = program.problem(**given_form), QuadraticRelaxation(gamma_of(form))
    theta = tensor(program.theta).requires_grad_()
    assert torch.autograd.gradgradcheck(lambda t: layer(t, problem), [theta])
    name, part = next(iter(given_form.items()))
    if scipy.sparse.issparse(part):
        return
    leaf = tensor(part).requires_grad_()
    value = layer(theta, program.problem(**(given_form | {name: leaf}))).square().sum()
    with mistake("", "predicted Q", kind=foresolve.ForesolveError):
        torch.autograd.grad(value, theta, create_graph=True)


@pytest.mark.parametrize("part", ["Q", "diagonal", "factor"])
def test_gradients_through_predicted_parts(part: str) -> None:
    program, given_form = of_form("dense" if part == "Q" else "low rank", 2, n=4, m_eq=1, m_ub=2)
    own = np.asarray(given_form[part])
    size = 4 + own.size
    plain = program.problem(**given_form)
    problem = plain.parametrized(
        Affine.block(0, 4, size=size),
        **{part: Affine.block(4, own.size, size=size)},  # type: ignore[arg-type]
    )
    rng = np.random.default_rng(0)
    rows = []
    for _ in range(3):
        noise = 0.02 * rng.standard_normal(own.shape)
        noise = noise + noise.T if part == "Q" else noise
        rows.append(np.concatenate([program.theta + rng.standard_normal(4), (own + noise).ravel()]))
    theta = tensor(np.stack(rows)).requires_grad_()
    layer = QuadraticRelaxation(0.0)
    x = layer(theta, problem)
    for i in range(3):
        single = program.problem(**(given_form | {part: theta[i, 4:].detach().reshape(own.shape)}))
        torch.testing.assert_close(x[i], layer(theta[i, :4].detach(), single), atol=1e-11, rtol=0)
    assert torch.autograd.gradcheck(lambda t: layer(t, problem), [theta], eps=1e-6, atol=1e-5)


def test_a_tensor_that_requires_grad_gets_one_from_a_loss() -> None:
    """End to end: a factor and a diagonal as leaves, through DecisionLoss' kind of objective."""
    factor = torch.randn(5, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64).requires_grad_()
    logits = torch.zeros(5, dtype=torch.float64, requires_grad=True)
    problem = QuadraticProgram(diagonal=logits.exp(), factor=factor, A_eq=[[1.0] * 5], b_eq=[1.0])
    theta = torch.linspace(0.0, 1.0, 5, dtype=torch.float64)
    x = QuadraticRelaxation()(theta, problem)
    (x * theta).sum().backward()
    assert factor.grad is not None
    assert logits.grad is not None
    assert float(factor.grad.abs().max()) > 0
    assert float(logits.grad.abs().max()) > 0
