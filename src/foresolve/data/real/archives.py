"""Archives from the net: downloaded whole, unpacked without trust in the paths inside, put in place in one step."""

from __future__ import annotations

import http.client
import lzma
import struct
import tarfile
import urllib.request
import zipfile
import zlib
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager
from functools import partial
from pathlib import Path, PurePosixPath
from typing import IO

from foresolve._base import reading
from foresolve._base.text import line_of
from foresolve.errors import ForesolveError

CHUNK = 2**18
PATIENCE = 30.0  # seconds without an answer

# What Python's readers stumble over in a damaged archive; a position outside of the file is an OSError or ValueError.
_DAMAGE = (
    tarfile.TarError, zipfile.BadZipFile, zlib.error, lzma.LZMAError, struct.error, EOFError, RuntimeError, OSError,
    ValueError, OverflowError, IndexError,
)  # fmt: skip

Progress = Callable[[int, int | None], None]


def download(url: str, path: Path, progress: Progress | None, by_hand: str) -> None:
    """Write what `url` sends to `path`; `progress` hears of the bytes that came and of all there are, if known.

    `by_hand` says what else a user can do, for the message where it fails.
    """
    try:
        with urllib.request.urlopen(url, timeout=PATIENCE) as answer:
            length = answer.headers.get("Content-Length")
            total = int(length) if length is not None and length.isdecimal() else None
            with path.open("wb") as out:
                came = _copy(answer, out, lambda done: progress(done, total) if progress is not None else None)
    except (OSError, ValueError, http.client.HTTPException) as error:  # URLError is an OSError
        reason = getattr(error, "reason", None) or error
        raise ForesolveError(
            f"could not fetch {url}: {reason}", remedy=f"See whether there is a network. {by_hand}"
        ) from error
    if total is not None and came != total:
        raise ForesolveError(f"{url} broke off after {came:,} of {total:,} bytes", remedy=f"Try again. {by_hand}")


def extract(archive: Path, names: Collection[str], folder: Path, origin: str) -> set[str]:
    """Copy the files of these names, in whatever folder of the archive, into `folder`; returns those that it has.

    A name of ours is the only path that is written to: paths and links of the archive never are. Where a name occurs
    several times, the shortest path counts. `origin` is what messages call the archive.
    """
    extracted: set[str] = set()
    reading.check_file(archive)
    try:
        with _opened(archive) as members:
            for name in names:
                paths = [path for path in members if PurePosixPath(path).name == name]
                if not paths:
                    continue
                stream = members[min(paths, key=len)]()
                if stream is not None:
                    with stream, (folder / name).open("wb") as out:
                        _copy(stream, out)
                    extracted.add(name)
    except _DAMAGE as error:
        raise ForesolveError(
            f"what came from {origin} is not a sound zip or tar file: {line_of(error)}",
            remedy="Try again",
        ) from error
    return extracted


def move_all(folder: Path, target: Path) -> None:
    """Move the files of a folder into `target`, on the same file system: all of them, or none."""
    if not target.exists():
        folder.rename(target)
        return
    moved: list[Path] = []
    try:
        for path in sorted(folder.iterdir()):
            path.rename(target / path.name)
            moved.append(target / path.name)
    except OSError:
        for path in moved:
            path.unlink()
        raise


@contextmanager
def _opened(archive: Path) -> Iterator[dict[str, Callable[[], IO[bytes] | None]]]:
    """The regular files of a zip or tar archive: how to open each, by its path in the archive."""
    if zipfile.is_zipfile(archive):
        with zipfile.ZipFile(archive) as packed:
            yield {entry.filename: partial(packed.open, entry) for entry in packed.infolist() if not entry.is_dir()}
    else:
        with tarfile.open(archive) as tar:
            yield {entry.name: partial(tar.extractfile, entry) for entry in tar if entry.isfile()}


def _copy(stream: IO[bytes], out: IO[bytes], tell: Callable[[int], None] = lambda done: None) -> int:
    """Everything from one stream to another; returns the bytes."""
    came = 0
    while block := stream.read(CHUNK):
        came += len(block)
        _write(out, block)
        tell(came)
    return came


def _write(out: IO[bytes], block: bytes) -> None:
    """With an error of its own, which nobody takes for damage of the archive or for a broken connection."""
    try:
        out.write(block)
        out.flush()
    except OSError as error:
        raise ForesolveError(
            f"{out.name} cannot be written: {error.strerror}", remedy="Make room or name another folder"
        ) from error
