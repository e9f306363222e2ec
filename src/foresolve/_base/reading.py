"""Files that anybody may have written: asked what they are before a byte of them is read.

Only regular files are opened, without waiting for anything, and the question is asked of what was opened, so that
nothing can be put in its place in between. A size is a file's own claim: one that is far more than what lies on the
disk (a sparse file) is refused, and so is text that grows beyond reason when it is decompressed.
"""

from __future__ import annotations

import contextlib
import errno
import gzip
import io
import os
import stat
import zipfile
import zlib
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import IO, Any

from foresolve.errors import ForesolveError, MissingExtraError

MOST_DOCUMENT = 64 * 2**20  # bytes of a description
MOST_TEXT = 2**32  # bytes of a text that is read whole
MOST_TENSORS = 2**35
MOST_TABLE = 2**40  # tables may be larger than memory: they are read in pieces
MOST_EMPTY = 2**22  # of a side of a table without a byte: nothing but this limit tells that it is none
LARGE, HOLLOW = 2**28, 64  # from `LARGE` bytes on, a share of 1 / HOLLOW must be on the disk (file systems compress)
UNPACKED, GROWTH = 2**28, 100  # what compressed content may come to: in bytes, and as a multiple of its size
LONGEST = 2_000  # characters of what an error repeats of a file
_KINDS = {
    stat.S_IFDIR: "a folder", stat.S_IFIFO: "a pipe", stat.S_IFSOCK: "a socket", stat.S_IFCHR: "a device",
    stat.S_IFBLK: "a device",
}  # fmt: skip
_FLAGS = os.O_RDONLY | getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_CLOEXEC", 0) | getattr(os, "O_BINARY", 0)
# What a read can end in that is the file's fault.
_BROKEN = (OSError, EOFError, zlib.error)


@contextlib.contextmanager
def opened(path: Path, most: int = MOST_TENSORS) -> Iterator[IO[bytes]]:
    """A regular file of at most `most` bytes, to read from; anything else is an error that names it."""
    try:
        _check(path, os.stat(path), most)  # opening a device can have effects
        descriptor = os.open(path, _FLAGS)
    except FileNotFoundError as error:
        raise ForesolveError(f"{path} is not there") from error
    except (OSError, ValueError) as error:
        raise ForesolveError(f"{path} cannot be read: {_reason(error)}") from error
    with os.fdopen(descriptor, "rb") as file:
        _check(path, os.fstat(descriptor), most)
        try:
            yield file
        except _BROKEN as error:
            raise ForesolveError(f"{path} cannot be read: {_reason(error)}") from error


def check_file(path: Path, most: int = MOST_TENSORS) -> None:
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
            raise ForesolveError(f"{path} is {_kind(status)}, not a file. Choose another path")


def read_bytes(path: Path, most: int = MOST_TEXT) -> bytes:
    """The content of a file."""
    with opened(path, most) as file:
        content = file.read(min(most, os.fstat(file.fileno()).st_size) + 1)  # `read` makes room for all that it is told
    if len(content) > most:
        raise _too_large(path, len(content), most)
    return content


def read_text(path: Path, most: int = MOST_TEXT, encoding: str = "utf-8", errors: str = "strict") -> str:
    """A text."""
    try:
        return read_bytes(path, most).decode(encoding, errors)
    except UnicodeDecodeError as error:
        raise ForesolveError(f"{path} cannot be read: it is no text in {encoding.upper()} ({error})") from error


@contextlib.contextmanager
def opened_text(path: Path, encoding: str, errors: str = "strict") -> Iterator[IO[str]]:
    """The lines of a text, one after the other."""
    with opened(path, MOST_TEXT) as file, io.TextIOWrapper(file, encoding=encoding, errors=errors) as lines:
        yield lines


@contextlib.contextmanager
def opened_table(path: Path) -> Iterator[IO[bytes]]:
    """The text of a table, decompressed where its name says that it is compressed."""
    with opened(path, MOST_TABLE) as file:
        if path.suffix.lower() != ".gz":
            yield file
            return
        with unpacked(file, path) as content:
            yield content


