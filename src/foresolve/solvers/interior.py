"""An interior point method for Euclidean projection, whose only linear systems are `C D C' + diag(e)`.

The programme is `min |x - s|^2 / 2` over a `Polytope`. With `w` the slack of the inequalities, its optimality
conditions are

    x - s + C'y - z_l + z_u = 0,    C x + w = rhs (w = 0 on equalities),
    z_l (x - l) = 0,  z_u (u - x) = 0,  y w = 0,      all of them >= 0 (y free on equalities).

Collect the pairs in `S = [x - l | u - x | w]` and `Z = [z_l | z_u | y]`. Every product is relaxed to `mu`, and Mehrotra's
predictor-corrector drives `mu` to 0. A Newton step towards `S Z = c` eliminates all but `dy`:

    M dy = C d r - (rhs - C x - w) + (c / Z on rows),   r = dual residual + (c / S on lower) - (c / S on upper),
    dx = d (r - C'dy),    d = 1 / (1 + z_l / (x - l) + z_u / (u - x)),    e = w / y on inequalities.

Two facts save most of the arithmetic. Both residuals are linear, so a step of length `a` shrinks them by exactly `1 - a`
and they need not be computed anew. And in the predictor (`c = 0`), with `p = dS / S`, `dZ / Z = -(1 + p)`: the
longest step, the `mu` ahead and the corrector's `dS dZ = -S Z p (1 + p)` all follow from `p`.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.polytope import Polytope

# A diagonal that keeps M positive definite where a row has no weight at all, relative to the squared row norm.
FLOOR = 1e-20
# Below this share of the multipliers' size, mu is rounding.
VANISHED = 1e-18


@dataclass
class InteriorState:
    """Iterates of a batch, and what stays fixed along them."""

    x: Array
    y: Array
    S: Array
    Z: Array
    live: Array  # pairs that exist, as 0/1: a finite bound of a variable that is not fixed, an inequality row
    count: Array  # how many they are, (B, 1)
    movable: Array  # variables that are not fixed, as 0/1
    scale: Array  # the size of the multipliers, (B, 1)
    error: Array  # (B,)

    def select(self, index: Array) -> InteriorState:
        return InteriorState(*(getattr(self, field.name)[index] for field in fields(self)))

    def put(self, index: Array, other: InteriorState) -> None:
        for field in fields(self):
            getattr(self, field.name)[index] = getattr(other, field.name)


def initial_state(point: Array, polytope: Polytope) -> InteriorState:
    """A point well inside the bounds, with multipliers of the size of `point`: both matter to the iteration count."""
    xp = namespace(point)
    lower, upper, norms = polytope.lower, polytope.upper, polytope.rows.norms
    width = upper - lower
    reach = xp.at_least(xp.amax(abs(polytope.rhs) / norms, keepdims=True), 1.0)
    inset = xp.minimum(width / 2, reach)
    movable = width > 0
    x = xp.where(movable, xp.minimum(xp.maximum(0.0 * point, lower + inset), upper - inset), lower)
    inequality = ~polytope.equality & (polytope.rhs == polytope.rhs)
    live = xp.cat([xp.isfinite(lower) & movable, xp.isfinite(upper) & movable, inequality])
    size = abs(point).mean(-1)[:, None] + 0.5
    slack = xp.maximum(polytope.rhs - polytope.rows.apply(x), norms * xp.at_least(-xp.amax(-inset, keepdims=True), 1e-3))
    y = xp.where(inequality, size / norms, 0.0)
    slope = x - point + polytope.rows.adjoint(y)
    S = xp.where(live, xp.cat([x - lower, upper - x, slack]), 1.0)
    Z = xp.where(live, xp.cat([xp.at_least(slope, 0.0) + size, xp.at_least(-slope, 0.0) + size, y]), 0.0)
    scale = xp.at_least(xp.amax(abs(point), keepdims=True), 1.0)
    live = xp.real(live)
    count = xp.at_least(live.sum(-1)[:, None], 1.0)
    return InteriorState(x, y, S, Z, live, count, xp.real(movable), scale, xp.full_like(scale[:, 0], float("inf")))


def interior_point(
    point: Array, polytope: Polytope, state: InteriorState, accuracy: float, max_iter: int
) -> Array:
    """Advance `state` in place until every instance has `error <= accuracy`; returns iterations per instance.

    Instances that are done leave the working batch as soon as they are a fair share of it, so that one hard instance
    costs only itself.
    """
    xp = namespace(point)
    spent = xp.counts(point)
    index = xp.nonzero(spent == 0)
    work, set_ = state, polytope
    dual, primal = _residuals(point, polytope, state)
    gap = _gap(polytope, state, dual, primal)
    for _ in range(max_iter):
        product = work.S * work.Z
        mu = product.sum(-1)[:, None] / work.count
        work.error = xp.maximum(gap, mu[:, 0] / work.scale[:, 0])
        # NaN counts as stopped, and so does a mu so small that only rounding is left: neither can improve.
        running = (work.error > accuracy) & (mu > VANISHED * work.scale)[:, 0]
        remaining = int(running.sum())
        if remaining == 0:
            break
        if remaining <= 0.75 * running.shape[0]:
            state.put(index, work)
            keep = xp.nonzero(running)
            index, work, set_ = index[keep], work.select(keep), set_.select(keep)
            dual, primal, gap, product, mu, running = (a[keep] for a in (dual, primal, gap, product, mu, running))
        spent[index] += running
        step = _advance(set_, work, dual, primal, product, mu, running)
        dual, primal, gap = dual * (1 - step), primal * (1 - step), gap * (1 - step[:, 0])
    if work is not state:
        state.put(index, work)
    return spent


def _residuals(point: Array, polytope: Polytope, state: InteriorState) -> tuple[Array, Array]:
    n = point.shape[-1]
    Z, live = state.Z, state.live
    dual = (point - state.x - polytope.rows.adjoint(state.y) + Z[:, :n] - Z[:, n : 2 * n]) * state.movable
    primal = polytope.rhs - polytope.rows.apply(state.x) - state.S[:, 2 * n :] * live[:, 2 * n :]
    return dual, primal


def _gap(polytope: Polytope, state: InteriorState, dual: Array, primal: Array) -> Array:
    """How far the linear conditions are from holding, in the units of `accuracy`."""
    xp = namespace(dual)
    unit = polytope.rows.norms * (1 + abs(polytope.rhs))
    return xp.maximum(xp.amax(abs(dual)) / state.scale[:, 0], xp.at_least(xp.amax(abs(primal) / unit), 0.0))


def _advance(
    polytope: Polytope, state: InteriorState, dual: Array, primal: Array, product: Array, mu: Array, running: Array
) -> Array:
    """One predictor-corrector step of the instances that are `running`; returns its length, `(B, 1)`."""
    n = dual.shape[-1]
    rows, S, Z, live = polytope.rows, state.S, state.Z, state.live
    xp = namespace(S)
    row_live, row_S = live[:, 2 * n :], S[:, 2 * n :]
    row_Z = Z[:, 2 * n :] + (1 - row_live)  # 1 in place of the multipliers that do not exist
    ratio = Z[:, : 2 * n] / S[:, : 2 * n]
    d = state.movable / (1 + ratio[:, :n] + ratio[:, n:])
    e = row_live * row_S / row_Z
    solve = rows.factor(d, e + FLOOR * rows.weights)

    def newton(pull: Array, row_pull: Array) -> tuple[Array, Array, Array]:
        """From `c / S` at the bounds and `c / Z` on the rows to `dx`, `dy`, `dS`."""
        r = dual + pull[:, :n] - pull[:, n:]
        dy = solve(rows.apply(d * r) - primal + row_pull)
        dx = d * (r - rows.adjoint(dy))
        return dx, dy, xp.cat([dx, -dx, row_pull - e * dy]) * live

    _, _, dS = newton(-Z[:, : 2 * n], -row_live * row_S)
    p = dS / S
    bend = p * (1 + p) * live
    step = 1 / xp.at_least(xp.amax(abs(p + 0.5 * live), keepdims=True) + 0.5, 1.0)
    ahead = (1 - step) * mu - step**2 * (product * bend).sum(-1)[:, None] / state.count
    centring = xp.at_most(xp.at_least(ahead / mu, 0.0), 1.0) ** 3 * mu
    aim = centring * live / S - Z * (1 - bend)  # c / S
    dx, dy, dS = newton(aim[:, : 2 * n], aim[:, 2 * n :] * row_S / row_Z)
    dZ = xp.cat([aim[:, : 2 * n] - ratio * dS[:, : 2 * n], dy * row_live])
    blocking = xp.maximum(xp.amax(-dS / S, keepdims=True), xp.amax(-dZ / (Z + (1 - live)), keepdims=True))
    step = 1 / xp.at_least(blocking, 1.0)
    shorten = xp.at_most(xp.at_least(1 - mu / state.scale, 0.9), 0.9999)
    step = xp.where(step < 1, step * shorten, 0.9999)
    moves = xp.isfinite((dx * dx).sum(-1) + (dy * dy).sum(-1) + blocking[:, 0]) & running
    if not bool(moves.all()):
        step = xp.where(moves[:, None], step, 0.0)
        dx, dy, dS, dZ = map(xp.clean, (dx, dy, dS, dZ))
    state.x, state.y = state.x + step * dx, state.y + step * dy
    state.S, state.Z = S + step * dS, Z + step * dZ
    return step
