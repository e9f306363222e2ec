"""Quadratic programs from elsewhere against another solver."""

from __future__ import annotations

from pathlib import Path

import cvxpy as cp
import highspy
import numpy as np
import pytest
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from foresolve.layers import QuadraticRelaxation
from foresolve.problems import LinearProgram, QuadraticProgram
from mistakes import mistake
from problems.readers.cvxpy_models import Investor, optimum_of_highs
from problems.readers.highs_models import curved

seeds = st.integers(0, 2**20)
often = settings(max_examples=30, deadline=None, suppress_health_check=list(HealthCheck))
VALUE = 1e-5  # by how much a value of Clarabel may be off
PORTFOLIO = """max
 worth: 3 bonds + 2 stocks + 1 + [ - 2 bonds^2 + 2 bonds * stocks - 4 stocks^2 ] / 2
st
 all: bonds + stocks = 1
end
"""


@pytest.fixture
def portfolio(tmp_path: Path) -> Path:
    path = tmp_path / "portfolio.lp"
    path.write_text(PORTFOLIO)
    return path


def as_quadratic(problem: LinearProgram) -> QuadraticProgram:
    assert isinstance(problem, QuadraticProgram)
    return problem


def own_value(problem: LinearProgram, theta: torch.Tensor) -> float:
    """The best objective in the problem's own sense."""
    x = problem.solve(theta)
    assert problem.at(theta).check(x)
    return problem.signed(problem.objective(x, theta)).item()


class TestModels:
    @often
    @given(seed=seeds, ending=st.sampled_from(["highs", "mps", "lp"]))
    def test_values_are_those_of_clarabel(self, seed: int, ending: str, tmp_path: Path) -> None:
        model, path = curved(seed), tmp_path / f"model.{ending}"
        if ending == "highs":
            problem = LinearProgram.from_highs(model)
        else:
            model.writeModel(str(path))
            problem = LinearProgram.from_mps(path)
        problem = as_quadratic(problem)
        assert problem.sense == ("max" if model.getLp().sense_ == highspy.ObjSense.kMaximize else "min")
        assert problem.nominal is not None
        assert torch.linalg.eigvalsh(problem.Q)[0] >= -1e-12
        assert own_value(problem, problem.nominal) == pytest.approx(optimum_of_highs(model), abs=VALUE)

    @often
    @given(seed=seeds)
    def test_predicted_coefficients_change_those_of_the_model(self, seed: int) -> None:
        rng, model = np.random.default_rng(seed), curved(seed)
        names = list(model.getLp().col_names_)
        chosen = rng.permutation(len(names))[: rng.integers(1, len(names) + 1)]
        problem = as_quadratic(LinearProgram.from_highs(model, predict=[names[j] for j in chosen]))
        theta = torch.from_numpy(rng.normal(size=len(chosen)))
        for j, cost in zip(chosen, theta.tolist()):
            model.changeColCost(int(j), cost)
        assert own_value(problem, theta) == pytest.approx(optimum_of_highs(model), abs=VALUE)

    def test_signs_and_the_constant(self, portfolio: Path) -> None:
        problem = as_quadratic(LinearProgram.from_mps(portfolio))
        assert problem.Q.tolist() == [[2.0, -1.0], [-1.0, 4.0]]
        assert (problem.sense, problem.names) == ("max", ("bonds", "stocks"))
        assert problem.nominal is not None
        assert problem.nominal.tolist() == [3.0, 2.0]
        x = torch.tensor([0.5, 0.25], dtype=torch.float64)
        expected = 1.5 + 0.5 + 1 + (-2 * 0.25 + 2 * 0.125 - 4 * 0.0625) / 2
        assert problem.objective(x, problem.nominal).item() == pytest.approx(expected)
        # 3 - 2 x + y = 2 + x - 4 y, with x + y = 1
        assert problem.solve(problem.nominal).tolist() == pytest.approx([0.75, 0.25])

    def test_a_diagonal_is_kept_as_one(self, tmp_path: Path) -> None:
        path = tmp_path / "model.mps"
        path.write_text(
            "ROWS\n N C\n G R\nCOLUMNS\n x R 1\n y C -1 R 1\nRHS\n B R 1\nQUADOBJ\n x x 2\n y y 4\nENDATA\n"
        )
        problem = as_quadratic(LinearProgram.from_mps(path))
        assert problem.sense == "min"
        assert problem.term.diagonal is not None
        assert problem.term.diagonal.tolist() == [2.0, 4.0]

    def test_a_file_that_states_no_sense(self, tmp_path: Path) -> None:
        path = tmp_path / "model.mps"
        path.write_text("ROWS\n N C\n L R\nCOLUMNS\n x C 1 R 1\nRHS\n B R 9\nQUADOBJ\n x x -0.5\nENDATA\n")
        problem = as_quadratic(LinearProgram.from_mps(path, sense="max"))
        assert problem.solve(torch.tensor([1.0])).tolist() == pytest.approx([2.0])
        with mistake("path", "convex", str(path)):
            LinearProgram.from_mps(path)

    def test_some_coefficients_and_a_layer(self, portfolio: Path) -> None:
        problem = LinearProgram.from_mps(portfolio, predict=["stocks"])
        theta = torch.tensor([[2.0], [3.0]], dtype=torch.float64, requires_grad=True)
        x = QuadraticRelaxation(gamma=0.0)(theta, problem)
        torch.testing.assert_close(x.detach(), problem.solve(theta.detach()))
        x[:, 1].sum().backward()
        assert theta.grad is not None
        assert theta.grad.flatten().tolist() == pytest.approx([1 / 8, 1 / 8])  # x + y = 1 and e'Qe = 8

    def test_saved_and_loaded(self, portfolio: Path) -> None:
        problem = as_quadratic(LinearProgram.from_mps(portfolio, predict=["stocks"]))
        again = QuadraticProgram.from_config(problem.config())
        assert again.nominal is not None
        assert (again.nominal.tolist(), again.theta_names, again.Q.tolist()) == ([2.0], ("stocks",), problem.Q.tolist())

    @pytest.mark.parametrize(("old", "new", "fact"), [
        ("- 4 stocks", "+ 4 stocks", "positive semidefinite"),
        ("end\n", "general\n bonds\nend\n", "integer"),
    ])  # fmt: skip
    def test_what_is_no_convex_program_is_refused_with_its_file(
        self, portfolio: Path, old: str, new: str, fact: str
    ) -> None:
        assert PORTFOLIO.count(old) == 1
        portfolio.write_text(PORTFOLIO.replace(old, new))
        with mistake("path", str(portfolio), fact):
            LinearProgram.from_mps(portfolio)

    def test_an_indefinite_model_of_highs_is_refused(self) -> None:
        model = curved(3)
        sense = model.getLp().sense_
        turned = highspy.ObjSense.kMinimize if sense == highspy.ObjSense.kMaximize else highspy.ObjSense.kMaximize
        model.changeObjectiveSense(turned)
        with mistake("model", "convex", "highspy"):
            LinearProgram.from_highs(model)


