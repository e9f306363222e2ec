"""Problems whose numbers are affine in what is predicted, against the same problems written out."""

from __future__ import annotations

import numpy as np
import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

import foresolve
from foresolve.errors import InfeasibleError
from foresolve.layers import PerturbedAdditive
from foresolve.losses import FenchelYoung, SPOPlus, why_not
from foresolve.problems import Affine, Assignment, MinCostFlow, Problem, TravellingSalesman
from mistakes import mistake
from problems.conformance import LinearConformance, scipy_value

HOURS = 4


def battery(rng: np.random.Generator) -> foresolve.LinearProgram:
    """Charge, discharge and state of each hour; prices are bought and sold at, wear is known."""
    n, efficiency = 3 * HOURS, 0.9
    balance = np.zeros((HOURS, n))
    for hour in range(HOURS):
        balance[hour, [hour, HOURS + hour, 2 * HOURS + hour]] = efficiency, -1.0, -1.0
        balance[hour, 2 * HOURS + (hour - 1) % HOURS] += 1.0
    wear = np.concatenate([np.zeros(HOURS), rng.uniform(0.1, 0.5, HOURS), np.zeros(HOURS)])
    hours = np.arange(HOURS)
    prices = Affine.tied(
        np.concatenate([hours, hours, np.full(HOURS, -1)]), np.repeat([-1.0, 1.0, 0.0], HOURS), known=-wear
    )
    limits = np.repeat([1.0, 1.0, 2.5], HOURS)
    plain = foresolve.LinearProgram(A_eq=balance, b_eq=np.zeros(HOURS), bounds=(0, limits))
    bought_anyway = Affine(-rng.random((1, HOURS)), known=-3.0)
    return plain.parametrized(prices, constant=bought_anyway, names=[f"price {hour}" for hour in range(HOURS)])


class ByScipy(LinearConformance):
    def best(self, problem: foresolve.LinearProgram, theta: Tensor) -> float:
        return scipy_value(problem.at(theta), theta) + float(problem.constant(theta))


class TestBattery(ByScipy):
    def make(self, seed: int) -> foresolve.LinearProgram:
        return battery(np.random.default_rng(seed))


class TestPartOfAKnapsack(ByScipy):
    def make(self, seed: int) -> foresolve.Knapsack:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(2, 7))
        items = foresolve.Knapsack(rng.integers(0, 9, n), float(rng.uniform(0, 25)))
        predicted = rng.permutation(n)[: rng.integers(1, n + 1)]
        return items.parametrized(Affine.part(predicted, rng.normal(size=n)), constant=float(rng.normal()))


class TestKnownPerInstance(ByScipy):
    def make(self, seed: int) -> foresolve.Knapsack:
        rng = np.random.default_rng(seed)
        items = foresolve.Knapsack(rng.integers(0, 9, 5), 12.0, names=list("abcde"))
        return items.parametrized(Affine.part([1, 3], rng.normal(size=(3, 5))))

    def test_names_are_those_of_the_variables(self) -> None:
        problem = self.make(1)
        assert problem.theta_names == ("b", "d")
        assert problem.batch_shape == (3,)
        assert "shared" in problem.traits


class TestSumsOfCosts(ByScipy):
    """Several parameters in a coefficient: a distance and a toll make the cost of an arc."""

    def make(self, seed: int) -> MinCostFlow:
        rng = np.random.default_rng(seed)
        arcs = [(0, 1), (0, 2), (1, 2), (1, 3), (2, 3)]
        flow = MinCostFlow(arcs, supply=[2.0, 0.0, 0.0, -2.0], capacity=rng.integers(1, 3, 5).astype(float))
        return flow.parametrized(Affine(rng.normal(size=(5, 3)), known=rng.random(5)))


