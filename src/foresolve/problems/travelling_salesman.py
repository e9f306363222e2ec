"""Tours through all cities."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import cached_property
from typing import Any, Self

import numpy as np
import torch
from scipy.sparse.csgraph import connected_components
from torch import Tensor

from foresolve._base import checks, configs
from foresolve.problems.constraints import Constraints
from foresolve.problems.drawings.tour_drawing import TourDrawing
from foresolve.problems.feasibility import Feasibility, inspect
from foresolve.problems.linear import LinearProgram
from foresolve.solvers.exact.tours import TourPool
from foresolve.solvers.projection.sparse_rows import SparseRows


class TravellingSalesman(TourDrawing, LinearProgram):
    r"""The shortest tour that visits each city once; `theta` `(*batch, n_edges)` are the lengths of the edges.

    .. math::
        \min_x \; \theta^\top x \quad \text{s.t.} \quad \sum_{e \text{ at } v} x_e = 2 \;\; \forall v, \quad
        \sum_{e \text{ inside } S} x_e \le |S| - 1 \;\; \forall S, \quad x \in \{0, 1\}

    Distances are symmetric, an entry for each pair `i < j`: `(0, 1), (0, 2), ..., (1, 2), ...`. Solved exactly, by
    branch and cut on HiGHS (the second kind of constraint is added as it is needed, and kept for later calls), up to
    ties: the tour may be longer than the shortest by `cities * 1e-8` of the largest distance. Layers that relax the
    problem see the first kind of constraint and `0 <= x <= 1` only, so their decisions may be several tours.

    Parameters
    ----------
    cities: how many, at least 3.
    names: of the edges.

    Attributes
    ----------
    edges: the pairs in the order of `theta`.

    Examples
    --------
    >>> import torch
    >>> from foresolve.problems import TravellingSalesman
    >>> problem = TravellingSalesman(4)
    >>> lengths = torch.tensor([1.0, 9.0, 1.0, 1.0, 9.0, 1.0])     # around a square
    >>> x = problem.solve(lengths)
    >>> problem.tour(x).tolist(), problem.objective(x, lengths).item()
    ([0, 1, 2, 3], -4.0)
    """

    _beyond_rows = "tours in one piece have more constraints than its rows"

    def __init__(self, cities: int, *, names: Sequence[str] | None = None) -> None:
        self.cities = checks.positive_int("cities", cities)
        if self.cities < 3:
            raise checks.fail("cities", "at least 3", str(cities))
        self._ends = np.stack(np.triu_indices(self.cities, 1), 1)
        n = len(self._ends)
        index = torch.from_numpy(np.stack([self._ends.T.reshape(-1), np.tile(np.arange(n), 2)]))
        rows = SparseRows(self.cities, n, index, torch.ones(2 * n, dtype=torch.float64))
        degree = torch.full((self.cities,), 2.0, dtype=torch.float64)
        equality = torch.ones(self.cities, dtype=torch.bool)
        super().__init__(constraints=Constraints.of(rows, degree, equality, (0.0, 1.0), 1), sense="min", names=names)

    @property
    def edges(self) -> list[tuple[int, int]]:
        """The pairs of cities in the order of `theta`."""
        return [(int(a), int(b)) for a, b in self._ends]

    def edge_costs(self, distances: Any) -> Tensor:
        """`theta` of symmetric distances `(*batch, cities, cities)`."""
        table = checks.as_tensor("distances", distances)
        if table.shape[-2:] != (self.cities, self.cities):
            raise checks.fail("distances", f"(*batch, {self.cities}, {self.cities})", str(tuple(table.shape)))
        if not torch.allclose(table, table.mT):
            raise checks.fail("distances", "symmetric", "a table that is not", "Take the mean of both directions")
        first, second = torch.from_numpy(self._ends.T).to(table.device)
        return table[..., first, second]

    def tour(self, x: Tensor) -> Tensor:
        """The cities `(*batch, cities)` in the order of the tour, from city 0 toward its lower neighbor."""
        x = checks.as_tensor("x", x)
        report = self.check(x)
        if not report:
            raise checks.fail("x", "tours", f"decisions that are not ({report})")
        flat = x.detach().cpu().reshape(-1, self.n).numpy() > 0.5
        orders = [self._walk(self._ends[row]) for row in flat]
        return torch.tensor(orders, dtype=torch.long, device=x.device).reshape(*x.shape[:-1], self.cities)

    def _walk(self, used: np.ndarray) -> list[int]:
        beside: list[list[int]] = [[] for _ in range(self.cities)]
        for a, b in used.tolist():
            beside[a].append(b)
            beside[b].append(a)
        order, before = [0], -1
        while len(order) < self.cities:
            here = order[-1]
            ahead = min(city for city in beside[here] if city != before or len(order) == 1)
            before = here
            order.append(ahead)
        return order

    def check(self, x: Tensor, tol: float = 1e-6, *, relaxed: bool = False) -> Feasibility:
        """As for linear programs; unless `relaxed`, also whether each decision is one tour and not several."""
        report = super().check(x, tol, relaxed=relaxed)
        if relaxed:
            return report
        x = checks.as_tensor("x", x).detach()
        flat = x.cpu().reshape(-1, self.n).numpy() > 0.5
        extra = torch.tensor([self._components(self._ends[row]) - 1.0 for row in flat], dtype=torch.float64)
        subtours = inspect({"subtours": extra.reshape(*x.shape[:-1], 1)}, tol, x.shape[:-1], lambda kind, index: "")
        violations = sorted([*report.violations, *subtours.violations], key=lambda violation: -violation.amount)
        worst = torch.maximum(report.worst, subtours.worst)
        return Feasibility(report.feasible & subtours.feasible, worst, violations)

    def _components(self, used: np.ndarray) -> int:
        graph = np.zeros((self.cities, self.cities))
        graph[used[:, 0], used[:, 1]] = 1.0
        return int(connected_components(graph, directed=False, return_labels=False))

    def _name(self, kind: str, index: int) -> str:
        return f"city {index}" if kind == "A_eq" else f"edge {self._ends[index][0]} - {self._ends[index][1]}"

    def _decide(self, gains: Tensor, batch: torch.Size) -> Tensor:
        return torch.from_numpy(self._tours.solve(-gains.cpu().numpy(), batch))

    @cached_property
    def _tours(self) -> TourPool:
        """Models with the cuts that were found so far."""
        return TourPool(self.cities)

    def _settings(self) -> configs.Config:
        return {"cities": self.cities}

    @classmethod
    def _from_settings(cls, settings: Mapping[str, Any]) -> Self:
        return cls(configs.size(settings, "cities"))
