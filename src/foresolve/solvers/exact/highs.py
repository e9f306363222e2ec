"""Linear and mixed-integer programs by HiGHS: models built once, objectives exchanged, chunks in parallel."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from foresolve.solvers.exact.endings import refuse
from foresolve.solvers.exact.model_pool import ModelPool
from foresolve.solvers.exact.outcome import Ending, Limits, Outcome
from foresolve.solvers.exact.polytope_model import PolytopeModel
from foresolve.solvers.exact.verification import RowCheck, as_numpy, whole_bounds
from foresolve.solvers.projection.polytope import Polytope

DEFAULT = Limits()
# Instances that follow each other from basis to basis. Fixed, and each chunk starts cold, so that results depend
# neither on earlier calls nor on the number of cores.
CHUNK = 8


class HighsPool:
    """`max gains'x` over a polytope (or one polytope per instance), exactly.

    Parameters
    ----------
    polytope: `rhs`, `lower`, `upper` and the rows may hold one set per instance.
    integer: `(n,)` flags of the integer variables, `None` for a linear program.

    Notes
    -----
    Within a chunk of `CHUNK` instances that share a polytope only the objective changes, so that simplex starts from
    the last basis; chunks start cold and run in parallel (`run` releases the interpreter lock). Optima that tie
    are therefore broken in the same way on every machine and in every call, but not in the same way by a loop.

    Every decision is checked afterwards, whatever HiGHS says of it. Where it breaks a row by more than a share of the
    row's own terms, and where HiGHS calls a program infeasible, the instance is solved again, alone, from the beginning
    and with tighter tolerances; what does not hold then is no decision, and a linear program is infeasible only with a
    certificate that holds.
    """

    def __init__(self, polytope: Polytope, integer: np.ndarray | None = None) -> None:
        self.integer = None if integer is None else np.asarray(integer).astype(bool)
        self.polytope = whole_bounds(as_numpy(polytope), self.integer)
        self._check = RowCheck(self.polytope)
        self._models = ModelPool(lambda: PolytopeModel(self.polytope, self.integer))

    def solve(
        self, gains: np.ndarray, model_of: np.ndarray, batch: Sequence[int] = (), limits: Limits = DEFAULT
    ) -> np.ndarray:
        """Best decisions `(B, n)` for gains `(B, n)`; row `b` uses the polytope of instance `model_of[b]`.

        Raises `InfeasibleError`, `UnboundedError`, `StoppedError` or `SolverError`, which name the instances by their
        position in `batch`.
        """
        return self.proven(self.search(gains, model_of, limits), batch, limits)

    def proven(self, outcomes: Sequence[Outcome], batch: Sequence[int], limits: Limits) -> np.ndarray:
        """The decisions `(B, n)` of outcomes that are all optimal; raises as `solve` does."""
        boxed = bool(np.isfinite(self.polytope.lower).all() and np.isfinite(self.polytope.upper).all())
        refuse(outcomes, limits, batch, boxed=boxed)
        return np.array([outcome.x for outcome in outcomes], dtype=np.float64).reshape(-1, self.polytope.rows.n)

    def search(self, gains: np.ndarray, model_of: np.ndarray, limits: Limits = DEFAULT) -> list[Outcome]:
        """Outcomes of all instances within the limits, which hold for each instance; arguments as in `solve`."""
        gains, model_of = np.asarray(gains, dtype=np.float64), np.asarray(model_of)
        chunks = in_chunks(model_of, 1 if self.integer is not None else CHUNK)

        def run(model: PolytopeModel, chunk: tuple[int, np.ndarray]) -> list[Outcome]:
            instance, positions = chunk
            return model.run(instance, gains[positions], limits)

        def again(model: PolytopeModel, b: int) -> Outcome:
            return model.again(int(model_of[b]), gains[b], limits, outcomes[b])

        outcomes = [Outcome(Ending.FAILED)] * len(gains)
        for (_, positions), parts in zip(chunks, self._models.map(run, chunks), strict=True):
            for b, outcome in zip(positions.tolist(), parts, strict=True):
                outcomes[b] = outcome
        doubtful = self._doubtful(outcomes, model_of)
        for b, outcome in zip(doubtful, self._models.map(again, doubtful), strict=True):
            outcomes[b] = outcome
        return outcomes

    def _doubtful(self, outcomes: list[Outcome], model_of: np.ndarray) -> list[int]:
        """Instances whose decision breaks a row, that HiGHS gave up, or that have no decision by its word alone.

        Decisions that hold once they are rid of rounding are replaced.
        """
        endings = {Ending.FAILED, Ending.INFEASIBLE} | ({Ending.UNBOUNDED} if self.integer is None else set())
        doubtful = [b for b, outcome in enumerate(outcomes) if outcome.ending in endings]
        decided = {b: outcome.x for b, outcome in enumerate(outcomes) if outcome.x is not None}
        if decided:
            x, where = np.stack(list(decided.values())), np.array(list(decided))
            broken = self._check.broken(x, model_of[where])
            if broken.any():
                x, where = self._check.snapped(x[broken], model_of[where[broken]]), where[broken]
                broken = self._check.broken(x, model_of[where])
                for b, row in zip(where[~broken].tolist(), x[~broken], strict=True):
                    outcomes[b] = outcomes[b]._replace(x=row)
                doubtful += where[broken].tolist()
        return doubtful


def is_feasible(polytope: Polytope, i: int = 0) -> bool:
    """True if the `i`-th polytope is non-empty (integrality aside); `False` only with a proof that holds."""
    rows, own = polytope.rows, slice(i, i + 1)
    rhs, lower, upper = (
        part[own if len(part) > 1 else slice(1)] for part in (polytope.rhs, polytope.lower, polytope.upper)
    )
    alone = Polytope(rows.select(own), rhs, polytope.equality, lower, upper)
    (outcome,) = HighsPool(alone).search(np.zeros((1, polytope.rows.n)), np.zeros(1, dtype=np.int64))
    return outcome.ending != Ending.INFEASIBLE


def in_chunks(model_of: np.ndarray, size: int) -> list[tuple[int, np.ndarray]]:
    """Runs of instances that share a model, at most `size` long: `(model, positions)`."""
    order = np.argsort(model_of, kind="stable")
    cuts = np.flatnonzero(np.diff(model_of[order])) + 1
    groups = [group for group in np.split(order, cuts) if len(group)]
    return [
        (int(model_of[group[0]]), group[start : start + size])
        for group in groups
        for start in range(0, len(group), size)
    ]
