"""Quadratic programs: every form of Q, exact decisions against Clarabel, mistakes, files and copies."""

from __future__ import annotations

import copy
import pickle
from collections.abc import Callable
from typing import Any

import numpy as np
import pytest
import scipy.sparse
import torch
from torch import Tensor

import foresolve
from foresolve import QuadraticProgram
from foresolve.errors import InfeasibleError, StoppedError, UnboundedError
from foresolve.problems import Affine
from mistakes import mistake
from problems.conformance import ProblemConformance
from quadratic_programs import FORMS, Program, by_clarabel, check_named, of_form, tensor

QP = QuadraticProgram
SMALL = [form for form in FORMS if form != "large sparse"]
NAN = float("nan")


def program_of(problem: QuadraticProgram, theta: Tensor) -> Program:
    """One instance in NumPy, read off the problem's public side."""
    own = problem.at(theta)
    matrices = {"A_ub": own.A_ub, "A_eq": own.A_eq}
    assert not any(isinstance(matrix, list) for matrix in matrices.values())
    return Program(
        own.Q.detach().numpy(), own.A_ub.toarray(), own.b_ub.numpy(), own.A_eq.toarray(), own.b_eq.numpy(),
        own.lower.numpy(), own.upper.numpy(), problem.gain(theta).double().numpy(),
    )  # fmt: skip


def clarabel_value(problem: QuadraticProgram, theta: Tensor) -> float:
    """The best objective by Clarabel."""
    program = program_of(problem, theta)
    found = by_clarabel(program)
    assert found is not None
    constant = float(problem.objective(torch.zeros(problem.n, dtype=torch.float64), theta.double()))
    return program.value(found[0]) + constant


class QuadraticConformance(ProblemConformance):
    def best(self, problem: foresolve.Problem, theta: Tensor) -> float:
        assert isinstance(problem, QuadraticProgram)
        return clarabel_value(problem, theta)

    def excused(self, problem: foresolve.Problem) -> set[str]:
        return super().excused(problem) | {"any_signs", "scales"}


class TestEveryForm(QuadraticConformance):
    """The form follows the seed; dependent rows, fixed and free variables, both senses."""

    instances = 5

    def make(self, seed: int) -> QuadraticProgram:
        form = SMALL[seed % len(SMALL)]
        troubles = {"dependent": seed % 2 == 0, "fixed": seed % 3 == 0, "free": seed % 5 == 0}
        program, given = of_form(form, seed, n=4 + seed % 4, **({} if form == "leaning" else troubles))
        if form == "factor":  # semidefinite: without bounds it need not have a best decision
            return program.problem(**given, bounds=(np.maximum(program.lower, -2.0), np.minimum(program.upper, 2.0)))
        return program.problem(**given, sense="min" if seed % 4 == 1 else "max")


class TestOnePerInstance(QuadraticConformance):
    """A form and right-hand sides for each of a few instances."""

    instances = 5

    def make(self, seed: int) -> QuadraticProgram:
        programs = [of_form("dense", seed + i, n=4, m_eq=1, m_ub=2)[0] for i in range(self.instances)]
        first = programs[0]
        b_eq = np.stack([first.A_eq @ np.clip(p.lower, first.lower, first.upper) for p in programs])
        b_ub = np.stack([first.A_ub @ np.clip(p.lower, first.lower, first.upper) + 0.5 for p in programs])
        return first.problem(Q=np.stack([p.Q for p in programs]), b_eq=b_eq, b_ub=b_ub)


class TestPredictedParts(QuadraticConformance):
    """`theta` holds the coefficients, a diagonal, a factor and right-hand sides."""

    instances = 5

    def make(self, seed: int) -> QuadraticProgram:
        program, form = of_form("low rank", seed, n=4, m_eq=1, m_ub=2)
        size = 4 + 4 + 8 + 2
        return program.problem(**form).parametrized(
            Affine.block(0, 4, size=size), diagonal=Affine.block(4, 4, size=size),
            factor=Affine.block(8, 8, size=size), b_ub=Affine.block(16, 2, size=size),
        )  # fmt: skip

    def draw(self, problem: foresolve.Problem, batch: tuple[int, ...], seed: int) -> Tensor:
        theta = super().draw(problem, batch, seed)
        theta[..., 4:8] = 0.5 + theta[..., 4:8].abs()
        theta[..., 16:] = 5.0 + theta[..., 16:].abs()
        return theta


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize("seed", [0, 1])
def test_decisions_are_those_of_clarabel(form: str, seed: int) -> None:
    program, given = of_form(form, seed)
    box = {"bounds": (np.maximum(program.lower, -2.0), np.minimum(program.upper, 2.0))} if form == "factor" else {}
    problem = program.problem(**given, **box)
    theta = tensor(program.theta)
    x = problem.solve(theta)
    found = by_clarabel(program)
    assert found is not None
    assert program.value(x.numpy()) >= program.value(found[0]) - 1e-9 * (1 + abs(program.value(found[0])))
    assert program.broken(x.numpy()) <= 1e-12
    if form != "factor":
        torch.testing.assert_close(x, tensor(found[0]), atol=1e-6, rtol=0)
    torch.testing.assert_close(problem.Q, tensor(program.Q))
    torch.testing.assert_close(problem.objective(x, theta), tensor(program.value(x.numpy())))


