"""Victims in processes of their own, and their end."""

from __future__ import annotations

import multiprocessing
import os
import random
import signal
import time
from collections.abc import Callable
from multiprocessing.process import BaseProcess
from pathlib import Path

from tests.kill.shell import SHARED

Moment = Callable[[BaseProcess, Path], bool]  # waits for the moment to kill; False where the process ended before

# Imports are done once, so that kills hit the work: processes are forked from one that has imported everything.
FORKS = multiprocessing.get_context("forkserver")
FORKS.set_forkserver_preload(["tests.kill.victims"])
LIMIT = 300.0  # seconds for a session; more is a hang


def start(work: Callable[[Path], None], folder: Path) -> BaseProcess:
    """Work on a folder in a process of its own; what it says goes to a file beside the folder."""
    folder.mkdir(parents=True, exist_ok=True)
    told = (work, folder, log_of(folder), os.environ.get(SHARED, ""))
    process = FORKS.Process(target=_serve, args=told, daemon=False)
    process.start()
    return process


def log_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.log")


def _serve(work: Callable[[Path], None], folder: Path, log: Path, shared: str) -> None:
    os.environ[SHARED] = shared  # the process that forks has the environment that it was started with
    file = os.open(log, os.O_WRONLY | os.O_CREAT | os.O_APPEND)
    for stream in (1, 2):
        os.dup2(file, stream)
    work(folder)


def after(seconds: float) -> Moment:
    """By the clock."""

    def wait(process: BaseProcess, folder: Path) -> bool:
        process.join(seconds)
        return process.is_alive()

    return wait


def while_writing(count: int) -> Moment:
    """While the `count`-th file is being written."""

    def wait(process: BaseProcess, folder: Path) -> bool:
        old, seen = set(parts(folder)), set()  # what an earlier process left is not being written
        while process.is_alive():
            seen |= set(parts(folder)) - old
            if len(seen) >= count:
                return True
            time.sleep(0.0005)
        return False

    return wait


def parts(folder: Path) -> list[str]:
    """Files that are being written, or were when their writer was killed."""
    paths: list[str] = []
    pending = [folder]
    while pending:
        try:
            with os.scandir(pending.pop()) as entries:
                for entry in entries:
                    if entry.is_dir(follow_symlinks=False):
                        pending.append(Path(entry.path))
                    elif entry.name.endswith(".part"):
                        paths.append(entry.path)
        except OSError:
            continue  # it has gone meanwhile
    return paths


def workers(pid: int) -> list[int]:
    """The worker processes that a process has started, by the kernel."""
    try:
        children = [int(word) for word in Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []
    return [child for child in children if b"spawn_main" in _cmdline(child)]


def kill_worker(process: BaseProcess, rng: random.Random) -> int | None:
    """Kill one of the workers; `None` where there is none."""
    assert process.pid is not None
    crew = workers(process.pid)
    if not crew:
        return None
    pid = rng.choice(crew)
    os.kill(pid, signal.SIGKILL)
    return pid


def _cmdline(pid: int) -> bytes:
    try:
        return Path(f"/proc/{pid}/cmdline").read_bytes()
    except OSError:
        return b""


def kill(process: BaseProcess) -> list[int]:
    """Kill a process, and nothing that it started; which workers those are."""
    assert process.pid is not None
    left = workers(process.pid)
    process.kill()
    process.join()
    return left


def gone(pids: list[int], seconds: float = 120.0) -> bool:
    """Whether processes end by themselves; one that is still importing notices afterwards."""
    end = time.monotonic() + seconds
    while any(_running(pid) for pid in pids):
        if time.monotonic() > end:
            return False
        time.sleep(0.02)
    return True


def _running(pid: int) -> bool:
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False
