"""Draws in worker processes, one at a time each, so that a hang or a dead process costs one draw and is counted."""

from __future__ import annotations

import multiprocessing
import os
import time
import traceback
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess

from tests.stress.outcomes import Outcome, Verdict

Job = tuple[str, int]
LIMIT = 60.0  # seconds for all of one draw: library and reference


@dataclass(frozen=True)
class Result:
    """One draw: its verdicts, and how long it took; `broken` where the harness itself failed."""

    kind: str
    seed: int
    verdicts: list[Verdict]
    seconds: float = 0.0
    broken: str = ""


Work = Callable[[str, int], Result]


def run_one(kind: str, seed: int) -> Result:
    """In this process; an error here is the harness's own."""
    from tests.stress.kinds import KINDS

    started = time.perf_counter()
    try:
        verdicts, broken = KINDS[kind].verdicts(seed), ""
    except Exception:
        verdicts, broken = [], traceback.format_exc()
    return Result(kind, seed, verdicts, time.perf_counter() - started, broken)


def _serve(pipe: Connection, work: Work) -> None:
    pipe.send("ready")
    while (job := pipe.recv()) is not None:
        pipe.send(work(*job))


@dataclass
class _Worker:
    process: BaseProcess
    pipe: Connection
    job: Job | None = None
    since: float = field(default_factory=time.monotonic)

    def give(self, job: Job | None) -> None:
        self.job, self.since = job, time.monotonic()
        self.pipe.send(job)

    def end(self) -> None:
        self.process.kill()
        self.process.join()
        self.pipe.close()


def _start(work: Work) -> _Worker:
    context = multiprocessing.get_context("spawn")
    ours, theirs = context.Pipe()
    process = context.Process(target=_serve, args=(theirs, work), daemon=True)
    process.start()
    theirs.close()
    ours.recv()  # the clock of its first draw starts once it has imported everything
    return _Worker(process, ours)


def run(jobs: Iterable[Job], workers: int = 2, limit: float = LIMIT, work: Work = run_one) -> Iterator[Result]:
    """Results in the order in which they come; a draw that takes too long or takes its process with it is one too."""
    os.environ.setdefault("OMP_NUM_THREADS", "1")  # a core for each worker
    todo = iter(jobs)
    crew: list[_Worker] = []
    try:
        for job in [job for _, job in zip(range(workers), todo)]:
            crew.append(_start(work))
            crew[-1].give(job)
        while crew:
            ready = wait([worker.pipe for worker in crew], timeout=1.0)
            for place, worker in enumerate(list(crew)):
                result = _outcome(worker, worker.pipe in ready, limit)
                if result is None:
                    continue
                yield result
                if not worker.process.is_alive():
                    worker.end()
                    worker = _start(work)
                    crew[place] = worker
                worker.give(next(todo, None))
            crew = [worker for worker in crew if worker.job is not None]
    finally:
        for worker in crew:
            worker.end()


def _outcome(worker: _Worker, ready: bool, limit: float) -> Result | None:
    """What a worker sent, or what became of it; `None` while it is at work."""
    assert worker.job is not None
    if ready:
        try:
            return worker.pipe.recv()
        except (EOFError, ConnectionResetError):
            worker.process.join(5.0)
            note = f"the process died with exit code {worker.process.exitcode}"
            return Result(*worker.job, [Verdict("process", Outcome.CRASH, note=note)], time.monotonic() - worker.since)
    seconds = time.monotonic() - worker.since
    if seconds < limit:
        return None
    worker.process.kill()
    worker.process.join()
    return Result(*worker.job, [Verdict("process", Outcome.HANG, note=f"over {limit:g} s")], seconds)