# -- no decision, or not yet -------------------------------------------------------------------------------------------


def test_an_empty_set_is_infeasible() -> None:
    sides = tensor([[1.0], [-1.0], [2.0]])
    problem = QP(np.eye(2), A_eq=[[1.0, 1.0]], b_eq=sides)
    for decide in (problem.solve, lambda theta: foresolve.QuadraticRelaxation(0.0)(theta, problem)):
        with mistake(kind=InfeasibleError, instances=[1]) as caught:
            decide(torch.zeros(3, 2))
        assert caught.value.instances == (1,)


@pytest.mark.parametrize("gap", [1e-6, 1e-7, 1e-8, 1e-9])
@pytest.mark.parametrize("Q", [np.eye(2), np.ones((2, 2)), np.diag([1.0, 0.0])], ids=["eye", "ones", "one variable"])
def test_sets_that_are_empty_by_less_than_a_tolerance_are_infeasible(Q: np.ndarray, gap: float) -> None:
    """HiGHS takes rows that contradict each other by 1e-7 for met."""
    problem = QP(Q, [[1.0, 1.0], [-1.0, -1.0]], [1.0, -1.0 - gap], bounds=(0, 2))
    with pytest.raises(InfeasibleError):
        problem.solve(tensor([1.0, 2.0]))


def test_a_singular_form_between_variables_without_bounds_is_solved_to_the_end() -> None:
    """Close to the end the proximal point method must go on moving, by steps that look like nothing."""
    rows = [[3.17578125, -3.17578125, 1.45703125, -3.1875], [0.0, 5.76171875, -0.28515625, 5.484375],
            [0.0, 0.0, 1.20703125, -0.4375], [0.0, 0.0, 0.0, 5.2734375]]  # fmt: skip
    Q = np.array(rows) + np.triu(rows, 1).T
    bounds = (np.array([-0.75, -np.inf, -np.inf, -0.3125]), np.array([0.8125, np.inf, 0.25, np.inf]))
    problem = QP(Q, [[0.5625, -1.203125, 0.578125, 0.46875]], [0.46875], bounds=bounds)
    theta = tensor([-29.5, 32.75, -12.125, 32.75])
    value = problem.objective(problem.solve(theta), theta).item()
    assert value == pytest.approx(clarabel_value(problem, theta), rel=1e-7)


UNBOUNDED: dict[str, Callable[[], QuadraticProgram]] = {
    "a variable without curvature": lambda: QP([[1.0, 0.0], [0.0, 0.0]]),
    "the same as a diagonal": lambda: QP(diagonal=[1.0, 0.0]),
    "a direction between variables": lambda: QP(np.ones((2, 2)), bounds=(None, None)),
    "a factor": lambda: QP(factor=[[1.0], [1.0]], bounds=(None, None)),
    "a direction that a row allows": lambda: QP(np.diag([1.0, 0.0]), [[-1.0, -1.0]], [0.0], bounds=(None, None)),
}


@pytest.mark.parametrize("kind", UNBOUNDED)
def test_an_objective_without_limit_is_unbounded(kind: str) -> None:
    with mistake(kind=UnboundedError, instances=[0]):
        UNBOUNDED[kind]().solve(tensor([3.0, 1.0]))


def test_a_semidefinite_form_has_a_decision_where_gains_lie_in_its_range() -> None:
    problem = QP(np.ones((2, 2)), bounds=(None, None))
    theta = tensor([3.0, 3.0])
    assert problem.objective(problem.solve(theta), theta).item() == pytest.approx(4.5)


