r"""Convex quadratic programs by HiGHS, verified and brought to the last digit.

HiGHS works with a small regularization of its own and absolute tolerances. So its decision and multipliers are the
start of an exact solve (`solvers/projection`), and what is handed on is proven, whoever found it: with
`r = c - Q x - C'y`, every feasible `x'` has, by convexity,

    value(x') - value(x) <= (c - Q x)'(x' - x) <= y'(rhs - C x) + sum_j max(r_j (u_j - x_j), r_j (l_j - x_j)),

and where that bound is nothing but rounding, no decision is better. (Where a variable has no bound, decisions up to
`FAR` times as large as `x` are looked at: a slope of rounding leads nowhere.) A `Q` that is only semidefinite is made
definite around the last decision, `Q + rho I` with `c + rho x`, again and again (the proximal point method): where that
stays in its place, it is a decision of the program itself.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

import numpy as np
import scipy.sparse

from foresolve.solvers.arrays import Array
from foresolve.solvers.exact.endings import refuse
from foresolve.solvers.exact.highs import is_feasible
from foresolve.solvers.exact.highs_model import OPTIMAL, HighsModel
from foresolve.solvers.exact.model_pool import ModelPool
from foresolve.solvers.exact.outcome import Ending, Limits, Outcome
from foresolve.solvers.exact.polytope_model import ENDINGS, PolytopeModel
from foresolve.solvers.exact.refinement import TIGHT, refine
from foresolve.solvers.exact.verification import FEASIBLE, Program, as_numpy
from foresolve.solvers.projection.metric import Metric
from foresolve.solvers.projection.polytope import Polytope
from foresolve.solvers.projection.project import project
from foresolve.solvers.status import Status

DEFAULT = Limits()
# Of the terms of the objective: what the bound above may leave.
GAP = 1e-9
# Of the terms of `r`: what rounding leaves of it.
NOTHING = 1e-12
FAR = 100.0
TOLERANCE, ITERATIONS = 1e-10, 200
# Of the size of Q and c: the weight of the last decision, where Q is not definite, and how often it is taken anew with
# each weight; then that share of the weight, for those that come slowly.
ANCHOR = 1e-3
ANCHORED_STEPS = 30

Form = scipy.sparse.csc_array


@dataclass(frozen=True)
class Start:
    """The result of HiGHS for one instance: how it ended, a decision `(n,)` and multipliers `(m,)`, if any."""

    ending: Ending
    x: np.ndarray | None = None
    y: np.ndarray | None = None
    reason: str = ""


class QuadraticModel(PolytopeModel):
    """One HiGHS model that takes on the instances in turn; `form(i)` is `Q` of instance `i`."""

    def __init__(self, polytope: Polytope, form: Callable[[int], Form]) -> None:
        super().__init__(polytope, None, {"qp_iteration_limit": 1_000 + 100 * (polytope.rows.n + polytope.rows.m)})
        self._form = form

    def start(self, instance: int, gains: np.ndarray, limits: Limits) -> Start:
        """The result of HiGHS for gains `(n,)`, from a cold start."""
        self._become(instance)
        assert self.scaling is not None
        units = scipy.sparse.diags_array(self.scaling.columns)
        form = scipy.sparse.csc_array(units @ self._form(instance) @ units)
        largest = max(float(np.abs(gains * self.scaling.columns).max(initial=0.0)), float(abs(form).max() or 0.0))
        scale = 1.0 if largest == 0 else 2.0 ** -np.floor(np.log2(largest))
        self.highs.set_hessian(scipy.sparse.csc_array(scipy.sparse.tril(-scale * form)))
        status = self._attempt(gains * self.scaling.columns * scale, limits, cold=True)
        if status != OPTIMAL:
            return Start(ENDINGS.get(status, Ending.FAILED), reason=f"HiGHS' status is {status!r}")
        y = self.highs.duals()[len(gains) :] * self.scaling.rows / scale
        return Start(Ending.OPTIMAL, self._decision(), y)


class QuadraticPool:
    """`max gains'x - x'Qx / 2` over a polytope (or one polytope and form per instance), exactly.

    Parameters
    ----------
    polytope: in NumPy; its arrays may hold one set per instance.
    form: `Q` of instance `i`, sparse.
    metric: `Q + rho I` for all instances, as the solvers want it, for a number `rho >= 0`.
    definite: whether `rho = 0` will do.
    """

    def __init__(
        self, polytope: Polytope, form: Callable[[int], Form], metric: Callable[[float], Metric], *, definite: bool
    ) -> None:
        self.polytope, self._form, self._metric = as_numpy(polytope), form, metric
        self._models = ModelPool(lambda: QuadraticModel(self.polytope, form))
        self._own = metric(0.0) if definite else None

    def proven(self, outcomes: Sequence[Outcome], batch: Sequence[int], limits: Limits) -> np.ndarray:
        """The decisions `(B, n)` of outcomes that are all optimal; raises the errors that `refuse` describes."""
        boxed = bool(np.isfinite(self.polytope.lower).all() and np.isfinite(self.polytope.upper).all())
        refuse(outcomes, limits, batch, boxed=boxed)
        return np.array([outcome.x for outcome in outcomes], dtype=np.float64).reshape(-1, self.polytope.rows.n)

    def search(self, gains: np.ndarray, model_of: np.ndarray, limits: Limits = DEFAULT) -> list[Outcome]:
        """Outcomes of the rows of gains `(B, n)`; row `b` is of instance `model_of[b]`."""
        gains, model_of = np.asarray(gains, dtype=np.float64), np.asarray(model_of)

        def run(model: QuadraticModel, b: int) -> Start:
            return model.start(int(model_of[b]), gains[b], limits)

        starts = self._models.map(run, range(len(gains)))
        outcomes = [self._without_decision(start, gains[b], int(model_of[b])) for b, start in enumerate(starts)]
        open_ = [b for b, outcome in enumerate(outcomes) if outcome is None]
        if open_:
            found = self._exact(gains[open_], model_of[open_], [starts[b] for b in open_])
            for b, (x, y) in zip(open_, found, strict=True):
                outcome = self._judged(x, y, gains[b], int(model_of[b]), starts[b])
                if outcome.ending == Ending.FAILED:
                    outcome = self._explained(outcome, starts[b], gains[b], int(model_of[b]))
                outcomes[b] = outcome
        return [outcome for outcome in outcomes if outcome is not None]

    # -- no decision ---------------------------------------------------------------------------------------------------

    def _without_decision(self, start: Start, gains: np.ndarray, instance: int) -> Outcome | None:
        """An ending that is verified; `None` where there may be a decision."""
        if start.ending == Ending.TIME_LIMIT:
            return Outcome(Ending.TIME_LIMIT)
        if start.ending == Ending.OPTIMAL:
            return None
        if start.ending != Ending.UNBOUNDED and not is_feasible(self._instances(np.array([instance])), 0):
            return Outcome(Ending.INFEASIBLE)
        if self._own is None and self._has_ray(gains, instance):
            return Outcome(Ending.UNBOUNDED)
        return None

    def _explained(self, outcome: Outcome, start: Start, gains: np.ndarray, instance: int) -> Outcome:
        """HiGHS' own decision, where that is proven, or why none was: it has tolerances, and ends what is endless."""
        if start.x is not None and start.y is not None:
            own = self._judged(start.x, start.y, gains, instance, start)
            if own.ending == Ending.OPTIMAL:
                return own
        if not is_feasible(self._instances(np.array([instance])), 0):
            return Outcome(Ending.INFEASIBLE)
        unbounded = self._own is None and self._has_ray(gains, instance)
        return Outcome(Ending.UNBOUNDED) if unbounded else outcome

    def _has_ray(self, gains: np.ndarray, instance: int) -> bool:
        """True if a direction without curvature never leaves the polytope and raises the objective."""
        program, form = Program.of(self.polytope, instance), self._form(instance)
        cone = replace(
            program,
            matrix=scipy.sparse.csr_array(scipy.sparse.vstack([program.matrix, form])),
            rhs=np.zeros(len(program.rhs) + len(gains)),
            equality=np.concatenate([program.equality, np.ones(len(gains), dtype=bool)]),
            lower=np.where(np.isfinite(program.lower), 0.0, -1.0),
            upper=np.where(np.isfinite(program.upper), 0.0, 1.0),
        )
        ray = refine(HighsModel(TIGHT), cone, gains, None).x
        return ray is not None and float(gains @ ray) > FEASIBLE * float(np.abs(gains) @ np.abs(ray))

    # -- decisions -----------------------------------------------------------------------------------------------------

    def _instances(self, model_of: np.ndarray, metric: Metric | None = None) -> Polytope:
        """The polytopes of some rows of gains."""
        whole, count = self.polytope, len(model_of)

        def pick(array: Array) -> np.ndarray:
            return array[model_of] if len(array) > 1 else np.broadcast_to(array, (count, array.shape[-1]))

        rows = whole.rows.select(model_of)
        set_ = Polytope(rows, pick(whole.rhs), whole.equality, pick(whole.lower), pick(whole.upper))
        return set_ if metric is None else replace(set_, metric=metric)

    def _exact(
        self, gains: np.ndarray, model_of: np.ndarray, starts: list[Start]
    ) -> list[tuple[np.ndarray, np.ndarray]]:
        """Decisions and multipliers to the last digit, from where HiGHS ended."""
        if self._own is None:
            return [self._anchored(gains[i], model_of[i : i + 1], start) for i, start in enumerate(starts)]
        m, n = self.polytope.rows.m, self.polytope.rows.n
        x = np.stack([np.zeros(n) if start.x is None else start.x for start in starts])
        y = np.stack([np.zeros(m) if start.y is None else start.y for start in starts])
        set_ = self._instances(model_of, self._own.select(model_of))
        return list(zip(*_projected(gains, set_, y, x), strict=True))

    def _anchored(self, gains: np.ndarray, own: np.ndarray, start: Start) -> tuple[np.ndarray, np.ndarray]:
        """The proximal point method from the decision of HiGHS, for a `Q` that is not definite."""
        instance = int(own[0])
        x = np.zeros(len(gains)) if start.x is None else start.x
        size = float(np.abs(x).max(initial=0.0)) or 1.0
        form = self._form(instance)
        rho = ANCHOR * max(float(form.diagonal().max(initial=0.0)), float(np.abs(gains).max(initial=0.0)) / size) or 1.0
        y, near = None if start.y is None else start.y[None], x[None]
        best = (x, np.zeros(self.polytope.rows.m) if start.y is None else start.y)
        for weight in (rho, ANCHOR * rho, ANCHOR**2 * rho):
            set_ = self._instances(own, self._metric(weight).select(own))
            for _ in range(ANCHORED_STEPS):
                last, (near, y) = near, _projected(gains[None] + weight * near, set_, y, near)
                moved = float(np.abs(near - last).max(initial=0.0))
                best = near[0], y[0]
                if self._gap(*best, gains, instance) <= GAP / 10:
                    return best
                if moved <= NOTHING * size:
                    break
        return best

    def _judged(self, x: np.ndarray, y: np.ndarray, gains: np.ndarray, instance: int, start: Start) -> Outcome:
        program = Program.of(self.polytope, instance)
        broken = program.broken(x).max(initial=0.0)
        if not np.isfinite(x).all() or broken > FEASIBLE:
            reason = start.reason or f"a row is broken by {broken:.1e} of its terms"
            return Outcome(Ending.FAILED, reason=reason)
        gap = self._gap(x, y, gains, instance)
        if gap > GAP:
            return Outcome(Ending.FAILED, reason=f"a decision may be better by {gap:.1e} of the objective's terms")
        return Outcome(Ending.OPTIMAL, x + 0.0)

    def _gap(self, x: np.ndarray, y: np.ndarray, gains: np.ndarray, instance: int) -> float:
        """The bound on what any decision gains over `x`, in units of the terms of the objective."""
        program, form = Program.of(self.polytope, instance), self._form(instance)
        y = np.where(program.equality, y, np.maximum(y, 0.0))
        pull = form @ x
        slope = gains - pull - program.matrix.T @ y
        terms = np.abs(gains) + abs(form) @ np.abs(x) + abs(program.matrix).T @ np.abs(y)
        slope = np.where(np.abs(slope) <= NOTHING * terms, 0.0, slope)
        far = FAR * (float(np.abs(x).max(initial=0.0)) or 1.0)
        room = np.where(slope > 0, program.upper - x, x - program.lower)
        ahead = np.abs(slope) @ np.where(np.isfinite(room), room, far)
        bound = ahead + y @ (program.rhs - program.matrix @ x)
        return float(bound / ((terms @ np.abs(x)) or 1.0))


def _projected(point: np.ndarray, set_: Polytope, y: np.ndarray | None, near: np.ndarray) -> tuple[Array, Array]:
    """Decisions and multipliers, from those of a nearby program; from scratch where that does not lead to the end."""
    warm = project(point, set_, tol=TOLERANCE, max_iter=ITERATIONS, start=y, near=near)
    late = np.flatnonzero(warm.status != int(Status.CONVERGED))
    if len(late):
        cold = project(point[late], set_.select(late), tol=TOLERANCE, max_iter=ITERATIONS)
        better = cold.status == int(Status.CONVERGED)
        warm.face.x[late[better]], warm.face.y[late[better]] = cold.face.x[better], cold.face.y[better]
    return warm.face.x, warm.face.y
