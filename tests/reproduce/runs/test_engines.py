from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import pytest

from foresolve.report.records import Config, Job, JobResult
from foresolve.reproduce import JobError, LocalEngine
from foresolve.reproduce.runs.engines import Task, Work, cores, job_name
from mistakes import mistake
from reproduce import toys


def tasks(config: Config) -> list[Task]:
    return [(config, job) for job in toys.jobs(config)]


def done(engine: LocalEngine, work: Work, wanted: Sequence[Task]) -> dict[int, JobResult | JobError]:
    results = list(engine.map(work, wanted))
    assert len({position for position, _ in results}) == len(results), "a task was done twice"
    return dict(results)


METHODS = ("a", "counts threads", "fails", "cannot be sent", "is killed once", "leaves", "b")


@pytest.fixture(scope="module")
def outcomes(tmp_path_factory: pytest.TempPathFactory) -> dict[str, JobResult | JobError]:
    """What comes of awkward jobs, by method, with two workers and one retry; one crew, for workers start slowly."""
    folder = tmp_path_factory.mktemp("attempts")
    wanted = tasks(toys.config(splits=1, ks=(), methods=METHODS, data=str(folder)))
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("OMP_NUM_THREADS", "2")
        environment = dict(os.environ)
        results = done(LocalEngine(2, retries=1), toys.awkward, wanted)
        assert dict(os.environ) == environment
    attempts = {method: len(list(folder.glob(f"{method}-*"))) for method in METHODS}
    assert attempts == dict.fromkeys(METHODS, 1) | {"is killed once": 2, "leaves": 2}
    return {METHODS[position]: result for position, result in results.items()}


def test_every_task_is_answered(outcomes: dict[str, JobResult | JobError]) -> None:
    assert set(outcomes) == set(METHODS)


@pytest.mark.parametrize("method", ["a", "b", "is killed once"])
def test_outcomes_are_those_of_this_process(method: str, outcomes: dict[str, JobResult | JobError]) -> None:
    result = outcomes[method]
    assert isinstance(result, JobResult)
    assert result.records == toys.work(toys.config(ks=()), Job("toy", 0, method, (None,))).records


def test_workers_are_processes_with_their_own_threads(outcomes: dict[str, JobResult | JobError]) -> None:
    result = outcomes["counts threads"]
    assert isinstance(result, JobResult)
    assert result.records[0].value == 1
    assert result.records[0].optimum != os.getpid()


@pytest.mark.parametrize(
    ("method", "message"),
    [
        ("fails", "failed with ZeroDivisionError: no movies"),
        ("cannot be sent", "failed with an outcome that cannot be sent"),
        ("leaves", "was lost: its 2 worker processes in turn ended with exit code 3"),
    ],
)
def test_errors_name_the_job(method: str, message: str, outcomes: dict[str, JobResult | JobError]) -> None:
    error = outcomes[method]
    assert isinstance(error, JobError)
    assert str(error).startswith(f"the job (toy, split 0, {method}) {message}")
    assert ("Traceback" in error.trace) == (method != "leaves")


@pytest.mark.slow
def test_a_job_whose_worker_is_always_killed_is_named(tmp_path: Path) -> None:
    config = toys.config(splits=2, methods=("is killed",), data=str(tmp_path))
    for error in done(LocalEngine(1, retries=0), toys.awkward, tasks(config)).values():
        assert isinstance(error, JobError)
        assert "its worker process was killed by SIGKILL. If memory ran out, take fewer workers" in str(error)


@pytest.mark.slow
def test_closing_stops_the_workers(tmp_path: Path) -> None:
    config = toys.config(splits=2, methods=("a",), data=str(tmp_path))
    results = LocalEngine(2).map(toys.waiting, tasks(config))
    assert next(results)[0] == 0
    (pid,) = toys.pids(tmp_path, split=1, count=1)
    results.close()  # pyright: ignore[reportAttributeAccessIssue]
    assert toys.ended(pid)


@pytest.mark.slow
def test_workers_end_with_their_parent(tmp_path: Path) -> None:
    (tmp_path / "parent.py").write_text(
        "import sys\nfrom reproduce import toys\nfrom foresolve.reproduce.runs.engines import LocalEngine\n"
        "if __name__ == '__main__':\n"
        "    config = toys.config(splits=2, methods=('a',), data=sys.argv[1])\n"
        "    list(LocalEngine(2).map(toys.waiting, [(config, job) for job in toys.jobs(config)]))\n"
    )
    path = os.pathsep.join([str(Path(toys.__file__).parents[1]), *sys.path])
    parent = subprocess.Popen(
        [sys.executable, str(tmp_path / "parent.py"), str(tmp_path)], env={**os.environ, "PYTHONPATH": path}
    )
    (worker,) = toys.pids(tmp_path, split=1, count=1)
    parent.send_signal(signal.SIGKILL)
    parent.wait()
    toys.wait_for_end(worker)


def test_settings_are_checked() -> None:
    assert LocalEngine().workers == cores() >= 1
    for name, value in {"workers": 0, "threads": 0, "retries": -1}.items():
        with mistake(name, f"got {value}"):
            LocalEngine(**{"workers": 1, name: value})
    with mistake("work", "lambda"):
        next(LocalEngine(1).map(lambda config, job: JobResult(()), tasks(toys.config())))
    assert list(LocalEngine(1).map(toys.work, [])) == []


def test_job_name() -> None:
    assert job_name(Job("matching", 3, "OPT", (None,))) == "matching, split 3, OPT"
    assert job_name(Job("budget", 0, "OPT", (5, 10))) == "budget, split 0, OPT, k = 5, 10"