def test_a_time_limit_that_is_over_is_said() -> None:
    program, form = of_form("large sparse", 0)
    with pytest.raises(StoppedError):
        program.problem(**form).limited(seconds=1e-9).solve(tensor(program.theta))


def test_a_single_point_needs_no_curvature() -> None:
    """Q = 0, and the equality rows leave one point: the decision is unique, and there is nothing to divide by."""
    problem = QP(np.zeros((2, 2)), A_eq=np.eye(2), b_eq=[1.0, 2.0])
    assert problem.solve(tensor([1.0, 2.0])).tolist() == [1.0, 2.0]


# -- mistakes ----------------------------------------------------------------------------------------------------------

Case = tuple[Callable[[], Any], tuple[str, ...]]
EYE = np.eye(2)
INDEFINITE = [[1.0, 2.0], [2.0, 1.0]]


def badly_scaled() -> np.ndarray:
    """Indefinite by 1e-3, beside an entry of 1e8."""
    Q = np.zeros((3, 3))
    Q[0, 0], Q[1:, 1:] = 1e8, 1e-3 * np.array(INDEFINITE)
    return Q


def block(n: int, size: int) -> Affine:
    return Affine.block(0, n, size=size)


MISTAKES: dict[str, Case] = {
    "no Q": (lambda: QP(A_ub=[[1.0, 1.0]], b_ub=[1.0]), ("`Q`", "`diagonal` and `factor`", "LinearProgram")),
    "Q and a diagonal": (lambda: QP(EYE, diagonal=[1.0, 1.0]), ("`Q`", "alone", "both")),
    "Q not square": (lambda: QP(np.ones((2, 3))), ("`Q`", "square", "2 x 3")),
    "Q a vector": (lambda: QP([1.0, 2.0]), ("`Q`", "(2,)")),
    "Q of other variables": (lambda: QP(np.eye(3), [[1.0, 1.0]], [1.0]), ("A_ub 2", "3")),
    "n of other variables": (lambda: QP(EYE, n=3), ("`n`", "2", "3")),
    "Q not symmetric": (lambda: QP([[1.0, 1.0], [0.0, 1.0]]), ("`Q`", "symmetric", "by up to 1", "(Q + Q.T) / 2")),
    "one triangle, sparse": (
        lambda: QP(scipy.sparse.csr_array([[1.0, 0.5], [0.0, 1.0]])),
        ("`Q`", "symmetric", "0.5"),
    ),
    "Q indefinite": (lambda: QP(INDEFINITE), ("`Q`", "positive semidefinite", "smallest eigenvalue -1", "factor")),
    "Q indefinite, for costs": (lambda: QP(INDEFINITE, sense="min"), ("`Q`", "-1", "whatever `sense`")),
    "Q negative": (lambda: QP(-EYE), ("`Q`", "smallest eigenvalue -1")),
    "Q of one instance": (lambda: QP(np.stack([EYE, INDEFINITE, EYE])), ("`Q`", "eigenvalue -1 in instance 1")),
    "Q indefinite, sparse": (lambda: QP(scipy.sparse.csr_array(INDEFINITE)), ("`Q`", "eigenvalue -1")),
    "Q indefinite, large and sparse": (
        lambda: QP(scipy.sparse.block_diag([scipy.sparse.eye_array(2100), scipy.sparse.csr_array(INDEFINITE)])),
        ("`Q`", "eigenvalue -1"),
    ),
    "Q indefinite in a small corner": (lambda: QP(badly_scaled(), bounds=(-1, 1)), ("`Q`", "positive semidefinite")),
    "Q indefinite in a small corner, sparse": (
        lambda: QP(scipy.sparse.csr_array(badly_scaled()), bounds=(-1, 1)),
        ("`Q`", "positive semidefinite"),
    ),
    "a zero diagonal with entries": (lambda: QP([[0.0, 1.0], [1.0, 0.0]]), ("`Q`", "eigenvalue -1")),
    "NaN in Q": (lambda: QP([[NAN, 0.0], [0.0, 1.0]]), ("`Q`", "finite", "nan at [0, 0]")),
    "NaN in a sparse Q": (lambda: QP(scipy.sparse.csr_array([[NAN, 0.0], [0.0, 1.0]])), ("`Q`", "finite")),
    "complex Q": (lambda: QP(EYE + 1j), ("`Q`", "real")),
    "negative diagonal": (lambda: QP(diagonal=[1.0, -2.0]), ("`diagonal`", ">= 0", "-2 at [1]")),
    "a number for a diagonal": (lambda: QP(diagonal=1.0), ("`diagonal`", "(*batch, n)", "single number")),
    "inf in a diagonal": (lambda: QP(diagonal=[1.0, np.inf]), ("`diagonal`", "finite", "inf at [1]")),
    "a vector for a factor": (lambda: QP(factor=[1.0, 2.0]), ("`factor`", "(*batch, n, k)", "(2,)", "[:, None]")),
    "NaN in a factor": (lambda: QP(factor=[[NAN], [1.0]]), ("`factor`", "finite", "nan at [0, 0]")),
    "diagonal and factor of other sizes": (
        lambda: QP(diagonal=[1.0, 1.0], factor=np.ones((3, 1))),
        ("`factor`", "2 rows", "3 rows"),
    ),
    "diagonal and factor of other batches": (
        lambda: QP(diagonal=torch.ones(3, 2), factor=torch.ones(4, 2, 1)),
        ("broadcast", "`diagonal` (3,)", "`factor` (4,)"),
    ),
    "Q and rows of other batches": (
        lambda: QP(torch.eye(2).expand(3, 2, 2), torch.ones(4, 1, 2), [1.0]),
        ("broadcast", "(4,)", "`Q` (3,)"),
    ),
    "theta of another batch": (lambda: QP(torch.eye(2).expand(3, 2, 2)).solve(torch.ones(4, 2)), ("(4,)", "(3,)")),
    "x of another batch": (
        lambda: QP(torch.eye(2).expand(3, 2, 2)).objective(torch.ones(4, 2), torch.ones(4, 2)),
        ("(4,)", "(3,)"),
    ),
    "integers": (lambda: QP(EYE, integrality=1), ("`integrality`", "mixed-integer", "not solved")),
    "one integer": (lambda: QP(EYE, integrality=[0, 1]), ("`integrality`", "mixed-integer")),
    "an unknown word": (lambda: QP(EYE, P=EYE), ("P",)),
    "gamma of a semidefinite Q": (
        lambda: foresolve.QuadraticRelaxation(0.0)(torch.ones(2), QP(np.ones((2, 2)))),
        ("`gamma`", "> 0 for this problem", "not definite on the null space of A_eq"),
    ),
    "Q of a diagonal, predicted": (
        lambda: QP(diagonal=[1.0, 1.0]).parametrized([1.0, 1.0], Q=block(4, 4)),
        ("`Q`", "predicted only where", "made with a dense `Q`"),
    ),
    "a factor of another size, predicted": (
        lambda: QP(factor=[[1.0], [1.0]]).parametrized([1.0, 1.0], factor=block(4, 4)),
        ("`factor`", "2 numbers", "4"),
    ),
    "a map for an array": (
        lambda: QP(diagonal=[1.0, 1.0]).parametrized([1.0, 1.0], diagonal=np.eye(2)),
        ("`diagonal`", "Affine"),
    ),
    "a predicted Q that is indefinite": (
        lambda: QP(EYE).parametrized([1.0, 1.0], Q=block(4, 4)).solve(tensor([[1, 0, 0, 1], [1, 2, 2, 1.0]])),
        ("`Q`", "positive semidefinite", "eigenvalue -1 in instance 1"),
    ),
    "a predicted diagonal that is negative": (
        lambda: QP(diagonal=[1.0, 1.0]).parametrized([1.0, 1.0], diagonal=block(2, 2)).solve(tensor([1.0, -1.0])),
        ("`diagonal`", ">= 0", "-1"),
    ),
    "parts without coefficients": (
        lambda: QP(diagonal=[1.0, 1.0]).parametrized(diagonal=block(2, 2)),
        ("`coefficients`", "Q", "None"),
    ),
    "Q without numbers": (lambda: QP(torch.eye(2, device="meta")), ("`Q`", "meta")),
}  # fmt: skip


