"""One writer a folder, by a lock of the operating system: it ends with the process, whatever ends the process."""

from __future__ import annotations

import os
import sys
from pathlib import Path

from foresolve.errors import ForesolveError

NAME = ".lock"


class FolderLock:
    """Held from the moment it is made until `release`; an error where another process, or this one, holds it."""

    def __init__(self, folder: Path) -> None:
        self._file = os.open(folder / NAME, os.O_RDWR | os.O_CREAT, 0o644)
        try:
            _lock(self._file)
        except OSError as error:
            os.close(self._file)
            raise ForesolveError(
                f"another process is writing to {folder}. Wait for it, or give another folder with --out"
            ) from error

    def release(self) -> None:
        os.close(self._file)  # the file stays: removing it would let two processes lock two files of one name


def _lock(file: int) -> None:
    if sys.platform == "win32":
        import msvcrt

        msvcrt.locking(file, msvcrt.LK_NBLCK, 1)
    else:
        import fcntl

        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
