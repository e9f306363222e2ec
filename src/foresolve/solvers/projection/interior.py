"""An interior point method for projection, whose only linear systems are those of `saddle.py`.

The program is `min x'Hx / 2 - s'x` over a `Polytope`, `H` its metric. With `w` the slack of the inequalities:

    H x - s + C'y - z_l + z_u = 0,    C x + w = rhs (w = 0 on equalities),
    z_l (x - l) = 0,  z_u (u - x) = 0,  y w = 0,      all of them >= 0 (y free on equalities).

Collect the pairs that exist in `S = [x - l | u - x | w]` and `Z = [z_l | z_u | y]`. Every
product is relaxed to `mu`, and Mehrotra's predictor-corrector drives `mu` to 0. A
Newton step toward `S Z = c` eliminates all but `dx` and `dy`:

    (H + z_l / (x - l) + z_u / (u - x)) dx + C'dy = r,   r = dual residual + (c / S on lower) - (c / S on upper),
    C dx - e dy = (rhs - C x - w) - (c / Z on rows),    e = w / y on inequalities.

In the predictor (`c = 0`), with `p = dS / S`, `dZ / Z = -(1 + p)`: the longest step, the `mu` ahead and the corrector's
`dS dZ = -S Z p (1 + p)` all follow from `p`. The residuals are linear, so that a step of length `a` shrinks them by
`1 - a`, but for rounding; every few steps they are computed afresh, so that the next one takes back what rounding did.
"""

from __future__ import annotations

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.newton_system import InteriorState, Layout, NewtonSystem
from foresolve.solvers.projection.polytope import Polytope

# Of the starting point: the shift of its least squares, and how far inside it is at least.
START_SHIFT = 1e-8
INSET = 1e-2
# Iterations after which residuals are computed afresh, and without progress before steps are centered.
FRESH, PATIENCE = 3, 20
# Terms of a row below this share of a typical x are nothing that an iterate need be right about.
NOTHING = 1e-12
# Below this share of the multipliers' size times that of x, mu is rounding.
VANISHED = 1e-30


def initial_state(point: Array, polytope: Polytope) -> InteriorState:
    """Near the rows and well inside the bounds, with multipliers that nearly explain it (Mehrotra's start).

    Columns are measured by `E_j`, the inverse of their norm once rows have norm 1. With `K = C E^2 C'`, and `|C_i|^2`
    more on inequalities, least squares bring a corner of the box toward the rows that it breaks, and find the
    multipliers of what is left of `point`; then both go inside by as much as the worst of them is outside.
    """
    xp, rows, feel = namespace(point), polytope.rows, polytope.metric.unit  # gradients per x
    lower, upper, norms, unit = polytope.lower, polytope.upper, rows.norms, _unit(point, polytope)
    width = upper - lower
    movable = xp.real(width > 0)
    inequality = xp.broadcast_like(~polytope.equality, polytope.rhs)
    E = 1 / rows.column_norms
    squares = movable * E**2
    solve = rows.factor(squares, xp.where(inequality, 1.0, START_SHIFT) * rows.weights)
    x = xp.minimum(xp.maximum(xp.zeros_like(point), lower), upper)
    slack = polytope.rhs - rows.apply(x)
    x = x + rows.adjoint(solve(xp.where(inequality, xp.at_most(slack, 0.0), slack))) * squares
    slack = polytope.rhs - rows.apply(x)
    outside = xp.maximum(xp.amax(xp.maximum(lower - x, x - upper) / E, keepdims=True),
                         xp.amax(xp.where(inequality, -slack / norms, 0.0), keepdims=True))  # fmt: skip
    reach = xp.maximum(1.5 * outside, INSET * (unit + xp.amax(abs(x) / E, keepdims=True)))
    inset = xp.minimum(width / 2, reach * E)
    x = xp.where(width > 0, xp.minimum(xp.maximum(x, lower + inset), upper - inset), lower)
    slack = xp.maximum(polytope.rhs - rows.apply(x), norms * reach)
    ahead = polytope.metric.apply(x) - point
    y = solve(rows.apply(-ahead * squares))
    slope = (ahead + rows.adjoint(y)) * movable
    size = xp.total(abs(slope) * E) / max(point.shape[-1], 1) + INSET * unit * feel
    y = xp.where(inequality, xp.maximum(y, size / norms), y)
    slope, size = ahead + rows.adjoint(y), size / E
    layout, S, Z, live = _paired([
        (1, xp.isfinite(lower) & (width > 0), x - lower, xp.at_least(slope, 0.0) + size),
        (-1, xp.isfinite(upper) & (width > 0), upper - x, xp.at_least(-slope, 0.0) + size),
        (0, inequality, slack, y),
    ], x)  # fmt: skip
    count = xp.at_least(xp.total(live), 1.0)
    scale = xp.maximum(xp.amax(abs(point), keepdims=True), unit * feel)
    infinite = xp.full_like(scale, float("inf"))
    return InteriorState(layout, x, y, S, Z, live, count, movable, unit, scale, infinite[:, 0], infinite, 0.0 * scale)