class TestCvxpy:
    @often
    @given(seed=seeds)
    def test_values_are_those_of_cvxpy(self, seed: int) -> None:
        investor = Investor(seed)
        problem = as_quadratic(LinearProgram.from_cvxpy(investor.problem, investor.parameters))
        assert problem.sense == ("max" if investor.maximize else "min")
        for _ in range(2):
            theta = torch.from_numpy(investor.draw())
            assert own_value(problem, theta) == pytest.approx(investor.optimum(), abs=VALUE)

    def test_returns_and_a_covariance(self) -> None:
        """`Q` is twice the matrix of the form, in both senses."""
        x, price = cp.Variable(2, nonneg=True, name="x"), cp.Parameter(2, name="price")
        form = cp.quad_form(x, np.array([[1.0, 0.5], [0.5, 2.0]]))
        for objective in (cp.Maximize(price @ x - form), cp.Minimize(form - price @ x)):
            problem = as_quadratic(LinearProgram.from_cvxpy(cp.Problem(objective, [cp.sum(x) == 1]), price))
            assert problem.Q.tolist() == [[2.0, 1.0], [1.0, 4.0]]
            assert problem.solve(torch.tensor([[1.0, 1.0], [1.0, 2.0]], dtype=torch.float64)).tolist() == [
                pytest.approx([0.75, 0.25]), pytest.approx([0.5, 0.5])
            ]  # fmt: skip

    def test_a_tracked_target_moves_the_decision(self) -> None:
        """Parameters within squares are on right-hand sides of cvxpy's own variables."""
        x, target = cp.Variable(3, name="x"), cp.Parameter(3, name="target")
        problem = LinearProgram.from_cvxpy(
            cp.Problem(cp.Minimize(cp.sum_squares(x - target)), [x >= 0, cp.sum(x) == 1])
        )
        theta = torch.tensor([[0.5, 0.5, 0.5], [2.0, 0.0, -1.0]], dtype=torch.float64)
        x = problem.split(problem.solve(theta))["x"]
        torch.testing.assert_close(x, torch.tensor([[1 / 3] * 3, [1.0, 0.0, 0.0]], dtype=torch.float64))

    def test_predicted_risks_are_a_diagonal(self) -> None:
        x, risk = cp.Variable(2, nonneg=True, name="x"), cp.Parameter(2, name="risk", nonneg=True)
        objective = cp.sum(cp.multiply(risk, cp.square(x))) + 0.5 * cp.sum_squares(x)
        problem = as_quadratic(LinearProgram.from_cvxpy(cp.Problem(cp.Minimize(objective), [cp.sum(x) == 1]), risk))
        theta = torch.tensor([[0.0, 0.0], [0.5, 1.0], [1.0, 0.0]], dtype=torch.float64)
        assert problem.term.diagonal is not None
        expected = torch.tensor([[0.5, 0.5], [0.6, 0.4], [0.25, 0.75]], dtype=torch.float64)
        torch.testing.assert_close(problem.solve(theta), expected)
        with mistake("diagonal", ">= 0"):
            problem.solve(torch.tensor([-3.0, 1.0]))

    def test_predicted_aversion_to_a_known_risk(self) -> None:
        x, aversion = cp.Variable(2, nonneg=True, name="x"), cp.Parameter(name="aversion", nonneg=True)
        form = cp.quad_form(x, np.array([[1.0, 0.5], [0.5, 2.0]]))
        objective = cp.Maximize(np.array([1.0, 2.0]) @ x - aversion * form)
        problem = LinearProgram.from_cvxpy(cp.Problem(objective, [cp.sum(x) == 1]))
        theta = torch.tensor([[0.1], [1.0]], dtype=torch.float64)
        expected = torch.tensor([[0.0, 1.0], [0.5, 0.5]], dtype=torch.float64)
        torch.testing.assert_close(problem.solve(theta), expected)
