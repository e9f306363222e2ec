"""Projected gradient ascent as a chain of differentiable steps."""

from __future__ import annotations

from typing import Any

import torch
from torch import Tensor

from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.matroid import PolyhedralMatroid


class _Projected(torch.autograd.Function):
    """The projection onto a matroid polytope; its derivative is self-adjoint."""

    @staticmethod
    def forward(ctx: Any, y: Tensor, matroid: PolyhedralMatroid, base: bool) -> Tensor:
        ctx.projection = matroid.project(y, base=base, check=False)
        return ctx.projection.x.clone()

    @staticmethod
    def backward(ctx: Any, *grads: Tensor) -> tuple[Tensor, None, None]:
        return ctx.projection.tangent(grads[0]), None, None


def unroll(
    function: SetFunction,
    matroid: PolyhedralMatroid,
    theta: Tensor,
    gamma: Tensor,
    start: Tensor,
    *,
    base: bool,
    tol: float,
    steps: int,
) -> tuple[Tensor, Tensor, Tensor]:
    """`x` `(B, n)` with the graph of all its steps, the residuals and the numbers of steps.

    Each step is `x -> Proj(x + (grad F(x) - 2 gamma x) / L)` with `L` found by backtracking; an instance that has
    reached `tol` rests.
    """
    x, lipschitz = start, 2 * gamma.detach()
    counts = torch.zeros(start.shape[0], dtype=torch.long, device=start.device)
    residual = torch.full_like(lipschitz, torch.inf)
    for step in range(steps + 1):
        slope = function.gradient(x, theta)
        with torch.no_grad():
            goal = matroid.project(slope / (2 * gamma.unsqueeze(-1)), base=base, check=False).x
            residual = (goal - x).abs().amax(-1)
        open_ = residual > tol
        if step == steps or not bool(open_.any()):
            break
        slope = slope - 2 * gamma.unsqueeze(-1) * x
        lipschitz = _step_length(function, matroid, theta, gamma, x, slope, lipschitz, base)
        moved: Tensor = _Projected.apply(x + slope / lipschitz.unsqueeze(-1), matroid, base)  # type: ignore[assignment]
        x = torch.where(open_.unsqueeze(-1), moved, x)
        counts += open_
    return x, residual, counts


@torch.no_grad()
def _step_length(
    function: SetFunction,
    matroid: PolyhedralMatroid,
    theta: Tensor,
    gamma: Tensor,
    x: Tensor,
    slope: Tensor,
    lipschitz: Tensor,
    base: bool,
) -> Tensor:
    """`L` doubled per instance until the step keeps its promise.

    It never shrinks again: close to a solution rounding would let any step pass, and the derivative of a step that is
    too long does not converge.
    """

    def height(point: Tensor) -> Tensor:
        return function.local(point, theta).value - gamma * point.square().sum(-1)

    here = height(x)
    while True:
        step = matroid.project(x + slope / lipschitz.unsqueeze(-1), base=base, check=False).x - x
        promise = (slope * step).sum(-1) - 0.5 * lipschitz * step.square().sum(-1)
        short = height(x + step) >= here + promise - 1e-13 * here.abs()
        if bool(short.all()):
            return lipschitz
        lipschitz = torch.where(short, lipschitz, 2 * lipschitz)
