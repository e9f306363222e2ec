"""Files that anybody may have written: asked what they are before a byte of them is read.

Only regular files of a bounded size are opened, without waiting for anything. The question is asked of what was opened,
so that nothing can be put in its place in between.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import stat
import zlib
from collections.abc import Collection, Iterator
from pathlib import Path
from typing import IO, cast

from foresolve.errors import FileError, ForesolveError, MissingExtraError

MOST_BYTES = 2**35  # of a file that is read whole
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}  # fmt: skip
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
_LONGEST = 2_000  # characters that a message repeats of an error
# What a read can end in that is the file's fault.
_BROKEN = (OSError, EOFError, zlib.error)


@contextlib.contextmanager
def opened(path: Path, most: int | None = MOST_BYTES) -> Iterator[IO[bytes]]:
    """A regular file of at most `most` bytes, to read from; anything else is an error that names it."""
    try:
        _check(path, os.stat(path), most)  # opening a device can have effects
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError as error:
        raise FileError(path, "is not there") from error
    except (OSError, ValueError) as error:
        raise FileError(path, f"cannot be read: {_reason(error)}") from error
    with os.fdopen(descriptor, "rb") as file:
        _check(path, os.fstat(descriptor), most)
        try:
            yield file
        except _BROKEN as error:
            raise FileError(path, f"cannot be read: {_reason(error)}") from error


def check_file(path: Path, most: int | None = MOST_BYTES) -> None:
    """Refuse what `opened` refuses, for libraries that open files themselves."""
    with opened(path, most):
        pass


def check_replaceable(path: Path) -> None:
    """Refuse to put a file in the place of a folder, a device, a pipe or a socket, or of a link to one."""
    with contextlib.suppress(FileNotFoundError, NotADirectoryError):
        try:
            status = os.stat(path)
        except OSError as error:
            if error.errno == errno.ELOOP:
                return
            raise
        if not stat.S_ISREG(status.st_mode):
            raise FileError(path, f"is {_kind(status)}, not a file", "Choose another path")


def read_bytes(path: Path) -> bytes:
    """The content of a file."""
    with opened(path) as file:
        return file.read()


def read_text(path: Path, encoding: str = "utf-8", errors: str = "strict") -> str:
    """A text."""
    try:
        return read_bytes(path).decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise FileError(path, f"cannot be read: it is no text in {encoding.upper()} ({error})") from error


@contextlib.contextmanager
def opened_text(path: Path, encoding: str, errors: str = "strict") -> Iterator[IO[str]]:
    """The lines of a text, one after the other."""
    with opened(path, None) as file, io.TextIOWrapper(file, encoding=encoding, errors=errors) as lines:
        yield lines


@contextlib.contextmanager
def opened_table(path: Path) -> Iterator[IO[bytes]]:
    """The text of a table, which is read in pieces, decompressed if its name says that it is compressed."""
    with opened(path, None) as file:
        if path.suffix.lower() != ".gz":
            yield file
            return
        with gzip.open(file) as content:
            yield cast(IO[bytes], content)


@contextlib.contextmanager
def understood(path: Path, given: Collection[str] = ()) -> Iterator[None]:
    """Invalid entries of a file are reported as damage of the file, in a line that names it.

    Errors about the arguments `given`, which are the caller's, stay what they are.
    """
    try:
        yield
    except (FileError, MissingExtraError):
        raise
    except ForesolveError as error:
        if error.argument in given:
            raise
        raise FileError(path, f"is damaged: {one_line(error)}") from error
    except RecursionError as error:
        raise FileError(path, "is damaged: it is nested too deeply") from error
    except MemoryError as error:
        raise FileError(path, "asks for more memory than there is") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError) as error:
        raise FileError(path, f"is damaged: {type(error).__name__}: {one_line(error)}") from error


def _reason(error: BaseException) -> str:
    """What the system says, without the path that it repeats."""
    return getattr(error, "strerror", None) or one_line(error)


def one_line(error: BaseException) -> str:
    """The words of an error in one line, at most their first 2,000 characters: some repeat a file."""
    return " ".join(str(error).split())[:_LONGEST]


def _check(path: Path, status: os.stat_result, most: int | None) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise FileError(path, f"is {_kind(status)}, not a file")
    if most is not None and status.st_size > most:
        raise FileError(path, f"is too large: it has {status.st_size:,} bytes, and at most {most:,} are read")


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "something else")
