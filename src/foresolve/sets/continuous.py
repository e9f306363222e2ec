r"""Maximise the multilinear extension itself over the bases of a matroid: continuous greedy, projected ascent."""

from __future__ import annotations

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ConvergenceWarning
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.matroid import Matroid, PolyhedralMatroid

STEPS = 100  # of continuous greedy
MOST = 2000  # of ascent
GAP = 1e-6  # of ascent, relative


def continuous_greedy(function: SetFunction, matroid: Matroid, theta: Tensor, count: int, steps: int = STEPS) -> Tensor:
    r"""Points `(B, n)` of the base polytope with `F >= (1 - 1/e) OPT`, up to the discretisation.

    .. math:: x_{t+1} = x_t + v_t / \text{steps}, \quad v_t = \arg\max_{v \text{ a base}} v^\top \nabla F(x_t)

    `theta` is `(B or 1, *shape)`, float64 (Calinescu, Chekuri, Pál and Vondrák, 2011).
    """
    x = torch.zeros(count, matroid.n, dtype=torch.float64, device=theta.device)
    for step in range(steps):
        gradient = _fresh(function, step).local(x, theta).gradient
        x = x + matroid.maximize(gradient) / steps
    return x.clamp_max(1.0)


def projected_ascent(
    function: SetFunction, matroid: PolyhedralMatroid, theta: Tensor, count: int, steps: int = MOST
) -> Tensor:
    r"""Stationary points `(B, n)` of `F` over the base polytope, where `F >= OPT / 2`, from the middle of it.

    .. math:: x_{t+1} = \text{Proj}(x_t + \nabla F(x_t) / L)

    with `L` found by backtracking for each instance. With `gap = max_{v a base} (v - x)' grad F`, any `x` has
    `F(x) >= (OPT - gap) / 2` for a monotone `F` (Hassani, Soltanolkotabi and Karbasi, 2017): an instance is done when
    its gap is within `GAP` of its value. Where `F` is estimated from samples there is nothing to backtrack on: steps
    are as long as `1 / sqrt(t)` of the polytope instead, and none is checked. `theta` is as in `continuous_greedy`.
    """
    start = torch.full((count, matroid.n), matroid.rank / matroid.n, dtype=torch.float64, device=theta.device)
    x = matroid.project(start).x
    if function.sampled:
        return _wander(function, matroid, theta, x)
    here = function.local(x, theta)
    slope = here.gradient
    value, lipschitz = here.value, slope.abs().amax(-1).clamp_min(torch.finfo(slope.dtype).tiny)
    for step in range(steps + 1):
        gap = (slope * (matroid.maximize(slope) - x)).sum(-1)
        open_ = gap > GAP * value.abs()
        if not bool(open_.any()):
            break
        if step == steps:
            where = checks.instance_names(open_.nonzero()[:, 0].tolist(), (count,))
            checks.warn(
                f"projected ascent stopped after {steps} steps for {where}, with a gap of {float(gap.max()):.2g} to "
                "what a stationary point promises; the decision is feasible. Use another `method`",
                ConvergenceWarning,
            )
            break
        trial = matroid.project(x + slope / lipschitz[:, None]).x
        there = function.local(trial, theta)
        step_ = trial - x
        promise = value + (slope * step_).sum(-1) - 0.5 * lipschitz * step_.square().sum(-1)
        good = open_ & (there.value >= promise - 1e-13 * value.abs())
        lipschitz = torch.where(good, 0.5 * lipschitz, torch.where(open_, 2 * lipschitz, lipschitz))
        x, slope = torch.where(good[:, None], trial, x), torch.where(good[:, None], there.gradient, slope)
        value = torch.where(good, there.value, value)
    return x


def _wander(function: SetFunction, matroid: PolyhedralMatroid, theta: Tensor, x: Tensor) -> Tensor:
    """Stochastic steps with fresh samples; the mean of the later half of the points."""
    total = torch.zeros_like(x)
    for step in range(STEPS):
        slope = _fresh(function, step).local(x, theta).gradient
        length = matroid.rank**0.5 / slope.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(slope.dtype).tiny)
        x = matroid.project(x + slope * length / (1 + step) ** 0.5).x
        total += x if 2 * step >= STEPS else 0.0
    return total / (STEPS - STEPS // 2)


def _fresh(function: SetFunction, step: int) -> SetFunction:
    return function.with_seed(step) if function.sampled else function
