"""Submodular maximization smoothed by a quadratic term."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, Literal, cast, get_args

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply, first_order, sliceable
from foresolve.errors import ConvergenceWarning, SolverError
from foresolve.layers.base import Layer, Shortfall
from foresolve.layers.gamma_rules import CalibratedGamma, RelativeGamma
from foresolve.layers.groups import Groups
from foresolve.layers.smoothing import SmoothedLayer
from foresolve.layers.solutions import MultilinearSolution
from foresolve.layers.unrolled import unroll
from foresolve.problems.base import Problem
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.ascent import Optimum, maximize
from foresolve.sets.smoothed import SmoothedProgram
from foresolve.sets.stochastic import maximize_sampled
from foresolve.solvers.statistics import measured
from foresolve.solvers.status import Status
from foresolve.solvers.threads import one_torch_thread

Differentiation = Literal["implicit", "unrolled"]


class MultilinearRelaxation(SmoothedLayer):
    r"""The multilinear extension less a quadratic term, maximized over the matroid's polytope and differentiated.

    .. math::
        x(\theta) \in \arg\max_x \; F(x, \theta) - \gamma \|x\|^2 \quad \text{s.t.} \quad x \in B(M)

    with `B(M)` the base polytope (under a uniform matroid: `sum x = k`, `0 <= x <= 1`). Without the quadratic term a
    local maximum has no two fractional coordinates that could be traded against each other, and `dx/dtheta = 0`
    (see docs/submodular.md); with it, `x` is a local maximum at which

    .. math::
        (2\gamma I - H_{FF})\, w + A^\top \nu = v, \quad A w = 0, \qquad
        v^\top \frac{dx}{d\theta} = w^\top \frac{\partial}{\partial\theta} \nabla_x F

    on the free coordinates, one row of `A` for each tight set with a multiplier (Wilder, Dilkina and Tambe, AAAI 2019,
    Theorem 3, for the smoothed problem). Stationarity means `x = Proj(grad F(x) / 2 gamma)`, and the residual is the
    largest entry of the difference.

    Parameters
    ----------
    gamma: the smoothing, in units of `grad F`: a number, a tensor `()` or `(*batch,)`, or `RelativeGamma(factor)`
        for `factor` times the spread of `grad F` at the center of the polytope; by default `CalibratedGamma(1.0)`,
        worked out before training from what smoothed decisions are worth, and that rule until then. It may be changed
        at any time: `layer.gamma = schedule(t)`.
    max_iter: steps before a `ConvergenceWarning`; where `F` is sampled, the number of steps.
    tol: bound on the residual.
    base: with `False`, `x` may leave budget unspent: the independence polytope instead of the base polytope.
    differentiate: "implicit", through the conditions above, or "unrolled", through every step of a projected gradient
        ascent (slower, and memory grows with the steps; the two agree at convergence).

    Shapes
    ------
    `theta` is `(*batch, *shape)` as the problem's function has it, the result `(*batch, n)` in its dtype and on its
    device. Numbers are float64 inside.

    Examples
    --------
    >>> import torch, foresolve
    >>> problem = foresolve.SubmodularProblem(foresolve.ProbabilisticCoverage(), foresolve.UniformMatroid(4, k=2))
    >>> theta = torch.tensor([[0.5, 0.1], [0.4, 0.3], [0.0, 0.6], [0.1, 0.1]], requires_grad=True)
    >>> x = foresolve.MultilinearRelaxation(gamma=0.2)(theta, problem)
    >>> x.sum().item()
    2.0
    >>> problem.objective(x, theta.detach()).backward()
    """

    needs = ("set function", "projection")
    _concave = False

    def __init__(
        self,
        gamma: float | Tensor | RelativeGamma | None = None,
        *,
        max_iter: int = 200,
        tol: float = 1e-8,
        base: bool = True,
        differentiate: Differentiation = "implicit",
    ) -> None:
        super().__init__(CalibratedGamma(1.0) if gamma is None else gamma)
        self.max_iter = checks.positive_int("max_iter", max_iter)
        self.tol = checks.positive("tol", tol)
        self.base = bool(base)
        self.differentiate: Differentiation = checks.one_of("differentiate", differentiate, get_args(Differentiation))

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Smoothed decisions `(*batch, n)`, differentiable."""
        with one_torch_thread(theta.numel()):
            return self._solve(theta, problem, None).x

    def solve(self, theta: Tensor, problem: Problem, start: MultilinearSolution | None = None) -> MultilinearSolution:
        """The same with multipliers, status, residuals, steps and the number of free coordinates.

        `start`, an earlier solution for the same problem and batch, warm-starts the solve: hand each step's solution to
        the next. Without it every call starts from the center of the polytope, so a batch always equals a loop.
        """
        self.check_problem(problem)
        theta = checks.as_tensor("theta", theta)
        with one_torch_thread(theta.numel()):
            return self._solve(theta, problem, start)

    def fenchel_young(self) -> Shortfall:
        """There is none: the objective is not linear in `x`."""
        return Layer.fenchel_young(self)

    def extra_repr(self) -> str:
        settings = f"gamma={self.gamma}, max_iter={self.max_iter}, tol={self.tol:g}"
        return f"{settings}, base={self.base}, differentiate={self.differentiate!r}"

    def _solve(self, theta: Tensor, problem: Problem, start: MultilinearSolution | None) -> MultilinearSolution:
        flat, batch = problem.flatten(theta)
        submodular = cast(SubmodularProblem, problem)
        center = submodular.polytope.center.expand(flat.shape[0], -1)
        gamma = self._gammas(flat, batch, lambda rule: self._by_rule(rule, flat, batch, problem)).expand(flat.shape[0])
        first = center if start is None else self._start(start, submodular, batch).to(flat)
        with measured("multilinear", len(flat)) as call:
            solved = _MaximizedBatch(self, submodular, flat, gamma, first, batch)
            late = torch.where(solved.residual > self.tol, int(Status.MAX_ITER), int(Status.CONVERGED))
            call.tell(_joined([part.iterations for part in solved.parts]), solved.residual, late)
        self._report(solved, batch)
        if solved.x.requires_grad and not self._warned and solved.free.numel() and not bool(solved.free.any()):
            self._warn_of_vertices()
        return solved.solution(batch, theta.dtype, lambda x: self._kept(theta, problem, x))

    def _relative(self, rule: RelativeGamma, theta: Tensor, problem: Problem) -> Tensor:
        flat, batch = problem.flatten(theta)
        return self._by_rule(rule, flat, batch, problem)

    def _by_rule(self, rule: RelativeGamma, flat: Tensor, batch: torch.Size, problem: Problem) -> Tensor:
        submodular = cast(SubmodularProblem, problem)
        center = submodular.polytope.center.expand(flat.shape[0], -1)
        return rule(submodular.function_of(batch).gradient(center, flat), flat.new_ones(()))

    def _start(self, start: MultilinearSolution, problem: SubmodularProblem, batch: torch.Size) -> Tensor:
        expected = f"a MultilinearSolution of the same problem and batch {tuple(batch)}"
        if not isinstance(start, MultilinearSolution):
            raise checks.fail("start", expected, type(start).__name__)
        if tuple(start.x.shape) != (*batch, problem.n):
            raise checks.fail("start", expected, f"decisions {tuple(start.x.shape)} instead of {(*batch, problem.n)}")
        flat = start.x.detach().double().reshape(-1, problem.n)
        return problem.polytope.project(flat, base=self.base).x

    def _report(self, solved: _MaximizedBatch, batch: torch.Size) -> None:
        if solved.problem.function.sampled:
            return
        unfinished = solved.residual > self.tol
        if not bool((unfinished | ~solved.definite).any()):
            return
        late = unfinished.nonzero().flatten().tolist()
        if late:
            checks.warn(
                f"{checks.instance_names(late, batch)} did not reach tol={self.tol:g} in max_iter={self.max_iter} "
                f"iterations (largest residual {float(solved.residual.max()):.2e}). Raise max_iter or gamma",
                ConvergenceWarning,
            )
        saddles = (~solved.definite & ~unfinished).nonzero().flatten().tolist()
        if saddles:
            checks.warn(
                f"{checks.instance_names(saddles, batch)} ended at a saddle point or a degenerate maximum, where the "
                "decision has no derivative and the gradient is zero. Raise gamma",
                ConvergenceWarning,
            )


