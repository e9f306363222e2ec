"""Linear programs smoothed by a quadratic term, and quadratic programs."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from functools import cached_property
from typing import cast

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.layers.base import expanded
from foresolve.layers.gamma_rules import CalibratedGamma, RelativeGamma
from foresolve.layers.implicit import Derivative, attach
from foresolve.layers.smoothing import SmoothedLayer
from foresolve.layers.solutions import Duals, Solution
from foresolve.layers.verdicts import report
from foresolve.problems.base import Problem
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.arrays import Array, to_array, to_tensor
from foresolve.solvers.exact.highs import is_feasible
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import ProjectionResult, project
from foresolve.solvers.projection.tangent import Tangent
from foresolve.solvers.threads import one_torch_thread


class _WhereNeeded(CalibratedGamma):
    """Where nothing is said of gamma: none where the problem needs none."""

    def __repr__(self) -> str:
        return "CalibratedGamma()"


class QuadraticRelaxation(SmoothedLayer):
    r"""A linear or quadratic program with a strongly concave objective, solved and differentiated exactly.

    .. math::
        x(\theta) = \arg\max_x \; \theta^\top x - \tfrac{1}{2} x^\top Q x - \gamma \|x\|^2 \quad \text{s.t.} \quad
        A_{eq} x = b_{eq},\; A_{ub} x \le b_{ub},\; \ell \le x \le u

    For a `LinearProgram` (:math:`Q = 0`) it is the Euclidean projection of :math:`\theta / 2\gamma` onto the polytope
    (Wilder, Dilkina and Tambe, AAAI 2019). For a `QuadraticProgram` it is a projection in the metric
    :math:`Q + 2\gamma I`, and with `gamma=0` the program itself. Gradients reach `theta`, `gamma` (a tensor), `Q` and
    every constraint tensor that requires grad; those of shared data are summed over the batch. `x` is piecewise linear
    in `theta`: at a kink the gradient is that of one neighboring piece.

    An instance that was not solved to the end, or that rounding of its data alone moves, gives a `ConvergenceWarning`;
    so does a gradient that fails its own check. `solve` has the status and the figures of every instance.

    Where the problem is `parametrized`, variables whose coefficients are known and whose values follow from the others
    by the equality rows (states, balances) are left out of :math:`\|x\|^2`: `problem.smoothed_columns`.

    Parameters
    ----------
    gamma: the smoothing, in units of `theta / x`: a number, a tensor `()` or `(*batch,)`, or `RelativeGamma(factor)`
        for one that follows the scale of the data. 0 is for quadratic programs that are strictly concave without it
        (`problem.definite`). By default 0 there, and `CalibratedGamma()` elsewhere: worked out before training from
        what smoothed decisions are worth. It may be changed at any time: `layer.gamma = schedule(t)`.
    tol: bound on the violation of the optimality conditions: of a row relative to its own terms
        `sum_j |a_ij x_j| + |b_i|`, of stationarity relative to the size of `x`.
    max_iter: interior point iterations per instance.

    Shapes
    ------
    `theta` is `(*batch, n)`; the result has its dtype and device. Numbers are float64 inside.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.BipartiteMatching(2, 2)
    >>> theta = torch.tensor([1.0, 0.8, 0.2, 0.5], requires_grad=True)
    >>> x = foresolve.QuadraticRelaxation(gamma=0.5)(theta, problem)
    >>> problem.check(x.detach()).feasible
    tensor(True)
    """

    needs = ("rows",)
    fenchel_young_needs = ()
    _may_vanish = True

    def __init__(
        self, gamma: float | Tensor | RelativeGamma | None = None, *, tol: float = 1e-10, max_iter: int = 100
    ) -> None:
        super().__init__(_WhereNeeded() if gamma is None else gamma)
        self.tol = checks.positive("tol", tol)
        self.max_iter = checks.positive_int("max_iter", max_iter)

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Smoothed decisions `(*batch, n)`, differentiable."""
        with one_torch_thread(theta.numel()):
            return self._solve(theta, problem, None).decisions()

    def solve(self, theta: Tensor, problem: Problem, start: Solution | None = None) -> Solution:
        """The same with duals, status, residuals, iterations and the number of free coordinates.

        `start`, an earlier solution for the same problem and batch, warm-starts the solve: hand each step's solution to
        the next. Without it every call starts from scratch, so a batch equals a loop wherever it converged.
        """
        self.check_problem(problem)
        theta = checks.as_tensor("theta", theta)
        with one_torch_thread(theta.numel()):
            solved = self._solve(theta, problem, start)
            return solved.solution(self._kept(theta, problem, solved.decisions()))

    def _penalty(self, x: Tensor, problem: Problem) -> Tensor:
        columns = cast(LinearProgram, problem).smoothed_columns
        return self.penalty(x if columns is None else x * columns.to(x))

    def extra_repr(self) -> str:
        return f"gamma={self.gamma}, tol={self.tol:g}, max_iter={self.max_iter}"

    def _size(self, theta: Tensor, problem: Problem) -> Tensor:
        program = cast(LinearProgram, problem.at(theta))
        moved = None if problem.parameters is None else problem.parameters.moving
        return width_of(program.polytope(theta.shape[:-1]), None if moved is None else moved.moved)

    def _relative(self, rule: RelativeGamma, theta: Tensor, problem: Problem) -> Tensor:
        return self._where_needed(rule, theta, problem, super()._relative)

    def _of_spread_one(self, rule: RelativeGamma, theta: Tensor, problem: Problem) -> Tensor:
        return self._where_needed(rule, theta, problem, super()._of_spread_one)

    def _where_needed(
        self, rule: RelativeGamma, theta: Tensor, problem: Problem, gamma: Callable[..., Tensor]
    ) -> Tensor:
        """What a rule gives; 0 for the instances that need none, where nothing was said of gamma."""
        if not isinstance(rule, _WhereNeeded):
            return gamma(rule, theta, problem)
        strict = problem.at(theta).definite_instances.to(theta.device)
        if bool(strict.all()):
            return theta.new_zeros(1)
        return torch.where(strict, 0.0, gamma(rule, theta, problem))

    def _solve(self, theta: Tensor, problem: Problem, start: Solution | None) -> _ProjectedBatch:
        full = expanded(theta, problem)
        program, gain = cast(LinearProgram, problem.at(full)), problem.gain(full)
        batch, gain = gain.shape[:-1], gain.reshape(-1, gain.shape[-1])
        gamma = self._gammas(gain, batch, lambda rule: self._relative(rule, full, program))
        point, polytope, unit = program.smoothed(gain, gamma, batch)
        numeric = polytope.numeric()
        warm = {} if start is None else self._start(start, polytope, batch)
        result = project(
            to_array(point), numeric, tol=self.tol, max_iter=self.max_iter, is_feasible=is_feasible, **warm
        )
        converged = report(result, program, polytope, batch, self.tol, self.max_iter)
        solved = _ProjectedBatch(batch, theta.dtype, unit, point, polytope, result)
        # A vertex that the constraints move passes a gradient to them.
        movable = any(tensor.requires_grad for tensor in polytope.tensors())
        if converged and solved.differentiable and point.requires_grad and not movable:
            self._warn_if_stuck(result.tangent)
        return solved

    def _start(self, start: Solution, polytope: Polytope, batch: torch.Size) -> dict[str, Array]:
        expected, shape = f"a Solution of the same problem and batch {tuple(batch)}", (batch.numel(), polytope.rows.m)
        if not isinstance(start, Solution):
            raise checks.fail("start", expected, type(start).__name__)
        if tuple(start.multipliers.shape) != shape:
            raise checks.fail("start", expected, f"multipliers {tuple(start.multipliers.shape)} instead of {shape}")
        near = start.x.detach().reshape(batch.numel(), polytope.rows.n)
        return {"start": to_array(start.multipliers.to(polytope.rhs)), "near": to_array(near.to(polytope.rhs))}

    def _warn_if_stuck(self, tangent: Tangent) -> None:
        """At most one warning for each layer, if a whole batch sits on vertices."""
        # More free variables than active rows leave room to move; only otherwise is it worth a closer look.
        if self._warned or 0 in tangent.free.shape or bool((tangent.free.sum(-1) > tangent.active.sum(-1)).any()):
            return
        if not bool(tangent.movable().any()):
            self._warn_of_vertices()


