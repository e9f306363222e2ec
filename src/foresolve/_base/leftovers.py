"""Files that are being written: where they are, and what becomes of them when their writer is killed."""

from __future__ import annotations

import contextlib
import os
import re
import secrets
import sys
from pathlib import Path
from typing import IO

from foresolve._base.locks import still_at, taken
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
            taken(file.fileno())
        if still_at(file.fileno(), temporary):
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
        if taken(file):
            leftover.unlink()
            log.info("removed %s, which a writer that was killed had left", leftover)
    finally:
        os.close(file)