@contextlib.contextmanager
def unpacked(file: IO[bytes], path: Path, most: int = MOST_TABLE) -> Iterator[IO[bytes]]:
    """The content of an open file that gzip has compressed, as far as it is plausible."""
    most = min(most, UNPACKED + GROWTH * os.fstat(file.fileno()).st_size)
    with gzip.GzipFile(fileobj=file) as content, io.BufferedReader(_Bounded(content, path, most)) as bounded:
        yield bounded


class _Bounded(io.RawIOBase):
    """A stream that ends in an error where it is too long."""

    def __init__(self, stream: Any, path: Path, most: int) -> None:
        self._stream, self._path, self._most, self._left = stream, path, most, most

    def readable(self) -> bool:
        return True

    def readinto(self, buffer: Any) -> int:
        content = self._stream.read(len(buffer))
        self._left -= len(content)
        if self._left < 0:
            raise ForesolveError(f"{self._path} cannot be read: decompressed, it has more than {self._most:,} bytes")
        buffer[: len(content)] = content
        return len(content)


def check_compression(entries: Sequence[zipfile.ZipInfo]) -> None:
    """A `BadZipFile` where entries of a zip archive are compressed other than NumPy and skops do it.

    Python unpacks the other methods whole, whatever size the archive states: a few KB of bzip2 are many GB.
    """
    if any(entry.compress_type not in (zipfile.ZIP_STORED, zipfile.ZIP_DEFLATED) for entry in entries):
        raise zipfile.BadZipFile("it is compressed by another method than zip's own, deflate")


def plausible(shape: Sequence[int], itemsize: int) -> bool:
    """Whether a table can have this shape: the size of its file limits it, unless it takes no bytes at all."""
    takes_none = itemsize == 0 or 0 in shape
    return all(0 <= side <= MOST_EMPTY or (not takes_none and side > 0) for side in shape)


@contextlib.contextmanager
def understood(path: Path) -> Iterator[None]:
    """Invalid entries of a file are reported as damage of the file, in a line that names it."""
    try:
        yield
    except MissingExtraError:
        raise
    except ForesolveError as error:
        text = one_line(error)
        named = str(path) in str(error) or str(path.parent) in str(error)
        if named and text == str(error):
            raise
        raise ForesolveError(text if named else f"{path}: {text}") from error
    except RecursionError as error:
        raise ForesolveError(f"{path} is damaged: it is nested too deeply") from error
    except MemoryError as error:
        raise ForesolveError(f"{path} asks for more memory than there is") from error
    except (KeyError, TypeError, ValueError, AttributeError, IndexError, OverflowError, RuntimeError) as error:
        raise ForesolveError(f"{path} is damaged: {type(error).__name__}: {one_line(error)}") from error


def _reason(error: BaseException) -> str:
    """What the system says, without the path that it repeats."""
    return getattr(error, "strerror", None) or one_line(error)


def one_line(error: BaseException) -> str:
    """What an error says, however many lines it takes; of one that repeats a file, the beginning and the end."""
    text = " ".join(str(error).split())
    return text if len(text) <= LONGEST else f"{text[: LONGEST // 2]} ... {text[-LONGEST // 2 :]}"


def _check(path: Path, status: os.stat_result, most: int) -> None:
    if not stat.S_ISREG(status.st_mode):
        raise ForesolveError(f"{path} is {_kind(status)}, not a file")
    if status.st_size > most:
        raise _too_large(path, status.st_size, most)
    blocks = getattr(status, "st_blocks", None)  # Windows does not say
    if blocks is not None and status.st_size > LARGE and blocks * 512 * HOLLOW < status.st_size:
        raise ForesolveError(
            f"{path} cannot be read: it says that it has {status.st_size:,} bytes, and {blocks * 512:,} are on the disk"
        )


def _kind(status: os.stat_result) -> str:
    return _KINDS.get(stat.S_IFMT(status.st_mode), "something else")


def _too_large(path: Path, size: int, most: int) -> ForesolveError:
    return ForesolveError(f"{path} is too large: it has {size:,} bytes, and at most {most:,} are read")
