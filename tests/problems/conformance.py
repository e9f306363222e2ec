"""What every problem promises; a new problem's tests inherit one of these classes."""

from __future__ import annotations

from functools import partial

import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from foresolve.problems import LinearProgram, Problem
from foresolve.testing.problems import ProblemSuite
from foresolve.testing.programs import ProgramSuite
from foresolve.testing.suite import Promise
from promises import keep, promises

seeds = st.integers(0, 2**20)
conform = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))

# Tested whatever the instance; the others, on three.
VARIED = ("feasible", "reference", "optimal", "batch_equals_loop", "config", "scales")


def scipy_value(problem: LinearProgram, theta: Tensor) -> float:
    """The best objective of one instance by SciPy."""
    constraints = [
        scipy.optimize.LinearConstraint(problem.A_ub, -np.inf, problem.b_ub.numpy()),
        scipy.optimize.LinearConstraint(problem.A_eq, problem.b_eq.numpy(), problem.b_eq.numpy()),
    ]
    result = scipy.optimize.milp(
        -problem.gain(theta).double().numpy(),
        constraints=[c for c in constraints if c.A.shape[0]],
        bounds=scipy.optimize.Bounds(problem.lower.detach().numpy(), problem.upper.detach().numpy()),
        integrality=problem.integrality.numpy().astype(int),
        options={"mip_rel_gap": 0.0},
    )
    assert result.success, result.message
    return -float(result.fun)


class ProblemConformance:
    """Any problem; `theta` is `(*batch, n)` unless `draw` and what depends on it say otherwise.

    Subclasses say how to make an instance (`make`), its parameters (`draw`) and, by a route of their own, its best
    value (`best`).
    """

    kind: type[ProblemSuite] = ProblemSuite
    any_gains = True  # whether gains of both signs have a best decision: not where the set is unbounded
    instances = 11

    def make(self, seed: int) -> Problem:
        raise NotImplementedError

    def best(self, problem: Problem, theta: Tensor) -> float:
        raise NotImplementedError

    def draw(self, problem: Problem, batch: tuple[int, ...], seed: int) -> Tensor:
        """Parameters with ties and both signs; a subclass narrows them to its domain."""
        generator = torch.Generator().manual_seed(seed)
        theta = torch.randn(*batch, *problem.theta_shape, generator=generator, dtype=torch.float64)
        return theta.round() if seed % 3 == 0 else theta

    def suite(self, seed: int) -> ProblemSuite:
        problem = self.make(seed)
        return self.kind(
            problem,
            partial(self.draw, problem),
            best=None if self.best is None else partial(self.best, problem),
            any_gains=self.any_gains,
            seed=seed,
            instances=self.instances,
        )

    def excused(self, problem: Problem) -> set[str]:
        """The promises that say nothing about a problem of the kind."""
        excuses = {
            "any_signs": not ({"linear", "fixed"} <= problem.traits and self.any_gains and not problem.batch_shape),
            "reference": self.best is None or bool(problem.batch_shape),
            "optimal": not problem.exact,
            "scales": not (problem.linear and problem.exact and problem.parameters is None),
            "config": type(problem).config is Problem.config,
        }
        return {name for name, excuse in excuses.items() if excuse}

    @pytest.mark.parametrize("promise", promises(ProblemSuite, only=VARIED))
    @conform
    @given(seed=seeds)
    def test_promise_whatever_the_instance(self, promise: Promise, seed: int) -> None:
        suite = self.suite(seed)
        keep(promise, suite, self.excused(suite.problem))

    @pytest.mark.parametrize("seed", [1, 2, 3])
    @pytest.mark.parametrize("promise", promises(ProblemSuite, but=VARIED))
    def test_promise(self, promise: Promise, seed: int) -> None:
        suite = self.suite(seed)
        keep(promise, suite, self.excused(suite.problem))

    @pytest.mark.parametrize("seed", [1, 2, 3])
    def test_objectives_are_those_of_each_pair(self, seed: int) -> None:
        problem = self.make(seed)
        if not {"shared", "fixed"} <= problem.traits:
            return
        theta = self.draw(problem, (3,), seed)
        x = problem.solve(self.draw(problem, (3,), seed + 1)).double()
        each = [torch.full((3,), i) for i in range(3)]
        expected = torch.stack([problem.select(same).objective(x, theta[same]) for same in each])
        values = problem.objectives(x, theta)
        assert values.dtype == torch.float64
        torch.testing.assert_close(values, expected.double(), rtol=1e-9, atol=1e-9 * float(1 + expected.abs().max()))

    def test_repr_names_the_class(self) -> None:
        problem = self.make(7)
        assert repr(problem).startswith(type(problem).__name__ + "(")


class LinearConformance(ProblemConformance):
    """Any problem that is a linear or mixed-integer program."""

    kind = ProgramSuite

    def make(self, seed: int) -> LinearProgram:
        raise NotImplementedError

    @conform
    @given(seed=seeds)
    def test_matches_the_program_with_permuted_variables(self, seed: int) -> None:
        suite = self.suite(seed)
        keep(ProgramSuite.permuted, suite, [] if suite.shared else ["permuted"])

    @pytest.mark.parametrize("seed", [1, 2, 3])
    @pytest.mark.parametrize("promise", promises(ProgramSuite, but=[p.name for p in ProblemSuite.promises()]))
    def test_promise_of_programs(self, promise: Promise, seed: int) -> None:
        suite = self.suite(seed)
        keep(promise, suite, [] if suite.shared else ["permuted", "names_violations", "offers_rows"])
