"""Models that are costly to build, kept between calls and run in parallel."""

from __future__ import annotations

import os
import threading
from collections import deque
from collections.abc import Callable, Sequence
from typing import Generic, Protocol, TypeVar


class Cancellable(Protocol):
    """A model whose work can be ended from another thread."""

    def cancel(self) -> None: ...


Model = TypeVar("Model", bound=Cancellable)
Job = TypeVar("Job")
Result = TypeVar("Result")

# Seconds between looks at the signals that wait: on some systems a thread that waits for another gets none.
PATIENCE = 0.1
# Seconds that models which were told to stop may take altogether; what does not stop by then is left to itself.
GRACE = 10.0


class ModelPool(Generic[Model]):
    """Solvers written in C, one a thread: they release the interpreter lock while they run.

    Which model does which job depends on the timing of the threads, so that a result must not depend on what a model
    did before. At an interrupt (Ctrl-C) models at work are told to stop, and not used again; a second one does not
    wait for them.

    Parameters
    ----------
    build: makes a model; called on the thread that uses it first.
    """

    def __init__(self, build: Callable[[], Model]) -> None:
        self._build = build
        self._idle: deque[Model] = deque()

    def _taken(self) -> Model:
        try:
            return self._idle.pop()
        except IndexError:  # asking first would not help: another thread may take the last one meanwhile
            return self._build()

    def map(self, work: Callable[[Model, Job], Result], jobs: Sequence[Job]) -> list[Result]:
        """`work(model, job)` of every job, in their order."""
        left = deque(enumerate(jobs))
        results: dict[int, Result] = {}
        errors: list[BaseException] = []
        busy: list[Model] = []
        interrupted = threading.Event()

        def serve() -> None:
            try:
                model = self._taken()
                busy.append(model)
                while left and not interrupted.is_set():
                    try:
                        position, job = left.popleft()
                    except IndexError:
                        break  # another thread took the last one
                    results[position] = work(model, job)
                if not interrupted.is_set() and len(self._idle) < count:  # many callers at once leave no more than one
                    self._idle.append(model)
            except BaseException as error:
                errors.append(error)

        # A thread even for one job: HiGHS refuses `threads=1` on a thread where another user of it chose otherwise.
        # Daemons, so that the interpreter can end before they do.
        count = min(len(jobs), os.cpu_count() or 1)
        threads = [threading.Thread(target=serve, daemon=True) for _ in range(count)]
        try:
            for thread in threads:
                thread.start()
            for thread in threads:
                while thread.is_alive():
                    thread.join(PATIENCE)
        except BaseException:
            interrupted.set()
            for model in list(busy):
                model.cancel()
            for thread in filter(threading.Thread.is_alive, threads):
                thread.join(GRACE / count)
            raise
        if errors:
            raise errors[0]
        return [results[position] for position in range(len(jobs))]
