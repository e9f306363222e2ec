"""Linear and mixed-integer programs by HiGHS: models built once, objectives exchanged, chunks in parallel.

`highspy` is imported where it is first needed, so that everything else works without it.
"""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Any, NamedTuple

import numpy as np
from torch import Tensor

from foresolve._base.checks import instance_names
from foresolve._base.extras import need
from foresolve.errors import InfeasibleError, SolverError, UnboundedError
from foresolve.solvers.arrays import Array
from foresolve.solvers.projection.polytope import Polytope

# Instances that follow each other from basis to basis. Fixed, and each chunk starts cold, so that results depend
# neither on earlier calls nor on the number of cores.
CHUNK = 8

# HiGHS judges reduced costs on an absolute scale (1e-7); gains are brought to this one, whatever their units.
GAIN_SCALE = 8192.0

OPTIMAL, INFEASIBLE, UNBOUNDED = "Optimal", "Infeasible", "Unbounded"
EITHER = "Primal infeasible or unbounded"


class Outcome(NamedTuple):
    """How one instance ended: HiGHS' words for it, and the decision where there is one."""

    status: str
    x: np.ndarray | None


def load_highspy() -> Any:
    """The module `highspy`, or an error that says how to get it."""
    return need("highspy", "solving this problem", note="It cannot share a process with `ortools`")


def new_highs(options: Mapping[str, Any] | None = None) -> Any:
    """A silent, single-threaded HiGHS: the parallelism is over instances."""
    highs = load_highspy().Highs()
    # `log_to_console` too: reading a file would otherwise print its complaints.
    settings = {"output_flag": False, "log_to_console": False, "threads": 1, "mip_rel_gap": 0.0, **(options or {})}
    for name, value in settings.items():
        if highs.setOptionValue(name, value) == load_highspy().HighsStatus.kError:
            raise SolverError(f"HiGHS does not take {name}={value!r}. Check the name and the type of the option")
    return highs


