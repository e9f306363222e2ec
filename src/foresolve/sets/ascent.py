r"""Maximize `F(x) - gamma |x|^2` over a matroid polytope, for a flat batch.

A point is stationary if and only if it is a fixed point of `x -> Proj(grad F(x) / 2 gamma)`; the residual of a solve is
the largest entry of the difference. Two kinds of steps lead there:

- a Newton step on that equation. With `p = Proj(grad F(x) / 2 gamma)`, `r = p - x` and `C` the derivative of the
  projection at `p` (zero off the free set, centered within each tight set on it), it is `x -> p + e`,
  `(2 gamma I - C H C) e = C H r`: one small symmetric system. Close to a solution it doubles the digits.
- a projected gradient step with a step length found by backtracking, where the Newton step does not ascend.

`2 gamma I - C H C` is positive definite at a strict local maximum. Where it is not, the point is a saddle (of two items
that are alike, for example): the curve along its lowest eigenvector is convex, so the better end of it lies higher.
"""

from __future__ import annotations

from dataclasses import dataclass

import torch
from torch import Tensor

from foresolve.sets.climb import Step, climb
from foresolve.sets.functions.extension import Local
from foresolve.sets.matroids.laminar import PartitionMatroid, UniformMatroid
from foresolve.sets.matroids.matroid import MatroidProjection
from foresolve.sets.smoothed import SmoothedProgram

SUFFICIENT = 1e-4  # share of gamma |step|^2 by which a Newton step must raise the objective
ROUNDING = 1e-13  # relative error of an objective, below which steps are judged by their residual
ESCAPES = 10  # saddle points left behind by one instance before it is given up
PARTS = ("x", "price", "group", "free")
NEAR = 1e-2  # residual below which a point is taken to be near a saddle, if the curvature says so
LARGEST = 3000  # coordinates in a Newton system; beyond, gradient steps are cheaper
SMALL = 256  # up to this many items a GPU takes all of them rather than wait to learn which are needed


class TangentSystem:
    """`K = 2 gamma I - C H C` on some coordinates, factorized: what Newton steps and gradients solve with."""

    def __init__(self, local: Local, projection: MatroidProjection, gamma: Tensor, needed: Tensor) -> None:
        free, group = projection.free, projection.group
        self.index, self.n = _listed(needed), free.shape[-1]
        index = self.index
        self.hessian = local.hessian(index)
        free, group = free.gather(-1, index), group.gather(-1, index)
        alike = (group.unsqueeze(-1) == group.unsqueeze(-2)) & (free & (group >= 0)).unsqueeze(-1) & free.unsqueeze(-2)
        alike = alike.to(gamma)
        self._center = alike / -alike.sum(-1, keepdim=True).clamp_min(1)
        self._center.diagonal(dim1=-2, dim2=-1).add_(free)
        self.matrix = -(self._center @ self.hessian @ self._center)
        self.matrix.diagonal(dim1=-2, dim2=-1).add_(2 * gamma.unsqueeze(-1))
        self._factor, info = torch.linalg.cholesky_ex(self.matrix)
        self.definite = info == 0

    def solve(self, v: Tensor) -> Tensor:
        """`C K^{-1} C v` for `v` `(B, n)`; zero off the coordinates."""
        return self._scatter(self._solve(v.gather(-1, self.index)))

    def newton(self, r: Tensor) -> Tensor:
        """`K^{-1} C H r` for `r` `(B, n)` that vanishes off the coordinates."""
        product = (self.hessian @ r.gather(-1, self.index).unsqueeze(-1)).squeeze(-1)
        return self._scatter(self._solve(product))

    def _solve(self, v: Tensor) -> Tensor:
        centered = self._center @ v.unsqueeze(-1)
        # One matrix at a time is not worth its own path; where a factor broke down, zeros are as good as anything.
        solution = self._center @ torch.cholesky_solve(centered, self._factor)
        return torch.where(self.definite.unsqueeze(-1), solution.squeeze(-1), 0.0)

    @property
    def movable(self) -> Tensor:
        """The number of coordinates that can move: the free ones that are not alone in a tight set, `(B,)`."""
        return (self._center.diagonal(dim1=-2, dim2=-1) > 0).sum(-1)

    def downhill(self) -> Tensor:
        """The eigenvectors `(B, n)` of the lowest eigenvalues: along them the objective is least concave."""
        _, vectors = torch.linalg.eigh(self.matrix)
        lowest = (self._center @ vectors[..., :1]).squeeze(-1)
        return self._scatter(lowest)

    def _scatter(self, values: Tensor) -> Tensor:
        return values.new_zeros(values.shape[0], self.n).scatter(-1, self.index, values)


