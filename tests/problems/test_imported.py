"""Programs from elsewhere against the solvers of the tools that they come from."""

from __future__ import annotations

import gzip
from pathlib import Path

import cvxpy as cp
import highspy
import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import foresolve
from foresolve.errors import InfeasibleError
from foresolve.layers import QuadraticRelaxation
from foresolve.losses import SPOPlus
from foresolve.problems import LinearProgram
from mistakes import mistake
from problems.readers.highs_models import drawn, optimum

seeds = st.integers(0, 2**20)
often = settings(max_examples=40, deadline=None, suppress_health_check=list(HealthCheck))
EXACT = {"mip_rel_gap": 0.0}
PLAN = """maximize
 value: 3 bread + 2 cake + 10
subject to
 flour: bread + 2 cake <= 8
 oven: bread + cake <= 5
general
 cake
end
"""


@pytest.fixture
def plan(tmp_path: Path) -> Path:
    path = tmp_path / "plan.lp"
    path.write_text(PLAN)
    return path


HIGHS = 1e-5  # by how much a value of HiGHS may be off, whose rows may be broken by 1e-6


def own_value(problem: LinearProgram, theta: torch.Tensor) -> float:
    """The best objective in the problem's own sense."""
    x = problem.solve(theta)
    assert problem.at(theta).check(x)
    return problem.signed(problem.objective(x, theta)).item()


class TestHighs:
    @often
    @given(seed=seeds)
    def test_values_are_those_of_highs(self, seed: int) -> None:
        model = drawn(seed, boxed=True)
        problem = LinearProgram.from_highs(model)
        assert problem.nominal is not None
        assert own_value(problem, problem.nominal) == pytest.approx(optimum(model), abs=HIGHS)

    @often
    @given(seed=seeds)
    def test_predicted_coefficients_change_those_of_the_model(self, seed: int) -> None:
        rng, model = np.random.default_rng(seed), drawn(seed, boxed=True)
        names = list(model.getLp().col_names_)
        chosen = rng.permutation(len(names))[: rng.integers(1, len(names) + 1)]
        problem = LinearProgram.from_highs(model, predict=[names[j] for j in chosen])
        assert problem.theta_names == tuple(names[j] for j in chosen)
        assert problem.nominal is not None
        assert problem.nominal.tolist() == [model.getLp().col_cost_[j] for j in chosen]
        theta = torch.from_numpy(rng.normal(size=len(chosen)))
        for j, cost in zip(chosen, theta.tolist()):
            model.changeColCost(int(j), cost)
        assert own_value(problem, theta) == pytest.approx(optimum(model), abs=HIGHS)

    def test_the_current_model_is_taken(self) -> None:
        model = drawn(3, boxed=True)
        model.changeObjectiveOffset(42.0)
        model.changeObjectiveSense(highspy.ObjSense.kMinimize)
        problem = LinearProgram.from_highs(model)
        assert problem.sense == "min"
        assert problem.constant(torch.zeros(problem.n)).item() == -42.0