def width_of(polytope: Polytope, counted: Tensor | None = None) -> Tensor:
    """A typical width of the feasible set, `(1 or B,)`: that of the boxes, else the reach of the largest row.

    `counted` `(n,)` are the variables whose boxes count.
    """
    width = polytope.upper - polytope.lower
    finite = torch.isfinite(width) & (width > 0)
    if counted is not None:
        finite = finite & counted
    mean = torch.where(finite, width, 0.0).sum(-1) / finite.sum(-1).clamp_min(1)
    norms = polytope.rows.squared_norms()  # computed here: where entries are predicted, this has a graph of its own
    norms = torch.where(norms > 0, norms, 1.0).sqrt()
    reach = (polytope.rhs.abs() / norms).amax(-1) if polytope.rows.m else torch.zeros_like(mean)
    size = torch.where(finite.any(-1), mean, reach)
    return torch.where(size > 0, size, 1.0)


@dataclass(frozen=True)
class _ProjectedBatch:
    """One solved batch, before it takes the caller's shapes, dtype and device again."""

    batch: torch.Size
    dtype: torch.dtype
    unit: Tensor
    point: Tensor
    polytope: Polytope
    result: ProjectionResult

    @property
    def differentiable(self) -> bool:
        tensors = (self.point, *self.polytope.tensors())
        return torch.is_grad_enabled() and any(tensor.requires_grad for tensor in tensors)

    @cached_property
    def derivative(self) -> Derivative:
        return Derivative(self.result.tangent, self.batch)

    @cached_property
    def solved(self) -> tuple[Tensor, Tensor]:
        """Decisions and multipliers, flat."""
        if self.differentiable:
            return attach(self.point, self.polytope, self.derivative)
        return to_tensor(self.result.face.x), to_tensor(self.result.face.y)

    def _shaped(self, array: Array, dtype: torch.dtype | None = None) -> Tensor:
        tensor = to_tensor(array)
        return tensor.reshape(self.batch + tensor.shape[1:]).to(dtype or tensor.dtype)

    def decisions(self) -> Tensor:
        return self._shaped(self.solved[0], self.dtype)

    def duals(self) -> Duals:
        """With gradients: bounds push back by what is left of stationarity where a variable cannot move."""
        polytope, (x, y) = self.polytope, self.solved
        unit, equality = self.unit.unsqueeze(-1), polytope.equality
        rest = self.point - polytope.rows.adjoint(y) - polytope.metric.apply(x)
        rest = unit * torch.where(to_tensor(self.result.face.free), 0.0, rest)
        y = unit * torch.where(equality, y, y.clamp_min(0.0))
        parts = (y[:, equality], y[:, ~equality], (-rest).clamp_min(0.0) + 0.0, rest.clamp_min(0.0) + 0.0)  # no -0.0
        return Duals(*(self._shaped(part, self.dtype) for part in parts))

    def solution(self, kept: Callable[[], Tensor]) -> Solution:
        result = self.result
        status, residual, iterations, free = (
            self._shaped(part) for part in (result.status, result.residual, result.iterations, result.tangent.movable())
        )
        multipliers, error = to_tensor(result.face.y), self.derivative.error
        return Solution(self.decisions(), self.duals(), status, residual, iterations, free, multipliers, error, kept)