class _MaximizedBatch:
    """One solved flat batch, before it takes the caller's shapes and dtype again."""

    def __init__(
        self,
        layer: MultilinearRelaxation,
        problem: SubmodularProblem,
        theta: Tensor,
        gamma: Tensor,
        start: Tensor,
        batch: torch.Size,
    ) -> None:
        self.problem, self.theta, self.gamma = problem, theta, gamma
        detached, fixed = theta.detach(), gamma.detach()
        function, matroid = problem.function_of(batch), problem.polytope
        wanted = torch.is_grad_enabled() and (theta.requires_grad or gamma.requires_grad)
        unrolled = None
        if layer.differentiate == "unrolled" and wanted and not function.sampled:
            program = SmoothedProgram(function, matroid, theta, gamma, layer.base)
            unrolled, _, _ = unroll(program, start, tol=layer.tol, max_iter=layer.max_iter)
            start = unrolled.detach()

        def maximized(_: int, rows: slice) -> Optimum:
            instances = function.select(rows, theta.shape[:1])
            program = SmoothedProgram(instances, matroid, detached[rows], fixed[rows], layer.base)
            if function.sampled:
                return maximize_sampled(program, start[rows], max_iter=layer.max_iter)
            return maximize(program, start[rows], tol=layer.tol, max_iter=layer.max_iter)

        groups = Groups(function, theta)
        self.parts = groups.each(maximized)
        if unrolled is not None:
            self.x = unrolled
        elif wanted:
            self.x = apply(_Maximizer, theta, gamma, self.parts, groups, batch)
        else:
            self.x = _joined([part.x for part in self.parts])
        self.residual = _joined([part.residual for part in self.parts])
        self.definite = _joined([part.system.definite for part in self.parts])
        self.free = _joined([part.system.movable for part in self.parts])
        self.tol = layer.tol

    def solution(
        self, batch: torch.Size, dtype: torch.dtype, kept: Callable[[Tensor], Callable[[], Tensor]]
    ) -> MultilinearSolution:
        price, iterations, value, slope = (
            _joined(parts)
            for parts in zip(*((p.projection.price, p.iterations, p.local.value, p.local.gradient) for p in self.parts))
        )
        x = self.x.detach()
        price = 2 * self.gamma.detach().unsqueeze(-1) * price
        reduced = slope - 2 * self.gamma.detach().unsqueeze(-1) * x - price
        lower = torch.where(x <= 0, -reduced, 0.0).clamp_min(0)
        upper = torch.where(x >= 1, reduced, 0.0).clamp_min(0)
        late = (self.residual > self.tol) & (not self.problem.function.sampled)
        status = torch.where(late, int(Status.MAX_ITER), int(Status.CONVERGED))
        shaped = (part.reshape(*batch, self.problem.n).to(dtype) for part in (self.x, price, lower, upper))
        status, residual, iterations, free = (
            part.reshape(batch) for part in (status, self.residual, iterations, self.free)
        )
        x, price, lower, upper = shaped
        value = value.reshape(batch).to(dtype)
        return MultilinearSolution(
            x, value, price, lower, upper, status, residual, iterations, free, kept(x)
        )  # fmt: skip


