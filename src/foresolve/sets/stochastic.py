r"""Stochastic projected gradient ascent, for extensions that are known through samples alone."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve.sets.ascent import Optimum, TangentSystem
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.matroid import PolyhedralMatroid


def maximize_sampled(
    function: SetFunction,
    matroid: PolyhedralMatroid,
    theta: Tensor,
    gamma: Tensor,
    start: Tensor,
    *,
    base: bool,
    steps: int,
) -> Optimum:
    r"""A local maximiser of `F(x) - gamma |x|^2` up to sampling noise.

    `x_t+1 = Proj(x_t + (g_t - 2 gamma x_t) / (2 gamma (1 + t)^0.6))` with fresh samples for each `g_t`. The mean of the
    later `g_t` is then projected: `x = Proj(mean(g) / 2 gamma)` has an exact active set, and far less noise than any
    iterate. The residual is its distance to the mean of those iterates; it shrinks like one over the square root of
    `steps` times samples and is not asked to meet a tolerance.
    """
    x, scale = start, 2 * gamma.unsqueeze(-1)
    total, place, count = torch.zeros_like(x), torch.zeros_like(x), 0
    for step in range(steps):
        gradient = function.with_seed(function.seed + step).local(x, theta).gradient
        if 2 * step >= steps:
            total, place, count = total + gradient, place + x, count + 1
        x = matroid.project(x + (gradient - scale * x) / (scale * (1 + step) ** 0.6), base=base, check=False).x
    projection = matroid.project(total / count / scale, base=base, check=False)
    local = function.local(projection.x, theta)
    system = TangentSystem(local, projection, gamma, projection.free)
    residual = (projection.x - place / count).abs().amax(-1)
    iterations = torch.full(x.shape[:1], steps, dtype=torch.long, device=x.device)
    return Optimum(projection.x, local, projection, system, residual, iterations)
