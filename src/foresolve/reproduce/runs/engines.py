"""Who does the jobs of a run: processes of this machine. `ray_engine.py` does the same on a cluster."""

from __future__ import annotations

import multiprocessing
import os
import pickle
import signal
import threading
import traceback
from collections import deque
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from multiprocessing.connection import Connection, wait
from typing import Any, Protocol

from foresolve._base.checks import fail, positive_int
from foresolve._base.environment import THREADS, environment
from foresolve._base.log import log
from foresolve.errors import ForesolveError
from foresolve.report.records import Config, Job, JobResult

Task = tuple[Config, Job]
Work = Callable[[Config, Job], JobResult]


class JobError(ForesolveError):
    """A job failed; the message names it. `trace` is the traceback in the worker, empty where the worker was lost."""

    def __init__(self, message: str, trace: str = "") -> None:
        super().__init__(message)
        self.trace = trace


@dataclass(frozen=True)
class Failure:
    """An exception in a worker, as text: exceptions themselves do not always survive the way to another process."""

    message: str
    trace: str


class Engine(Protocol):
    """Anything that can do tasks in any order."""

    @property
    def about(self) -> dict[str, Any]:
        """Name and settings, for the record of a run."""
        ...

    def map(self, work: Work, tasks: Sequence[Task]) -> Iterator[tuple[int, JobResult | JobError]]:
        """`work(*task)` for every task: positions and results, as they finish.

        Closing the iterator stops what is still going on.
        """
        ...


def job_name(job: Job) -> str:
    """A job in words: `matching, split 3, NN2-Decision, k = 5, 10`."""
    ks = ", ".join(str(k) for k in job.ks if k is not None)
    return f"{job.domain}, split {job.split}, {job.method}" + (f", k = {ks}" if ks else "")


def attempt(work: Work, task: Task) -> JobResult | Failure:
    """Do a task in a worker."""
    try:
        return work(*task)
    except Exception as error:
        return Failure(f"{type(error).__name__}: {error}", traceback.format_exc())


def answer(job: Job, result: JobResult | Failure) -> JobResult | JobError:
    """What a worker handed back, as engines give it on."""
    if isinstance(result, Failure):
        return JobError(f"the job ({job_name(job)}) failed with {result.message}", result.trace)
    return result


def cores() -> int:
    """The processors this process may use."""
    affinity = getattr(os, "sched_getaffinity", None)
    return len(affinity(0)) if affinity else os.cpu_count() or 1


class LocalEngine:
    """Processes of this machine, one job at a time each.

    A worker that dies (killed because memory ran out, say) is replaced and its job done again, at most `retries` times.
    Every worker is a fresh process with its own number of threads, also where there is only one of them: sums of
    floating point numbers depend on how many threads share them, so that a fixed number gives the same results for any
    number of workers.

    Parameters
    ----------
    workers: processes; as many as there are processors by default.
    threads: of torch and NumPy in each worker.
    retries: further attempts at a job whose worker died.
    """

    def __init__(self, workers: int | None = None, *, threads: int = 1, retries: int = 2) -> None:
        self.workers = cores() if workers is None else positive_int("workers", workers)
        self.threads = positive_int("threads", threads)
        self.retries = positive_int("retries", retries, zero=True)

    @property
    def about(self) -> dict[str, Any]:
        """Name and settings, for the record of a run."""
        return {"engine": "local", "workers": self.workers, "threads": self.threads}

    def map(self, work: Work, tasks: Sequence[Task]) -> Iterator[tuple[int, JobResult | JobError]]:
        """`work(*task)` for every task: positions and results, as they finish."""
        _check_work(work)
        queue = deque(range(len(tasks)))
        deaths = [0] * len(tasks)
        crew = [_Worker(work, self.threads) for _ in range(min(self.workers, len(tasks)))]
        try:
            for worker in crew:
                worker.begin(queue.popleft(), tasks)
            while busy := [worker for worker in crew if worker.position >= 0]:
                wait([end for worker in busy for end in (worker.pipe, worker.process.sentinel)])
                for worker in busy:
                    position, result = worker.position, worker.result()
                    if result is None:
                        continue
                    if isinstance(result, _Death):
                        worker.stop()
                        crew.remove(worker)
                        deaths[position] += 1
                        log.warning("lost a worker (exit code %d) at %s", result.code, job_name(tasks[position][1]))
                        if again := deaths[position] <= self.retries:
                            queue.appendleft(position)
                        reply = None if again else _lost(tasks[position][1], result.code, deaths[position])
                    else:
                        reply = answer(tasks[position][1], result)
                    if queue:  # before the result is handed on: the caller may take its time
                        if worker not in crew:
                            crew.append(worker := _Worker(work, self.threads))
                        worker.begin(queue.popleft(), tasks)
                    if reply is not None:
                        yield position, reply
        finally:
            for worker in crew:
                worker.stop()


