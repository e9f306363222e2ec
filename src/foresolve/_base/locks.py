"""One writer at a time, by locks of the operating system: they end with their process, whatever ends the process."""

from __future__ import annotations

import contextlib
import errno
import os
import sys
from collections.abc import Iterator
from pathlib import Path

from foresolve._base.disk import storage_errors
from foresolve.errors import ForesolveError

NAME = ".lock"
_BUSY = {errno.EAGAIN, errno.EACCES, errno.EDEADLK, errno.EWOULDBLOCK}


def taken(file: int) -> bool:
    """Lock an open file; False where another process, or another open file of this one, holds it.

    An `OSError` where the file system has no locks.
    """
    try:
        if sys.platform == "win32":
            import msvcrt

            msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
        else:
            import fcntl

            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except OSError as error:
        if error.errno in _BUSY:
            return False
        raise
    return True


def still_at(file: int, path: Path) -> bool:
    """Whether an open file is the one that has the name now."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False


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
        message = f"another process is writing to {what}. Wait for it, or {remedy}"
        with storage_errors(what):
            path.parent.mkdir(parents=True, exist_ok=True)
            while True:
                self._file = os.open(path, os.O_RDWR | os.O_CREAT, 0o644)
                try:
                    free = taken(self._file)
                except OSError:
                    os.close(self._file)
                    raise
                if not free:
                    os.close(self._file)
                    raise ForesolveError(message)
                if still_at(self._file, path):
                    return
                os.close(self._file)  # whoever held it removed it meanwhile: this is a lock on nothing

    def release(self) -> None:
        """Let others write; no file is left."""
        if sys.platform == "win32":  # what is open cannot be removed there
            os.close(self._file)
            with contextlib.suppress(OSError):
                self.path.unlink()
            return
        import fcntl

        with contextlib.suppress(OSError):
            self.path.unlink()
        fcntl.flock(self._file, fcntl.LOCK_UN)  # also for processes that were forked meanwhile
        os.close(self._file)


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
