"""One linear or mixed-integer program in HiGHS.

`highspy` is imported where it is first needed, so that everything else works without it.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np
import scipy.sparse

from foresolve._base.extras import need
from foresolve.errors import SolverError

OPTIMAL, INFEASIBLE, UNBOUNDED = "Optimal", "Infeasible", "Unbounded"
EITHER = "Primal infeasible or unbounded"
TIME_LIMIT = "Time limit reached"
INTERRUPTED = "Interrupted by user"
NODE_LIMIT = "Solution limit reached"  # that of solutions, leaves and nodes alike

MOST_INT = 2**31 - 1  # the largest integer that HiGHS takes

Interval = tuple[np.ndarray, np.ndarray]  # lower and upper ends


def load_highspy() -> Any:
    """The module `highspy`, or an error that says how to get it."""
    return need("highspy", "solving this problem", note="It cannot share a process with `ortools`")


def new_highs(options: Mapping[str, Any] | None = None) -> Any:
    """A silent, single-threaded HiGHS: the parallelism is over instances."""
    highs = load_highspy().Highs()
    # `log_to_console` too: reading a file would otherwise print its complaints.
    settings = {"output_flag": False, "log_to_console": False, "threads": 1, "mip_rel_gap": 0.0} | dict(options or {})
    for name, value in settings.items():
        if highs.setOptionValue(name, value) == load_highspy().HighsStatus.kError:
            raise SolverError(
                f"HiGHS does not take {name}={value!r}", remedy="Check the name and the type of the option"
            )
    return highs


class HighsModel:
    """`max` or `min costs'x` over `{row_lower <= C x <= row_upper, lower <= x <= upper}`, some `x` integer.

    The program is loaded once and then changed in place; unless it runs `cold`, simplex continues from its last basis.

    Parameters
    ----------
    options: HiGHS options by name, for example `{"time_limit": 10.0}`.
    """

    def __init__(self, options: Mapping[str, Any] | None = None) -> None:
        self._highs = new_highs(options)
        self._columns = self._rows = np.zeros(0, dtype=np.int32)

    @property
    def row_count(self) -> int:
        return len(self._rows)

    def load(
        self,
        rows: scipy.sparse.csr_array,
        row_bounds: Interval,
        bounds: Interval,
        *,
        maximize: bool,
        costs: np.ndarray | None = None,
        integer: np.ndarray | None = None,
    ) -> None:
        """Take this program on in place of the last; `costs` are zero and all variables continuous unless given."""
        highspy, m, n = load_highspy(), len(row_bounds[0]), len(bounds[0])
        self._columns, self._rows = np.arange(n, dtype=np.int32), np.arange(m, dtype=np.int32)
        sense = highspy.ObjSense.kMaximize if maximize else highspy.ObjSense.kMinimize
        status = self._highs.passModel(
            n, m, rows.nnz, int(highspy.MatrixFormat.kRowwise), int(sense), 0.0,
            np.zeros(n) if costs is None else costs, *bounds, *row_bounds,
            *_entries(rows), (np.zeros(n) if integer is None else integer).astype(np.int32),
        )  # fmt: skip
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the model", remedy="Check for entries or right-hand sides beyond 1e15")

    def set_costs(self, costs: np.ndarray) -> None:
        self._highs.changeColsCost(len(self._columns), self._columns, costs)

    def set_hessian(self, lower_triangle: scipy.sparse.csc_array) -> None:
        """`x'Hx / 2` beside the costs, by columns; negative semidefinite where the program is maximized."""
        highspy, n = load_highspy(), len(self._columns)
        starts, index, values = _entries(lower_triangle)
        kind = int(highspy.HessianFormat.kTriangular)
        status = self._highs.passHessian(n, lower_triangle.nnz, kind, starts, index, values)
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the quadratic part", remedy="Check for entries beyond 1e15")

    def set_bounds(self, lower: np.ndarray, upper: np.ndarray) -> None:
        self._highs.changeColsBounds(len(self._columns), self._columns, lower, upper)

    def set_row_bounds(self, lower: np.ndarray, upper: np.ndarray) -> None:
        self._highs.changeRowsBounds(len(self._rows), self._rows, lower, upper)

    def add_rows(self, rows: scipy.sparse.csr_array, upper: np.ndarray) -> None:
        """More rows, `rows x <= upper`."""
        starts, index, values = _entries(rows)
        self._highs.addRows(len(upper), np.full(len(upper), -np.inf), upper, rows.nnz, starts[:-1], index, values)
        self._rows = np.arange(len(self._rows) + len(upper), dtype=np.int32)

    def limit(self, *, nodes: int, gap: float) -> None:
        """Set the limits of branch and bound: nodes of the tree, and distance of decision and bound (a share)."""
        self._highs.setOptionValue("mip_max_nodes", min(int(nodes), MOST_INT))
        self._highs.setOptionValue("mip_rel_gap", float(gap))

    def run(self, *, cold: bool = False, seconds: float | None = None) -> str:
        """Solve, and say in HiGHS' words how that ended; `cold` forgets the last basis and decision."""
        if cold:
            self._highs.clearSolver()
        self._highs.setOptionValue("time_limit", np.inf if seconds is None else self._highs.getRunTime() + seconds)
        self._highs.run()
        return self._highs.modelStatusToString(self._highs.getModelStatus())

    def cancel(self) -> None:
        """End the run under way, and every later one, as soon as HiGHS notices; called from another thread."""
        # Only now: HiGHS would call back into Python at each iteration of every run.
        self._highs.HandleUserInterrupt = True
        self._highs.cancelSolve()

    def decision(self) -> np.ndarray:
        """The last `x` `(n,)`."""
        return np.array(self._highs.getSolution().col_value)

    def duals(self) -> np.ndarray:
        """Reduced costs of the variables, then multipliers of the rows, `(n + m,)`; basic ones are zero."""
        solution = self._highs.getSolution()
        return np.concatenate([solution.col_dual, solution.row_dual])

    def objective(self) -> float:
        """`costs'x` of the last decision."""
        return self._highs.getInfo().objective_function_value

    def bound(self) -> float:
        """The bound that no decision of the mixed-integer program can beat."""
        return self._highs.getInfo().mip_dual_bound

    def feasible(self) -> bool:
        """True if the last run, however it ended, has a decision to offer."""
        feasible = load_highspy().SolutionStatus.kSolutionStatusFeasible
        return self._highs.getInfo().primal_solution_status == int(feasible)

    def ray(self) -> np.ndarray | None:
        """After an infeasible linear program, the multipliers `(m,)` that HiGHS gives as its reason."""
        _, known, values = self._highs.getDualRay()
        return np.array(values) if known else None


def _entries(
    rows: scipy.sparse.csr_array | scipy.sparse.csc_array,
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Starts of the rows, the columns of their entries and their values; likewise for a matrix by columns."""
    return rows.indptr.astype(np.int32), rows.indices.astype(np.int32), rows.data.astype(np.float64)