class TestFiles:
    @often
    @given(seed=seeds, ending=st.sampled_from(["mps", "lp", "mps.gz"]))
    def test_values_are_those_of_highs(self, seed: int, ending: str, tmp_path: Path) -> None:
        model, path = drawn(seed, boxed=True), tmp_path / f"model.{ending.removesuffix('.gz')}"
        model.writeModel(str(path))
        if ending.endswith(".gz"):
            path = tmp_path / f"model.{ending}"
            path.write_bytes(gzip.compress((tmp_path / "model.mps").read_bytes()))
        problem = LinearProgram.from_mps(path)
        assert problem.nominal is not None
        assert own_value(problem, problem.nominal) == pytest.approx(optimum(model), abs=HIGHS)

    def test_all_coefficients_and_the_constant(self, plan: Path) -> None:
        problem = LinearProgram.from_mps(plan)
        assert (problem.sense, problem.names, problem.theta_names) == ("max", ("bread", "cake"), ("bread", "cake"))
        assert problem.nominal is not None
        assert problem.nominal.tolist() == [3.0, 2.0]
        x = problem.solve(problem.nominal)
        assert (x.tolist(), problem.objective(x, problem.nominal).item()) == ([5.0, 0.0], 25.0)
        assert "(cake)" in str(problem.check(torch.tensor([1.0, 0.5])))

    def test_without_a_constant_theta_is_as_in_any_program(self, tmp_path: Path) -> None:
        path = tmp_path / "bounds.lp"
        path.write_text("min\n obj: x + 2 y\nbounds\n 1 <= x <= 2\n -1 <= y <= 1\nend\n")
        problem = LinearProgram.from_mps(path)
        assert problem.parameters is None
        assert problem.nominal is not None
        assert problem.solve(problem.nominal).tolist() == [1.0, -1.0]

    @pytest.mark.parametrize(("predict", "facts"), [
        (["Cake"], ("'Cake'", "'cake'?")), ("pie", ("'pie'", "'bread', 'cake'")),
        ([], ("got none",)), (["cake", "cake"], ("'cake' twice",)),
    ])  # fmt: skip
    def test_names_that_are_not_there(self, plan: Path, predict: list[str], facts: tuple[str, ...]) -> None:
        with mistake("predict", *facts):
            LinearProgram.from_mps(plan, predict=predict)

    def test_sense(self, plan: Path, tmp_path: Path) -> None:
        assert LinearProgram.from_mps(plan, sense="max").sense == "max"
        with mistake("sense", "'max'", "'min'"):
            LinearProgram.from_mps(plan, sense="min")
        silent = tmp_path / "silent.mps"
        silent.write_text("ROWS\n N C\n L R\nCOLUMNS\n x C 1 R 1\nRHS\n B R 4\nENDATA\n")
        assert LinearProgram.from_mps(silent).sense == "min"
        assert LinearProgram.from_mps(silent, sense="max").solve(torch.tensor([1.0])).tolist() == [4.0]

    def test_the_file_is_named_where_it_is_broken(self, tmp_path: Path) -> None:
        path = tmp_path / "model.mps"
        path.write_text("ROWS\n N C\n L R\nCOLUMNS\n x C 1 R 1\nRHS\n B R 4x.0\nENDATA\n")
        with mistake("path", "model.mps', line 7: '4x.0'", "(RHS, row 'R')"):
            LinearProgram.from_mps(path)

    def test_the_file_is_named_where_its_program_is_none(self, tmp_path: Path) -> None:
        path = tmp_path / "model.mps"
        path.write_text("ROWS\n N C\n L R\nCOLUMNS\n y C 1 R 1\nBOUNDS\n LO B y 5\n UP B y 3\nENDATA\n")
        with mistake("path", str(path), "5.0 > 3.0"):
            LinearProgram.from_mps(path)

    def test_saved_and_loaded(self, plan: Path) -> None:
        problem = LinearProgram.from_mps(plan, predict=["cake"])
        again = LinearProgram.from_config(problem.config())
        assert again.nominal is not None
        assert (again.nominal.tolist(), again.theta_names, again.names) == ([2.0], ("cake",), ("bread", "cake"))
        theta = torch.tensor([[2.0], [5.0]])
        assert torch.equal(again.objective(again.solve(theta), theta), torch.tensor([25.0, 31.0]))
        with mistake("nominal", "(*batch, 1)"):
            LinearProgram.from_config(problem.config() | {"nominal": torch.ones(3)})

    def test_a_plain_program_has_nothing_that_came_along(self) -> None:
        problem = LinearProgram(A_ub=[[1.0, 1.0]], b_ub=[1.0])
        assert problem.nominal is None
        assert not problem.blocks
        assert not {"nominal", "shapes"} & set(problem.config())
        with mistake("problem", "from_cvxpy", "LinearProgram"):
            problem.split(torch.ones(2))