def _paired(blocks: list[tuple[int, Array, Array, Array]], x: Array) -> tuple[Layout, Array, Array, Array]:
    """`S`, `Z` and which pairs exist, from blocks `(sign, exists, s, z)`; those without any pair are left out."""
    xp = namespace(x)
    blocks = [block for block in blocks if bool(block[1].any())]
    signs = tuple(block[0] for block in blocks if block[0])
    if not blocks:
        return Layout(x.shape[-1], signs, False, True), x[:, :0], x[:, :0], x[:, :0]
    live, S, Z = (xp.cat([block[i] for block in blocks]) for i in (1, 2, 3))
    layout = Layout(x.shape[-1], signs, len(signs) < len(blocks), bool(live.all()))
    return layout, xp.where(live, S, 1.0), xp.where(live, Z, 0.0), xp.real(live)


def _unit(point: Array, polytope: Polytope) -> Array:
    """A typical size of `x`, `(B, 1)`: the median reach of the rows, else the median width, else that of `point`.

    Medians, for one large number (a right-hand side of 1e10 for "no limit") says nothing about the others.
    """
    xp = namespace(point)
    unit = xp.positive_median(abs(polytope.rhs) / polytope.rows.norms)
    for sizes in (lambda: polytope.upper - polytope.lower, lambda: polytope.metric.divided(abs(point))):
        if bool((unit > 0).all()):
            break
        unit = xp.where(unit > 0, unit, xp.positive_median(sizes()))
    return xp.where(unit > 0, unit, 1.0)


def interior_point(
    point: Array, polytope: Polytope, state: InteriorState, accuracy: float, max_iter: int | Array
) -> Array:
    """Advance `state` in place until every instance has `error <= accuracy`; returns iterations per instance.

    `max_iter` is a limit for all, or `(B,)` for each.

    Instances that are done leave the working batch as soon as they are a fair share of it, so that one hard instance
    costs only itself.
    """
    xp = namespace(point)
    spent = xp.counts(point)
    index = xp.nonzero(spent == 0)
    work, set_ = state, polytope
    s = point
    dual = primal = step = s[:0]
    limit = spent + max_iter
    for iteration in range(max_iter if isinstance(max_iter, int) else int(max_iter.max())):
        if iteration % FRESH == 0:
            dual, primal = _residuals(s, set_, work)
        else:
            dual, primal = (1 - step) * dual, (1 - step) * primal
        product = work.S * work.Z
        mu = xp.total(product) / work.count
        work.error = mu[:, 0] / (work.scale * work.unit)[:, 0]
        if bool((work.error <= accuracy).any()):
            work.error = xp.maximum(work.error, _gap(set_, work, dual, primal))
        # NaN counts as stopped, and so does a mu so small that only rounding is left: neither can improve.
        running = (work.error > accuracy) & (mu > VANISHED * work.scale * work.unit)[:, 0] & (spent < limit)[index]
        remaining = int(running.sum())
        if remaining == 0:
            break
        if remaining <= 0.75 * running.shape[0]:
            if work is not state:
                state.put(index, work)
            keep = xp.nonzero(running)
            index, work, set_, s = index[keep], work.select(keep), set_.select(keep), s[keep]
            dual, primal, product, mu, running = (a[keep] for a in (dual, primal, product, mu, running))
        spent[index] += running
        step = _advance(set_, work, dual, primal, product, mu, running)
    if work is not state:
        state.put(index, work)
    return spent


