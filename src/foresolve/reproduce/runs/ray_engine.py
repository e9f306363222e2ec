"""The jobs of a run on a Ray cluster, or on a Ray of this machine: one task per job, results as they finish."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from foresolve._base.checks import positive_int
from foresolve._base.environment import THREADS
from foresolve._base.extras import need
from foresolve._base.ray_sessions import ray_session
from foresolve._base.text import line_of
from foresolve.report.records import JobResult
from foresolve.reproduce.runs.engines import (
    Failure,
    JobError,
    Task,
    Work,
    answer,
    attempt,
    cores,
    job_name,
)

GPU_SHARE = (
    0.25  # of a GPU that a job takes: the networks are small, and Ray hides the GPU from tasks that ask for none
)


class RayEngine:
    """One Ray task per job. A job whose worker or node is lost is done again elsewhere, at most `retries` times.

    foresolve, in the same version, must be installed on every node, and real data must lie at the same path there.

    Parameters
    ----------
    address: of a running cluster, "auto" for the one this machine belongs to; `None` starts a Ray here and ends it.
    workers: jobs at a time; as many as there are processors by default.
    threads: of torch and NumPy in each worker, see `LocalEngine`.
    retries: further attempts at a job that was lost.
    """

    def __init__(
        self, address: str | None = None, workers: int | None = None, *, threads: int = 1, retries: int = 3
    ) -> None:
        self._ray = need("ray", "the engine for clusters", "ray")
        self.address = address
        self.workers = None if workers is None else positive_int("workers", workers)
        self.threads = positive_int("threads", threads)
        self.retries = positive_int("retries", retries, zero=True)

    @property
    def about(self) -> dict[str, Any]:
        """Name and settings, for the record of a run."""
        return {"engine": "ray", "address": self.address, "workers": self.workers, "threads": self.threads}

    def map(self, work: Work, tasks: Sequence[Task]) -> Iterator[tuple[int, JobResult | JobError]]:
        """`work(*task)` for every task: positions and results, as they finish."""
        ray = self._ray
        pending: dict[Any, int] = {}
        with ray_session(ray, self.address, self.workers or cores()):
            try:
                limit = self.workers or len(tasks)
                queue = iter(range(len(tasks)))
                while True:
                    while len(pending) < limit and (position := next(queue, None)) is not None:
                        pending[self._remote(tasks[position]).remote(work, tasks[position])] = position
                    if not pending:
                        break
                    for reference in ray.wait(list(pending), num_returns=1)[0]:
                        position = pending.pop(reference)
                        yield position, self._result(reference, tasks[position])
            finally:
                for reference in pending:
                    ray.cancel(reference, force=True)

    def _remote(self, task: Task) -> Any:
        """The task function; variables of the environment reach a worker before it imports torch."""
        return self._ray.remote(attempt).options(
            num_cpus=self.threads,
            num_gpus=GPU_SHARE if task[0].device.startswith("cuda") else 0,
            max_retries=self.retries,
            runtime_env={"env_vars": dict.fromkeys(THREADS, str(self.threads))},
        )

    def _result(self, reference: Any, task: Task) -> JobResult | JobError:
        try:
            result: JobResult | Failure = self._ray.get(reference)
        except self._ray.exceptions.RayTaskError as error:  # before the job began: its function cannot be found, say
            result = Failure(line_of(error, -1), str(error))
        except self._ray.exceptions.RayError as error:
            reason = f"{type(error).__name__}: {line_of(error)}"
            times = f"{1 + self.retries} attempts" if self.retries else "one attempt"
            return JobError(
                f"the job ({job_name(task[1])}) was lost after {times}: {reason}. If memory ran out, take fewer workers"
            )
        return answer(task[1], result)