class Tangled:
    """A cvxpy problem with every kind of variable, and parameters in the objective and on the right."""

    def __init__(self, seed: int) -> None:
        self.rng = rng = np.random.default_rng(seed)
        rows, columns = (int(k) for k in rng.integers(1, 4, 2))
        x = cp.Variable((rows, columns), nonneg=True, name="x")
        on = cp.Variable(rows, boolean=True, name="on")
        units = cp.Variable(integer=True, name="units", bounds=[-3, 4])
        slack = cp.Variable(columns, name="slack")
        self.price = cp.Parameter((rows, columns), name="price")
        self.load = cp.Parameter(columns, nonneg=True, name="load")
        self.parameters = [self.price, self.load]
        mix = rng.normal(size=(columns, columns))
        cost = cp.sum(cp.multiply(self.price + rng.normal(size=(rows, columns)), x)) + rng.normal() * units
        cost = cost + rng.random(rows) @ on + 50 * cp.norm1(slack) + cp.sum(mix @ self.load) + 3
        limits = [
            cp.sum(x, axis=0) + slack == self.load,
            x <= cp.reshape(on, (rows, 1), order="C") @ np.full((1, columns), 2.0),
            cp.sum(x) + units <= 5 + cp.sum(self.load), cp.abs(units) <= 3 + self.load[0], slack <= 100, slack >= -100,
        ]  # fmt: skip
        self.maximize = bool(rng.random() < 0.5)
        self.problem = cp.Problem(cp.Maximize(-cost) if self.maximize else cp.Minimize(cost), limits)
        self.x = x

    def draw(self) -> torch.Tensor:
        self.price.value = self.rng.normal(size=self.price.shape)
        self.load.value = 2 * self.rng.random(self.load.shape)
        return torch.from_numpy(np.concatenate([part.value.reshape(-1) for part in self.parameters]))


