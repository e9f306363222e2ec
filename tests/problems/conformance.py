"""What every problem promises; a new problem's tests inherit one of these classes."""

from __future__ import annotations

import copy
import pickle
from typing import ClassVar

import numpy as np
import pytest
import scipy.optimize
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from foresolve.errors import InvalidInputError
from foresolve.problems.base import Problem
from foresolve.problems.linear import LinearProgram

seeds = st.integers(0, 2**20)
conform = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))


def scipy_value(problem: LinearProgram, theta: Tensor) -> float:
    """The best objective of one instance by SciPy."""
    constraints = [
        scipy.optimize.LinearConstraint(problem.A_ub, -np.inf, problem.b_ub.numpy()),
        scipy.optimize.LinearConstraint(problem.A_eq, problem.b_eq.numpy(), problem.b_eq.numpy()),
    ]
    found = scipy.optimize.milp(
        -problem.gain(theta).double().numpy(),
        constraints=[c for c in constraints if c.A.shape[0]],
        bounds=scipy.optimize.Bounds(problem.lower.detach().numpy(), problem.upper.detach().numpy()),
        integrality=problem.integrality.numpy().astype(int),
        options={"mip_rel_gap": 0.0},
    )
    assert found.success, found.message
    return -float(found.fun)


class ProblemConformance:
    """Any problem over `theta` `(*batch, n)`.

    Subclasses say how to make an instance (`make`), its parameters (`draw`) and, by a route of their own, its best
    value (`best`).
    """

    devices: ClassVar[list[str]] = ["cpu", *(["cuda"] if torch.cuda.is_available() else [])]

    def make(self, seed: int) -> Problem:
        raise NotImplementedError

    def best(self, problem: Problem, theta: Tensor) -> float:
        raise NotImplementedError

    def size(self, problem: Problem) -> int:
        return problem.n  # type: ignore[attr-defined]

    def draw(self, problem: Problem, batch: tuple[int, ...], seed: int) -> Tensor:
        """Parameters with ties and both signs; a subclass narrows them to its domain."""
        generator = torch.Generator().manual_seed(seed)
        theta = torch.randn(*batch, self.size(problem), generator=generator, dtype=torch.float64)
        return theta.round() if seed % 3 == 0 else theta

    @conform
    @given(seed=seeds)
    def test_decisions_are_feasible(self, seed: int) -> None:
        problem = self.make(seed)
        report = problem.check(problem.solve(self.draw(problem, (4,), seed)))  # type: ignore[attr-defined]
        assert report, str(report)

    @conform
    @given(seed=seeds)
    def test_value_matches_an_independent_route(self, seed: int) -> None:
        problem = self.make(seed)
        theta = self.draw(problem, (), seed)
        value = problem.objective(problem.solve(theta), theta).item()
        assert value == pytest.approx(self.best(problem, theta), abs=1e-6)

    @conform
    @given(seed=seeds)
    def test_batch_equals_loop_in_value(self, seed: int) -> None:
        problem = self.make(seed)
        theta = self.draw(problem, (11,), seed)
        together = problem.objective(problem.solve(theta), theta)
        alone = torch.stack([problem.objective(problem.solve(one), one) for one in theta])
        torch.testing.assert_close(together, alone, atol=1e-7, rtol=1e-7)

    def test_solve_repeats(self) -> None:
        problem = self.make(1)
        theta = self.draw(problem, (20,), 1)
        first = problem.solve(theta)
        problem.solve(theta.flip(0))
        assert torch.equal(problem.solve(theta), first)
        assert torch.equal(self.make(1).solve(theta), first)

    @pytest.mark.parametrize("batch", [(), (1,), (3,), (2, 3), (0,)])
    def test_shapes(self, batch: tuple[int, ...]) -> None:
        problem = self.make(2)
        theta = self.draw(problem, batch, 2)
        x = problem.solve(theta)
        assert x.shape == theta.shape
        assert problem.objective(x, theta).shape == batch
        assert problem.check(x).feasible.shape == batch  # type: ignore[attr-defined]

    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_dtype_and_device_are_the_callers(self, dtype: torch.dtype) -> None:
        for device in self.devices:
            problem = self.make(3).to(device)
            theta = self.draw(problem, (3,), 3).to(device, dtype)
            x = problem.solve(theta)
            assert (x.dtype, x.device.type) == (dtype, device)
            assert problem.objective(x, theta).dtype == dtype
            assert problem.device.type == device

    @pytest.mark.cuda
    def test_devices_agree(self) -> None:
        problem = self.make(4)
        theta = self.draw(problem, (5,), 4)
        value = problem.objective(problem.solve(theta), theta)
        for device in self.devices:
            x = problem.to(device).solve(theta.to(device)).cpu()
            torch.testing.assert_close(problem.objective(x, theta), value)

    def test_objective_is_differentiable(self) -> None:
        problem = self.make(5)
        theta = self.draw(problem, (3,), 5).requires_grad_()
        x = problem.solve(theta)
        assert not x.requires_grad
        x = (x + 0.25).requires_grad_()
        assert torch.autograd.gradcheck(problem.objective, (x, theta))

    def test_survives_pickle_and_deepcopy(self) -> None:
        problem = self.make(6)
        theta = self.draw(problem, (4,), 6)
        expected = problem.solve(theta)  # also fills whatever the problem caches
        for twin in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem), problem.to("cpu")):
            assert torch.equal(twin.solve(theta), expected)
            assert repr(twin) == repr(problem)

    def test_repr_names_the_class(self) -> None:
        problem = self.make(7)
        assert repr(problem).startswith(type(problem).__name__ + "(")

    def test_wrong_theta_is_refused(self) -> None:
        problem = self.make(8)
        n = self.size(problem)
        with pytest.raises(InvalidInputError, match=rf"`theta` must be .*\b{n}\b.*got \(2, {n + 1}\)"):
            problem.solve(torch.zeros(2, n + 1))
        theta = self.draw(problem, (2,), 8)
        theta[1, 0] = torch.nan
        with pytest.raises(InvalidInputError, match=r"`theta` must be finite; got nan at \[1, 0\]"):
            problem.solve(theta)
        with pytest.raises(InvalidInputError, match=r"`theta`.*finite.*inf"):
            problem.solve(torch.full((n,), torch.inf))


