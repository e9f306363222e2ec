r"""Maximize the multilinear extension itself over the bases of a matroid: continuous greedy, projected ascent."""

from __future__ import annotations

from typing import NamedTuple

import torch
from torch import Tensor

from foresolve._base import checks
from foresolve.errors import ConvergenceWarning
from foresolve.sets.climb import Step, climb
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.matroids.matroid import Matroid, PolyhedralMatroid

STEPS = 100  # of continuous greedy
MOST = 2000  # of ascent
GAP = 1e-6  # of ascent, relative


def continuous_greedy(function: SetFunction, matroid: Matroid, theta: Tensor, count: int, steps: int = STEPS) -> Tensor:
    r"""Points `(B, n)` of the base polytope with `F >= (1 - 1/e) OPT`, up to the discretization.

    .. math:: x_{t+1} = x_t + v_t / \text{steps}, \quad v_t = \arg\max_{v \text{ a base}} v^\top \nabla F(x_t)

    `theta` is `(B or 1, *shape)`, float64 (Calinescu, Chekuri, Pál and Vondrák, 2011).
    """
    x = torch.zeros(count, matroid.n, dtype=torch.float64, device=theta.device)
    return climb(_FrankWolfe(function, matroid, theta, steps), x, steps).clamp_max(1.0)


class _FrankWolfe(Step[Tensor]):
    """A share of the best base at the point."""

    def __init__(self, function: SetFunction, matroid: Matroid, theta: Tensor, steps: int) -> None:
        self.function, self.matroid, self.theta, self.steps = function, matroid, theta, steps

    def __call__(self, state: Tensor, k: int) -> Tensor:
        gradient = _fresh(self.function, k).local(state, self.theta).gradient
        return state + self.matroid.maximize(gradient) / self.steps


def projected_ascent(
    function: SetFunction, matroid: PolyhedralMatroid, theta: Tensor, count: int, max_iter: int = MOST
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
        return _wandered(function, matroid, theta, x)
    step = _Backtracking(function, matroid, theta)
    end = climb(step, step.start(x), max_iter)
    if end.any_open:
        where = checks.instance_names(end.open.nonzero()[:, 0].tolist(), (count,))
        checks.warn(
            f"projected ascent stopped after {max_iter} steps for {where}, with a gap of {float(end.gap.max()):.2g} to "
            "what a stationary point promises; the decision is feasible. Use another `method`",
            ConvergenceWarning,
        )
    return end.x


class _Iterate(NamedTuple):
    """Points with their values, gradients, step lengths and gaps, and which instances continue (`any_open`)."""

    x: Tensor
    value: Tensor
    slope: Tensor
    lipschitz: Tensor
    gap: Tensor
    open: Tensor
    any_open: bool


class _Backtracking(Step[_Iterate]):
    """A projected gradient step, taken where it keeps its promise; shorter ones follow where it does not."""

    def __init__(self, function: SetFunction, matroid: PolyhedralMatroid, theta: Tensor) -> None:
        self.function, self.matroid, self.theta = function, matroid, theta

    def start(self, x: Tensor) -> _Iterate:
        here = self.function.local(x, self.theta)
        steepest = here.gradient.abs().amax(-1).clamp_min(torch.finfo(here.gradient.dtype).tiny)
        return self._state(x, here.value, here.gradient, steepest)

    def _state(self, x: Tensor, value: Tensor, slope: Tensor, lipschitz: Tensor) -> _Iterate:
        gap = (slope * (self.matroid.maximize(slope) - x)).sum(-1)
        open_ = gap > GAP * value.abs()
        return _Iterate(x, value, slope, lipschitz, gap, open_, bool(open_.any()))

    def done(self, state: _Iterate) -> bool:
        return not state.any_open

    def __call__(self, state: _Iterate, k: int) -> _Iterate:
        x, value, slope, lipschitz, _, open_, _ = state
        trial = self.matroid.project(x + slope / lipschitz[:, None]).x
        proposal = self.function.local(trial, self.theta)
        move = trial - x
        promise = value + (slope * move).sum(-1) - 0.5 * lipschitz * move.square().sum(-1)
        good = open_ & (proposal.value >= promise - 1e-13 * value.abs())
        lipschitz = torch.where(good, 0.5 * lipschitz, torch.where(open_, 2 * lipschitz, lipschitz))
        x, slope = torch.where(good[:, None], trial, x), torch.where(good[:, None], proposal.gradient, slope)
        return self._state(x, torch.where(good, proposal.value, value), slope, lipschitz)


def _wandered(function: SetFunction, matroid: PolyhedralMatroid, theta: Tensor, x: Tensor) -> Tensor:
    """After stochastic steps with fresh samples, the mean of the later half of the points."""
    _, total = climb(_Wander(function, matroid, theta), (x, torch.zeros_like(x)), STEPS)
    return total / (STEPS - STEPS // 2)


class _Wander(Step[tuple[Tensor, Tensor]]):
    """A projected gradient step of a length that falls; with the point goes the sum of the later ones."""

    def __init__(self, function: SetFunction, matroid: PolyhedralMatroid, theta: Tensor) -> None:
        self.function, self.matroid, self.theta = function, matroid, theta

    def __call__(self, state: tuple[Tensor, Tensor], k: int) -> tuple[Tensor, Tensor]:
        x, total = state
        slope = _fresh(self.function, k).local(x, self.theta).gradient
        length = self.matroid.rank**0.5 / slope.norm(dim=-1, keepdim=True).clamp_min(torch.finfo(slope.dtype).tiny)
        x = self.matroid.project(x + slope * length / (1 + k) ** 0.5).x
        return x, total + x if 2 * k >= STEPS else total


def _fresh(function: SetFunction, step: int) -> SetFunction:
    return function.with_seed(step) if function.sampled else function