class Model:
    """One HiGHS model that takes on the instances of a polytope in turn."""

    def __init__(self, polytope: Polytope, integer: np.ndarray | None, options: Mapping[str, Any] | None) -> None:
        self.polytope, self.integer = polytope, integer
        self.highs = new_highs(options)
        self.current: int | None = None
        self.columns = np.arange(polytope.rows.n, dtype=np.int32)
        self.row_index = np.arange(polytope.rows.m, dtype=np.int32)

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
        lower, upper, row_lower, row_upper = self._bounds(instance)
        if self.current is None or self.polytope.rows.batched:
            self._pass(instance, lower, upper, row_lower, row_upper)
        else:
            self.highs.changeColsBounds(len(self.columns), self.columns, lower, upper)
            self.highs.changeRowsBounds(len(self.row_index), self.row_index, row_lower, row_upper)
        self.current = instance

    def _bounds(self, instance: int) -> tuple[np.ndarray, ...]:
        def row(array: Array) -> np.ndarray:
            return _numpy(array[instance if array.shape[0] > 1 else 0]).astype(np.float64)

        rhs, equality = row(self.polytope.rhs), _numpy(self.polytope.equality)
        return row(self.polytope.lower), row(self.polytope.upper), np.where(equality, rhs, -np.inf), rhs

    def _pass(self, instance: int, lower: np.ndarray, upper: np.ndarray, *row_bounds: np.ndarray) -> None:
        highspy = load_highspy()
        matrix = self.polytope.rows.scipy(instance if self.polytope.rows.batched else 0)
        flags = np.zeros(len(self.columns)) if self.integer is None else self.integer
        status = self.highs.passModel(
            len(self.columns), len(self.row_index), matrix.nnz, int(highspy.MatrixFormat.kRowwise),
            int(highspy.ObjSense.kMaximize), 0.0, np.zeros(len(self.columns)), lower, upper, *row_bounds,
            matrix.indptr.astype(np.int32), matrix.indices.astype(np.int32), matrix.data.astype(np.float64),
            flags.astype(np.int32),
        )  # fmt: skip
        if status == highspy.HighsStatus.kError:
            raise SolverError("HiGHS refused the model. Check for entries or right-hand sides beyond 1e15")

    def _maximize(self, gains: np.ndarray, *, cold: bool) -> Outcome:
        largest = np.abs(gains).max(initial=0.0)
        scaled = gains * (GAIN_SCALE / largest) if largest > 0 else gains
        status = self._attempt(scaled, cold=cold)
        if status not in {OPTIMAL, INFEASIBLE, UNBOUNDED, EITHER} and not cold:
            status = self._attempt(scaled, cold=True)  # a bad basis is no verdict on the instance
        if status == OPTIMAL:
            return Outcome(status, self._decision())
        if status == EITHER:
            feasible = self._attempt(np.zeros_like(gains), cold=True)
            status = {OPTIMAL: UNBOUNDED, INFEASIBLE: INFEASIBLE}.get(feasible, status)
        return Outcome(status, None)

    def _attempt(self, gains: np.ndarray, *, cold: bool) -> str:
        if cold:
            self.highs.clearSolver()
        self.highs.changeColsCost(len(self.columns), self.columns, gains)
        self.highs.run()
        return self.highs.modelStatusToString(self.highs.getModelStatus())

    def _decision(self) -> np.ndarray:
        x = np.array(self.highs.getSolution().col_value)
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
        self.polytope, self.integer, self.options = polytope, integer, options
        self._idle: deque[Model] = deque()

    def solve(self, gains: np.ndarray, model_of: np.ndarray, batch: Sequence[int] = ()) -> np.ndarray:
        """Best decisions `(B, n)` for gains `(B, n)`; row `b` uses the polytope of instance `model_of[b]`.

        Raises `InfeasibleError`, `UnboundedError` or `SolverError`, which name the instances by their position in
        `batch`.
        """
        gains = np.asarray(gains, dtype=np.float64)
        chunks = deque(_chunks(np.asarray(model_of), 1 if self.integer is not None else CHUNK))
        outcomes: list[Outcome | None] = [None] * len(gains)

        def work() -> None:
            try:
                model = self._idle.pop()
            except IndexError:
                model = Model(self.polytope, self.integer, self.options)
            while chunks:
                try:
                    instance, chunk = chunks.popleft()
                except IndexError:
                    break  # another thread took the last one
                for b, outcome in zip(chunk, model.run(instance, gains[chunk]), strict=True):
                    outcomes[b] = outcome
            self._idle.append(model)

        # A thread even for one chunk: HiGHS refuses `threads=1` on a thread where another user of it chose otherwise.
        workers = max(1, min(len(chunks), os.cpu_count() or 1))
        with ThreadPoolExecutor(workers) as threads:
            for future in [threads.submit(work) for _ in range(workers)]:
                future.result()
        return _gather(outcomes, gains.shape, batch, self.polytope)


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


def _gather(
    outcomes: Sequence[Outcome | None], shape: tuple[int, ...], batch: Sequence[int], polytope: Polytope
) -> np.ndarray:
    """The decisions side by side, or the error that says which instances have none, and why."""
    x = np.zeros(shape)
    failed: dict[str, list[int]] = {}
    for b, outcome in enumerate(outcomes):
        if outcome is not None and outcome.x is not None:
            x[b] = outcome.x
        else:
            failed.setdefault("Not run" if outcome is None else outcome.status, []).append(b)
    if not failed:
        return x
    if INFEASIBLE in failed:
        where = failed[INFEASIBLE]
        raise InfeasibleError(
            "no decision satisfies the constraints of {instances}. Relax the right-hand sides or "
            "bounds that contradict each other; `problem.check(x)` lists what a decision breaks",
            where,
            instance_names(where, batch),
        )
    if UNBOUNDED in failed:
        where = failed[UNBOUNDED]
        free = np.isinf(_numpy(polytope.lower)).any() or np.isinf(_numpy(polytope.upper)).any()
        hint = "Give finite `bounds` to the variables" if free else "Check the constraints"
        raise UnboundedError(
            f"the objective grows without limit for {{instances}}. {hint}, or the right `sense`",
            where,
            instance_names(where, batch),
        )
    status, where = next(iter(failed.items()))
    raise SolverError(
        f"HiGHS stopped without an optimum for {{instances}} (status: {status!r}). Raise the limit "
        "that it met, or rescale constraints whose entries differ by many orders of magnitude",
        where,
        instance_names(where, batch),
    )
