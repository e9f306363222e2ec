"""One HiGHS model that takes on the instances of a polytope in turn."""

from __future__ import annotations

from dataclasses import replace
from functools import cached_property
from typing import Any

import numpy as np
import scipy.sparse

from foresolve.solvers.exact.highs_model import (
    EITHER,
    INFEASIBLE,
    NODE_LIMIT,
    OPTIMAL,
    TIME_LIMIT,
    UNBOUNDED,
    HighsModel,
    Interval,
)
from foresolve.solvers.exact.outcome import Ending, Limits, Outcome
from foresolve.solvers.exact.refinement import TIGHT, complaint, refine
from foresolve.solvers.exact.scaling import Scaling, cost_scale, equilibrate, units_of
from foresolve.solvers.exact.verification import FEASIBLE, Program
from foresolve.solvers.projection.polytope import Polytope

# For questions about programs without a decision, which are not worth a long search.
REASON_NODES = 1_000
# HiGHS' own tolerance for integers, 1e-6, made 5 of 5,000 small mixed-integer programs end with the wrong integers, and
# this one none; but where numbers are large it cannot be met. Then HiGHS' own is tried, without its presolve, which
# calls some programs infeasible that have rows which repeat each other.
FIRST, LOOSE = {"mip_feasibility_tolerance": 1e-9}, {"presolve": "off"}
# The tightest that HiGHS takes, for decisions that do not hold otherwise.
TIGHT_INTEGERS = dict.fromkeys(
    ("primal_feasibility_tolerance", "dual_feasibility_tolerance", "mip_feasibility_tolerance"), 1e-10
) | {"small_matrix_value": 1e-12, "presolve": "off"}
ENDINGS = {
    OPTIMAL: Ending.OPTIMAL,
    INFEASIBLE: Ending.INFEASIBLE,
    UNBOUNDED: Ending.UNBOUNDED,
    EITHER: Ending.INFEASIBLE_OR_UNBOUNDED,
    NODE_LIMIT: Ending.NODE_LIMIT,
    TIME_LIMIT: Ending.TIME_LIMIT,
}
# Of the objective: a decision that loses more when its rows are made to hold was not the best.
LOSS = 1e-8
STOPPED = {Ending.NODE_LIMIT, Ending.TIME_LIMIT}