@pytest.mark.parametrize("name", MISTAKES)
def test_a_mistake_is_named(name: str) -> None:
    check_named(*MISTAKES[name])


def test_gains_alone_decide_nothing() -> None:
    problem = QP(EYE)
    assert not problem.linear
    assert "linear" not in problem.traits
    with mistake("problem", "QuadraticProgram"):
        problem.argmax(torch.ones(2))


# -- the objective -----------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("sense", ["max", "min"])
@pytest.mark.parametrize("form", ["diagonal", "dense", "sparse", "low rank"])
def test_objective_and_advantage_are_those_of_the_formula(form: str, sense: Any) -> None:
    program, given = of_form(form, 3)
    problem = program.problem(**given, sense=sense)
    generator = torch.Generator().manual_seed(0)
    x, y, theta = (torch.randn(2, 3, 8, generator=generator, dtype=torch.float64) for _ in range(3))
    sign = 1.0 if sense == "max" else -1.0
    expected = sign * (x * theta).sum(-1) - torch.einsum("...i,ij,...j->...", x, tensor(program.Q), x) / 2
    torch.testing.assert_close(problem.objective(x, theta), expected)
    torch.testing.assert_close(problem.advantage(x, y, theta), expected - problem.objective(y, theta))
    torch.testing.assert_close(problem.objective(x.float(), theta.float()), expected.float())


