"""What problems with rows and bounds promise beyond what every problem does."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, cast

import torch

from foresolve.problems.linear import LinearProgram
from foresolve.testing.problems import ProblemSuite
from foresolve.testing.suite import Inapplicable, Measure, Promise, holds, near, refused


class ProgramSuite(ProblemSuite):
    """Any problem that is a linear or mixed-integer program."""

    @property
    def program(self) -> LinearProgram:
        """The problem, with its rows."""
        return cast(LinearProgram, self.problem)

    def rows(self) -> tuple[Any, Any]:
        """`A_ub` and `A_eq`, where all instances share them."""
        matrices = (self.program.A_ub, self.program.A_eq)
        if not self.shared or any(isinstance(matrix, list) for matrix in matrices):
            raise Inapplicable("each instance has rows of its own")
        return matrices

    @Promise("the value is that of its rows and bounds", "`_decide` must solve the program that the rows state")
    def permuted(self) -> Iterator[Measure]:
        """With the variables in another order, by the general solver, which knows nothing of the class."""
        theta = self._draw((), self.seed)
        problem, (A_ub, A_eq) = self.program.at(theta), self.rows()
        order = torch.randperm(problem.n, generator=torch.Generator().manual_seed(self.seed))
        general = LinearProgram(
            A_ub[:, order.numpy()], problem.b_ub, A_eq[:, order.numpy()], problem.b_eq,
            (problem.lower[order], problem.upper[order]), problem.integrality[order], problem.sense,
        )  # fmt: skip
        x = general.solve(problem.signed(problem.gain(theta))[order])
        yield holds(general.check(x), str(general.check(x)))
        restored = torch.empty_like(x)
        restored[order] = x
        yield holds(problem.check(restored), f"`check` refuses what the rows allow: {problem.check(restored)}")
        value = problem.objective(restored, theta)
        yield near(self.value(theta), value, "the value", atol=self.tol, rtol=self.tol)

    @Promise("`check` names what is broken", "leave `check` as it is, or keep its promise")
    def names_violations(self) -> Iterator[Measure]:
        if not self.shared:
            raise Inapplicable("each instance has rows of its own")
        theta = self.draw(2)
        x = self.problem.solve(theta)
        x[1] = x[1] - 1000.0
        report = self.problem.at(theta).check(x)
        yield holds(report.feasible.tolist() == [True, False], f"instance 1 is far outside, but `check` says: {report}")
        yield holds(report.worst[1] > 1, f"the worst violation of a decision far outside is {report.worst[1]}")
        yield holds(all(violation.instance == (1,) for violation in report.violations), f"not of instance 1: {report}")
        yield holds("instance 1" in str(report), f"the instance is not named: {report}")

    @Promise("it offers rows, a linear objective and an exact oracle", "`traits` must keep what LinearProgram offers")
    def offers_rows(self) -> Iterator[Measure]:
        A_ub, A_eq = self.rows()
        absent = {"rows", "linear", "exact", "shared"} - self.problem.traits
        yield holds(not absent, f"`traits` lacks {absent}")
        widths = (A_ub.shape[1], A_eq.shape[1])
        yield holds(widths == (self.problem.n,) * 2, f"the rows have {widths} columns, the problem {self.problem.n}")

    @Promise("variables are called by their names", "pass `names` on to `LinearProgram`")
    def speaks_names(self) -> Iterator[Measure]:
        problem, kind = self.program, type(self.program)
        own = kind.config is not LinearProgram.config or kind._settings is not LinearProgram._settings
        if not (own or kind is LinearProgram) or "names" not in problem.config():
            raise Inapplicable("`config()` gives no `names`")
        names = [f"variable {i} of mine" for i in range(problem.n)]
        twin = kind.from_config({**problem.config(), "names": names})
        yield holds(twin.names == tuple(names), f"`names` became {twin.names}")
        if problem.parameters is None:
            yield holds(twin.theta_names == tuple(names), f"`theta_names` became {twin.theta_names}")
        report = twin.at(self.draw()).check(torch.full((*problem.batch_shape, problem.n), -1000.0))
        yield holds("variable 0 of mine" in str(report), f"`check` does not name the variable: {report}")
        shorter = {**problem.config(), "names": names[1:]}
        yield refused(lambda: kind.from_config(shorter), "a name too few", "names", str(problem.n))
