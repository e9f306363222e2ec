"""Jobs that take no time, for the tests of runs and engines; some fail, some take their worker with them."""

from __future__ import annotations

import os
import signal
import time
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any, ClassVar

import numpy as np

from foresolve.report.records import Config, Job, JobResult, Record
from foresolve.reproduce import JobError
from foresolve.reproduce.runs.engines import Task, Work, answer, attempt

PLAIN = ("NN1-Decision", "Most rated", "NN2-SPO+")


def config(
    splits: int = 2, ks: tuple[int, ...] = (5, 10), methods: tuple[str, ...] = PLAIN, **others: object
) -> Config:
    return Config("toy", splits=splits, ks=ks, methods=methods, **others)  # pyright: ignore[reportArgumentType]


def jobs(config: Config) -> list[Job]:
    return [Job(config.domain, i, name, config.ks or (None,)) for i in range(config.splits) for name in config.methods]


def work(config: Config, job: Job) -> JobResult:
    """Numbers that depend on config and job alone."""
    rng = np.random.default_rng([config.seed, job.split, len(job.method)])
    value = float(rng.random())
    records = tuple(Record(job.domain, job.split, job.method, k, value * (k or 1), None, 1.0) for k in job.ks)
    return JobResult(records, {"theta": rng.random((2, 3))} if job.split == 0 and config.ks[:1] == job.ks[:1] else {})


def awkward(config: Config, job: Job) -> JobResult:
    """Jobs that do what their method says; the folder `data` has a file for each attempt."""
    folder = Path(config.data or "")
    attempts = len(list(folder.glob(f"{job.method}-*")))
    (folder / f"{job.method}-{attempts}").touch()
    if job.method == "counts threads":
        import torch

        return JobResult((Record("toy", job.split, job.method, None, torch.get_num_threads(), None, os.getpid()),))
    if job.method == "fails":
        raise ZeroDivisionError("no movies")
    if job.method == "cannot be sent":
        return JobResult((), {"theta": lambda: 0})  # pyright: ignore[reportArgumentType]
    if job.method == "leaves":
        raise SystemExit(3)
    if job.method == "is killed" or (job.method == "is killed once" and attempts == 0):
        os.kill(os.getpid(), signal.SIGKILL)
    return work(config, job)


def failing(config: Config, job: Job) -> JobResult:
    if job.method == "Most rated" and job.split == 1:
        raise ZeroDivisionError("no movies")
    return work(config, job)


def waiting(config: Config, job: Job) -> JobResult:
    """Write down the process that does the job; split 1 then waits until it is killed, or a file `go` is there."""
    folder = Path(config.data or "")
    (folder / f"{job.split}-{os.getpid()}").touch()
    while job.split == 1 and not (folder / "go").exists():
        time.sleep(0.02)
    return work(config, job)


def pids(folder: Path, split: int, count: int, *, seconds: float = 60) -> list[int]:
    """The processes that have begun the job of a split, once there are `count` of them."""
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        numbers = [int(path.name.partition("-")[2]) for path in folder.glob(f"{split}-*")]
        if len(numbers) >= count:
            return numbers
        time.sleep(0.02)
    raise TimeoutError(f"fewer than {count} processes have begun split {split}")


def ended(pid: int) -> bool:
    """Whether a process is gone, or a zombie that nobody has asked after."""
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] == "Z"
    except OSError:
        return True


def wait_for_end(pid: int, *, seconds: float = 10) -> None:
    end = time.monotonic() + seconds
    while not ended(pid):
        assert time.monotonic() < end, f"process {pid} goes on"
        time.sleep(0.02)


class HereEngine:
    """Tasks one after the other in this process, from the last to the first or from the first to the last."""

    about: ClassVar[dict[str, Any]] = {"engine": "here"}

    def __init__(self, *, backwards: bool = False, stop_after: int = 99) -> None:
        self.backwards, self.stop_after = backwards, stop_after
        self.seen: list[Task] = []

    def map(self, work: Work, tasks: Sequence[Task]) -> Iterator[tuple[int, JobResult | JobError]]:
        order = range(len(tasks))
        for position in reversed(order) if self.backwards else order:
            if len(self.seen) == self.stop_after:
                raise KeyboardInterrupt
            self.seen.append(tasks[position])
            yield position, answer(tasks[position][1], attempt(work, tasks[position]))