def test_a_predicted_form_counts_in_the_objective() -> None:
    plain = QP(diagonal=[1.0, 1.0], A_eq=[[1.0, 1.0]], b_eq=[1.0])
    problem = plain.parametrized(Affine.block(0, 2, size=4), diagonal=Affine.block(2, 2, size=4), constant=7.0)
    theta, x = tensor([1.0, 2.0, 3.0, 5.0]).requires_grad_(), tensor([0.25, 0.75])
    value = problem.objective(x, theta)
    assert value.item() == pytest.approx(7 + 0.25 + 1.5 - (3 * 0.0625 + 5 * 0.5625) / 2)
    (slope,) = torch.autograd.grad(value, theta)
    torch.testing.assert_close(slope, tensor([0.25, 0.75, -0.03125, -0.28125]))
    several, points = theta.detach() * tensor([[1.0], [2.0], [3.0]]), torch.stack([x, x.flip(-1)])
    each = torch.stack([torch.stack([problem.objective(point, own) for point in points]) for own in several])
    torch.testing.assert_close(problem.objectives(points, several), each)
    with mistake("problem", "problem.at(theta)"):
        _ = problem.Q
    torch.testing.assert_close(problem.at(theta).Q, torch.diag(theta[2:]))


def test_what_was_solved_for_one_prediction_does_not_stay_for_the_next() -> None:
    """Definiteness and solvers are kept with a program; those of another Q are others."""
    problem = QP(EYE, A_eq=[[1.0, 1.0]], b_eq=[1.0]).parametrized([1.0, 1.0], Q=block(4, 4))
    assert problem.solve(tensor([1.0, 0.0, 0.0, 3.0])).tolist() == pytest.approx([0.75, 0.25])
    assert problem.solve(tensor([3.0, 0.0, 0.0, 1.0])).tolist() == pytest.approx([0.25, 0.75])
    layer = foresolve.QuadraticRelaxation(0.0)
    assert layer(tensor([3.0, 0.0, 0.0, 1.0]), problem).tolist() == pytest.approx([0.25, 0.75])
    with mistake("gamma", "got 0"):
        layer(tensor([1.0, 1.0, 1.0, 1.0]), problem)


# -- copies, files, instances ------------------------------------------------------------------------------------------


@pytest.mark.parametrize("form", FORMS)
def test_copies_decide_alike(form: str) -> None:
    program, given = of_form(form, 2)
    box = {"bounds": (program.lower, program.upper)}
    problem, theta = program.problem(**given, **box), tensor(program.theta)
    x = problem.solve(theta)
    twins = [
        pickle.loads(pickle.dumps(problem)), copy.copy(problem), copy.deepcopy(problem), problem.to("cpu"),
        QuadraticProgram.from_config(problem.config()),
    ]  # fmt: skip
    for twin in twins:
        assert repr(twin) == repr(problem)
        assert torch.equal(twin.Q, problem.Q)
        kinds = {type(one.term.metric(torch.Size(), torch.ones(1))) for one in (twin, problem)}
        assert len(kinds) == 1  # the structure stays
        torch.testing.assert_close(twin.solve(theta), x, atol=1e-9, rtol=0)


def test_instances_can_be_selected() -> None:
    forms = np.stack([np.diag([1.0, k]) for k in (1.0, 3.0, 9.0)])
    problem = QP(forms, A_eq=[[1.0, 1.0]], b_eq=[1.0])
    assert "shared" not in problem.traits
    assert problem.batch_shape == (3,)
    theta = torch.zeros(3, 2, dtype=torch.float64)
    x = problem.solve(theta)
    torch.testing.assert_close(x[:, 1], tensor([0.5, 0.25, 0.1]))
    order = torch.tensor([2, 0])
    torch.testing.assert_close(problem.select(order).solve(theta[order]), x[order])
    torch.testing.assert_close(problem.select(torch.tensor(1)).solve(theta[1]), x[1])
    layer = foresolve.QuadraticRelaxation(0.0)
    torch.testing.assert_close(layer(theta[order], problem.select(order)), x[order])
    torch.testing.assert_close(problem.solve(theta[0]), x)  # one theta for all


