"""Files that are being written: where they are, and what becomes of them when their writer is killed."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
from pathlib import Path
from typing import IO

from foresolve._base.log import log


def begin(path: Path) -> tuple[Path, IO[bytes]]:
    """A new file beside `path`, to be renamed to it; those of writers that were killed are removed.

    It is locked for as long as it is open, so that no other writer takes it for one that was left behind. It is opened
    as users do, so that the umask holds: a file of `mkstemp` can be read by nobody else.
    """
    sweep(path)
    while True:
        temporary = path.with_name(f".{path.name}.{secrets.token_hex(8)}.part")
        file = temporary.open("xb")
        if sys.platform == "win32":
            return temporary, file  # nobody can remove an open file there
        with contextlib.suppress(OSError):  # without locks, nobody removes what may be in use
            _taken(file.fileno())
        if _still_at(file.fileno(), temporary):
            return temporary, file
        file.close()  # swept before it was locked


def sweep(path: Path) -> None:
    """Remove what killed writers of `path` left beside it; files of writers that are at work stay."""
    pattern = re.compile(rf"\.{re.escape(path.name)}\.[0-9a-f]{{16}}\.part")
    with os.scandir(path.parent) as entries:
        names = [entry.name for entry in entries if pattern.fullmatch(entry.name)]
    for name in names:
        with contextlib.suppress(OSError):  # it has gone meanwhile, or nobody can tell whether it is in use
            _remove(path.with_name(name))


def _remove(leftover: Path) -> None:
    if sys.platform == "win32":
        leftover.unlink()
        return
    file = os.open(leftover, os.O_RDWR)
    try:
        if _taken(file):
            leftover.unlink()
            log.info("removed %s, which a writer that was killed had left", leftover)
    finally:
        os.close(file)


def _taken(file: int) -> bool:
    """Lock an open file; False if another process, or another open file of this one, holds it.

    An `OSError` where the file system has no locks.
    """
    import fcntl

    try:
        fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
    except BlockingIOError:
        return False
    return True


def _still_at(file: int, path: Path) -> bool:
    """True if an open file is the one that has the name now."""
    try:
        return os.path.samestat(os.fstat(file), os.stat(path))
    except FileNotFoundError:
        return False