def _residuals(point: Array, polytope: Polytope, state: InteriorState) -> tuple[Array, Array]:
    layout = state.layout
    slope = point - polytope.metric.apply(state.x) - polytope.rows.adjoint(state.y)
    primal = polytope.rhs - polytope.rows.apply(state.x)
    if layout.rows:
        primal = primal - layout.slack(state.S) * layout.slack(state.live)
    return layout.signed_sum(state.Z, slope) * state.movable, primal


def _gap(polytope: Polytope, state: InteriorState, dual: Array, primal: Array) -> Array:
    """Violations of the linear conditions, in the units of `accuracy`."""
    xp = namespace(dual)
    unit = polytope.rows.magnitudes.apply(abs(state.x)) + abs(polytope.rhs)
    unit = unit + NOTHING * polytope.rows.norms * state.unit
    return xp.maximum(xp.amax(abs(dual)) / state.scale[:, 0], xp.at_least(xp.amax(abs(primal) / unit), 0.0))


def _advance(
    polytope: Polytope, state: InteriorState, dual: Array, primal: Array, product: Array, mu: Array, running: Array
) -> Array:
    """One predictor-corrector step of the instances that are `running`; returns its length, `(B, 1)`."""
    S, Z = state.S, state.Z
    xp = namespace(S)
    inverse = 1 / S
    ratio = Z * inverse
    system = NewtonSystem(polytope, state, dual, primal, ratio)
    _, _, dS = system.direction(-Z)
    p = dS * inverse
    bend = system.existing(p * (p + 1))
    # max(-p, 1 + p) over the pairs is |p + 1/2| + 1/2 = sqrt(p (1 + p) + 1/4) + 1/2.
    furthest = xp.at_least(xp.amax(bend, keepdims=True), 0.0)
    step = 1 / xp.at_least((furthest + 0.25) ** 0.5 + 0.5, 1.0)
    ahead = (1 - step) * mu - step**2 * xp.total(product * bend) / state.count
    # One that has stopped may have no pairs at all, and a mu of 0, while others of the batch go on.
    centering = xp.at_most(xp.at_least(ahead / xp.where(mu > 0, mu, 1.0), 0.0), 1.0) ** 3 * mu
    state.idle = xp.where(mu > 0.9 * state.lowest, state.idle + 1, 0.0)
    state.lowest = xp.minimum(state.lowest, mu)
    if bool((state.idle >= PATIENCE).any()):  # predictor and corrector may go round in circles; the center breaks them
        cautious = state.idle >= PATIENCE
        bend, centering = xp.where(cautious, 0.0, bend), xp.where(cautious, 0.3 * mu, centering)
    aim = system.existing(centering * inverse) - Z * (1 - bend)
    move = system.move(aim)
    for _ in range(polytope.metric.correctors):
        move, aim, longer = system.corrected(move, aim, centering)
        if not longer:
            break
    step = 1 / xp.at_least(move.blocking, 1.0)
    shorten = xp.at_most(xp.at_least(1 - mu / (state.scale * state.unit), 0.9), 0.9999)
    step = xp.where(step < 1, step * shorten, 0.9999)
    moves = xp.isfinite(move.blocking[:, 0]) & running  # whatever went wrong with a step shows in its length
    dx, dy, dS, dZ, _ = move
    if not bool(moves.all()):
        step = xp.where(moves[:, None], step, 0.0)
        dx, dy, dS, dZ = map(xp.clean, (dx, dy, dS, dZ))
    state.x, state.y = state.x + step * dx, state.y + step * dy
    state.S, state.Z = S + step * dS, Z + step * dZ
    return step