@dataclass(frozen=True)
class Optimum:
    """A solved batch: `x` is `Proj(grad F / 2 gamma)` at a point within the residual of it."""

    x: Tensor
    local: Local
    projection: MatroidProjection
    system: TangentSystem
    residual: Tensor
    iterations: Tensor


def maximize(program: SmoothedProgram, start: Tensor, *, tol: float = 1e-8, max_iter: int = 200) -> Optimum:
    """A local maximizer for each instance, from `start` `(B, n)`."""
    step = _Ascent(program, tol)
    end = climb(step, step.start(start), max_iter)
    here = end.here
    return Optimum(here.projection.x, here.local, here.projection, here.system, here.residual, end.iterations)


@dataclass(frozen=True)
class _Point:
    x: Tensor
    local: Local
    height: Tensor
    projection: MatroidProjection
    residual: Tensor
    gamma: Tensor

    @property
    def system(self) -> TangentSystem:
        """Among the free coordinates; worked out once."""
        if "_system" not in self.__dict__:  # `cached_property` has one lock for all points before Python 3.12
            self.__dict__["_system"] = TangentSystem(self.local, self.projection, self.gamma, self.projection.free)
        return self.__dict__["_system"]


@dataclass(frozen=True)
class _State:
    """The state of a batch: points, step lengths, steps and saddles left, which instances continue (`any_open`)."""

    here: _Point
    lipschitz: Tensor
    iterations: Tensor
    escapes: Tensor
    open: Tensor
    any_open: bool

    @property
    def saddle(self) -> Tensor:
        """The instances that have come to rest on a saddle, and may leave it."""
        return ~self.open & ~self.here.system.definite & (self.escapes < ESCAPES)


