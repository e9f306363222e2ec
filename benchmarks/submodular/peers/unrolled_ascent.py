"""Accelerated projected ascent on F - gamma |x|^2 in torch, for a whole batch; autograd through all of its steps."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import torch
from torch import Tensor
from torch.utils.checkpoint import checkpoint

from benchmarks.submodular.peers.autograd import as_pair

CHECK = 5  # steps between two looks at the residual
MOST_STEPS = 400
LEAN_BATCH = 32  # larger batches recompute a step in the backward pass: their graph would fill the memory


def project(y: Tensor, k: int) -> Tensor:
    """Onto sum x = k, 0 <= x <= 1: the sum is piecewise linear in the shift, with breakpoints y and y - 1."""
    with torch.no_grad():
        points = torch.cat([y, y - 1.0], -1).sort(-1).values
        # The slope of sum clip(y - shift, 0, 1) before a breakpoint, and so its value at each.
        order = y.sort(-1).values
        above = y.shape[-1] - torch.searchsorted(order, points, right=True)
        full = y.shape[-1] - torch.searchsorted(order, points + 1.0)
        sums = torch.nn.functional.pad(order.flip(-1).cumsum(-1), (1, 0))
        total = full + sums.gather(-1, above) - sums.gather(-1, full) - (above - full) * points
        last = (total >= k).sum(-1, keepdim=True).clamp(1, points.shape[-1] - 1) - 1
        shift = 0.5 * (points.gather(-1, last) + points.gather(-1, last + 1))
        upper = y - shift >= 1.0
        free = (y - shift > 0.0) & ~upper
    count = free.sum(-1, keepdim=True)
    exact = ((y * free).sum(-1, keepdim=True) + upper.sum(-1, keepdim=True) - k) / count.clamp_min(1)
    return torch.where(free, y - exact, upper.to(y.dtype)).clamp(0.0, 1.0)


def slope(x: Tensor, theta: Tensor) -> Tensor:
    q = torch.addcmul(theta.new_ones(()), x.unsqueeze(-1), theta, value=-1)
    return ((theta / q) @ q.prod(-2).unsqueeze(-1)).squeeze(-1)


def residual(x: Tensor, theta: Tensor, k: int, gamma: float) -> Tensor:
    """max_i |x - Proj(grad F(x) / 2 gamma)|_i: zero at a stationary point."""
    return (x - project(slope(x, theta) / (2.0 * gamma), k)).abs().amax(-1)


def curvature(theta: Tensor) -> Tensor:
    """An upper bound on |H|, (B, 1), nearly: the norm of theta theta' by power iteration, with 5 % to spare."""
    v = theta.new_ones(*theta.shape[:-1], 1)
    for _ in range(8):
        v = theta @ (theta.mT @ v)
        v = v / v.norm(dim=-2, keepdim=True).clamp_min(1e-300)
    return 1.05 * (theta.mT @ v).square().sum(-2)


def ascend(
    theta: Tensor, k: int, gamma: float, *, steps: int | None = None, tol: float = 0.0, lean: bool = False
) -> Tensor:
    """So many steps, or as many as it takes to bring every residual below tol."""
    n = theta.shape[-2]
    with torch.no_grad():
        rate = 1.0 / (2.0 * gamma + curvature(theta))
        ratio = (rate * 2.0 * gamma).sqrt()
        momentum = (1.0 - ratio) / (1.0 + ratio)

    def step(x: Tensor, before: Tensor, theta: Tensor) -> Tensor:
        y = x + momentum * (x - before)
        return project(y + rate * (slope(y, theta) - 2.0 * gamma * y), k)

    x = before = theta.new_full(theta.shape[:-1], k / n)
    for t in range(MOST_STEPS if steps is None else steps):
        recompute = lean and torch.is_grad_enabled()
        after = checkpoint(step, x, before, theta, use_reentrant=False) if recompute else step(x, before, theta)
        x, before = after, x  # type: ignore[assignment]
        if steps is None and t % CHECK == CHECK - 1:
            with torch.no_grad():
                if bool((residual(x, theta, k, gamma) <= tol).all()):
                    break
    return x


def build(k: int, gamma: float, tol: float, steps: int | None) -> tuple[Callable[..., Any], Callable[..., Any]]:
    return as_pair(lambda theta: ascend(theta, k, gamma, steps=steps, tol=tol, lean=len(theta) > LEAN_BATCH))