class TestPredictedLoads(ByScipy):
    """Right-hand sides and bounds follow theta; known costs."""

    def make(self, seed: int) -> foresolve.LinearProgram:
        rng = np.random.default_rng(seed)
        n = 5
        plain = foresolve.LinearProgram(
            A_ub=rng.random((2, n)), b_ub=[1.0, 1.0], A_eq=np.ones((1, n)), b_eq=[1.0], bounds=(0, 4), sense="min"
        )
        upper = Affine(rng.random((n, 3)) * (rng.random((n, 3)) < 0.4), known=6.0)
        costs = rng.random(n) if seed % 2 else Affine(rng.normal(size=(n, 3)), known=1.0)
        return plain.parametrized(
            costs, b_ub=Affine(rng.random((2, 3)), known=20.0), b_eq=Affine([[1.0, 0.5, 0.0]]), upper=upper
        )

    def draw(self, problem: Problem, batch: tuple[int, ...], seed: int) -> Tensor:
        generator = torch.Generator().manual_seed(seed)
        return torch.rand(*batch, 3, generator=generator, dtype=torch.float64) + 0.1

    def test_the_feasible_set_is_that_of_given_parameters(self) -> None:
        problem = self.make(3)
        theta = self.draw(problem, (2,), 3)
        assert "fixed" not in problem.traits
        assert "fixed" in problem.at(theta).traits
        assert problem.at(theta).at(theta) is not problem
        x = problem.solve(theta)
        torch.testing.assert_close(x.sum(-1), theta[:, 0] + 0.5 * theta[:, 1])
        for call in (lambda: problem.check(x), lambda: problem.argmax(x), lambda: problem.polytope(torch.Size([2]))):
            with mistake("problem", "LinearProgram", "problem.at(theta)"):
                call()
        assert problem.solution(theta).optimal.all()


@settings(deadline=None, max_examples=30)
@given(seed=st.integers(0, 2**20))
def test_methods_agree_with_the_problem_written_out(seed: int) -> None:
    """SPO+, the smoothed layer and Fenchel-Young: values, and gradients times `S'`."""
    rng = np.random.default_rng(seed)
    tied = battery(rng)
    assert tied.parameters is not None
    maps = tied.parameters.coefficients
    assert maps is not None
    plain = foresolve.LinearProgram(constraints=tied.constraints)
    plain.smoothed_columns = tied.smoothed_columns  # all of it is predicted, and would be smoothed
    theta, theta_hat = (torch.from_numpy(rng.uniform(1, 9, (5, HOURS))) for _ in range(2))
    leaf, spread = theta_hat.clone().requires_grad_(), maps(theta_hat).requires_grad_()
    tied_batch, plain_batch = foresolve.Batch(None, theta, tied), foresolve.Batch(None, maps(theta), plain)
    layer = foresolve.QuadraticRelaxation(gamma=0.7)
    for loss in (SPOPlus(), FenchelYoung(layer), foresolve.DecisionLoss(layer)):
        ours, theirs = loss(leaf, tied_batch), loss(spread, plain_batch)
        constant = tied.constant(theta) if isinstance(loss, foresolve.DecisionLoss) else 0.0
        torch.testing.assert_close(ours + constant, theirs)
        (gradient,), (columns,) = torch.autograd.grad(ours.sum(), leaf), torch.autograd.grad(theirs.sum(), spread)
        matrix = torch.zeros(maps.shape, dtype=torch.float64)
        matrix[maps.row, maps.column] = maps.value
        torch.testing.assert_close(gradient, columns @ matrix)
    x = tied.solve(theta_hat)
    torch.testing.assert_close(tied.objective(x, theta), plain.objective(x, maps(theta)) + tied.constant(theta))


def test_noise_is_that_of_the_parameters() -> None:
    """A price that moves moves both its columns: a battery never charges and discharges in the same hour."""
    problem = battery(np.random.default_rng(0))
    theta = torch.full((8, HOURS), 5.0, dtype=torch.float64)
    points, x = PerturbedAdditive(samples=6, sigma=3.0).sample(theta, problem)
    assert points.shape == (6, 8, HOURS)
    assert not bool(((x[..., :HOURS] > 0) & (x[..., HOURS : 2 * HOURS] > 0)).any())


def test_gamma_is_of_the_units_of_the_parameters() -> None:
    """As many columns as one likes may follow a price, or none: the spread is that of the prices."""
    theta = torch.tensor([[3.0, 5.0, 9.0, 4.0]], dtype=torch.float64)
    items = foresolve.TopK(4, 2)
    tied = foresolve.LinearProgram(n=9, bounds=(0, 1)).parametrized(Affine.tied([0, 1, 2, 3, 0, 1, 2, 3, -1]))
    layer = foresolve.QuadraticRelaxation()
    torch.testing.assert_close(layer.smoothing(theta, tied), layer.smoothing(theta, items))
    loads = foresolve.LinearProgram(A_eq=[[1.0] * 4], b_eq=[1.0], bounds=(0, 1)).parametrized(
        theta[0], b_eq=Affine([[1.0]])
    )
    torch.testing.assert_close(layer.smoothing(torch.tensor([[2.0]]), loads).double(), layer.smoothing(theta, items))
    beside = items.parametrized(Affine(torch.eye(4, 5)), constant=Affine([[0.0, 0.0, 0.0, 0.0, 1.0]]))
    more = torch.cat([theta, torch.tensor([[1e4]])], -1)
    torch.testing.assert_close(layer.smoothing(more, beside), layer.smoothing(theta, items))
    doubled = foresolve.LinearProgram(n=4, bounds=(0, 1)).parametrized(Affine.tied([0, 1, 2, 3], factor=2.0))
    torch.testing.assert_close(layer.smoothing(theta, doubled), 2 * layer.smoothing(theta, items))


