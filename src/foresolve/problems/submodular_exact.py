"""The best base of a matroid for a monotone submodular function: by branch and bound, then by cuts."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from foresolve._base.checks import instance_names
from foresolve.errors import ForesolveError, SolverError
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.functions.facility import FacilityLocation
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.greedy import addable_by
from foresolve.sets.matroids.matroid import Matroid
from foresolve.solvers.submodular.branch import CoverageStates, FacilityStates, States, ValueStates, branch_and_bound
from foresolve.solvers.submodular.cuts import Bases, CoverageParts, FacilityParts, Parts, WholeParts, maximize_by_cuts

# Multiplications of branch and bound, some seconds, before cuts are given a try; the value of a set counts as at least
# so many of them. In multiplications, so that the way taken (and which of several optima) depends on no clock.
WORK, VALUE_COST = 2e10, 1e4
CHUNK = 2**22  # numbers that are held at once


def formulate(function: SetFunction, theta: Tensor, n: int) -> tuple[States, Parts]:
    """One instance `theta` `(*shape)`, float64, for branch and bound and for cuts."""
    if type(function) is ProbabilisticCoverage:
        array = theta.numpy()
        weights = np.ones(array.shape[1]) if function.weights is None else function.weights.numpy()
        return CoverageStates(array, weights), CoverageParts(array, weights)
    if type(function) is FacilityLocation:
        return FacilityStates(theta.numpy()), FacilityParts(theta.numpy())
    size = max(1, CHUNK // max(n, theta.numel()))

    def value(masks: np.ndarray) -> np.ndarray:
        with torch.no_grad():  # which belongs to a thread
            sets = torch.from_numpy(masks).to(theta.dtype).split(size)
            return torch.cat([function.value(some, theta.expand(len(some), *theta.shape)) for some in sets]).numpy()

    return ValueStates(value, n, max(VALUE_COST, 4.0 * theta.numel())), WholeParts(value, n)


def solve_exactly(
    function: SetFunction,
    matroid: Matroid,
    theta: Tensor,
    start: Tensor,
    batch: torch.Size,
    *,
    gap: float = 1e-9,
    time_limit: float = 300.0,
) -> Tensor:
    """Best bases `(B, n)`, boolean: all tensors on the CPU, `theta` flat `(B, *shape)` and float64, `start` greedy.

    `time_limit` is in seconds, for each instance.
    """

    def decide(b: int) -> np.ndarray:
        deadline = time.monotonic() + time_limit
        states, parts = formulate(function.select(b, batch), theta[b], matroid.n)
        greedy = start[b].numpy()
        found = branch_and_bound(
            states, matroid.rank, greedy, gap=gap, work=WORK, deadline=deadline, addable=addable_by(matroid)
        )
        if found is not None:
            return found
        try:
            bases = Bases(*matroid.rows(), matroid.rank)
        except ForesolveError as error:
            raise SolverError(
                f"branch and bound found no end, and {matroid!r} has no rows for a mixed-integer program. "
                "Use method='greedy', whose value is at least half of the best"
            ) from error
        return maximize_by_cuts(parts, bases, greedy, gap, deadline - time.monotonic())

    found = torch.zeros(len(theta), matroid.n, dtype=torch.bool)
    with ThreadPoolExecutor(max(1, min(len(theta), os.cpu_count() or 1))) as threads:
        for b, future in enumerate([threads.submit(decide, b) for b in range(len(theta))]):
            try:
                found[b] = torch.from_numpy(future.result())
            except SolverError as error:
                threads.shutdown(cancel_futures=True)
                raise SolverError(f"{{instances}}: {error}", [b], instance_names([b], batch)) from error
    return found
