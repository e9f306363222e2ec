"""The last digits: Newton's method on the dual, which is exact once the active set is right.

With multipliers `y` of the rows, the projection is `x = clip(s - C'y, lower, upper)`, so `y` alone is unknown, and the
natural residual `rhs - C x` (its minimum with `y` on inequalities) is piecewise linear in it. For a guess of the free
variables and active rows, one solve with `C_AF C_AF'` lands on the solution of that piece. In a metric `H` the targets
`t = x + (s - C'y - H x) / h` take the place of `s - C'y`: on the right face, `x = clip(t)` all the same.
"""

from __future__ import annotations

from dataclasses import dataclass, fields

from foresolve.solvers.arrays import Array, namespace
from foresolve.solvers.projection.certificate import TRUSTED, certify, size_of
from foresolve.solvers.projection.face_system import SHIFT, FaceSystem
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.saddle import SaddleTerms

# Rows with nothing that gives them a size (rhs 0, bounds 0 or none) hold by chance only, in their own terms, while
# their variables are noise. In the last steps what is this near to a bound or to zero, in units of `tol` and the size
# of x, is put there.
SNAP = 0.1
SNAPPED_STEPS = 3
SETBACKS = 1
# Of a row's terms: rounding, with room for long rows.
EXACT = 1e-13


def exactness(tol: float) -> float:
    """The share of its terms to which a row holds on the right face."""
    return max(EXACT, 1e-3 * tol)


@dataclass(frozen=True)
class Guess:
    """A guess of the solution's face: what is free, what is active, and where the rest is."""

    y: Array
    free: Array  # variables strictly between their bounds
    active: Array  # rows that hold with equality and push
    x: Array

    def select(self, index: Array) -> Guess:
        return Guess(self.y[index], self.free[index], self.active[index], self.x[index])

    def where(self, mask: Array, other: Guess) -> Guess:
        """This one where `mask` `(B, 1)` says so, elsewhere the other."""
        xp, pairs = namespace(self.x), zip(vars(self).values(), vars(other).values(), strict=True)
        return Guess(*(xp.where(mask, own, theirs) for own, theirs in pairs))

    def put(self, index: Array, part: Guess) -> None:
        self.y[index], self.free[index], self.active[index], self.x[index] = part.y, part.free, part.active, part.x


@dataclass
class Face:
    """A face with the decision on it, the multipliers it was read from, and what they are worth."""

    y: Array
    free: Array
    active: Array
    x: Array
    residual: Array  # (B,) of the optimality conditions; this and the rest as in `Certificate`
    broken: Array
    rounding: Array
    of_input: Array

    def settled(self, tol: float) -> Array:
        """A mask `(B,)` of faces with nothing left to do: exact, or as exact as their input.

        On the right face rows hold to rounding; where they hold to `tol` only, nearly dependent rows may hide a
        wrong `x`.
        """
        exact = (self.residual <= tol) & (namespace(self.x).amax(self.broken) <= exactness(tol))
        return exact & ((self.rounding <= TRUSTED) | (self.of_input > TRUSTED))

    def select(self, index: Array) -> Face:
        return Face(*(getattr(self, field.name)[index] for field in fields(self)))

    def put(self, index: Array, part: Face) -> None:
        for field in fields(self):
            getattr(self, field.name)[index] = getattr(part, field.name)


def face_at(
    point: Array,
    polytope: Polytope,
    y: Array,
    t: Array | None = None,
    snap: float = 0.0,
    near: Array | None = None,
) -> Face:
    """The face that multipliers `y` lead to: the decision, its active bounds and the largest violation of optimality.

    `t = s - C'y` may be given where it is known to more digits; that it still is what it says is part of the residual.
    `near` is a decision that targets are worked out from in a metric that is not separable. What is within `snap` of a
    bound or of zero, in units of the size of `x`, is put there.
    """
    xp, metric = namespace(point), polytope.metric
    pull = polytope.rows.adjoint(y)
    t = metric.target(point, pull, near) if t is None else t
    if snap:
        reach = snap * size_of(xp.minimum(xp.maximum(t, polytope.lower), polytope.upper), point, polytope)[:, None]
        for place in (xp.zeros_like(t), polytope.lower, polytope.upper):
            t = xp.where(abs(t - place) <= reach, place, t)
    x = xp.minimum(xp.maximum(t, polytope.lower), polytope.upper)
    free = (t > polytope.lower) & (t < polytope.upper)
    certificate = certify(point, polytope, y, metric.target(point, pull, x), x)
    return Face(y, free, certificate.active, x, *certificate.figures())


