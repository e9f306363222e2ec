"""One writer at a time, by locks of the operating system: they end with their process, whatever ends the process."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Iterator
from pathlib import Path

from filelock import FileLock, Timeout

from foresolve._base.disk import storage_errors
from foresolve.errors import ForesolveError

NAME = ".lock"


class WriterLock:
    """A file that is there while somebody writes, held from the moment it is made until `release`.

    One that a killed process left behind is taken over. An error where another process, or this one, holds it.

    Parameters
    ----------
    path: of the lock.
    what: is being written, for the message: its path.
    remedy: what to do but wait.
    """

    def __init__(self, path: Path, what: Path, remedy: str) -> None:
        self.path = path
        with storage_errors(what):
            path.parent.mkdir(parents=True, exist_ok=True)
            self._lock = FileLock(path, thread_local=False)
            try:
                self._lock.acquire(blocking=False)
            except Timeout:
                told = f"another process is writing to {what}"
                raise ForesolveError(told, remedy=f"Wait for it, or {remedy}") from None

    def release(self) -> None:
        """Let others write; no file is left."""
        if sys.platform != "win32":  # where the library removes it
            with contextlib.suppress(OSError):
                self.path.unlink()  # while it is held: whoever opened it meanwhile notices, and begins again
        self._lock.release()


def folder_lock(folder: Path, remedy: str) -> WriterLock:
    """For all that is in a folder."""
    return WriterLock(folder / NAME, folder, remedy)


@contextlib.contextmanager
def writing_to(folder: Path | None, remedy: str) -> Iterator[None]:
    """The lock of a folder, held during the block; of none, none."""
    lock = None if folder is None else folder_lock(folder, remedy)
    try:
        yield
    finally:
        if lock is not None:
            lock.release()
