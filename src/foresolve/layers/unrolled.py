"""Projected gradient ascent as a chain of differentiable steps."""

from __future__ import annotations

from typing import Any, NamedTuple

import torch
from torch import Tensor

from foresolve._base.autograd import apply, sliceable
from foresolve.sets.climb import Step, climb
from foresolve.sets.matroids.matroid import MatroidProjection
from foresolve.sets.smoothed import SmoothedProgram


class _Projected(torch.autograd.Function):
    """The projection onto a matroid polytope; its derivative is self-adjoint."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, projection: MatroidProjection) -> Tensor:
        ctx.projection = projection
        return projection.x.clone()

    @staticmethod
    @sliceable
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None]:
        return ctx.projection.tangent(grads[0]), None


def unroll(program: SmoothedProgram, start: Tensor, *, tol: float, max_iter: int) -> tuple[Tensor, Tensor, Tensor]:
    """`x` `(B, n)` with the graph of all its steps, the residuals and the numbers of steps.

    Each step is `x -> Proj(x + (grad F(x) - 2 gamma x) / L)` with `L` found by backtracking. With `J` the derivative of
    a step in `x`, after `t` steps at a solution the derivative of `x` in `theta` is off by `J^t` times what it was off
    by. So an instance whose residual has reached `tol` does not rest before a random direction, its echo, has died out
    under the steps that follow.
    """
    step = _Unrolled(program, tol)
    counts = torch.zeros(start.shape[0], dtype=torch.long, device=start.device)
    echo = torch.randn(start.shape, generator=torch.Generator().manual_seed(0), dtype=start.dtype).to(start.device)
    first = step(step.at(start, 2 * program.gamma.detach(), counts, echo), 0)  # what holds the graph, come what may
    end = climb(step, first, max_iter - 1)
    return end.x, end.residual, end.counts


class _State(NamedTuple):
    """Points and the gradients of `F` there, both with their graphs, residuals, step lengths, steps so far, echoes."""

    x: Tensor
    slope: Tensor
    residual: Tensor
    lipschitz: Tensor
    counts: Tensor
    echo: Tensor


class _Unrolled(Step[_State]):
    def __init__(self, program: SmoothedProgram, tol: float) -> None:
        self.program, self.tol = program, tol

    def at(self, x: Tensor, lipschitz: Tensor, counts: Tensor, echo: Tensor) -> _State:
        slope = self.program.function.gradient(x, self.program.theta)
        with torch.no_grad():
            residual = (self.program.fixed_point(slope).x - x).abs().amax(-1)
        return _State(x, slope, residual, lipschitz, counts, echo)

    def _open(self, state: _State) -> Tensor:
        return (state.residual > self.tol) | (state.echo.abs().amax(-1) > self.tol)

    def done(self, state: _State) -> bool:
        return not bool(self._open(state).any())

    def __call__(self, state: _State, k: int) -> _State:
        x, open_ = state.x, self._open(state)
        slope = self.program.slope(x, state.slope)
        lipschitz, projection = self._step_length(x, slope, state.lipschitz)
        moved = apply(_Projected, x + slope / lipschitz.unsqueeze(-1), projection)
        with torch.no_grad():
            curve = self.program.slope(state.echo, self.program.local(x).product(state.echo))
            passed = projection.tangent(state.echo + curve / lipschitz.unsqueeze(-1))
            echo = torch.where((state.residual <= self.tol).unsqueeze(-1), passed, state.echo)
        return self.at(torch.where(open_.unsqueeze(-1), moved, x), lipschitz, state.counts + open_, echo)

    @torch.no_grad()
    def _step_length(self, x: Tensor, slope: Tensor, lipschitz: Tensor) -> tuple[Tensor, MatroidProjection]:
        """`L` doubled per instance until the step keeps its promise, and where the step leads.

        It never shrinks again: close to a solution rounding would let any step pass, and the derivative of a step that
        is too long does not converge.
        """
        here = self._height(x)
        while True:
            goal = self.program.project(x + slope / lipschitz.unsqueeze(-1))
            step = goal.x - x
            promise = (slope * step).sum(-1) - 0.5 * lipschitz * step.square().sum(-1)
            short = self._height(x + step) >= here + promise - 1e-13 * here.abs()
            if bool(short.all()):
                return lipschitz, goal
            lipschitz = torch.where(short, lipschitz, 2 * lipschitz)

    def _height(self, x: Tensor) -> Tensor:
        return self.program.height(x, self.program.local(x).value)