class LinearConformance(ProblemConformance):
    """Any problem that is a linear or mixed-integer program."""

    def make(self, seed: int) -> LinearProgram:
        raise NotImplementedError

    @conform
    @given(seed=seeds)
    def test_matches_the_program_with_permuted_variables(self, seed: int) -> None:
        problem = self.make(seed)
        theta = self.draw(problem, (), seed)
        order = torch.randperm(problem.n, generator=torch.Generator().manual_seed(seed))
        keep = order.numpy()
        permuted = LinearProgram(
            problem.A_ub[:, keep], problem.b_ub, problem.A_eq[:, keep], problem.b_eq,  # type: ignore[index]
            (problem.lower[order], problem.upper[order]), problem.integrality[order], problem.sense,
        )  # fmt: skip
        x = permuted.solve(theta[order])
        assert permuted.check(x)
        restored = torch.empty_like(x)
        restored[order] = x
        assert problem.check(restored)
        value = problem.objective(problem.solve(theta), theta)
        torch.testing.assert_close(problem.objective(restored, theta), value, atol=1e-6, rtol=1e-6)

    def test_check_names_what_is_broken(self) -> None:
        problem = self.make(9)
        x = problem.solve(self.draw(problem, (2,), 9))
        x[1] = x[1] - 1000.0
        report = problem.check(x)
        assert not report
        assert report.feasible.tolist() == [True, False]
        assert report.worst[1] > 1
        assert all(violation.instance == (1,) for violation in report.violations)
        assert "instance 1" in str(report)
