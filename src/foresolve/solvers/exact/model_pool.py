"""Models that are costly to build, kept between calls and run in parallel."""

from __future__ import annotations

import os
from collections import deque
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

Model = TypeVar("Model")
Job = TypeVar("Job")
Result = TypeVar("Result")


class ModelPool(Generic[Model]):
    """Solvers written in C, one a thread: they release the interpreter lock while they run.

    Which model does which job depends on the timing of the threads, so that a result must not depend on what a model
    did before.

    Parameters
    ----------
    build: makes a model; called on the thread that uses it first.
    """

    def __init__(self, build: Callable[[], Model]) -> None:
        self._build = build
        self._idle: deque[Model] = deque()

    def map(self, work: Callable[[Model, Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """`work(model, job)` of every job, in their order."""
        left = deque(enumerate(jobs))
        results: dict[int, Result] = {}

        def serve() -> None:
            try:
                model = self._idle.pop()
            except IndexError:
                model = self._build()
            while left:
                try:
                    position, job = left.popleft()
                except IndexError:
                    break  # another thread took the last one
                results[position] = work(model, job)
            self._idle.append(model)

        # A thread even for one job: HiGHS refuses `threads=1` on a thread where another user of it chose otherwise.
        count = max(1, min(len(jobs), os.cpu_count() or 1))
        with ThreadPoolExecutor(count) as threads:
            for future in [threads.submit(serve) for _ in range(count)]:
                future.result()
        return [results[position] for position in range(len(jobs))]