class _Ascent(Step[_State]):
    """Newton steps, gradient steps where these do not ascend, and escapes from saddles once all instances rest."""

    def __init__(self, program: SmoothedProgram, tol: float) -> None:
        self.program, self.gamma, self.tol = program, program.gamma, tol
        # Whether no set is ever slack.
        self.flat = program.base and isinstance(program.matroid, UniformMatroid | PartitionMatroid)

    def start(self, x: Tensor) -> _State:
        """The first step is taken on trust: any start would do, and its image has few coordinates off their bounds."""
        count = torch.zeros(x.shape[0], dtype=torch.long, device=x.device)
        return self._state(self.at(self.at(x).projection.x), 2 * self.gamma, count, count)

    def _state(self, here: _Point, lipschitz: Tensor, iterations: Tensor, escapes: Tensor) -> _State:
        open_ = here.residual > self.tol
        return _State(here, lipschitz, iterations, escapes, open_, bool(open_.any()))

    def done(self, state: _State) -> bool:
        return not state.any_open and not bool(state.saddle.any())

    def __call__(self, state: _State, k: int) -> _State:
        here, lipschitz = state.here, state.lipschitz
        if not state.any_open:
            saddle = state.saddle
            return self._state(self.escape(here, saddle), lipschitz, state.iterations, state.escapes + saddle)
        trial, accepted = self.newton(here)
        left = state.open & ~accepted
        if bool(left.any()):
            trial = self.at(torch.where(left.unsqueeze(-1), self.uphill(here, lipschitz), trial.x))
            gain = self.promise(here, trial, lipschitz)
            good = trial.height >= here.height + gain - ROUNDING * here.height.abs()
            shorter = torch.where(good, (0.7 * lipschitz).maximum(2 * self.gamma), 2 * lipschitz)
            lipschitz = torch.where(left, shorter, lipschitz)
            accepted = torch.where(left, good, accepted)
        here = self.choose(accepted & state.open, trial, here)
        return self._state(here, lipschitz, state.iterations + state.open, state.escapes)

    def at(self, x: Tensor) -> _Point:
        local = self.program.local(x)
        height, projection = self.program.height(x, local.value), self.program.fixed_point(local.gradient)
        return _Point(x, local, height, projection, (projection.x - x).abs().amax(-1), self.gamma)

    def choose(self, which: Tensor, new: _Point, old: _Point) -> _Point:
        if bool(which.all()):
            return new
        local = new.local.merge(which, old.local)
        if local is None:
            return self.at(torch.where(which.unsqueeze(-1), new.x, old.x))
        mixed = {name: _mix(which, getattr(new.projection, name), getattr(old.projection, name)) for name in PARTS}
        x, height, residual = (
            _mix(which, getattr(new, name), getattr(old, name)) for name in ("x", "height", "residual")
        )
        return _Point(x, local, height, MatroidProjection(**mixed, sets=new.projection.sets), residual, self.gamma)

    def newton(self, here: _Point) -> tuple[_Point, Tensor]:
        """The point after a Newton step, and which instances should take it."""
        r = here.projection.x - here.x
        moving = r != 0
        if self.program.matroid.n > LARGEST and int((here.projection.free | moving).sum(-1).max()) > LARGEST:
            return here, torch.zeros_like(here.residual, dtype=torch.bool)
        system = TangentSystem(here.local, here.projection, self.gamma, here.projection.free | moving)
        goal = self._reach(here.projection.x, system.newton(r))
        saddle = ~system.definite & (here.residual < NEAR)
        if bool(saddle.any()):
            goal = torch.where(saddle.unsqueeze(-1), self._along_convexity(here, system), goal)
        trial = self.at(goal)
        rise = trial.height - here.height
        noise = ROUNDING * here.height.abs()
        ascends = rise > noise + SUFFICIENT * self.gamma * (trial.x - here.x).square().sum(-1)
        closer = (trial.residual <= 0.5 * here.residual) & (rise >= -noise)
        return trial, torch.where(system.definite, ascends | closer, saddle & ascends)

    def uphill(self, here: _Point, lipschitz: Tensor) -> Tensor:
        slope = self.program.slope(here.x, here.local.gradient)
        return self.program.project(here.x + slope / lipschitz.unsqueeze(-1)).x

    def promise(self, here: _Point, trial: _Point, lipschitz: Tensor) -> Tensor:
        """The least rise of a gradient step that is short enough."""
        step = trial.x - here.x
        slope = self.program.slope(here.x, here.local.gradient)
        return (slope * step).sum(-1) - 0.5 * lipschitz * step.square().sum(-1)

    def _reach(self, x: Tensor, step: Tensor) -> Tensor:
        """The largest part of the step that stays in the polytope; the step keeps the totals of tight sets."""
        if not self.flat:
            return self.program.project(x + step).x
        return (x + _room(x, step).clamp_max(1).unsqueeze(-1) * step).clamp(0, 1)

    def _along_convexity(self, here: _Point, system: TangentSystem) -> Tensor:
        """Move points near a saddle along the most convex direction, to whichever end of the polytope lies higher."""
        direction, origin = system.downhill(), here.projection.x  # there, free coordinates are off their bounds
        ends = []
        for step in (direction, -direction):
            length = _room(origin, step)
            goal = origin + torch.where(torch.isfinite(length), length, 0.0).unsqueeze(-1) * step
            ends.append(self.program.project(goal).x)
        heights = [self.program.height(x, self.program.local(x).value) for x in ends]
        return torch.where((heights[0] >= heights[1]).unsqueeze(-1), *ends)

    def escape(self, here: _Point, saddle: Tensor) -> _Point:
        """The next point of those instances that sit on a saddle."""
        return self.at(torch.where(saddle.unsqueeze(-1), self._along_convexity(here, here.system), here.x))


def _room(x: Tensor, step: Tensor) -> Tensor:
    """The largest multiple of a step that stays in the box, `(B,)`."""
    room = torch.where(step > 0, (1 - x) / step, torch.where(step < 0, -x / step, torch.inf))
    return room.clamp_min(0).amin(-1)


def _mix(which: Tensor, new: Tensor, old: Tensor) -> Tensor:
    return torch.where(which.reshape(-1, *[1] * (new.ndim - 1)), new, old)


def _listed(needed: Tensor) -> Tensor:
    """Indices `(B, f)` that hold all items that are needed."""
    n = needed.shape[-1]
    if needed.is_cuda and n <= SMALL:
        return torch.arange(n, device=needed.device).expand(needed.shape[0], n)
    most = int(needed.sum(-1).max()) if needed.numel() else 0
    return needed.byte().topk(most, sorted=False).indices
