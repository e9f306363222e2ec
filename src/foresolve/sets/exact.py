"""The best base of a matroid for a monotone submodular function: by branch and bound, then by cuts."""

from __future__ import annotations

import os
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import torch
from torch import Tensor

from foresolve._base.checks import instance_names
from foresolve.errors import SolverError
from foresolve.sets.functions.function import SetFunction
from foresolve.sets.greedy import addable_by
from foresolve.sets.matroids.matroid import Matroid, PolyhedralMatroid
from foresolve.solvers.submodular.branch import branch_and_bound
from foresolve.solvers.submodular.cuts import Bases, maximize_by_cuts

# Multiplications of branch and bound, some seconds, before cuts are given a try. In multiplications, so that the way
# taken (and which of several optima) depends on no clock.
WORK = 2e10


def best_bases(
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

    `batch` is the shape that the flat batch stands for, `time_limit` in seconds, for each instance.
    """

    def decide(b: int) -> np.ndarray:
        instance = function.select(b, theta.shape[:1])
        return _best_base(instance, matroid, theta[b : b + 1], start[b].numpy(), gap, time_limit)

    sets = torch.zeros(len(theta), matroid.n, dtype=torch.bool)
    with ThreadPoolExecutor(max(1, min(len(theta), os.cpu_count() or 1))) as threads:
        for b, future in enumerate([threads.submit(decide, b) for b in range(len(theta))]):
            try:
                sets[b] = torch.from_numpy(future.result())
            except SolverError as error:
                threads.shutdown(cancel_futures=True)
                raise error.renamed("{instances}", [b], instance_names([b], batch)) from error
    return sets


def _best_base(
    function: SetFunction, matroid: Matroid, theta: Tensor, start: np.ndarray, gap: float, time_limit: float
) -> np.ndarray:
    """The best base `(n,)` of one instance `(1, *shape)`."""
    deadline = time.monotonic() + time_limit
    increments = function.increments(theta, matroid.n)
    limits = {"gap": gap, "work": WORK, "deadline": deadline}
    base = branch_and_bound(increments, matroid.rank, start, **limits, addable=addable_by(matroid))
    if base is not None:
        return base
    if not isinstance(matroid, PolyhedralMatroid):
        raise SolverError(
            f"branch and bound found no end, and {matroid!r} has no rows for a mixed-integer program",
            remedy="Use method='greedy', whose value is at least half of the best",
        )
    bases = Bases(*matroid.rows(), matroid.rank)
    return maximize_by_cuts(function.cuts(theta, matroid.n), bases, start, gap, deadline - time.monotonic())