class PolytopeModel:
    """`max gains'x` over one instance's polytope after the other.

    Parameters
    ----------
    polytope: in NumPy.
    integer: `(n,)` booleans, `None` for a linear program.
    options: of HiGHS.
    """

    def __init__(self, polytope: Polytope, integer: np.ndarray | None, options: dict[str, Any] = FIRST) -> None:
        self.polytope, self.integer = polytope, integer
        self.highs = HighsModel(options)
        self._parts: list[HighsModel | PolytopeModel] = [self.highs]
        self.current: int | None = None
        self.scaling: Scaling | None = None
        self.cancelled = False

    def cancel(self) -> None:
        """End what is under way, from another thread."""
        self.cancelled = True
        for part in list(self._parts):
            part.cancel()

    def run(self, instance: int, gains: np.ndarray, limits: Limits) -> list[Outcome]:
        """Outcomes of the rows of `gains` in one instance's polytope; the first starts cold."""
        self._become(instance)
        outcomes = []
        for i, row in enumerate(gains):
            if self.cancelled:
                break
            # A MIP would take the last decision as its incumbent, and ties would depend on the order.
            outcomes.append(self._maximize(row, limits, cold=i == 0 or self.integer is not None))
        return outcomes

    def only(self, instance: int, gains: np.ndarray, limits: Limits) -> Outcome:
        """The outcome of gains `(n,)` from a cold start."""
        self._become(instance)
        return self._maximize(gains, limits, cold=True)

    def again(self, instance: int, gains: np.ndarray, limits: Limits, first: Outcome) -> Outcome:
        """The same for one row of `gains` where the `first` outcome does not hold: from the beginning, and tighter."""
        program = Program.of(self.polytope, instance)
        if self.integer is None:
            if first.ending == Ending.UNBOUNDED and self._has_ray(program, gains, limits):
                return first
            second = refine(self._refiner, program, gains, limits.seconds)
            doubted = second.ending == Ending.UNBOUNDED
            return Outcome(Ending.FAILED, reason="HiGHS calls it unbounded, but no ray shows it") if doubted else second
        if first.x is None:
            second = self._doubt(instance, gains, limits, first)
            if second.x is None:
                return first if first.ending == Ending.INFEASIBLE else second
            first = second
        repaired = self._repair(program, gains, limits, first)
        if repaired.ending != Ending.FAILED or first.ending in STOPPED:
            return repaired
        second = self._tight.only(instance, gains, limits)
        if second.x is None and second.ending not in STOPPED:
            return repaired._replace(reason=f"{repaired.reason}, and with tighter tolerances HiGHS finds no decision")
        return self._repair(program, gains, limits, second)

    def _has_ray(self, program: Program, gains: np.ndarray, limits: Limits) -> bool:
        """True if a direction that never leaves the polytope raises the objective."""
        cone = replace(
            program,
            rhs=np.zeros_like(program.rhs),
            lower=np.where(np.isfinite(program.lower), 0.0, -1.0),
            upper=np.where(np.isfinite(program.upper), 0.0, 1.0),
        )
        ray = refine(self._refiner, cone, gains, limits.seconds).x
        return ray is not None and float(gains @ ray) > FEASIBLE * float(np.abs(gains) @ np.abs(ray))

    def _doubt(self, instance: int, gains: np.ndarray, limits: Limits, first: Outcome) -> Outcome:
        """Another search where the first gave up or calls the program infeasible, which a short one may disprove."""
        if first.ending != Ending.INFEASIBLE:
            return self._loose.only(instance, gains, limits)
        short = self._loose.only(instance, gains, limits.but(nodes=min(limits.nodes, REASON_NODES)))
        disproved = short.x is not None and short.ending == Ending.NODE_LIMIT
        return self._loose.only(instance, gains, limits) if disproved else short

    def _repair(self, program: Program, gains: np.ndarray, limits: Limits, outcome: Outcome) -> Outcome:
        """Continuous variables that satisfy the rows, with the integers as they are; a failure if there are none."""
        if outcome.x is None or self.integer is None:
            return outcome
        broken = program.broken(outcome.x)
        if broken.max(initial=0.0) <= FEASIBLE:
            return outcome
        rest = Outcome(Ending.FAILED)
        if not self.integer.all():
            rest = refine(self._refiner, program.fixed(self.integer, outcome.x), gains, limits.seconds)
        if rest.x is None:
            ending = outcome.ending if outcome.ending in STOPPED else Ending.FAILED
            return Outcome(ending, bound=outcome.bound, reason=complaint(program, broken))
        x = np.where(self.integer, outcome.x, rest.x)
        lost = float(gains @ (outcome.x - x))
        if lost > LOSS * (np.abs(gains) @ np.abs(x)) and outcome.ending == Ending.OPTIMAL:
            return Outcome(Ending.FAILED, reason=complaint(program, broken))
        return outcome._replace(x=x)

    @cached_property
    def _refiner(self) -> HighsModel:
        self._parts.append(refiner := HighsModel(TIGHT))
        return refiner

    @cached_property
    def _loose(self) -> PolytopeModel:
        self._parts.append(loose := PolytopeModel(self.polytope, self.integer, LOOSE))
        return loose

    @cached_property
    def _tight(self) -> PolytopeModel:
        self._parts.append(tight := PolytopeModel(self.polytope, self.integer, TIGHT_INTEGERS))
        return tight

    # -- one run -----------------------------------------------------------------------------------------------------

    def _become(self, instance: int) -> None:
        """Load the data of `instance`; the matrix is kept where all instances share it."""
        if self.current == instance:
            return
        rows, rhs = self.polytope.rows, self._own(self.polytope.rhs, instance)
        matrix = rows.scipy(instance) if rows.batched else self._matrix
        scaling = equilibrate(matrix, rows.n, self.integer, self._units(matrix, instance))
        row_bounds, bounds = self._row_bounds(rhs * scaling.rows), self._bounds(instance, scaling.columns)
        if rows.batched or self.scaling is None or not scaling.same_as(self.scaling):
            self.highs.load(scaling.matrix(matrix), row_bounds, bounds, maximize=True, integer=self.integer)
        else:
            self.highs.set_bounds(*bounds)
            self.highs.set_row_bounds(*row_bounds)
        self.current, self.scaling = instance, scaling

    @cached_property
    def _matrix(self) -> scipy.sparse.csr_array:
        return self.polytope.rows.scipy()

    def _units(self, matrix: scipy.sparse.csr_array, instance: int) -> np.ndarray:
        """Units of the variables, by the instance's own numbers: no decision must depend on the rest of its batch."""
        sides = (self.polytope.rhs, self.polytope.lower, self.polytope.upper)
        return units_of(matrix, *(self._own(side, instance) for side in sides))

    @staticmethod
    def _own(array: np.ndarray, instance: int) -> np.ndarray:
        """An instance's entry of an array that may hold one for all."""
        return array[instance if len(array) > 1 else 0]

    def _bounds(self, instance: int, unit: np.ndarray) -> Interval:
        return self._own(self.polytope.lower, instance) / unit, self._own(self.polytope.upper, instance) / unit

    def _row_bounds(self, rhs: np.ndarray) -> Interval:
        return np.where(self.polytope.equality, rhs, -np.inf), rhs

    def _maximize(self, gains: np.ndarray, limits: Limits, *, cold: bool) -> Outcome:
        assert self.scaling is not None
        costs = gains * self.scaling.columns
        scale = cost_scale(costs)
        status = self._attempt(costs * scale, limits, cold=cold)
        if status not in ENDINGS and not cold:
            status = self._attempt(costs * scale, limits, cold=True)  # a bad basis is no verdict on the instance
        if status == EITHER:
            reason = Limits(min(limits.nodes, REASON_NODES), seconds=limits.seconds)
            feasible = self._attempt(np.zeros_like(costs), reason, cold=True)
            status = {OPTIMAL: UNBOUNDED, INFEASIBLE: INFEASIBLE}.get(feasible, status)
            return Outcome(ENDINGS[status])
        if status not in ENDINGS:
            return Outcome(Ending.FAILED, reason=f"HiGHS' status is {status!r}")
        return self._outcome(ENDINGS[status], gains, limits, scale)

    def _attempt(self, costs: np.ndarray, limits: Limits, *, cold: bool) -> str:
        self.highs.set_costs(costs)
        if self.integer is not None:
            self.highs.limit(nodes=limits.nodes, gap=limits.gap)
        return self.highs.run(cold=cold, seconds=limits.seconds)

    def _outcome(self, ending: Ending, gains: np.ndarray, limits: Limits, scale: float) -> Outcome:
        """The decision that HiGHS has, if any, and its bound."""
        if self.integer is None:
            return Outcome(ending, self._decision() if ending == Ending.OPTIMAL else None)
        if ending != Ending.OPTIMAL and ending not in STOPPED:
            return Outcome(ending)
        x, bound = self._decision() if self.highs.feasible() else None, self.highs.bound() / scale
        if ending == Ending.OPTIMAL and x is not None:
            value = float(gains @ x)
            close = bound - value <= FEASIBLE * (np.abs(gains) @ np.abs(x))
            return Outcome(ending, x, value) if limits.gap == 0 or close else Outcome(Ending.WITHIN_GAP, x, bound)
        return Outcome(ending, x, bound)

    def _decision(self) -> np.ndarray:
        """The decision in the units of the polytope; integers are integers, and the rest is within its bounds."""
        assert self.scaling is not None
        assert self.current is not None
        x = self.highs.decision() * self.scaling.columns
        within = np.maximum(x, self._own(self.polytope.lower, self.current))
        within = np.minimum(within, self._own(self.polytope.upper, self.current))
        x = within if self.integer is None else np.where(self.integer, np.round(x), within)
        return x + 0.0  # no negative zeros
