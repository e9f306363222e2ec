"""Running: the jobs that a folder lacks, done by an engine, written down as they finish."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

from foresolve._base.checks import fail
from foresolve._base.files import write_text
from foresolve._base.log import log
from foresolve.errors import FileError
from foresolve.report.records import Config, Job
from foresolve.reproduce.runs.engines import Engine, JobError, Task, Work, job_name
from foresolve.reproduce.runs.fingerprint import code_fingerprint
from foresolve.reproduce.runs.folder import Run
from foresolve.reproduce.runs.jobs import list_jobs, work

Progress = Callable[[int, int, str], None]  # jobs done, jobs in all, the job that was last done


class RunStopped(KeyboardInterrupt):
    """Ctrl-C, with a message that says how far the run got and how to resume it."""


def run(config: Config, folder: Path | str, engine: Engine, progress: Progress | None = None, **how: Any) -> Run:
    """Do what is missing in a folder; `how` as for `run_all`.

    Example
    -------
    >>> from foresolve.reproduce import LocalEngine, plan, run                                   # doctest: +SKIP
    >>> run(plan("matching", quick=True), "my-run", LocalEngine(workers=2)).records[0].value     # doctest: +SKIP
    """
    return run_all([(config, folder)], engine, progress, **how)[0]


def run_all(
    wanted: Sequence[tuple[Config, Path | str]],
    engine: Engine,
    progress: Progress | None = None,
    *,
    part: tuple[int, int] = (1, 1),
    merge: Sequence[Path | str] = (),
    work: Work = work,
    jobs: Callable[[Config], list[Job]] = list_jobs,
) -> list[Run]:
    """Do what is missing in several folders, with one pool of workers.

    Results are written as they come. An error in a job, and Ctrl-C, stop everything; what is finished is kept, and the
    same call resumes from there. The runs that are returned are closed: to be read, not to be added to.

    Parameters
    ----------
    wanted: configs, and the folders of their runs.
    progress: called with the number of finished jobs, of all jobs, and the name of the last one.
    part: `(i, n)` for the i-th of n parts of the splits, so that n machines can share the work.
    merge: folders of the same runs, done elsewhere, whose records are taken over first; each goes to the run of its
        domain and protocol.
    work, jobs: what does a job, and what lists them.
    """
    if not 1 <= part[0] <= part[1]:
        raise fail("part", "(i, n) with 1 <= i <= n", str(part))
    runs: list[Run] = []
    try:
        tasks: list[tuple[Run, Job]] = []
        total = 0
        for config, folder in wanted:
            opened = Run.open(folder, config)
            runs.append(opened)
        _merge(runs, merge)
        for opened in runs:
            planned = [job for job in jobs(opened.config) if job.split % part[1] == part[0] - 1]
            total += len(planned)
            left = [left for job in planned if (left := opened.missing(job))]
            if left:
                _check_code(opened, len(left))
                opened.check_settings()
            tasks += [(opened, job) for job in left]
        _work_off(tasks, total, engine, work, progress or (lambda done, total, label: None))
    finally:
        for opened in runs:
            opened.close()
    return runs


def _merge(runs: Sequence[Run], folders: Sequence[Path | str]) -> None:
    """Take over the records of other folders, each in the run of its domain and protocol."""
    targets = {(run.config.domain, run.config.protocol): run for run in runs}
    for folder in folders:
        config = Run.read(folder).config
        target = targets.get((config.domain, config.protocol))
        if target is None:
            names = ", ".join(f"{domain} ({protocol})" for domain, protocol in targets)
            raise fail("merge", f"a folder of a run of {names}", f"{folder}: {config.domain} ({config.protocol})")
        target.absorb(folder)


def _check_code(run: Run, left: int) -> None:
    """Refuse to add jobs of one version of the code to records of another."""
    others = run.codes - {code_fingerprint()}
    if others:
        raise FileError(
            run.folder,
            (
                f"holds records of another version of the code ({', '.join(sorted(others))}; this is "
                f"{code_fingerprint()}), and {left} jobs are left"
            ),
            "Continue with that version, or start over with another folder (--out)",
        )


def _work_off(tasks: Sequence[tuple[Run, Job]], total: int, engine: Engine, work: Work, progress: Progress) -> None:
    done = total - len(tasks)
    progress(done, total, "")
    folders = {opened.folder: opened for opened, _ in tasks}
    for opened in folders.values():
        opened.begin_session(engine)
        (opened.folder / "error.txt").unlink(missing_ok=True)
    handed: list[Task] = [(opened.config, job) for opened, job in tasks]
    results = iter(engine.map(work, handed)) if handed else iter(())
    last = time.monotonic()
    try:
        for position, result in results:
            opened, job = tasks[position]
            if isinstance(result, JobError):
                raise _explained(result, opened.folder)
            now = time.monotonic()
            opened.add(job, result, now - last)
            last, done = now, done + 1
            log.info("%d of %d jobs done: %s", done, total, job_name(job))
            progress(done, total, job_name(job))
    except KeyboardInterrupt:
        where = ", ".join(str(folder) for folder in folders)
        raise RunStopped(
            f"stopped with {done} of {total} jobs done. They are kept in {where}; the same command resumes from there"
        ) from None
    finally:
        getattr(results, "close", lambda: None)()


def _explained(error: JobError, folder: Path) -> JobError:
    """The error of a job, its traceback in a file."""
    text = f"{error}. What is finished is kept in {folder}"
    if error.trace:
        path = write_text(folder / "error.txt", error.trace)
        text += f"; the traceback is in {path.name} there"
    return JobError(text, error.trace)