def test_repr_says_what_it_is() -> None:
    assert repr(QP(EYE)) == "QuadraticProgram(2 variables, 0 equalities, 0 inequalities, sense='max')"
    batched = repr(QP(torch.eye(2).expand(3, 2, 2), sense="min"))
    assert batched == "QuadraticProgram(2 variables, 0 equalities, 0 inequalities, batch (3,), sense='min')"


@pytest.mark.parametrize("kind", ["list", "int", "float32", "csr", "coo", "csc", "torch", "torch coo", "torch csr"])
@pytest.mark.filterwarnings("ignore:Sparse CSR tensor support:UserWarning")
def test_every_kind_of_matrix(kind: str) -> None:
    Q = [[2, 1], [1, 3]]
    given: Any = {
        "list": Q, "int": np.array(Q), "float32": np.array(Q, np.float32), "csr": scipy.sparse.csr_matrix(Q),
        "coo": scipy.sparse.coo_array(Q), "csc": scipy.sparse.csc_array(Q), "torch": torch.tensor(Q),
        "torch coo": torch.tensor(Q, dtype=torch.float64).to_sparse(),
        "torch csr": torch.tensor(Q, dtype=torch.float64).to_sparse_csr(),
    }[kind]  # fmt: skip
    problem = QP(given, bounds=(None, None))
    assert problem.Q.tolist() == Q
    torch.testing.assert_close(problem.solve(tensor([5.0, 5.0])), tensor([2.0, 1.0]))


def test_entries_that_are_given_twice_add_up() -> None:
    """As everywhere in SciPy."""
    Q = scipy.sparse.coo_array(([1.0, 1.0, 3.0], ([0, 0, 1], [0, 0, 1])), shape=(2, 2))
    assert QP(Q).Q.tolist() == [[2.0, 0.0], [0.0, 3.0]]


# -- learning ----------------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("loss", [
    foresolve.MSE(), foresolve.losses.DecisionLoss(foresolve.QuadraticRelaxation()),
    foresolve.losses.FenchelYoung(foresolve.QuadraticRelaxation()),
], ids=lambda loss: type(loss).__name__)  # fmt: skip
def test_fitting_and_evaluation(loss: foresolve.Loss) -> None:
    """Regret is what the true objective loses, Q and all."""
    generator = torch.Generator().manual_seed(0)
    features = torch.randn(12, 3, generator=generator)
    theta = features @ torch.randn(3, 4, generator=generator)
    problem = QP(np.diag([1.0, 2.0, 3.0, 4.0]), A_eq=[[1.0] * 4], b_eq=[1.0])
    data = foresolve.data.DecisionDataset(features, theta, problem)
    model = torch.nn.Linear(3, 4)
    torch.nn.init.zeros_(model.weight)
    torch.nn.init.zeros_(model.bias)
    before = foresolve.evaluate(model, data)
    history = foresolve.fit(model, loss, data, epochs=30, lr=0.1, progress=False)
    assert all(np.isfinite(history.train_loss))
    after = foresolve.evaluate(model, data)
    best = problem.objective(problem.solve(theta), theta)
    regret = (best - problem.objective(problem.solve(model(features).detach()), theta)).mean()
    assert after.regret == pytest.approx(float(regret), rel=1e-4, abs=1e-6)
    assert after.regret < before.regret / 2


@pytest.mark.parametrize("loss", [
    foresolve.losses.SPOPlus(), foresolve.losses.PerturbationGradient(), foresolve.losses.CaVE(),
    foresolve.losses.DecisionLoss(foresolve.layers.RegularizedFrankWolfe()),
    foresolve.losses.DecisionLoss(foresolve.layers.WilderQuadratic()),
    foresolve.losses.DecisionLoss(foresolve.layers.BlackboxInterpolation()),
    foresolve.losses.DecisionLoss(foresolve.layers.IMLE()),
], ids=str)  # fmt: skip
def test_what_needs_a_linear_objective_says_so(loss: foresolve.Loss) -> None:
    with mistake("problem", "QuadraticProgram", "needs a linear objective"):
        loss.check_problem(QP(EYE))
