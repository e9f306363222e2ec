"""Projection of a batch of points onto polytopes: interior point first, then exact active-set steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection import matching_kernel
from foresolve.solvers.projection.active_set import Face, Guess, exactness, face_at, face_without_rows, polish, pursue
from foresolve.solvers.projection.certificate import TRUSTED, certify, size_of, uncertainty
from foresolve.solvers.projection.face_system import ROUNDING, FaceSystem
from foresolve.solvers.projection.interior import initial_state, interior_point
from foresolve.solvers.projection.newton_system import InteriorState
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.tangent import Tangent
from foresolve.solvers.statistics import measured
from foresolve.solvers.status import Status
from foresolve.solvers.threads import one_blas_thread

# How far the interior point method goes before the active set is tried, and with how many Newton steps; then again for
# those it was wrong for.
STAGES = ((1e-5, 3), (1e-8, 6), (1e-11, 6), (1e-14, 6), (1e-17, 6), (1e-20, 6))
WARM_STEPS = 6
# What rounding may do to x, in units of its size, without a closer look.
HARMLESS = 1e-12
# Entries of a certificate below this count as zero where the variable has no bound.
NEGLIGIBLE = 1e-9


@dataclass(frozen=True)
class ProjectionResult:
    """Projections `face.x` with multipliers `face.y` of the rows; every array is `(B, ...)`.

    Attributes
    ----------
    tangent: how they move with their data.
    residual: the largest violation of the optimality conditions, and what else keeps `x` from being trusted; at most
        `tol` where the status is CONVERGED.
    iterations: linear systems factorized.
    exhausted: whether all iterations of the interior point method were used up.
    """

    face: Face
    tangent: Tangent
    status: Array
    residual: Array
    iterations: Array
    exhausted: Array


def project(
    point: Array,
    polytope: Polytope,
    *,
    tol: float,
    max_iter: int,
    start: Array | None = None,
    near: Array | None = None,
    is_feasible: Callable[[Polytope, int], bool] | None = None,
) -> ProjectionResult:
    """`argmin x'Hx / 2 - point'x` over each polytope, `H` its metric; with the identity, `argmin |x - point|^2`.

    Parameters
    ----------
    point: `(B, n)` in float64.
    polytope: numeric, expanded to the same `B`.
    tol: bound on the residual, see `certificate`.
    max_iter: interior point iterations per instance, over all stages.
    start: multipliers `(B, m)` of a nearby problem; where their active set is right, nothing else is done.
    near: the decisions `(B, n)` that they belong to; needed in a metric that is not separable.
    is_feasible: whether the `i`-th of some polytopes is non-empty, by an independent solver; INFEASIBLE is said only
        where it agrees, and never without it.
    """
    with measured("projection", len(point)) as call, one_blas_thread(polytope.matrix_side):
        result = _projected(point, polytope, tol, max_iter, start, near, is_feasible)
        call.tell(result.iterations, result.residual, result.status)
    return result


def _projected(
    point: Array,
    polytope: Polytope,
    tol: float,
    max_iter: int,
    start: Array | None,
    near: Array | None,
    is_feasible: Callable[[Polytope, int], bool] | None,
) -> ProjectionResult:
    xp = namespace(point)
    spent = xp.counts(point)
    if start is None and matching_kernel.applies(point, polytope):
        start, spent = matching_kernel.guess(point, polytope, tol, STAGES[0][0], max_iter)
    system: FaceSystem | None = None
    if start is None and polytope.metric.pursued:
        pursued = pursue(point, polytope, tol)
        face, spent, system = pursued.face, pursued.steps, pursued.system
    elif start is None:
        face = face_without_rows(point, polytope)
    else:
        face = face_at(point, polytope, start, near=polytope.metric.divided(point) if near is None else near)
    # In a metric that is not separable, what settles at a distance of `near` may be `near` itself.
    if start is not None and not (polytope.metric.separable and bool(face.settled(tol).all())):
        polished = polish(point, polytope, face, tol, WARM_STEPS)
        face, spent, system = polished.face, spent + polished.steps, polished.system
    infeasible = spent < 0
    index = xp.nonzero(~face.settled(tol))
    state: InteriorState | None = None
    left = xp.counts(point) + max_iter
    for accuracy, steps in STAGES:
        index, state = _limited(index, state, left)
        if len(index) == 0:
            break
        s, set_ = (point, polytope) if len(index) == len(point) else (point[index], polytope.select(index))
        state = initial_state(s, set_) if state is None else state
        used = interior_point(s, set_, state, accuracy, left[index])
        left[index] -= used
        guess = _guess(set_, state)
        polished = polish(s, set_, guess, tol, steps, snapping=accuracy < STAGES[0][0])
        spent[index] += used + polished.steps
        system = polished.system if len(index) == len(point) else None
        better = xp.nonzero(polished.face.settled(tol) | (polished.face.residual < face.residual[index]))
        face.put(index[better], polished.face.select(better))
        keep = xp.nonzero(~face.settled(tol)[index])
        if len(keep) == 0:
            break
        iterate = _iterate(s, set_, state, guess)
        better = xp.nonzero(iterate.residual < face.residual[index])
        face.put(index[better], iterate.select(better))
        if is_feasible is not None:
            infeasible[index[keep]] = _proven_empty(set_.select(keep), state.y[keep], is_feasible)
        keep = keep[~infeasible[index[keep]]]
        index, state = index[keep], state.select(keep)
    return _verified(point, polytope, face, system, infeasible, spent, left <= 0, tol)


def _limited(index: Array, state: InteriorState | None, left: Array) -> tuple[Array, InteriorState | None]:
    """The instances that have iterations left."""
    keep = namespace(left).nonzero(left[index] > 0)
    return (index, state) if len(keep) == len(index) else (index[keep], None if state is None else state.select(keep))


def _verified(
    point: Array,
    polytope: Polytope,
    face: Face,
    system: FaceSystem | None,
    infeasible: Array,
    spent: Array,
    exhausted: Array,
    tol: float,
) -> ProjectionResult:
    """The result, as far as the faces of the end can be verified.

    A row that holds to rounding still leaves `x` uncertain by that over the weakest direction of the face's rows.
    """
    xp = namespace(face.x)
    tangent = Tangent(polytope, face, system)
    doubt, lacking = face.rounding, face.residual
    if not polytope.metric.separable:
        # Targets speak of one coordinate at a time; together they may move further.
        doubt, size = doubt * tangent.stretch, size_of(face.x, point, polytope)
        left = (point - polytope.rows.adjoint(face.y) - polytope.metric.apply(face.x)) * tangent.free
        ahead = xp.at_least(xp.amax(polytope.metric.divided(abs(left))), 0.0)
        if not bool(((ahead <= face.rounding * size) & (doubt <= HARMLESS)).all()):
            moved = xp.at_least(xp.amax(abs(tangent.correction(left))), 0.0) / size
            lacking = xp.where(moved > doubt, xp.maximum(lacking, moved), lacking)
    if bool((doubt > TRUSTED).any()):
        doubt = uncertainty(point, polytope, face)
    broken = xp.at_least(xp.amax(face.broken), ROUNDING)
    doubt = xp.maximum(doubt, xp.where(tangent.weakest < 1, broken / tangent.weakest, 0.0))
    # On the right face rows hold to rounding. Where they do not, it is not known what their weakest direction is.
    doubt = xp.maximum(
        doubt, xp.where((broken > exactness(tol)) & (lacking <= tol), broken * (TRUSTED / exactness(tol)), 0.0)
    )
    doubtful = ~(doubt <= TRUSTED)
    status = xp.where(lacking <= tol, int(Status.CONVERGED), int(Status.MAX_ITER))
    status = xp.where(doubtful, int(Status.ILL_CONDITIONED), status)
    status = xp.where(infeasible, int(Status.INFEASIBLE), status)
    residual = xp.where(doubtful, xp.maximum(lacking, doubt), lacking)
    return ProjectionResult(face, tangent, status, residual, spent, exhausted)


def _guess(polytope: Polytope, state: InteriorState) -> Guess:
    """The guess of an iterate: a bound is active when its multiplier exceeds its distance; likewise for rows."""
    xp, layout = namespace(state.x), state.layout
    metric = polytope.metric
    active = state.live > 0
    free, x = state.movable > 0, xp.where(state.movable > 0, state.x, polytope.lower)
    pushes_back = zip(layout.parts(state.Z), layout.parts(state.S), layout.parts(active), strict=True)
    for (sign, z), (_, s), (_, exists) in pushes_back:
        at_bound = (metric.divided(z) > s) & exists
        x = xp.where(at_bound, polytope.lower if sign > 0 else polytope.upper, x)
        free = free & ~at_bound
    pushes = xp.broadcast_like(polytope.equality, polytope.rhs)
    if layout.rows:
        pushing = layout.slack(state.Z) * (polytope.rows.weights / metric.unit) > layout.slack(state.S)
        pushes = pushes | (pushing & (layout.slack(state.live) > 0))
    return Guess(state.y, free, pushes, xp.minimum(xp.maximum(x, polytope.lower), polytope.upper))


def _iterate(point: Array, polytope: Polytope, state: InteriorState, guess: Guess) -> Face:
    """The interior iterate as it is: the best there is where no step to a face helped."""
    target = polytope.metric.target(point, polytope.rows.adjoint(state.y), guess.x)
    measured = certify(point, polytope, state.y, target, guess.x)
    return Face(guess.y, guess.free, guess.active, guess.x, *measured.figures())


def _proven_empty(polytope: Polytope, y: Array, is_feasible: Callable[[Polytope, int], bool]) -> Array:
    """A mask of the polytopes that are empty: `y` claims it, and an independent solver agrees."""
    xp = namespace(y)
    claimed = _farkas(polytope, y)
    for i in xp.nonzero(claimed).tolist():
        claimed[i] = not is_feasible(polytope, i)
    return claimed


def _farkas(polytope: Polytope, y: Array) -> Array:
    """A mask of proofs that no `x` is feasible: `y'C x <= y'rhs` for all of them, yet the box keeps `y'C x` above."""
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
