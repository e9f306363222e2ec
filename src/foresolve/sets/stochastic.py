r"""Stochastic projected gradient ascent, for extensions that are known through samples alone."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from foresolve.sets.ascent import Optimum, TangentSystem
from foresolve.sets.climb import Step, climb
from foresolve.sets.smoothed import SmoothedProgram


def maximize_sampled(program: SmoothedProgram, start: Tensor, *, max_iter: int) -> Optimum:
    r"""A local maximizer of `F(x) - gamma |x|^2` up to sampling noise.

    `x_t+1 = Proj(x_t + (g_t - 2 gamma x_t) / (2 gamma (1 + t)^0.6))` with fresh samples for each `g_t`. The mean of the
    later `g_t` is then projected: `x = Proj(mean(g) / 2 gamma)` has an exact active set, and far less noise than any
    iterate. The residual is its distance to the mean of those iterates; it shrinks like one over the square root of
    `max_iter` times samples and is not asked to meet a tolerance: all steps are taken.
    """
    step = _Stochastic(program, max_iter)
    end = climb(step, _Means(start, torch.zeros_like(start), torch.zeros_like(start), 0), max_iter)
    projection = program.fixed_point(end.gradients / end.summands)
    local = program.local(projection.x)
    system = TangentSystem(local, projection, program.gamma, projection.free)
    residual = (projection.x - end.points / end.summands).abs().amax(-1)
    iterations = torch.full(start.shape[:1], max_iter, dtype=torch.long, device=start.device)
    return Optimum(projection.x, local, projection, system, residual, iterations)


class _Means(NamedTuple):
    """A point, and the sums of the later gradients and points, with their number."""

    x: Tensor
    gradients: Tensor
    points: Tensor
    summands: int


class _Stochastic(Step[_Means]):
    """The step above; the later half counts."""

    def __init__(self, program: SmoothedProgram, max_iter: int) -> None:
        self.program, self.max_iter = program, max_iter

    def __call__(self, state: _Means, k: int) -> _Means:
        x, gradients, points, summands = state
        function = self.program.function
        gradient = function.with_seed(function.seed + k).local(x, self.program.theta).gradient
        if 2 * k >= self.max_iter:
            gradients, points, summands = gradients + gradient, points + x, summands + 1
        goal = x + self.program.slope(x, gradient) / (2 * self.program.gamma.unsqueeze(-1) * (1 + k) ** 0.6)
        return _Means(self.program.project(goal).x, gradients, points, summands)
