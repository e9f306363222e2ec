r"""Linear programs to the last digit, whatever the units: iterative refinement (Gleixner, Steffy and Wolter, 2016).

With `x = p + d / zoom` around a point `p`, the program `max c'x, C x <= r, l <= x <= u` becomes

    max c'd   s.t.   C d <= zoom (r - C p),   zoom (l - p) <= d <= zoom (u - p),

the same rows and costs with other right-hand sides and bounds. What breaks a row of the first by less than a tolerance
breaks one of the second by `zoom` times as much: HiGHS, whose tolerances are absolute, sees it, and simplex goes on
from its last basis. The first zoom is that of the largest number in the program.
"""

from __future__ import annotations

import numpy as np

from foresolve.solvers.exact.highs_model import EITHER, INFEASIBLE, OPTIMAL, TIME_LIMIT, UNBOUNDED, HighsModel
from foresolve.solvers.exact.outcome import Ending, Outcome
from foresolve.solvers.exact.scaling import equilibrate, power_of_two, scaled, units_of
from foresolve.solvers.exact.verification import FEASIBLE, Program, excess

ROUNDS = 8
# A zoom grows by this at least, or a round would change nothing, and by the second at most, where digits end.
LEAST, MOST = 2.0**10, 2.0**30
# Without presolve, which keeps neither bases nor certificates.
TIGHT = {
    "presolve": "off",
    "primal_feasibility_tolerance": 1e-9,
    "dual_feasibility_tolerance": 1e-9,
    "small_matrix_value": 1e-12,
}


def refine(highs: HighsModel, program: Program, gains: np.ndarray, seconds: float | None) -> Outcome:
    """The decision of a linear program that holds in each row's own terms, by a model with the options `TIGHT`."""
    units = units_of(program.matrix, program.rhs, program.lower, program.upper)
    scaling = equilibrate(program.matrix, len(gains), units=units)
    rows, rhs = scaling.matrix(program.matrix), program.rhs * scaling.rows
    lower, upper = program.lower / scaling.columns, program.upper / scaling.columns
    at_least = np.where(program.equality, 0.0, -np.inf)
    sizes = np.abs(np.concatenate([rhs, lower, upper]))
    zoom = 1.0 / power_of_two(sizes.max(initial=0.0, where=np.isfinite(sizes)) or 1.0)
    highs.load(rows, (at_least, rhs), (lower, upper), maximize=True, costs=scaled(gains * scaling.columns))
    x = np.zeros(len(gains))
    reason = ""
    for _ in range(ROUNDS):
        side = zoom * (rhs - rows @ x)
        highs.set_bounds(zoom * (lower - x), zoom * (upper - x))
        highs.set_row_bounds(at_least + side, side)
        status = highs.run(seconds=seconds)
        if status == INFEASIBLE and program.refuted_by(_multipliers(highs, program, scaling.rows)):
            return Outcome(Ending.INFEASIBLE)
        if status != OPTIMAL:
            return _ending(status, reason)
        x = np.clip(x + highs.decision() / zoom, lower, upper)
        decision = x * scaling.columns + 0.0  # no negative zeros
        broken = program.broken(decision)
        if broken.max(initial=0.0) <= FEASIBLE:
            return Outcome(Ending.OPTIMAL, decision)
        reason = complaint(program, broken)
        left = excess(rows @ x, rhs, program.equality)[broken > FEASIBLE].max()
        zoom = float(np.clip(1.0 / power_of_two(left), zoom * LEAST, zoom * MOST))
    return Outcome(Ending.FAILED, reason=reason)


def complaint(program: Program, broken: np.ndarray) -> str:
    """The worst row, and the share of its terms by which it is broken."""
    worst = int(broken.argmax())
    return f"{program.row_name(worst)} is broken by {broken[worst]:.1e} of its terms"


def _multipliers(highs: HighsModel, program: Program, row_scale: np.ndarray) -> np.ndarray:
    """HiGHS' certificate in the units and signs of the program; ours for empty rows, for which it gives none."""
    ray = highs.ray()
    if ray is not None:
        return -ray * row_scale
    broken = excess(np.zeros(len(program.rhs)), program.rhs, program.equality) > 0
    return np.where(broken & (np.diff(program.matrix.indptr) == 0), -np.sign(program.rhs), 0.0)


def _ending(status: str, reason: str) -> Outcome:
    known = {
        UNBOUNDED: Ending.UNBOUNDED,
        EITHER: Ending.INFEASIBLE_OR_UNBOUNDED,
        TIME_LIMIT: Ending.TIME_LIMIT,
    }
    if status == INFEASIBLE:
        reason = reason or "HiGHS calls it infeasible, which could not be verified"
    return Outcome(known.get(status, Ending.FAILED), reason=reason or f"HiGHS' status is {status!r}")
