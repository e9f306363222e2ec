"""What every problem promises; a new problem's tests inherit one of these classes."""

from __future__ import annotations

import copy
import json
import pickle
from pathlib import Path

import numpy as np
import pytest
import scipy.optimize
import scipy.sparse
import torch
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from torch import Tensor

from foresolve._base import files
from foresolve.errors import ForesolveError, InvalidInputError
from foresolve.problems.base import Problem
from foresolve.problems.linear import LinearProgram

seeds = st.integers(0, 2**20)
conform = settings(max_examples=12, deadline=None, suppress_health_check=list(HealthCheck))

DEVICES = ["cpu", pytest.param("cuda", marks=pytest.mark.cuda)]


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

    any_gains = True  # whether gains of both signs have a best decision: not where cycles may pay

    def make(self, seed: int) -> Problem:
        raise NotImplementedError

    def best(self, problem: Problem, theta: Tensor) -> float:
        raise NotImplementedError

    def size(self, problem: Problem) -> int:
        assert problem.n is not None
        return problem.n

    def draw(self, problem: Problem, batch: tuple[int, ...], seed: int) -> Tensor:
        """Parameters with ties and both signs; a subclass narrows them to its domain."""
        generator = torch.Generator().manual_seed(seed)
        theta = torch.randn(*batch, self.size(problem), generator=generator, dtype=torch.float64)
        return theta.round() if seed % 3 == 0 else theta

    def test_an_empty_batch_has_no_decisions(self) -> None:
        problem = self.make(1)
        theta = self.draw(problem, (1,), 1)[:0]
        if problem.batch_shape:
            problem = problem.select(torch.zeros(0, dtype=torch.long))
        x = problem.solve(theta)
        assert x.shape == (0, self.size(problem) if problem.n is None else problem.n)
        assert problem.objective(x, theta).shape == (0,)
        assert problem.check(x)

    @conform
    @given(seed=seeds)
    def test_decisions_are_feasible(self, seed: int) -> None:
        problem = self.make(seed)
        report = problem.check(problem.solve(self.draw(problem, (4,), seed)))
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
        alone = torch.stack([problem.objective(problem.solve(instance), instance) for instance in theta])
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
        assert problem.check(x).feasible.shape == batch

    @pytest.mark.parametrize("device", DEVICES)
    @pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
    def test_dtype_and_device_are_the_callers(self, dtype: torch.dtype, device: str) -> None:
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
        x = problem.to("cuda").solve(theta.to("cuda")).cpu()
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
        for twin in (pickle.loads(pickle.dumps(problem)), copy.deepcopy(problem), copy.copy(problem)):
            assert torch.equal(twin.solve(theta), expected)
            assert repr(twin) == repr(problem)

    def test_parameters_are_as_the_problem_says(self) -> None:
        problem = self.make(10)
        theta = self.draw(problem, (2,), 10)
        assert len(problem.theta_shape) == theta.ndim - 1
        assert all(size in (None, actual) for size, actual in zip(problem.theta_shape, theta.shape[1:], strict=True))
        assert problem.batch_for(theta) == (2,)
        assert torch.equal(problem.check_theta(theta), theta)
        assert torch.equal(problem.check_theta(theta.numpy()), theta)
        assert problem.check_theta(theta.round().long()).is_floating_point()
        for names, count in ((problem.names, problem.n), (problem.theta_names, problem.theta_shape[0])):
            assert names is None or len(names) == count

    def test_flatten_gives_one_batch_in_double_precision(self) -> None:
        problem = self.make(11)
        theta = self.draw(problem, (2, 3), 11).float().requires_grad_()
        flat, batch = problem.flatten(theta)
        assert (batch, flat.shape, flat.dtype) == ((2, 3), (6, *theta.shape[2:]), torch.float64)
        assert torch.equal(flat.float().reshape(theta.shape), theta)
        flat.sum().backward()
        assert theta.grad is not None
        assert torch.equal(theta.grad, torch.ones_like(theta))
        assert problem.flatten(self.draw(problem, (), 11))[0].shape == (1, *theta.shape[2:])
        with pytest.raises(InvalidInputError, match="`theta` must be finite"):
            problem.flatten(torch.full_like(theta, torch.nan))

    def test_the_sign_is_applied_once(self) -> None:
        problem = self.make(12)
        theta = self.draw(problem, (2, 3), 12)
        assert torch.equal(problem.signed(problem.signed(theta)), theta)
        if not problem.linear:
            for call in (problem.gain, problem.argmax):
                with pytest.raises(ForesolveError, match="linear"):
                    call(theta)
            return
        gains, x = problem.gain(theta), problem.solve(theta)
        assert torch.equal(gains, theta if problem.sense == "max" else -theta)
        assert torch.equal(problem.argmax(gains), x)
        torch.testing.assert_close((gains * x).sum(-1), problem.objective(x, theta))

    def test_argmax_takes_gains_of_any_sign(self) -> None:
        problem = self.make(13)
        if not (problem.linear and self.any_gains):
            pytest.skip("its gains have no such best decision")
        generator = torch.Generator().manual_seed(13)
        gains = torch.randn(30, self.size(problem), generator=generator, requires_grad=True)
        x = problem.argmax(gains)
        assert (x.shape, x.dtype, x.requires_grad) == (gains.shape, gains.dtype, False)
        assert problem.check(x)
        worth = gains.detach() @ x.mT  # of each decision by each instance's gains
        assert bool((worth.diagonal() >= worth.amax(1) - 1e-5).all())

    def test_to_gives_itself_back(self) -> None:
        problem = self.make(14)
        assert problem.to("cpu") is problem
        assert problem.to(problem.device) is problem

    def test_shared_problems_are_selected_whole(self) -> None:
        problem = self.make(15)
        assert problem.batch_shape == ()
        assert problem.select(torch.tensor([3, 1])) is problem

    @conform
    @given(seed=seeds)
    def test_config_makes_the_same_problem(self, seed: int) -> None:
        problem = self.make(seed)
        if type(problem).config is Problem.config:  # it gives none, and says so
            with pytest.raises(ForesolveError, match=rf"{type(problem).__name__} cannot be written to a file"):
                problem.config()
            return
        tensors: dict[str, Tensor] = {}
        document = json.loads(json.dumps(files.pack(problem.config(), tensors, "problem")))
        twin = type(problem).from_config(files.unpack(document, tensors, Path("problem")))
        assert type(twin) is type(problem)
        assert (repr(twin), twin.names, twin.sense) == (repr(problem), problem.names, problem.sense)
        theta = self.draw(problem, (3,), seed)
        assert torch.equal(twin.solve(theta), problem.solve(theta))

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


def shared(matrix: scipy.sparse.csr_array | list[scipy.sparse.csr_array]) -> scipy.sparse.csr_array:
    """Rows that all instances share."""
    assert not isinstance(matrix, list)
    return matrix


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
            shared(problem.A_ub)[:, keep], problem.b_ub, shared(problem.A_eq)[:, keep], problem.b_eq,
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

    def test_offers_rows_and_bounds(self) -> None:
        problem = self.make(16)
        assert {"rows", "linear", "exact", "shared"} <= problem.traits
        assert problem.n == shared(problem.A_ub).shape[1] == shared(problem.A_eq).shape[1]

    def test_variables_are_called_by_their_names(self) -> None:
        problem = self.make(17)
        names = [f"variable {i} of mine" for i in range(problem.n)]
        twin = type(problem).from_config({**problem.config(), "names": names})
        assert twin.names == twin.theta_names == tuple(names)
        assert "variable 0 of mine" in str(twin.check(torch.full((problem.n,), -1000.0)))
        with pytest.raises(InvalidInputError, match="`names` must be a name for each"):
            type(problem).from_config({**problem.config(), "names": names[1:]})
