"""Errors of the disk: they name the file and say what to do."""

from __future__ import annotations

import errno
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from foresolve.errors import StorageError

KEPT = "What was there before is as it was"
_REMEDIES = {
    errno.ENOSPC: f"{KEPT}. Free some space, and do the same again",
    errno.EDQUOT: f"{KEPT}. Free some of your quota, and do the same again",
    errno.EFBIG: f"{KEPT}. Raise the limit on the size of files (`ulimit -f`), or choose another disk",
    errno.EROFS: "Choose a folder that may be written to",
    errno.EACCES: "Choose a folder that may be written to, or change its permissions",
    errno.EPERM: "Choose a folder that may be written to, or change its permissions",
    errno.EIO: f"{KEPT}. The disk itself fails: choose another one",
    errno.ENOLCK: "The file system has no locks: choose a folder on another one",
    errno.ENOTSUP: "The file system lacks what is needed: choose a folder on another one",
}  # fmt: skip


def storage_error(error: OSError, path: Path) -> StorageError:
    """The same error of the file that the caller knows, with what to do about it."""
    reason = error.strerror or str(error)
    remedy = _REMEDIES.get(error.errno or 0, "")
    return StorageError(error.errno, reason, path, remedy)


@contextmanager
def storage_errors(path: Path) -> Iterator[None]:
    """Errors of the disk in the block, as those of `path`."""
    try:
        yield
    except StorageError:
        raise
    except OSError as error:
        if error.errno is None:
            raise
        raise storage_error(error, path) from error