def face_without_rows(point: Array, polytope: Polytope) -> Face:
    """The face of multipliers zero, measured only if the rows may hold without them."""
    xp = namespace(point)
    t = polytope.metric.divided(point)
    x = xp.minimum(xp.maximum(t, polytope.lower), polytope.upper)
    excess = polytope.rows.apply(x) - polytope.rhs
    y = xp.zeros_like(polytope.rhs)
    if not bool((xp.where(polytope.equality, abs(excess), excess) > 0).any(-1).all()):
        return face_at(point, polytope, y, near=x)
    return unknown_face(point, polytope)


def unknown_face(point: Array, polytope: Polytope) -> Face:
    """The nearest decisions within the bounds, of which nothing is known."""
    xp, t = namespace(point), polytope.metric.divided(point)
    x = xp.minimum(xp.maximum(t, polytope.lower), polytope.upper)
    free, y = (t > polytope.lower) & (t < polytope.upper), xp.zeros_like(polytope.rhs)
    broken = xp.full_like(y, float("inf"))
    unknown = xp.full_like(x.sum(-1), float("inf"))
    # Each figure an array of its own: they are written to instance by instance.
    figures = (unknown, broken, xp.full_like(unknown, float("inf")), xp.zeros_like(unknown))
    return Face(y, free, xp.broadcast_like(polytope.equality, y), x, *figures)


def newton_step(point: Array, polytope: Polytope, face: Face | Guess, snap: float = 0.0) -> tuple[Face, FaceSystem]:
    """The solution if the free variables and active rows of `face` are the right ones.

    `t` follows `y` by increments: where near-dependent rows make `y` huge, `s - C'y` would have lost the digits that
    the rows need. The linear system comes back too: it is that of the result, where the guess was right.
    """
    xp, rows, metric = namespace(point), polytope.rows, polytope.metric
    mask, free = xp.real(face.active), xp.real(face.free)
    y, fixed = face.y * mask, xp.where(face.free, 0.0, face.x)
    slope = point - rows.adjoint(y)
    right = polytope.rhs - rows.apply(fixed)
    system = FaceSystem(rows, free, mask, metric)
    landing = system.land(slope if metric.separable else slope - metric.apply(fixed), right)
    near = xp.where(face.free, landing.w, face.x)
    target = metric.target(slope, rows.adjoint(landing.z), near)
    return face_at(point, polytope, y + landing.z, xp.where(face.free, landing.w, target), snap), system


@dataclass(frozen=True)
class Polished:
    """The best faces seen, the steps taken per instance, and the linear system of those faces if it is at hand."""

    face: Face
    steps: Array
    system: FaceSystem | None


def _of_result(system: FaceSystem, face: Face, guess: Face | Guess) -> FaceSystem | None:
    """The system of a Newton step, where it is that of the face that came out as well."""
    same = bool((face.free == guess.free).all()) and bool((face.active == guess.active).all())
    return system if same else None


