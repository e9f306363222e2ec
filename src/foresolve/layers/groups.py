"""A batch in groups of instances, each as large as is worth its memory, on threads that never wait for each other."""

from __future__ import annotations

from collections.abc import Callable
from typing import TypeVar

from torch import Tensor

from foresolve.sets.functions.function import SetFunction
from foresolve.solvers.threads import in_threads, one_torch_thread

Result = TypeVar("Result")

# The bytes of parameters in a group: enough for operations of torch to take longer than it takes to call them, and
# little enough for a processor's cache.
SIZE = 2 << 20


class Groups:
    """Those of the instances of `theta` `(B, *shape)`; a GPU takes the batch at once.

    They do not depend on how many threads there are, so that neither do the results.
    """

    def __init__(self, function: SetFunction, theta: Tensor) -> None:
        count, one = theta.shape[0], theta[:1].numel()
        size = max(1, count if theta.is_cuda else SIZE // max(1, one * theta.element_size()))
        self.rows = [slice(first, min(first + size, count)) for first in range(0, max(count, 1), size)]
        self._numbers = min(size, count) * one * (function.samples if function.sampled else 1)
        self._at_once = function.parallel

    def each(self, work: Callable[[int, slice], Result]) -> list[Result]:
        """`work(i, rows)` of every group, by several threads where the function allows it."""

        def alone(i: int, rows: slice) -> Result:
            with one_torch_thread(self._numbers):
                return work(i, rows)

        jobs = list(enumerate(self.rows))
        return in_threads(alone, jobs) if self._at_once else [alone(*job) for job in jobs]