class TestCvxpy:
    @often
    @given(seed=seeds)
    def test_values_are_those_of_cvxpy(self, seed: int) -> None:
        tangled = Tangled(seed)
        problem = LinearProgram.from_cvxpy(tangled.problem, tangled.parameters)
        assert problem.sense == ("max" if tangled.maximize else "min")
        for _ in range(2):
            theta = tangled.draw()
            tangled.problem.solve(solver=cp.SCIPY, scipy_options=dict(EXACT))
            assert own_value(problem, theta) == pytest.approx(
                tangled.problem.value, abs=1e-5
            )  # HiGHS stops at gaps of 1e-6

    def test_decisions_by_name(self) -> None:
        tangled = Tangled(5)
        problem = LinearProgram.from_cvxpy(tangled.problem, tangled.parameters)
        theta = torch.stack([tangled.draw(), tangled.draw()])
        parts = problem.split(problem.solve(theta))
        assert parts["x"].shape == (2, *tangled.x.shape)
        assert list(parts) == [variable.name() for variable in tangled.problem.variables()]
        assert problem.names is not None
        rows, columns = tangled.x.shape
        assert problem.names[problem.blocks["x"]][-1] == f"x[{rows - 1},{columns - 1}]"
        load = theta[:, tangled.price.size :]
        torch.testing.assert_close(parts["x"].sum(1) + parts["slack"], load)

    def test_shapes_are_saved(self) -> None:
        x, price = cp.Variable(tuple(np.array([2, 3])), name="x", nonneg=True), cp.Parameter(6, name="price")
        problem = LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(price @ cp.vec(x, order="C")), [x <= 1]), price)
        again = LinearProgram.from_config(problem.config())
        assert again.shapes == problem.shapes == {"x": (2, 3)}

    def test_nominal_are_the_values_in_the_order_given(self) -> None:
        tangled = Tangled(1)
        assert LinearProgram.from_cvxpy(tangled.problem, ["load", "price"]).nominal is None
        theta = tangled.draw()
        problem = LinearProgram.from_cvxpy(tangled.problem, ["load", "price"])
        assert problem.nominal is not None
        size = tangled.load.size
        assert torch.equal(problem.nominal, torch.cat([theta[-size:], theta[:-size]]))

    def test_saved_and_loaded(self) -> None:
        tangled = Tangled(2)
        theta = tangled.draw()
        problem = LinearProgram.from_cvxpy(tangled.problem)
        again = LinearProgram.from_config(problem.config())
        assert (again.shapes, again.theta_names) == (problem.shapes, problem.theta_names)
        theta = again.nominal if again.nominal is not None else theta
        assert torch.equal(again.solve(theta), problem.solve(theta))
        with pytest.raises(ValueError, match="`shapes` must hold at most"):
            LinearProgram.from_config(problem.config() | {"shapes": [["x", [1000]]]})

    def test_trained_on(self) -> None:
        """Layers and losses see the parameter, not the columns."""
        buy, sell = cp.Variable(3, nonneg=True, name="buy"), cp.Variable(3, nonneg=True, name="sell")
        price = cp.Parameter(3, name="price")
        stored = cp.cumsum(buy - sell)
        limits = [stored >= 0, stored <= 1, buy <= 1, sell <= 1]
        problem = LinearProgram.from_cvxpy(cp.Problem(cp.Maximize(price @ (sell - buy)), limits))
        truth = torch.tensor([[1.0, 2.0, 3.0], [2.0, 1.0, 2.0]], dtype=torch.float64)
        guess = truth.flip(1).requires_grad_()
        x = QuadraticRelaxation(gamma=2.0)(guess, problem)
        x.square().sum().backward()
        assert guess.grad is not None
        assert guess.grad.shape == (2, 3)
        data = foresolve.DecisionDataset(truth, truth, problem)
        best, taken = (problem.objective(problem.solve(theta), truth) for theta in (truth, guess))
        assert bool((SPOPlus()(guess, data[:2]) >= best - taken - 1e-9).all())

    def test_infeasible_by_its_parameter(self) -> None:
        x, load = cp.Variable(2, nonneg=True, name="x"), cp.Parameter(name="load")
        problem = LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(cp.sum(x)), [cp.sum(x) == load, x <= 1]))
        assert problem.solve(torch.tensor([[1.5]])).sum().item() == pytest.approx(1.5)
        with mistake(kind=InfeasibleError, instances=[1]):
            problem.solve(torch.tensor([[1.0], [3.0]]))


class TestMilp:
    @often
    @given(seed=seeds, sense=st.sampled_from(["min", "max"]))
    def test_values_are_those_of_milp(self, seed: int, sense: str) -> None:
        rng = np.random.default_rng(seed)
        n = int(rng.integers(1, 6))
        rows = scipy.optimize.LinearConstraint(rng.integers(-3, 4, (2, n)).astype(float), [-9, -np.inf], [4.0, 6.0])
        bounds, flags = scipy.optimize.Bounds(-rng.integers(0, 3, n), rng.integers(0, 5, n)), rng.integers(0, 2, n)
        c = rng.normal(size=n)
        sign = 1 if sense == "min" else -1
        theirs = scipy.optimize.milp(sign * c, constraints=rows, bounds=bounds, integrality=flags, options=EXACT)
        problem = LinearProgram.from_milp(c, constraints=rows, bounds=bounds, integrality=flags, sense=sense)
        assert problem.nominal is not None
        # Feasible and no worse: equal, but that SciPy 1.16 stops short of the best on some of these.
        assert sign * own_value(problem, problem.nominal) <= theirs.fun + HIGHS

    def test_costs_of_another_length(self) -> None:
        with mistake("", "A_ub 2", "n 3"):
            LinearProgram.from_milp([1.0, 2.0, 3.0], constraints=([[1.0, 1.0]], -np.inf, 1.0))
        with mistake("c", "(2,)", "(1, 2)"):
            LinearProgram.from_milp([[1.0, 2.0]], constraints=([[1.0, 1.0]], -np.inf, 1.0))
