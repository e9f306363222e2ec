from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import torch
from scipy.optimize import LinearConstraint, OptimizeResult, linprog, milp

from foresolve.data import DecisionDataset
from foresolve.errors import ForesolveWarning, SolverError
from foresolve.losses import SPOPlus
from foresolve.problems import Affine, OracleProblem, TopK
from foresolve.problems.oracles import Oracle, as_rows, owned, unpacked
from mistakes import mistake
from problems.oracle_functions import CheapestThree, MostThree, ThreeBySolve, best_three, cheapest_three, reported

THETA = torch.rand(6, 5, generator=torch.Generator().manual_seed(0))
BEST, CHEAPEST = TopK(5, 3).solve(THETA), TopK(5, 3).solve(-THETA)


class TestWhatUsersHave:
    def test_an_object_with_solve(self) -> None:
        problem = OracleProblem(ThreeBySolve())
        assert torch.equal(problem.solve(THETA), BEST)
        assert "ThreeBySolve" in repr(problem)

    def test_a_function_that_gives_the_value_too(self) -> None:
        assert torch.equal(OracleProblem(reported).solve(THETA), BEST)

    def test_a_model_of_pyepo(self) -> None:
        problem = OracleProblem(CheapestThree(5))
        assert (problem.sense, problem.n) == ("min", 5)
        assert torch.equal(problem.solve(THETA), CHEAPEST)
        assert torch.equal(problem.objective(CHEAPEST, THETA), -(THETA * CHEAPEST).sum(-1))
        assert OracleProblem(MostThree(5)).sense == "max"
        assert torch.equal(OracleProblem(MostThree(5)).solve(THETA), BEST)

    def test_senses_of_models(self) -> None:
        for stated, sense in {"min": "min", "max": "max", -1.0: "max"}.items():
            model = CheapestThree(5) if sense == "min" else MostThree(5)
            model.modelSense = stated
            assert OracleProblem(model).sense == sense
        for stated in (2, "best", [1, -1]):
            model.modelSense = stated
            with mistake("solve", "modelSense", "MostThree", repr(stated)):
                OracleProblem(model)

    def test_its_sense_is_not_overruled(self) -> None:
        with mistake("sense", "'min'", "modelSense", "CheapestThree", "'max'"):
            OracleProblem(CheapestThree(5), sense="max")
        assert OracleProblem(CheapestThree(5), sense="min").sense == "min"

    @pytest.mark.parametrize("solve", [
        partial(milp, constraints=LinearConstraint(np.ones((1, 5)), 3, 3), bounds=(0, 1), integrality=np.ones(5)),
        partial(linprog, A_eq=np.ones((1, 5)), b_eq=[3.0], bounds=(0, 1)),
    ])  # fmt: skip
    def test_solvers_of_scipy(self, solve) -> None:
        torch.testing.assert_close(OracleProblem(solve, n=5, sense="min").solve(THETA), CHEAPEST)

    def test_many_results_of_scipy_at_once(self) -> None:
        solve = partial(linprog, A_eq=np.ones((1, 5)), b_eq=[3.0], bounds=(0, 1))
        problem = OracleProblem(lambda theta: [solve(row) for row in theta], batched=True, sense="min")
        torch.testing.assert_close(problem.solve(THETA), CHEAPEST)

    def test_many_decisions_and_values_at_once(self) -> None:
        def batched(theta: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
            x = np.stack([best_three(row) for row in theta])
            return x, (theta * x).sum(1)

        for count in (6, 2, 1):
            assert torch.equal(OracleProblem(batched, batched=True).solve(THETA[:count]), BEST[:count])

    def test_in_worker_processes(self) -> None:
        problem = OracleProblem(CheapestThree(5), workers=1)
        try:
            assert torch.equal(problem.solve(THETA), CHEAPEST)
        finally:
            problem.close()

    def test_a_failure_of_scipy(self) -> None:
        solve = partial(linprog, A_eq=np.ones((1, 5)), b_eq=[9.0], bounds=(0, 1))
        with mistake("", "infeasible", kind=SolverError, instances=[0, 1]):
            OracleProblem(solve, n=5, sense="min").solve(THETA[:2])

    def test_a_loss_goes_through_any_of_them(self) -> None:
        problems = (OracleProblem(CheapestThree(5)), OracleProblem(cheapest_three, n=5, sense="min"))
        losses = [SPOPlus()(THETA.flip(0), DecisionDataset(THETA, THETA, problem)[:6]) for problem in problems]
        assert torch.equal(*losses)
        assert bool((losses[0] > 0).any())

    @pytest.mark.parametrize(("solve", "fact"), [
        (CheapestThree, "`CheapestThree(...)`?"), (5, "int"),
        (type("Plan", (), {"solve": lambda self: None})(), "Plan, whose `solve()`"),
    ])  # fmt: skip
    def test_what_is_no_solver(self, solve, fact: str) -> None:
        with mistake("solve", fact):
            OracleProblem(solve)


class TestAnswers:
    def test_a_pair_of_numbers_is_a_decision(self) -> None:
        for pair in ((1.0, 0.0), [1.0, 0.0], np.array([1.0, 0.0]), (np.float64(1), 2)):
            assert unpacked(pair).value is None
            assert unpacked(pair).decision is pair

    def test_a_decision_and_its_value(self) -> None:
        for given in (
            (np.ones(3), 2.0),
            [[1.0, 2.0], 3],
            (np.ones(1), np.float32(1)),
        ):
            assert unpacked(given).decision is given[0]
            assert unpacked(given).value is given[1]

    def test_two_decisions_are_no_decision_with_a_value(self) -> None:
        rows = as_rows((np.ones(3), np.zeros(3)), 2)
        assert [row.tolist() for row in rows] == [[1.0] * 3, [0.0] * 3]

    def test_a_result_of_scipy(self) -> None:
        answer = unpacked(OptimizeResult(x=np.ones(2), success=True, fun=3.0))
        assert (answer.decision.tolist(), answer.value) == ([1.0, 1.0], 3.0)

    @pytest.mark.parametrize("beside", [("optimal",), (1.0, 0), (None, "optimal")])
    def test_words_beside_a_decision(self, beside: tuple) -> None:
        kinds = ", ".join(type(part).__name__ for part in beside)
        with mistake("", f"(ndarray, {kinds})", kind=SolverError, instances=range(6)):
            OracleProblem(lambda theta: (best_three(theta), *beside)).solve(THETA)

    def test_a_value_in_other_forms(self) -> None:
        for value in (None, np.ones(1), [2.0]):
            answer = unpacked((np.zeros(3), value))
            assert answer.decision.tolist() == [0.0] * 3
            assert answer.value is value
        assert torch.equal(OracleProblem(lambda theta: (best_three(theta), None)).solve(THETA), BEST)
        assert torch.equal(
            OracleProblem(lambda theta: (best_three(theta), [theta @ best_three(theta)])).solve(THETA), BEST
        )

    def test_tensors(self) -> None:
        answer = unpacked(owned((torch.ones(2, requires_grad=True), torch.tensor(4.0))))
        assert (answer.decision.tolist(), float(answer.value)) == ([1.0, 1.0], 4.0)

    def test_values_of_many(self) -> None:
        rows, values = np.eye(3), np.arange(3.0)
        for given in (values, values[:, None], values.tolist()):
            assert [value for _, value in as_rows((rows, given), 3)] == [0.0, 1.0, 2.0]
        assert [row.tolist() for row in as_rows((rows, None), 3)] == rows.tolist()
        assert as_rows([np.ones(3), None], 2)[1] is None  # no decision for the second

    @pytest.mark.parametrize("values", [[1.0, 2.0], 3.0])
    def test_too_few_values(self, values) -> None:
        with mistake("", "6 instances", f"gave {np.size(values)}", kind=SolverError, instances=range(6)):
            OracleProblem(lambda theta: (np.ones_like(theta), values), batched=True).solve(THETA)


class TestMemory:
    """Solvers may reuse the array of their decision, and change the one they are given."""

    @pytest.mark.parametrize("wrap", [
        lambda x: x, lambda x: (x, None), lambda x: torch.from_numpy(x), lambda x: OptimizeResult(x=x, success=True),
    ])  # fmt: skip
    def test_a_buffer_that_is_reused(self, wrap) -> None:
        buffer = np.zeros(5)

        def solve(theta: np.ndarray):
            buffer[:] = best_three(theta)
            return wrap(buffer)

        assert torch.equal(OracleProblem(solve, n=5).solve(THETA), BEST)

    @pytest.mark.parametrize("batched", [False, True])
    def test_an_argument_that_is_sorted_in_place(self, batched: bool) -> None:
        def solve(theta: np.ndarray) -> np.ndarray:
            x = np.where(np.argsort(np.argsort(-theta, axis=-1), axis=-1) < 3, 1.0, 0.0)
            theta.sort(axis=-1)
            return x

        theta = THETA.double()
        before = theta.clone()
        assert torch.equal(OracleProblem(solve, n=5, batched=batched).solve(theta), BEST.double())
        assert torch.equal(theta, before)

    def test_kinds(self) -> None:
        assert Oracle.of(best_three).kind == "function"
        assert Oracle.of(ThreeBySolve()).kind == "method"
        assert Oracle.of(CheapestThree(2)).kind == "model"


class TestDoubts:
    def test_another_sense_is_suspected(self) -> None:
        with pytest.warns(ForesolveWarning, match="sense='min'"):
            OracleProblem(cheapest_three, n=5).solve(THETA)
        with pytest.warns(ForesolveWarning, match="sense='max'"):
            OracleProblem(best_three, n=5, sense="min").solve(THETA)

    def test_a_heuristic_is_not(self) -> None:
        assert OracleProblem(cheapest_three, n=5, exact=False).solve(THETA).shape == (6, 5)

    def test_one_instance_tells_nothing(self) -> None:
        assert OracleProblem(cheapest_three, n=5).solve(THETA[0]).shape == (5,)

    def test_a_value_that_is_not_the_objective(self) -> None:
        def negated(theta: np.ndarray) -> tuple[np.ndarray, float]:
            x = best_three(theta)
            return x, -float(theta @ x)

        problem = OracleProblem(negated, n=5)
        with pytest.warns(ForesolveWarning, match=r"-1\.57.* 1\.57"):
            problem.solve(THETA)
        assert torch.equal(problem.solve(THETA), BEST)  # said once, copies included
        assert torch.equal(problem.to("cpu").solve(THETA), BEST)

    @pytest.mark.parametrize("constant", [5.0, Affine([[1.0, 0, 0, 0, 0]])])
    def test_a_constant_that_was_stated(self, constant) -> None:
        def shifted(theta: np.ndarray) -> tuple[np.ndarray, float]:
            x = best_three(theta)
            return x, float(theta @ x) + 5.0

        assert torch.equal(OracleProblem(shifted, n=5).parametrized(constant=constant).solve(THETA), BEST)
        assert torch.equal(OracleProblem(reported, n=5).parametrized(constant=constant).solve(THETA), BEST)
        with pytest.warns(ForesolveWarning, match=r"6\.57.* 1\.57"):
            OracleProblem(shifted, n=5).parametrized(constant=4.0).solve(THETA)

    def test_an_objective_of_ones_own_is_not_compared(self) -> None:
        problem = OracleProblem(
            lambda theta: (best_three(theta), 99.0), lambda x, theta: (x * theta).sum(-1), linear=True, n=5
        )
        assert torch.equal(problem.solve(THETA), BEST)


class TestParametrized:
    def make(self) -> OracleProblem:
        plain = OracleProblem(cheapest_three, n=5, sense="min")
        return plain.parametrized(
            Affine.tied([0, 0, 1, 1, -1], factor=[1, 2, 1, -1, 0], known=[0, 0, 0, 1, 0.5]), constant=7.0
        )

    def test_the_oracle_sees_the_coefficients(self) -> None:
        problem, theta = self.make(), torch.rand(4, 2, generator=torch.Generator().manual_seed(1))
        a, b = theta.unbind(-1)
        costs = torch.stack([a, 2 * a, b, 1 - b, torch.full_like(a, 0.5)], -1)
        torch.testing.assert_close(problem.gain(theta), -costs)
        x = problem.solve(theta)
        assert torch.equal(x, TopK(5, 3).solve(-costs))
        torch.testing.assert_close(problem.objective(x, theta), -(costs * x).sum(-1) - 7.0)
        assert problem.theta_shape == (2,)

    def test_known_per_instance(self) -> None:
        known = torch.rand(3, 5, generator=torch.Generator().manual_seed(2), dtype=torch.float64)
        problem = OracleProblem(best_three, n=5).parametrized(Affine.part([0, 3], known))
        theta = torch.zeros(3, 2, dtype=torch.float64)
        x = problem.solve(theta)
        assert x.shape == (3, 5)
        index = torch.tensor([2, 0])
        assert torch.equal(problem.select(index).solve(theta[:2]), x[index])

    def test_refused(self) -> None:
        with mistake("problem", "`n`"):
            OracleProblem(best_three).parametrized(Affine.part([0], torch.zeros(5)))
        with mistake("problem", "`objective`"):
            OracleProblem(best_three, lambda x, theta: x.sum(-1), linear=True, n=5).parametrized(constant=1.0)

    def test_any_gains(self) -> None:
        assert torch.equal(OracleProblem(cheapest_three, n=5, sense="min").argmax(THETA), BEST)
        with mistake("gains", "(*batch, 5)"):
            OracleProblem(best_three, n=5).argmax(torch.ones(4))
