"""Euclidean projection of a batch of points onto polytopes: interior point first, then exact active-set steps."""

from __future__ import annotations

from dataclasses import dataclass

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection import matching_kernel
from foresolve.solvers.projection.active_set import Face, face_at, polish
from foresolve.solvers.projection.interior import InteriorState, initial_state, interior_point
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.status import Status

# How far the interior point method goes before the active set is tried; then again for those it was wrong for.
STAGES = (1e-5, 1e-8, 1e-11, 1e-14)
POLISH_STEPS = 6
# Entries of a certificate below this count as zero where the variable has no bound.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class ProjectionResult:
    """Projections `face.x` with multipliers `face.y` of the rows; every array is `(B, ...)`."""

    face: Face
    status: Array
    iterations: Array


def project(
    point: Array, polytope: Polytope, *, tol: float, max_iter: int, start: Array | None = None
) -> ProjectionResult:
    """`argmin |x - point|^2` over each polytope.

    Parameters
    ----------
    point: `(B, n)` in float64.
    polytope: numeric, expanded to the same `B`.
    tol: bound on the residual, relative to the sizes of `rhs` and (in rounding units) of `point`.
    max_iter: interior point iterations per instance, over all stages.
    start: multipliers `(B, m)` of a nearby problem; where their active set is right, nothing else is done.
    """
    xp = namespace(point)
    tolerance = _tolerance(point, polytope, tol)
    spent = xp.counts(point)
    if start is None and matching_kernel.applies(point, polytope):
        start, spent = matching_kernel.guess(point, polytope, tolerance, STAGES[0], max_iter)
    origin = xp.zeros_like(polytope.rhs) if start is None else start
    face = face_at(polytope, origin, point - polytope.rows.adjoint(origin))
    if start is not None and bool((face.residual > tolerance).any()):
        face, steps = polish(point, polytope, face, tolerance, POLISH_STEPS)
        spent = spent + steps
    infeasible = spent < 0
    index = xp.nonzero(face.residual > tolerance)
    state: InteriorState | None = None
    budget = max_iter
    for accuracy in STAGES:
        if len(index) == 0 or budget <= 0:
            break
        s, set_ = (point, polytope) if len(index) == len(point) else (point[index], polytope.select(index))
        state = initial_state(s, set_) if state is None else state
        used = interior_point(s, set_, state, accuracy, budget)
        budget -= int(used.max())
        guess, steps = polish(s, set_, _face_of(state, set_), tolerance[index], POLISH_STEPS)
        spent[index] += used + steps
        better = xp.nonzero(guess.residual < face.residual[index])
        face.put(index[better], guess.select(better))
        keep = xp.nonzero(face.residual[index] > tolerance[index])
        if len(keep) == 0:
            break
        infeasible[index[keep]] = _farkas(set_.select(keep), state.y[keep])
        keep = keep[~infeasible[index[keep]]]
        index, state = index[keep], state.select(keep)
    status = xp.where(face.residual <= tolerance, int(Status.CONVERGED), int(Status.MAX_ITER))
    return ProjectionResult(face, xp.where(infeasible, int(Status.INFEASIBLE), status), spent)


def _tolerance(point: Array, polytope: Polytope, tol: float) -> Array:
    """Residuals carry rounding of the size of `point`, which a small gamma makes large."""
    xp = namespace(point)
    scale = 1 + xp.at_least(xp.amax(abs(polytope.rhs) / polytope.rows.norms), 0.0)
    return tol * scale + 1e-14 * point.shape[-1] ** 0.5 * xp.amax(abs(point))


def _face_of(state: InteriorState, polytope: Polytope) -> Face:
    """In an interior iterate a bound is active when its multiplier exceeds its distance; likewise for rows."""
    xp, layout = namespace(state.x), state.layout
    active = (state.Z > state.S) & (state.live > 0)
    free, x = state.movable > 0, xp.where(state.movable > 0, state.x, polytope.lower)
    for sign, at_bound in layout.parts(active):
        x = xp.where(at_bound, polytope.lower if sign > 0 else polytope.upper, x)
        free = free & ~at_bound
    pushes = xp.broadcast_like(polytope.equality, polytope.rhs)
    if layout.rows:
        pushing = layout.slack(state.Z) * polytope.rows.weights > layout.slack(state.S)
        pushes = pushes | (pushing & (layout.slack(state.live) > 0))
    return Face(state.y, free, pushes, x, state.error)


def _farkas(polytope: Polytope, y: Array) -> Array:
    """Whether `y` proves infeasibility: `y'C x <= y'rhs` for all feasible x, yet the box keeps `y'C x` above that."""
    xp = namespace(y)
    y = xp.where(polytope.equality, y, xp.at_least(y, 0.0))
    y = y / xp.at_least(xp.amax(abs(y), keepdims=True), 1e-300)
    direction = polytope.rows.adjoint(y)
    corner = xp.where(direction > 0, polytope.lower, polytope.upper)
    direction = xp.where(~xp.isfinite(corner) & (abs(direction) < NEGLIGIBLE), 0.0, direction)
    least = xp.where(direction == 0, 0.0, direction * xp.where(direction == 0, 0.0, corner))
    bound, right = least.sum(-1), (y * polytope.rhs).sum(-1)
    size = 1 + abs(least).sum(-1) + abs(right)
    return xp.isfinite(bound) & (bound - right > 1e-6 * size)
