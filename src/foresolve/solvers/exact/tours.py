r"""Shortest tours through all cities: branch and cut, on HiGHS' dual simplex.

The programme over the edges (Dantzig, Fulkerson and Johnson, 1954)

    min c'x   s.t.   sum_{e at v} x_e = 2  for all cities v,   sum_{e inside S} x_e <= |S| - 1  for all S,   x in {0, 1}

starts without the constraints on sets. Each linear solution asks for those that it breaks: the sets are the components
that arise as edges join cities in the order of their `x`, largest first. Where none is broken and `x` is fractional, an
edge is branched on. A 0/1 solution that breaks none has a single component: it is a tour, so the answer is exact.

The constraints hold for every objective, so a model keeps those it has found. Which of several equally short tours is
found would depend on them; costs therefore differ by a fixed pattern of `TIE` of the largest, and answers do not.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import NamedTuple

import numpy as np

from foresolve._base.checks import instance_names
from foresolve.errors import SolverError
from foresolve.solvers.exact.highs import GAIN_SCALE, OPTIMAL, load_highspy, new_highs

TIE = 1e-8
# Of costs that go up to GAIN_SCALE: a bound this close to the best tour is no better.
CLOSE = 1e-6
FRACTIONAL = 1e-6
# For each city, before a model starts afresh: more rows slow the simplex method down more than they save.
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
        self.columns = np.arange(len(self.ends), dtype=np.int32)
        self.pattern = np.random.default_rng(0).random(len(self.ends))
        self._build()

    def solve(self, costs: np.ndarray) -> np.ndarray:
        """The shortest tour, 0/1 over the edges."""
        largest = np.abs(costs).max()
        scaled = costs * (GAIN_SCALE / largest) if largest > 0 else costs
        scaled = scaled + GAIN_SCALE * TIE * self.pattern
        if self.cuts > CUTS_A_CITY * self.cities:
            self._build()
        self.highs.changeColsCost(len(self.columns), self.columns, scaled)
        best, length = None, np.inf
        nodes = [Node(-np.inf, (), ())]
        for _ in range(MOST_NODES):
            if not nodes:
                break
            node = nodes.pop()
            if node.bound >= length - CLOSE:
                continue
            bound, x = self._relax(node, length)
            if x is None:
                continue
            distance = np.abs(x - 0.5)
            if (distance > 0.5 - FRACTIONAL).all():
                best, length = np.round(x), bound
                continue
            edge = int(distance.argmin())
            # The edge is in first: a tour is found sooner that way.
            nodes += [Node(bound, (*node.out, edge), node.inside), Node(bound, node.out, (*node.inside, edge))]
        if best is None or nodes:
            raise SolverError(f"no shortest tour after {MOST_NODES} parts of the search")
        return best

    def _relax(self, node: Node, length: float) -> tuple[float, np.ndarray | None]:
        """Bound and solution of a part, once no set that can be found is broken; no solution where none is better."""
        lower, upper = np.zeros(len(self.columns)), np.ones(len(self.columns))
        upper[list(node.out)], lower[list(node.inside)] = 0.0, 1.0
        self.highs.changeColsBounds(len(self.columns), self.columns, lower, upper)
        while True:
            status = self._run()
            if status == "Infeasible":
                return np.inf, None
            bound = self.highs.getInfo().objective_function_value
            if bound >= length - CLOSE:
                return bound, None
            x = np.array(self.highs.getSolution().col_value)
            sets = self._broken(x)
            if len(sets) == 0:
                return bound, x
            self._add(sets)

    def _run(self) -> str:
        self.highs.run()
        status = self.highs.modelStatusToString(self.highs.getModelStatus())
        if status not in {OPTIMAL, "Infeasible"}:
            self.highs.clearSolver()
            self.highs.run()
            status = self.highs.modelStatusToString(self.highs.getModelStatus())
            if status not in {OPTIMAL, "Infeasible"}:
                raise SolverError(f"HiGHS stopped without an optimum (status: {status!r})")
        return status

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
        highspy = load_highspy()
        self.highs = new_highs()
        n, m = len(self.columns), self.cities
        rows = [np.flatnonzero((self.ends == city).any(1)) for city in range(m)]
        starts = np.cumsum([0, *(len(row) for row in rows)]).astype(np.int32)
        self.highs.passModel(
            n, m, int(starts[-1]), int(highspy.MatrixFormat.kRowwise), int(highspy.ObjSense.kMinimize), 0.0,
            np.zeros(n), np.zeros(n), np.ones(n), np.full(m, 2.0), np.full(m, 2.0),
            starts, np.concatenate(rows).astype(np.int32), np.ones(starts[-1]), np.zeros(n, dtype=np.int32),
        )  # fmt: skip
        self.cuts = 0

    def _add(self, sets: np.ndarray) -> None:
        """The constraint of each set; a set and its complement say the same, and the smaller has fewer edges."""
        sets = np.where(sets.sum(1, keepdims=True) > self.cities / 2, 1.0 - sets, sets)
        sets = np.unique(sets, axis=0)
        rows = [np.flatnonzero(members[self.ends].all(1)) for members in sets.astype(bool)]
        starts = np.cumsum([0, *(len(row) for row in rows)])[:-1].astype(np.int32)
        index = np.concatenate(rows).astype(np.int32)
        self.highs.addRows(
            len(sets), np.full(len(sets), -np.inf), sets.sum(1) - 1.0, len(index), starts, index, np.ones(len(index))
        )
        self.cuts += len(sets)


class TourPool:
    """Shortest tours for many cost vectors, in parallel."""

    def __init__(self, cities: int) -> None:
        self.cities = cities
        self._idle: deque[TourModel] = deque()

    def solve(self, costs: np.ndarray, batch: Sequence[int]) -> np.ndarray:
        """0/1 `(B, edges)` for costs `(B, edges)`; raises `SolverError` that names the instances."""
        x = np.zeros(costs.shape)
        left, failed = deque(range(len(costs))), dict[int, SolverError]()

        def work() -> None:
            try:
                model = self._idle.pop()
            except IndexError:
                model = TourModel(self.cities)
            while left:
                try:
                    i = left.popleft()
                except IndexError:
                    break  # another thread took the last one
                try:
                    x[i] = model.solve(costs[i])
                except SolverError as error:
                    failed[i] = error
            self._idle.append(model)

        workers = max(1, min(len(costs), os.cpu_count() or 1))
        with ThreadPoolExecutor(workers) as threads:
            for future in [threads.submit(work) for _ in range(workers)]:
                future.result()
        if failed:
            where = sorted(failed)
            raise SolverError(f"{failed[where[0]]}, for {{instances}}", where, instance_names(where, batch))
        return x
