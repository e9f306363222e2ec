r"""Shortest tours through all cities: branch and cut, on HiGHS' dual simplex.

The program over the edges (Dantzig, Fulkerson and Johnson, 1954)

    min c'x   s.t.   sum_{e at v} x_e = 2  for all cities v,   sum_{e inside S} x_e <= |S| - 1  for all S,   x in {0, 1}

starts without the constraints on sets. Each linear solution asks for those that it breaks: the sets are the components
that arise as edges join cities in the order of their `x`, largest first. Where none is broken and `x` is fractional, an
edge is branched on. A 0/1 solution that breaks none has a single component: it is a tour, so the answer is exact.

The constraints hold for every objective, so a model keeps those it has found. Which of several equally short tours is
found would depend on them, and with them on what was solved before and on the timing of threads. Costs therefore differ
by a fixed pattern of `TIE` of the largest, which tells most ties apart. Where the search cannot rule out that another
tour is just as short, a model without any history decides: the answer is always the one that such a model gives.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np
import scipy.sparse

from foresolve._base.checks import instance_names
from foresolve.errors import SolverError
from foresolve.solvers.exact.highs_model import INFEASIBLE, OPTIMAL, HighsModel
from foresolve.solvers.exact.model_pool import ModelPool
from foresolve.solvers.exact.scaling import COST_SCALE, scaled

TIE = 1e-8
# Of costs that go up to COST_SCALE: a bound this close to the best tour is no better. Far below TIE, so that nearly all
# ties are decided by the pattern, and above the simplex method's tolerance for reduced costs.
CLOSE = 1e-8
TOLERANCE = 1e-9
FRACTIONAL = 1e-6
# For each city, before the model is rebuilt: more rows slow the simplex method down more than they save.
CUTS_A_CITY = 4
MOST_NODES = 100_000


class Node(NamedTuple):
    """A part of the search: edges that are out and edges that are in, and a bound from above the branching."""

    bound: float
    out: tuple[int, ...]
    inside: tuple[int, ...]


class TourModel:
    """One HiGHS model of the tours through `cities` that takes on one cost vector after the other."""

    def __init__(self, cities: int) -> None:
        self.cities = cities
        self.ends = np.stack(np.triu_indices(cities, 1), 1)
        self.pattern = np.random.default_rng(0).random(len(self.ends))
        self._build()

    def cancel(self) -> None:
        """End the search under way, from another thread."""
        self.highs.cancel()

    def solve(self, costs: np.ndarray) -> np.ndarray:
        """The shortest tour, 0/1 over the edges; among equally short ones, that of a model without history."""
        costs = scaled(costs) + COST_SCALE * TIE * self.pattern
        if self.cuts > CUTS_A_CITY * self.cities:
            self._build()
        fresh = self.fresh
        tour, margin = self._search(costs)
        if margin > 2 * CLOSE or fresh:
            return tour
        return TourModel(self.cities)._search(costs)[0]

    def _search(self, costs: np.ndarray) -> tuple[np.ndarray, float]:
        """A shortest tour, and by how much every other one is longer at least."""
        self.fresh = False
        self.highs.set_costs(costs)
        best, length, runner_up = None, np.inf, np.inf
        nodes = [Node(-np.inf, (), ())]
        for _ in range(MOST_NODES):
            if not nodes:
                break
            node = nodes.pop()
            if node.bound >= length - CLOSE:
                runner_up = min(runner_up, node.bound)
                continue
            bound, x = self._relax(node, length)
            if x is None:
                runner_up = min(runner_up, bound)
                continue
            distance = np.abs(x - 0.5)
            if (distance > 0.5 - FRACTIONAL).all():
                runner_up = min(runner_up, length, bound + self._step())
                best, length = np.round(x) + 0.0, bound
                continue
            edge = int(distance.argmin())
            # The edge is in first: a tour is found sooner that way.
            nodes += [Node(bound, (*node.out, edge), node.inside), Node(bound, node.out, (*node.inside, edge))]
        if best is None or nodes:
            raise SolverError(f"no shortest tour after {MOST_NODES} parts of the search")
        return best, runner_up - length

    def _relax(self, node: Node, length: float) -> tuple[float, np.ndarray | None]:
        """Bound and solution of a part, once no set that can be found is broken; no solution where none is better."""
        lower, upper = np.zeros(len(self.ends)), np.ones(len(self.ends))
        upper[list(node.out)], lower[list(node.inside)] = 0.0, 1.0
        self.highs.set_bounds(lower, upper)
        while True:
            if self._run() == INFEASIBLE:
                return np.inf, None
            bound = self.highs.objective()
            if bound >= length - CLOSE:
                return bound, None
            x = self.highs.decision()
            sets = self._broken(x)
            if len(sets) == 0:
                return bound, x
            self._add(sets)

    def _run(self) -> str:
        status = self.highs.run()
        if status not in {OPTIMAL, INFEASIBLE}:
            status = self.highs.run(cold=True)
            if status not in {OPTIMAL, INFEASIBLE}:
                raise SolverError(f"HiGHS stopped without an optimum (status: {status!r})")
        return status

    def _step(self) -> float:
        """A lower bound on how much longer than the vertex just found every other 0/1 point is.

        It differs in a nonbasic edge or in the slack of a nonbasic row, by 1 or more since all numbers are whole, and
        costs what the multiplier says. Basic ones, as many as there are rows, have the multiplier 0.
        """
        basic = self.highs.row_count
        return float(np.partition(np.abs(self.highs.duals()), basic)[basic])

    def _broken(self, x: np.ndarray) -> np.ndarray:
        """Sets `(k, cities)` of cities with `sum_{e inside S} x_e > |S| - 1`; for 0/1 `x`, all of its subtours."""
        used = np.flatnonzero(x > FRACTIONAL)
        order = used[np.argsort(-x[used], kind="stable")]
        component = [1 << city for city in range(self.cities)]
        candidates = []
        for a, b in self.ends[order].tolist():
            if component[a] & 1 << b:
                continue
            joined = component[a] | component[b]
            for city in range(self.cities):
                if joined >> city & 1:
                    component[city] = joined
            if joined.bit_count() > 2:
                candidates.append(joined)
        if not candidates:
            return np.zeros((0, self.cities))
        members = np.array([[joined >> city & 1 for city in range(self.cities)] for joined in candidates], dtype=float)
        size = members.sum(1)
        inside = (members[:, self.ends[order, 0]] * members[:, self.ends[order, 1]]) @ x[order]
        return members[(inside > size - 1 + 1e-4) & (size < self.cities)]

    # -- the rows ----------------------------------------------------------------------------------------------------

    def _build(self) -> None:
        n, m = len(self.ends), self.cities
        meets = (self.ends[None] == np.arange(m)[:, None, None]).any(-1)
        self.highs = HighsModel({"dual_feasibility_tolerance": TOLERANCE})
        self.highs.load(_rows(meets), (np.full(m, 2.0), np.full(m, 2.0)), (np.zeros(n), np.ones(n)), maximize=False)
        self.cuts, self.fresh = 0, True

    def _add(self, sets: np.ndarray) -> None:
        """The constraint of each set; a set and its complement say the same, and the smaller has fewer edges."""
        sets = np.where(sets.sum(1, keepdims=True) > self.cities / 2, 1.0 - sets, sets)
        sets = np.unique(sets, axis=0)
        inside = np.asarray(sets.astype(bool)[:, self.ends].all(-1))
        self.highs.add_rows(_rows(inside), sets.sum(1) - 1.0)
        self.cuts += len(sets)


class TourPool:
    """Shortest tours for many cost vectors, in parallel."""

    def __init__(self, cities: int) -> None:
        self._models = ModelPool(lambda: TourModel(cities))

    def solve(self, costs: np.ndarray, batch: Sequence[int]) -> np.ndarray:
        """0/1 `(B, edges)` for costs `(B, edges)`; raises `SolverError` that names the instances."""
        tours = self._models.map(_attempt, list(costs))
        failed = {i: tour for i, tour in enumerate(tours) if isinstance(tour, SolverError)}
        if failed:
            where = list(failed)
            raise SolverError(f"{failed[where[0]]}, for {{instances}}", where, instance_names(where, batch))
        return np.asarray(tours, dtype=np.float64).reshape(costs.shape)


def _attempt(model: TourModel, costs: np.ndarray) -> np.ndarray | SolverError:
    try:
        return model.solve(costs)
    except SolverError as error:
        return error


def _rows(members: np.ndarray) -> scipy.sparse.csr_array:
    """0/1 rows from masks `(rows, edges)`."""
    index = np.nonzero(members)[1]
    starts = np.concatenate([[0], members.sum(1).cumsum()])
    return scipy.sparse.csr_array((np.ones(len(index)), index, starts), members.shape)
