r"""Smoothed decisions from a linear oracle alone: fully corrective Frank-Wolfe.

`x = V'w` is kept as a convex combination of vertices `V` `(B, K, n)`. A step asks the oracle for the vertex that the
gradient `u = c - gamma grad Omega(x)` likes best, which also bounds the distance from the optimum, `f* - f(x) <= u'(v -
x)`; then the weights are corrected by Newton's method over the affine hull of the vertices in use. With `D` their
differences from `x` and `H` the Hessian of `Omega`,

    max_delta  u'D'delta - gamma/2 delta' D H D' delta,   1'delta = 0,    D H D' delta + nu 1 = D u / gamma,

as far as a weight reaches zero; its vertex then leaves, and the step is repeated without it. For the quadratic `Omega`
this is Wolfe's algorithm for the nearest point, which ends after finitely many vertices.

The same system is the derivative. Where the vertices in use span the face on which `x` moves (almost everywhere), `x`
follows a change `du = dc - dgamma grad Omega(x)` by `dx = D' delta(du)`; this map is symmetric.
"""

from __future__ import annotations

from typing import Any, Literal

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve._base.autograd import apply, first_order, sliceable
from foresolve.errors import ConvergenceWarning
from foresolve.layers.base import expanded
from foresolve.layers.gamma_rules import CalibratedGamma, RelativeGamma
from foresolve.layers.regularizers import Given, Quadratic, Regularizer
from foresolve.layers.smoothing import SmoothedLayer
from foresolve.layers.solutions import Combination
from foresolve.layers.vertex_span import spanning
from foresolve.problems.base import Problem
from foresolve.solvers.statistics import measured
from foresolve.solvers.status import Status

ROUNDING, LIGHT, RIDGE = 1e-15, 1e-14, 1e-13  # of the gap, of the weights, of the matrix
CORRECTIONS = 100  # in one step: each but the last few drops a vertex


class RegularizedFrankWolfe(SmoothedLayer):
    r"""The smoothed linear problem over the convex hull of its decisions, by calls of its solver alone.

    .. math::
        x(\theta) = \arg\max_{x \in \mathrm{conv}(X)} \; c^\top x - \gamma \, \Omega(x)

    with :math:`c` the gains (:math:`\theta`, or :math:`-\theta` for costs). For :math:`\Omega = \|x\|^2` it is
    `QuadraticRelaxation` over the hull of the *integer* decisions, without a description of it by constraints: the two
    agree where the linear program has integral vertices (matchings, paths), and differ where it has not (knapsacks).
    Fully corrective steps: usually a few more solves than `x` has vertices. Gradients reach `theta` and `gamma`; they
    are exact where `x` is differentiable.

    Works with: linear objectives over bounded sets, exact solvers (a heuristic's convex hull is what it finds).

    Parameters
    ----------
    gamma: the smoothing, as in `QuadraticRelaxation`; a `RelativeGamma` takes 1 for the size of `x`.
    regularizer: "quadratic", or a function of `x` `(B, n)` that gives `(B,)`: torch operations, strongly convex, twice
        differentiable with finite derivatives on the whole hull. `x log x` is not; `(x + 0.01) log(x + 0.01)` is.
    max_iter: solves per instance before a `ConvergenceWarning`.
    tol: bound on the distance from the optimum, for a regularizer as convex as the quadratic one: the gap is at most
        `gamma tol^2`, or rounding.

    Shapes
    ------
    `theta` is `(*batch, n)`; the result has its dtype and device. Numbers are float64 inside.

    References
    ----------
    Dalle, Baty, Bouvier and Parmentier, *Learning with Combinatorial Optimization Layers: a Probabilistic Approach*
    (2022); Wolfe, *Finding the Nearest Point in a Polytope* (1976).

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import RegularizedFrankWolfe
    >>> theta = torch.tensor([0.5, 0.4, 0.1], requires_grad=True)
    >>> RegularizedFrankWolfe(gamma=0.5)(theta, foresolve.TopK(3, 1)).detach()
    tensor([0.5000, 0.4000, 0.1000])
    """

    needs = ("linear", "fixed")

    def __init__(
        self,
        gamma: float | Tensor | RelativeGamma | None = None,
        regularizer: Literal["quadratic"] | Regularizer = "quadratic",
        *,
        max_iter: int = 1000,
        tol: float = 1e-8,
    ) -> None:
        super().__init__(CalibratedGamma() if gamma is None else gamma)
        if regularizer != "quadratic" and not callable(regularizer):
            raise checks.fail("regularizer", '"quadratic" or a function', repr(regularizer))
        self.regularizer: Literal["quadratic"] | Regularizer = regularizer  # type: ignore[assignment]
        self.max_iter, self.tol = checks.positive_int("max_iter", max_iter), checks.positive("tol", tol)

    def forward(self, theta: Tensor, problem: Problem) -> Tensor:
        """Smoothed decisions `(*batch, n)`, differentiable."""
        return self._solve(theta, problem).x

    def penalty(self, x: Tensor) -> Tensor:
        """What `gamma` multiplies, `(*batch,)`: `Omega(x)`."""
        return self._omega().value(x.reshape(-1, x.shape[-1])).reshape(x.shape[:-1])

    def solve(self, theta: Tensor, problem: Problem) -> Combination:
        """The same with the vertices it consists of, their weights, the gap and the number of steps."""
        self.check_problem(problem)
        return self._solve(checks.as_tensor("theta", theta), problem)

    def extra_repr(self) -> str:
        return f"gamma={self.gamma}, regularizer={self.regularizer!r}, max_iter={self.max_iter}, tol={self.tol:g}"

    def _solve(self, theta: Tensor, problem: Problem) -> Combination:
        full = expanded(theta, problem)
        c = problem.gain(full)
        batch, c = c.shape[:-1], c.reshape(-1, c.shape[-1])
        gamma = self._gammas(c, batch, lambda rule: self._relative(rule, full, problem)).expand(len(c))
        with measured("Frank-Wolfe", len(c)) as call:
            search = _VertexSearch(c.detach(), gamma.detach(), self._omega(), problem, batch)
            search.climb(self.max_iter, self.tol)
            ended = torch.where(search.done, int(Status.CONVERGED), int(Status.MAX_ITER))
            call.tell(search.taken, search.gap, ended)
        late = (~search.done).nonzero().flatten().tolist()
        if late:
            gap = f"(largest gap {float(search.gap.max()):.2e})"
            what = f"did not reach tol={self.tol:g} in max_iter={self.max_iter} iterations {gap}"
            checks.warn(f"{checks.instance_names(late, batch)} {what}. Raise max_iter or gamma", ConvergenceWarning)
        x = search.x
        if torch.is_grad_enabled() and (c.requires_grad or gamma.requires_grad):
            x = apply(_Attached, c, gamma, search)
        parts = (part.reshape(*batch, *part.shape[1:]).to(theta.dtype) for part in (x, search.vertices, search.weights))
        x, vertices, weights = parts
        gap, taken = search.gap.reshape(batch), search.taken.reshape(batch)
        return Combination(x, vertices, weights, gap, taken, self._kept(full, problem, x))

    def _omega(self) -> Quadratic:
        return Quadratic() if isinstance(self.regularizer, str) else Given(self.regularizer)