def test_every_layer_passes_gradients_of_the_parameters() -> None:
    problem = battery(np.random.default_rng(0))
    theta = torch.tensor([[3.0, 5.0, 9.0, 4.0]], dtype=torch.float64, requires_grad=True)
    for layer in (
        foresolve.layers.BlackboxInterpolation(), foresolve.layers.IdentityProjection(), foresolve.layers.IMLE(),
        foresolve.layers.RegularizedFrankWolfe(), foresolve.layers.WilderQuadratic(), PerturbedAdditive(),
    ):  # fmt: skip
        (gradient,) = torch.autograd.grad(problem.objective(layer(theta, problem), theta.detach()).sum(), theta)
        assert gradient.shape == theta.shape
        assert bool(gradient.isfinite().all())


def test_gradients_through_predicted_constraints() -> None:
    """The smoothed layer, in theta that makes loads, limits and costs at once."""
    problem = TestPredictedLoads().make(4)
    theta = torch.rand(3, 3, dtype=torch.float64, generator=torch.Generator().manual_seed(0)) + 0.5
    layer = foresolve.QuadraticRelaxation(gamma=0.5)
    theta.requires_grad_()
    assert torch.autograd.gradcheck(lambda leaf: layer(leaf, problem), theta, eps=1e-6, atol=1e-5)


def test_what_needs_a_fixed_set_says_so() -> None:
    problem = TestPredictedLoads().make(4)
    assert "right-hand sides or bounds" in why_not(SPOPlus(), problem)
    assert why_not(foresolve.DecisionLoss(foresolve.QuadraticRelaxation()), problem) == ""
    assert why_not(foresolve.MSE(), problem) == ""


def test_bounds_that_cross_are_infeasible() -> None:
    plain = foresolve.LinearProgram(A_eq=[[1.0, 1.0]], b_eq=[1.0], bounds=(0, 1))
    problem = plain.parametrized([1.0, 2.0], upper=Affine([[1.0], [1.0]]))
    with mistake("", "lower > upper", kind=InfeasibleError, instances=[1]):
        problem.solve(torch.tensor([[1.0], [-1.0]]))


def test_bounds_that_rows_implied_hold_where_the_rows_are_others() -> None:
    problem = foresolve.BipartiteMatching(2, 2).parametrized([1.0, 0.1, 0.1, 1.0], b_ub=Affine(torch.ones(4, 1)))
    theta = torch.tensor([[2.0]], dtype=torch.float64)
    assert problem.solve(theta).tolist() == [[1, 1, 1, 1]]
    x = foresolve.QuadraticRelaxation(gamma=0.01)(theta, problem)
    assert problem.at(theta).check(x, tol=1e-8)


class Cheapest(foresolve.TopK):
    """With an algorithm of its own that looks at no rows."""

    def argmax(self, gains: Tensor) -> Tensor:
        return super().argmax(gains)


@pytest.mark.parametrize("plain", [TravellingSalesman(4), Cheapest(6, 2)])
def test_constraints_that_are_not_all_rows_cannot_be_predicted(plain: foresolve.LinearProgram) -> None:
    with mistake("problem", type(plain).__name__):
        plain.parametrized(np.ones(6), upper=Affine(np.ones((6, 1))))
    sound = plain.parametrized(Affine(np.ones((6, 1))))
    assert sound.theta_shape == (1,)
    if isinstance(plain, TravellingSalesman):  # nor by a file
        maps = {"upper": Affine(np.ones((6, 1))).config()}
        config = sound.config()
        with mistake("problem", "TravellingSalesman"):
            TravellingSalesman.from_config({**config, "parameters": {**config["parameters"], **maps}})


class Squared(foresolve.TopK):
    """An objective that knows nothing of parameters."""

    def objective(self, x: Tensor, theta: Tensor) -> Tensor:
        return (theta * x).sum(-1)


