"""Linear and mixed-integer programs by HiGHS: models built once, objectives exchanged, chunks in parallel."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from foresolve._base.checks import instance_names
from foresolve.errors import InfeasibleError, SolverError, UnboundedError
from foresolve.solvers.arrays import Array
from foresolve.solvers.exact.highs_model import EITHER, INFEASIBLE, OPTIMAL, UNBOUNDED, HighsModel, scaled
from foresolve.solvers.exact.model_pool import ModelPool
from foresolve.solvers.projection.polytope import Polytope

# Instances that follow each other from basis to basis. Fixed, and each chunk starts cold, so that results depend
# neither on earlier calls nor on the number of cores.
CHUNK = 8


class Outcome(NamedTuple):
    """How one instance ended: HiGHS' words for it, and the decision where there is one."""

    status: str
    x: np.ndarray | None


class PolytopeModel:
    """One HiGHS model that takes on the instances of a polytope in turn."""

    def __init__(self, polytope: Polytope, integer: np.ndarray | None, options: Mapping[str, Any] | None) -> None:
        self.polytope, self.integer = polytope, integer
        self.highs = HighsModel(options)
        self.current: int | None = None

    def run(self, instance: int, gains: np.ndarray) -> list[Outcome]:
        """Best decisions of one instance's polytope for each row of `gains`; the first starts cold."""
        self._become(instance)
        outcomes = []
        for i, row in enumerate(gains):
            # A MIP would take the last decision as its incumbent, and ties would depend on the order.
            outcomes.append(self._maximize(row, cold=i == 0 or self.integer is not None))
        return outcomes

    def _become(self, instance: int) -> None:
        """Load the data of `instance`; the matrix is kept where all instances share it."""
        if self.current == instance:
            return

        def row(array: Array) -> np.ndarray:
            return _numpy(array[instance if array.shape[0] > 1 else 0]).astype(np.float64)

        rows, equality = self.polytope.rows, _numpy(self.polytope.equality)
        rhs, bounds = row(self.polytope.rhs), (row(self.polytope.lower), row(self.polytope.upper))
        row_bounds = (np.where(equality, rhs, -np.inf), rhs)
        if self.current is None or rows.batched:
            matrix = rows.scipy(instance if rows.batched else 0)
            self.highs.load(matrix, row_bounds, bounds, maximize=True, integer=self.integer)
        else:
            self.highs.set_bounds(*bounds)
            self.highs.set_row_bounds(*row_bounds)
        self.current = instance

    def _maximize(self, gains: np.ndarray, *, cold: bool) -> Outcome:
        gains = scaled(gains)
        status = self._attempt(gains, cold=cold)
        if status not in {OPTIMAL, INFEASIBLE, UNBOUNDED, EITHER} and not cold:
            status = self._attempt(gains, cold=True)  # a bad basis is no verdict on the instance
        if status == OPTIMAL:
            return Outcome(status, self._decision())
        if status == EITHER:
            feasible = self._attempt(np.zeros_like(gains), cold=True)
            status = {OPTIMAL: UNBOUNDED, INFEASIBLE: INFEASIBLE}.get(feasible, status)
        return Outcome(status, None)

    def _attempt(self, gains: np.ndarray, *, cold: bool) -> str:
        self.highs.set_costs(gains)
        return self.highs.run(cold=cold)

    def _decision(self) -> np.ndarray:
        x = self.highs.decision()
        if self.integer is not None:
            x = np.where(self.integer.astype(bool), np.round(x), x)
        return x + 0.0  # no negative zeros