class _VertexSearch:
    """One solved flat batch: vertices `(B, K, n)`, weights `(B, K)`; a slot of weight 0 is empty."""

    def __init__(self, c: Tensor, gamma: Tensor, omega: Quadratic, problem: Problem, batch: torch.Size) -> None:
        self.c, self.gamma, self.omega, self.problem, self.batch = c, gamma, omega, problem, batch
        self.vertices = self.oracle(c, torch.arange(len(c), device=c.device))[:, None]
        self.weights = c.new_ones(len(c), 1)
        self.gap = c.new_full((len(c),), torch.inf)
        self.done = torch.zeros(len(c), dtype=torch.bool, device=c.device)
        self.taken = torch.ones(len(c), dtype=torch.long, device=c.device)

    @property
    def x(self) -> Tensor:
        return _mean(self.weights, self.vertices)

    def climb(self, max_iter: int, tol: float) -> None:
        live = torch.arange(len(self.c), device=self.c.device)
        while max_iter > 0 and len(live):
            live, max_iter = live[self._advance(live, tol)], max_iter - 1

    def oracle(self, u: Tensor, live: Tensor) -> Tensor:
        """The best vertices for the instances `live`; all at once where each has data of its own."""
        if not self.problem.batch_shape:
            return self.problem.argmax(u)
        gains = self.c.clone()
        gains[live] = u
        return self.problem.argmax(gains.reshape(*self.batch, gains.shape[-1])).reshape(gains.shape)[live]

    def _advance(self, live: Tensor, tol: float) -> Tensor:
        """One more vertex for the instances `live`; which of them continue."""
        vertices, weights, gamma = self.vertices[live], self.weights[live], self.gamma[live, None]
        x = _mean(weights, vertices)
        slope = gamma * self.omega.gradient(x)
        u = self.c[live] - slope
        new = self.oracle(u, live)
        self.taken[live] += 1
        gap = (u * (new - x)).sum(-1)
        size = (self.c[live].abs().amax(-1) + slope.abs().amax(-1)) * (new - x).abs().sum(-1)
        # Correct weights leave nothing to gain from a vertex in use: what is left there is the weights' rounding.
        # Neither do equally good vertices that take turns.
        known = ((vertices == new[:, None]).all(-1) & (weights > 0)).any(-1)
        rounding = (known & (gap <= 1e-8 * size)) | ((gap >= self.gap[live] / 2) & (gap <= 100 * ROUNDING * size))
        done = (gap <= torch.maximum(gamma[:, 0] * tol**2, ROUNDING * size)) | rounding
        self.gap[live] = gap.clamp_min(0)
        self.done[live] = done
        going = ~done & ~known
        if bool(going.any()):
            self._add(live[going], new[going])
            self._correct(live[going])
        return going

    def _add(self, rows: Tensor, new: Tensor) -> None:
        """Put a vertex into an empty slot, with a weight just above zero that marks it as in use."""
        if bool((self.weights[rows] > 0).all(-1).any()):
            room = self.weights.shape[-1]
            self.vertices = torch.nn.functional.pad(self.vertices, (0, 0, 0, room))
            self.weights = torch.nn.functional.pad(self.weights, (0, room))
        slot = (self.weights[rows] > 0).to(torch.uint8).argmin(-1)
        self.vertices[rows, slot] = new
        self.weights[rows, slot] = torch.finfo(torch.float64).tiny

    def _correct(self, rows: Tensor) -> None:
        """Newton's method on the weights, until it has converged without a vertex to drop."""
        for _ in range(CORRECTIONS):
            width = int((self.weights[rows] > 0).any(0).nonzero().max()) + 1
            vertices, weights = self.vertices[rows, :width], self.weights[rows, :width]
            x, gamma = _mean(weights, vertices), self.gamma[rows]
            u = self.c[rows] - gamma[:, None] * self.omega.gradient(x)
            system = _System(self.omega, x, vertices, weights > 0)
            delta = system.weights(u) / gamma[:, None]
            ratio = torch.where(delta < 0, -weights / delta, torch.inf)
            limit, blocking = ratio.min(-1)
            length = limit.clamp_max(1.0)
            step = _mean(delta, vertices - x[:, None])
            slope = (u * step).sum(-1)
            if self.omega.newton:
                length = self._search(rows, x, step, slope, length)
            moved = weights + length[:, None] * delta
            dropped = length >= limit
            moved[dropped, blocking[dropped]] = 0
            moved.clamp_(min=0)
            self.weights[rows, :width] = moved / moved.sum(-1, keepdim=True)
            # One full step solves a quadratic; otherwise the error left is the square of the step, about the slope.
            settled = (length == 1) & (slope <= 1e-14 * gamma) if self.omega.newton else length == 1
            rows = rows[dropped | ~settled]
            if len(rows) == 0:
                return

    def _search(self, rows: Tensor, x: Tensor, step: Tensor, slope: Tensor, length: Tensor) -> Tensor:
        """Halve the step until the objective rises as it should."""
        c, gamma = self.c[rows], self.gamma[rows]
        here = self.omega.value(x)
        for _ in range(30):
            rise = length * (c * step).sum(-1) - gamma * (self.omega.value(x + length[:, None] * step) - here)
            fine = rise >= 1e-4 * length * slope - 1e-14 * gamma * here.abs()
            length = torch.where(fine, length, length / 2)
            if bool(fine.all()):
                break
        return length