def pursue(point: Array, polytope: Polytope, tol: float) -> Polished:
    """The exact faces of those instances that Newton's method finds from nothing.

    It begins with all variables free and the equalities alone, and asks of a step only which face is next: no digits
    are refined, nothing is measured before a face stays as it is. Where a face has few free variables its system is
    small, so that the pursuit costs a fraction of an interior point method; it is given up where the face changes no
    less than before more than `SETBACKS` times. Instances that it does not find have an infinite residual.
    """
    xp = namespace(point)
    best, steps = unknown_face(point, polytope), xp.counts(point)
    movable = (polytope.upper > polytope.lower) & xp.isfinite(point)
    guess = Guess(xp.zeros_like(best.y), movable, best.active & True, best.x + 0.0)  # written to
    index, part = xp.nonzero(steps == 0), guess
    least, s, set_ = xp.full_like(best.residual, float("inf")), point, polytope
    setbacks, running = xp.zeros_like(least), least > 0
    while bool(running.any()):
        ahead = _next_face(s, set_, part)
        steps[index] += running
        # A variable that was and is at a bound may have changed sides.
        moved = (ahead.free != part.free) | (~ahead.free & (ahead.x != part.x))
        changes = moved.sum(-1) + (ahead.active != part.active).sum(-1)
        setbacks = setbacks + (changes >= least)
        part = ahead if bool(running.all()) else ahead.where(running[:, None], part)
        least = xp.minimum(least, xp.real(changes))
        running = running & (changes > 0) & (setbacks <= SETBACKS)
        remaining = xp.nonzero(running)
        if len(remaining) <= 0.5 * len(running):
            guess.put(index, part)
            index, least, setbacks, s, running = (a[remaining] for a in (index, least, setbacks, s, running))
            part, set_ = part.select(remaining), set_.select(remaining)
    # From multipliers of zero: those that a pursuit leaves are large where it was given up.
    guess = Guess(best.y, guess.free, guess.active, guess.x)
    face, system = newton_step(point, polytope, guess)
    settled = face.settled(tol)
    if bool(settled.all()):
        return Polished(face, steps + 1, _of_result(system, face, guess))
    done = xp.nonzero(settled)
    best.put(done, face.select(done))
    return Polished(best, steps + 1, None)


def _next_face(point: Array, polytope: Polytope, guess: Guess) -> Guess:
    """The next guess: the face that the solution on the face of `guess` lies on."""
    xp, rows, metric = namespace(point), polytope.rows, polytope.metric
    mask, free = xp.real(guess.active), xp.real(guess.free)
    fixed = xp.where(guess.free, 0.0, guess.x)
    weights = rows.weights / metric.unit
    terms = SaddleTerms(rows, free, SHIFT * weights + (1 - mask) * weights, mask=mask)
    dx, y = metric.system(terms).step(point - metric.apply(fixed), (polytope.rhs - rows.apply(fixed)) * mask)
    y, near = y * mask, fixed + dx
    t = xp.where(guess.free, near, metric.target(point, rows.adjoint(y), near))
    x = xp.minimum(xp.maximum(t, polytope.lower), polytope.upper)
    active = polytope.equality | (y * weights > polytope.rhs - rows.apply(x))
    return Guess(y, (t > polytope.lower) & (t < polytope.upper), active, x)


def polish(
    point: Array, polytope: Polytope, guess: Face | Guess, tol: float, max_iter: int, *, snapping: bool = True
) -> Polished:
    """Newton steps until one is exact, `max_iter` at most, and a few more that put noise to rest (`snapping`).

    The residual need not fall from step to step: on its way to the right face the method passes worse ones.
    """
    xp = namespace(point)
    best, system = newton_step(point, polytope, guess)
    spent = xp.counts(point) + 1
    index = xp.nonzero(~best.settled(tol))
    if len(index) == 0:
        return Polished(best, spent, _of_result(system, best, guess))
    latest = best.select(index)
    if isinstance(guess, Face):
        worse = index[xp.nonzero(~(latest.residual < guess.residual[index]))]
        best.put(worse, guess.select(worse))
    for step in range(1, max_iter + (SNAPPED_STEPS if snapping else 0)):
        if len(index) == 0:
            break
        # Multipliers that dependent rows made large explain x, but not to enough digits: the least ones may.
        latest.y = xp.where((latest.residual <= tol)[:, None], 0.0, latest.y)
        snap = SNAP * tol if step >= max_iter else 0.0
        latest, _ = newton_step(point[index], polytope.select(index), latest, snap)
        spent[index] += 1
        better = xp.nonzero(latest.settled(tol) | (latest.residual < best.residual[index]))
        best.put(index[better], latest.select(better))
        going = xp.nonzero(~latest.settled(tol) & xp.isfinite(latest.residual))
        index, latest = index[going], latest.select(going)
    return Polished(best, spent, None)
