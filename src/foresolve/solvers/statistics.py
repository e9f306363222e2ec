"""Statistics of solvers, for whoever asks: calls, instances, iterations, residuals, seconds, how they ended."""

from __future__ import annotations

import logging
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field
from typing import Any

from foresolve._base.log import log
from foresolve.solvers.status import Status

FAILED = "FAILED"


@dataclass(frozen=True)
class SolverCall:
    """One call of a solver, with a batch.

    Attributes
    ----------
    solver: "projection" (quadratic layers), "multilinear", "Frank-Wolfe", "exact", "black box", or the method of a
        submodular problem.
    instances: of the batch.
    seconds: by the clock; of the forward solve.
    iterations: of all instances together, in the solver's own unit; 0 where it counts none.
    residual: the largest of the batch, as the layer's `solve` defines it; 0 where there is none.
    statuses: how many instances ended how, by the names of `Status`; "FAILED" where an error ended the call.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import solver_statistics
    >>> with solver_statistics() as statistics:
    ...     _ = foresolve.QuadraticRelaxation(gamma=1.0)(torch.rand(4, 6), foresolve.TopK(6, k=2))
    >>> statistics.calls[0].solver, dict(statistics.calls[0].statuses)
    ('projection', {'CONVERGED': 4})
    """

    solver: str
    instances: int
    seconds: float
    iterations: int
    residual: float
    statuses: Counter[str]

    @property
    def unconverged(self) -> int:
        """Instances that did not reach their tolerance."""
        return self.statuses.total() - self.statuses[Status.CONVERGED.name]

    def __str__(self) -> str:
        ended = ", ".join(f"{count} {name}" for name, count in sorted(self.statuses.items()))
        return (
            f"{self.solver}: {ended}; {self.iterations} iterations, residual {self.residual:.1e}, {self.seconds:.4f} s"
        )


@dataclass
class SolverStatistics:
    """Sums over the calls of solvers.

    Attributes
    ----------
    calls: each of them, in their order; empty where only sums were asked for.
    count, instances, seconds, iterations, unconverged: over all calls.
    residual: the largest.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import solver_statistics
    >>> with solver_statistics() as statistics:
    ...     _ = foresolve.TopK(6, k=2).solve(torch.rand(4, 6))
    >>> statistics.count, statistics.instances, statistics.unconverged
    (1, 4, 0)
    """

    calls: list[SolverCall] = field(default_factory=list)
    count: int = 0
    instances: int = 0
    seconds: float = 0.0
    iterations: int = 0
    unconverged: int = 0
    residual: float = 0.0
    keep: bool = field(default=True, repr=False)

    def add(self, call: SolverCall) -> None:
        """One more call."""
        if self.keep:
            self.calls.append(call)
        self.count, self.instances = self.count + 1, self.instances + call.instances
        self.seconds, self.iterations = self.seconds + call.seconds, self.iterations + call.iterations
        self.unconverged, self.residual = self.unconverged + call.unconverged, max(self.residual, call.residual)


# Of this thread, or task: who listens, and whether a solver is at work already, of which others are a part.
_listeners: ContextVar[tuple[SolverStatistics, ...]] = ContextVar("listeners", default=())
_at_work: ContextVar[bool] = ContextVar("at_work", default=False)


@contextmanager
def solver_statistics(*, calls: bool = True) -> Iterator[SolverStatistics]:
    """Statistics of all forward solves within the block, in this thread; a solver within a solver counts with it.

    Parameters
    ----------
    calls: whether each call is kept, or only sums: of very many calls, these need no memory.

    Examples
    --------
    >>> import torch, foresolve
    >>> from foresolve.layers import solver_statistics
    >>> layer, problem = foresolve.QuadraticRelaxation(gamma=0.5), foresolve.TopK(4, 2)
    >>> with solver_statistics() as statistics:
    ...     _ = layer(torch.rand(8, 4, generator=torch.Generator().manual_seed(0)), problem)
    >>> [(call.solver, call.instances, call.unconverged) for call in statistics.calls]
    [('projection', 8, 0)]
    """
    statistics = SolverStatistics(keep=calls)
    token = _listeners.set((*_listeners.get(), statistics))
    try:
        yield statistics
    finally:
        _listeners.reset(token)


class Measurement:
    """The measurement of one call: what the solver says of it; by default that all instances were solved."""

    def __init__(self, instances: int) -> None:
        self.statuses = Counter({Status.CONVERGED.name: instances}) if instances else Counter[str]()
        self.iterations, self.residual = 0, 0.0

    def tell(self, iterations: Any, residual: Any = None, status: Any = None) -> None:
        """Arrays or tensors with an entry for each instance."""
        if not len(iterations):
            return
        self.iterations = int(iterations.sum())
        self.residual = 0.0 if residual is None else float(residual.max())
        if status is not None:
            self.statuses = Counter(Status(int(code)).name for code in status.tolist())


class _Unheard(Measurement):
    """A measurement that nobody listens to."""

    def __init__(self) -> None:
        super().__init__(0)

    def tell(self, iterations: Any, residual: Any = None, status: Any = None) -> None:
        pass


_UNHEARD = _Unheard()


@contextmanager
def measured(solver: str, instances: int) -> Iterator[Measurement]:
    """A call of a solver, reported to listeners and to the log."""
    listeners, logged = _listeners.get(), log.isEnabledFor(logging.DEBUG)
    if _at_work.get() or not (listeners or logged):
        yield _UNHEARD
        return
    call, token, began = Measurement(instances), _at_work.set(True), time.perf_counter()
    try:
        yield call
    except BaseException:
        call.statuses = Counter({FAILED: instances})
        raise
    finally:
        _at_work.reset(token)
        seconds = time.perf_counter() - began
        done = SolverCall(solver, instances, seconds, call.iterations, call.residual, call.statuses)
        for statistics in listeners:
            statistics.add(done)
        if logged:
            log.debug("%s", done)