class HighsPool:
    """`max gains'x` over a polytope (or one polytope per instance), exactly.

    Parameters
    ----------
    polytope: `rhs`, `lower`, `upper` and the rows may hold one set per instance.
    integer: `(n,)` flags of the integer variables, `None` for a linear program.
    options: HiGHS options by name, for example `{"time_limit": 10.0}`.

    Notes
    -----
    Within a chunk of `CHUNK` instances that share a polytope only the objective changes, so that simplex starts from
    the last basis; chunks start cold and run in parallel (`run` releases the interpreter lock). Optima that tie
    are therefore broken in the same way on every machine and in every call, but not in the same way by a loop.
    """

    def __init__(
        self, polytope: Polytope, integer: np.ndarray | None = None, options: Mapping[str, Any] | None = None
    ) -> None:
        self.polytope, self.integer = polytope, integer
        self._models = ModelPool(lambda: PolytopeModel(polytope, integer, options))

    def solve(self, gains: np.ndarray, model_of: np.ndarray, batch: Sequence[int] = ()) -> np.ndarray:
        """Best decisions `(B, n)` for gains `(B, n)`; row `b` uses the polytope of instance `model_of[b]`.

        Raises `InfeasibleError`, `UnboundedError` or `SolverError`, which name the instances by their position in
        `batch`.
        """
        gains = np.asarray(gains, dtype=np.float64)
        chunks = _chunks(np.asarray(model_of), 1 if self.integer is not None else CHUNK)

        def run(model: PolytopeModel, chunk: tuple[int, np.ndarray]) -> list[Outcome]:
            instance, positions = chunk
            return model.run(instance, gains[positions])

        x = np.zeros(gains.shape)
        failed: dict[str, list[int]] = {}
        for (_, positions), outcomes in zip(chunks, self._models.map(run, chunks), strict=True):
            for b, (status, decision) in zip(positions.tolist(), outcomes, strict=True):
                if decision is None:
                    failed.setdefault(status, []).append(b)
                else:
                    x[b] = decision
        if failed:
            raise _failure(failed, batch, self.polytope)
        return x


def _numpy(array: Array) -> np.ndarray:
    return array.detach().cpu().numpy() if isinstance(array, Tensor) else np.asarray(array)


def is_feasible(polytope: Polytope, i: int = 0) -> bool:
    """Whether the `i`-th polytope is non-empty (integrality aside)."""
    gains = np.zeros((1, polytope.rows.n))
    try:
        HighsPool(polytope).solve(gains, np.array([i]))
    except InfeasibleError:
        return False
    return True


def _chunks(model_of: np.ndarray, size: int) -> list[tuple[int, np.ndarray]]:
    """Runs of instances that share a model, at most `size` long: `(model, positions)`."""
    order = np.argsort(model_of, kind="stable")
    cuts = np.flatnonzero(np.diff(model_of[order])) + 1
    groups = np.split(order, cuts)
    return [
        (int(model_of[group[0]]), group[start : start + size])
        for group in groups
        for start in range(0, len(group), size)
    ]


def _failure(failed: Mapping[str, list[int]], batch: Sequence[int], polytope: Polytope) -> SolverError:
    """The error that says which instances have no decision, and why; `failed` are their positions by status."""
    if INFEASIBLE in failed:
        where = sorted(failed[INFEASIBLE])
        return InfeasibleError(
            "no decision satisfies the constraints of {instances}. Relax the right-hand sides or "
            "bounds that contradict each other; `problem.check(x)` lists what a decision breaks",
            where,
            instance_names(where, batch),
        )
    if UNBOUNDED in failed:
        where = sorted(failed[UNBOUNDED])
        free = np.isinf(_numpy(polytope.lower)).any() or np.isinf(_numpy(polytope.upper)).any()
        hint = "Give finite `bounds` to the variables" if free else "Check the constraints"
        return UnboundedError(
            f"the objective grows without limit for {{instances}}. {hint}, or the right `sense`",
            where,
            instance_names(where, batch),
        )
    status, where = min(((status, sorted(where)) for status, where in failed.items()), key=lambda item: item[1][0])
    return SolverError(
        f"HiGHS stopped without an optimum for {{instances}} (status: {status!r}). Raise the limit "
        "that it met, or rescale constraints whose entries differ by many orders of magnitude",
        where,
        instance_names(where, batch),
    )