class _System:
    """`D H D' delta + nu 1 = r`, `1'delta = 0`, on the vertices in use.

    Adding `1 1'` to the matrix leaves `delta` as it is and makes up for its null vector, the weights themselves.
    """

    def __init__(self, omega: Quadratic, x: Tensor, vertices: Tensor, used: Tensor) -> None:
        self.used = used.to(x)
        self.differences = (vertices - x[:, None]) * self.used[..., None]
        matrix = self.differences @ omega.products(x, self.differences).mT
        matrix = (matrix + matrix.mT) / 2
        size = matrix.diagonal(dim1=-2, dim2=-1).amax(-1)[:, None, None].clamp_min(1e-300)
        matrix = matrix / size + self.used[:, :, None] * self.used[:, None, :]
        ridge = torch.diag_embed(torch.where(used, RIDGE * used.shape[-1], 1.0))
        self.size, self.factor = size[..., 0], torch.linalg.cholesky(matrix + ridge)

    def weights(self, u: Tensor) -> Tensor:
        """`delta` for a change `u` of the gains."""
        right = torch.stack([(self.differences @ u[..., None])[..., 0], self.used], -1)
        solved, ones = torch.cholesky_solve(right, self.factor).unbind(-1)
        total = ones.sum(-1, keepdim=True)
        return (solved - ones * solved.sum(-1, keepdim=True) / total) * self.used / self.size

    def along(self, u: Tensor) -> Tensor:
        """`D' delta(u)`, a symmetric map."""
        return _mean(self.weights(u), self.differences)


class _Attached(torch.autograd.Function):
    @staticmethod
    def forward(ctx: Any, c: Tensor, gamma: Tensor, search: _VertexSearch) -> Tensor:
        ctx.search = search
        ctx.save_for_backward(c, gamma)
        return search.x

    @staticmethod
    @first_order
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, Tensor, None]:  # type: ignore[override]
        search: _VertexSearch = ctx.search
        x = search.x
        slope = search.gamma[:, None] * search.omega.gradient(x)
        size = search.c.abs().amax(-1) + slope.abs().amax(-1)
        used = search.weights > LIGHT
        vertices, used = spanning(search.vertices, used, x, search.c - slope, size, search.oracle)
        system = _System(search.omega, x, vertices, used)
        along = system.along(grads[0]) / search.gamma[:, None]
        return along, -(along * search.omega.gradient(x)).sum(-1), None


def _mean(weights: Tensor, vertices: Tensor) -> Tensor:
    return (weights[..., None, :] @ vertices)[..., 0, :]
