"""A real Ray on this machine; skipped where Ray is not installed (it is an extra of its own)."""

from __future__ import annotations

import importlib.util
import os
import signal
import sys
import threading
from pathlib import Path

import pytest

from foresolve import ForesolveError, MissingExtraError
from foresolve.report.records import Config, Job, JobResult
from foresolve.reproduce import JobError, RayEngine, run
from foresolve.reproduce.runs.engines import Task
from mistakes import mistake
from reproduce import toys

with_ray = [
    pytest.mark.slow,
    pytest.mark.skipif(importlib.util.find_spec("ray") is None, reason="Ray is not installed"),
    pytest.mark.filterwarnings("ignore"),  # Ray's own
]
METHODS = ("a", "counts threads", "fails", "is killed once", "leaves", "b")


def tasks(config: Config) -> list[Task]:
    return [(config, job) for job in toys.jobs(config)]


def test_a_missing_ray_names_the_extra(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ray", None)
    with mistake("", "foresolve[ray]", kind=MissingExtraError):
        RayEngine()


class TestWithRay:
    pytestmark = with_ray

    @pytest.fixture(autouse=True)
    def _workers_find_the_toys(self, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setenv("PYTHONPATH", str(Path(toys.__file__).parents[1]))

    def test_a_killed_worker_loses_nothing(self, tmp_path: Path) -> None:
        """A worker is killed in the middle of a job; the job is done by another one, all others once."""
        config = toys.config(splits=4, methods=("a", "b"), data=str(tmp_path))
        killed: list[int] = []

        def kill() -> None:
            (pid,) = toys.pids(tmp_path, split=1, count=1)[:1]
            killed.append(pid)
            os.kill(pid, signal.SIGKILL)
            (tmp_path / "go").touch()

        killer = threading.Thread(target=kill)
        killer.start()
        finished = run(config, tmp_path / "run", RayEngine(workers=2), work=toys.waiting, jobs=toys.jobs)
        killer.join()
        expected = run(config, tmp_path / "other", toys.HereEngine(), work=toys.work, jobs=toys.jobs)
        assert finished.records == expected.records
        assert len(finished.records) == 16
        assert [session["engine"] for session in finished.sessions] == ["ray"]
        assert set(toys.pids(tmp_path, split=1, count=2)) > set(killed), "another process did the job"

    def test_awkward_jobs_are_told(self, tmp_path: Path) -> None:
        config = toys.config(splits=1, ks=(), methods=METHODS, data=str(tmp_path))
        results = list(RayEngine(workers=2, retries=1).map(toys.awkward, tasks(config)))
        outcomes = {METHODS[position]: result for position, result in results}
        assert len(results) == len(METHODS)
        for method in ("a", "b", "is killed once"):
            result = outcomes[method]
            assert isinstance(result, JobResult)
            assert result.records == toys.work(config, Job("toy", 0, method, (None,))).records
        counted = outcomes["counts threads"]
        assert isinstance(counted, JobResult)
        assert counted.records[0].value == 1
        failed, left = outcomes["fails"], outcomes["leaves"]
        assert isinstance(failed, JobError)
        assert str(failed) == "the job (toy, split 0, fails) failed with ZeroDivisionError: no movies"
        assert isinstance(left, JobError)
        assert "the job (toy, split 0, leaves) was lost after 2 attempts" in str(left)

    def test_a_ray_that_was_there_stays(self) -> None:
        import ray

        ray.init("local", num_cpus=1, include_dashboard=False, log_to_driver=False)
        try:
            results = list(RayEngine().map(toys.work, tasks(toys.config(splits=1))))
            assert [type(result) for _, result in results] == [JobResult] * 3
            assert ray.is_initialized()
        finally:
            ray.shutdown()
        results = RayEngine(workers=1).map(toys.work, tasks(toys.config(splits=1)))
        next(results)
        assert ray.is_initialized()
        results.close()  # pyright: ignore[reportAttributeAccessIssue]
        assert not ray.is_initialized()

    def test_an_address_without_a_cluster_is_told(self) -> None:
        with mistake("", "'auto'", "--address", kind=ForesolveError):
            next(RayEngine("auto").map(toys.work, tasks(toys.config())))

    def test_settings_are_checked(self) -> None:
        for name, value in {"workers": 0, "threads": 0, "retries": -1}.items():
            with mistake(name, f"got {value}"):
                RayEngine(**{name: value})