class _Maximizer(torch.autograd.Function):
    """The solved `x` as a function of `theta` and `gamma`: the derivation stands in the layer's docstring.

    Stationarity `C (grad F - 2 gamma x) = 0` gives `K dx = C (d/dtheta grad F dtheta - 2 x dgamma)`, so that
    `v' dx = w' d/dtheta grad F dtheta - 2 w'x dgamma` with `w = C K^{-1} C v`.
    """

    @staticmethod
    def forward(
        ctx: Any, theta: Tensor, gamma: Tensor, parts: list[Optimum], groups: Groups, batch: torch.Size
    ) -> Tensor:
        ctx.parts, ctx.groups, ctx.shape, ctx.batch = parts, groups, theta.shape, batch
        ctx.save_for_backward(theta, gamma)
        return torch.cat([part.x for part in parts])  # a copy: the node must not hold its own output

    @staticmethod
    @first_order
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor | None, ...]:  # type: ignore[override]
        (v,) = grads
        with one_torch_thread(ctx.shape.numel()):
            by_theta = v.new_zeros(ctx.shape) if ctx.needs_input_grad[0] else None
            by_gamma = v.new_empty(ctx.shape[:1]) if ctx.needs_input_grad[1] else None

        def put(i: int, rows: slice) -> None:
            part = ctx.parts[i]
            w = part.system.solve(v[rows])
            if by_theta is not None:
                try:
                    part.local.put_cross(w, by_theta[rows])
                except SolverError as error:
                    where = [rows.start + b for b in error.instances]
                    names = checks.instance_names(where, ctx.batch)
                    raise error.renamed("the gradient of {instances}", where, names) from error
            if by_gamma is not None:
                by_gamma[rows] = -2 * (w * part.x).sum(-1)

        ctx.groups.each(put)
        return by_theta, by_gamma, None, None, None


def _joined(parts: Any) -> Tensor:
    parts = list(parts)
    return parts[0] if len(parts) == 1 else torch.cat(parts)