def test_an_objective_of_ones_own_must_follow_the_parameters() -> None:
    for maps in (Affine.tied([0, 1, 2], known=[0.0, 100.0, 1.0]), Affine([[1.0], [2.0], [3.0]])):
        with mistake("problem", "`objective`", "Squared"):
            Squared(3, 1).parametrized(maps)


def test_a_constant_from_a_file_stays() -> None:
    plain = PLAIN.parametrized(constant=2.5)
    assert plain.parametrized(Affine([[1.0], [2.0]])).objective(torch.tensor([0.0, 1.0]), torch.tensor([3.0])) == 8.5
    assert plain.parametrized(Affine([[1.0], [2.0]]), constant=1.0).constant(torch.tensor([3.0])) == 1.0


def test_what_is_known_for_one_instance_holds_for_all() -> None:
    items = foresolve.Knapsack([2, 3, 4], torch.tensor([[4.0], [5.0], [9.0]]))
    problem = items.parametrized(Affine.part([0], torch.tensor([[0.0, 2.0, 3.0]])))
    part = problem.select(torch.tensor([2, 0]))
    assert part.solve(torch.tensor([[1.0], [1.0]])).tolist() == [[1, 1, 1], [0, 0, 1]]


def test_right_hand_sides_that_theta_makes_are_not_told_without_it() -> None:
    problem = TestPredictedLoads().make(3)
    with mistake("problem", "problem.at(theta)"):
        problem.b_eq  # noqa: B018
    assert problem.at(torch.ones(3, dtype=torch.float64)).b_eq.tolist() == [1.5]
    assert repr(problem).endswith("3 parameters, sense='min')")


def test_a_structured_problem_with_predicted_bounds_is_solved_as_a_program() -> None:
    """Its own algorithm relies on the bounds that it was made with."""
    upper = Affine([[1.0], [0.0], [0.0], [0.0]], known=[0.0, 1.0, 1.0, 1.0])
    problem = Assignment(2).parametrized([3.0, 1.0, 1.0, 2.0], upper=upper)
    assert problem.solve(torch.tensor([[0.0], [1.0]])).tolist() == [[0, 1, 1, 0], [1, 0, 0, 1]]


PLAIN = foresolve.LinearProgram(A_eq=[[1.0, 1.0]], b_eq=[1.0], bounds=(0, 1), names=["a", "b"])


@pytest.mark.parametrize(("call", "about"), [
    (lambda: PLAIN.parametrized(Affine([[1.0]])), ("coefficients", "Affine", "2 numbers")),
    (lambda: PLAIN.parametrized(b_eq=Affine([[1.0]])), ("coefficients", "None")),
    (lambda: PLAIN.parametrized(torch.eye(2)), ("theta", "Affine(matrix)")),
    (lambda: PLAIN.parametrized([1.0, 2.0]), ("theta", "none")),
    (lambda: PLAIN.parametrized(Affine([[1.0], [1.0]]), b_eq=Affine([[1.0, 0.0]])), ("theta", "2 in `rhs`")),
    (lambda: PLAIN.parametrized(Affine([[1.0], [1.0]]), b_eq=[]), ("b_eq", "Affine")),
    (lambda: PLAIN.parametrized(Affine([[1.0], [1.0]]), b_eq=[1.0]), ("b_eq", "Affine")),
    (lambda: PLAIN.parametrized(Affine([[1.0], [1.0]]), upper=Affine([[1.0]])), ("upper", "2 numbers", "one of 1")),
    (lambda: PLAIN.parametrized(Affine([[1.0], [1.0]]), names=["a", "b"]), ("names", "2 names")),
])  # fmt: skip
def test_mistakes(call, about: tuple[str, ...]) -> None:
    with mistake(*about):
        call()


def test_only_plain_linear_problems_are_parametrized() -> None:
    with mistake("problem", "LinearProgram"):
        battery(np.random.default_rng(0)).parametrized(constant=1.0)
    coverage = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(3, 1))
    with mistake("problem", "SubmodularProblem"):
        coverage.parametrized(Affine([[1.0]]))


def test_a_constant_alone() -> None:
    problem = PLAIN.parametrized(constant=2.5)
    theta = torch.tensor([1.0, 3.0])
    assert problem.objective(problem.solve(theta), theta) == 5.5
    assert problem.theta_names == ("a", "b")
    assert float(problem.solution(theta).value) == float(problem.solution(theta).bound) == 5.5