@dataclass(frozen=True)
class _Death:
    """The end of a worker in the middle of a task; `code` as `Process.exitcode`."""

    code: int


class _Worker:
    """A process that does one task after the other; `position` is that of its task, -1 while it has none."""

    def __init__(self, work: Work, threads: int) -> None:
        context = multiprocessing.get_context("spawn")  # a fork of a process with threads may hang
        self.pipe, remote = context.Pipe()
        self.process = context.Process(target=_serve, args=(remote, work), daemon=True)
        self.position = -1
        with environment(dict.fromkeys(THREADS, str(threads))), _interrupts_held():
            self.process.start()
        remote.close()  # so that the pipe ends when the worker does

    def begin(self, position: int, tasks: Sequence[Task]) -> None:
        self.position = position
        with suppress(OSError):  # of a worker that is dead already; `result` finds out
            self.pipe.send(tasks[position])

    def result(self) -> JobResult | Failure | _Death | None:
        """The result of the task, `None` while the worker is busy with it."""
        alive = self.process.is_alive()  # asked first: what a worker sent before its end is in the pipe by now
        try:
            if self.pipe.poll():
                result = self.pipe.recv()
                self.position = -1
                return result
        except (EOFError, OSError):
            alive = False
        if alive:
            return None
        self.process.join()
        return _Death(self.process.exitcode or 0)

    def stop(self) -> None:
        self.process.terminate()
        self.process.join(5)
        if self.process.is_alive():
            self.process.kill()
            self.process.join()
        self.process.close()
        self.pipe.close()


def _serve(pipe: Connection, work: Work) -> None:
    """The whole life of a worker process."""
    signal.signal(signal.SIGINT, signal.SIG_IGN)  # Ctrl-C reaches every process of a terminal; the first one decides
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            task = pipe.recv()
        except EOFError:
            return
        result = attempt(work, task)
        try:
            pipe.send(result)
        except (pickle.PicklingError, AttributeError, TypeError) as error:
            pipe.send(Failure(f"an outcome that cannot be sent: {error}", traceback.format_exc()))


def _end_with_parent() -> None:
    """A run that is killed leaves nothing behind that takes the processor from its successor."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


def _check_work(work: Work) -> None:
    try:
        pickle.dumps(work)
    except Exception as error:
        raise fail("work", "a function at the top level of a module", repr(work), str(error)) from error


def _lost(job: Job, code: int, times: int) -> JobError:
    workers, were = ("worker process", "was") if times == 1 else (f"{times} worker processes in turn", "were")
    if code < 0:
        how = f"{were} killed by {signal.Signals(-code).name}. If memory ran out, take fewer workers"
    else:
        how = f"ended with exit code {code}. A script that starts a run does so under `if __name__ == '__main__':`"
    return JobError(f"the job ({job_name(job)}) was lost: its {workers} {how}")


@contextmanager
def _interrupts_held() -> Iterator[None]:
    """A process started meanwhile has Ctrl-C blocked from its first moment; here it is only put off."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, {signal.SIGINT})
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)
