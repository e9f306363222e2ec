"""NumPy's archives (`.npz`), read without trust in what they say of themselves; nothing in them is run."""

from __future__ import annotations

import math
import zipfile
from pathlib import Path
from typing import IO, Any

import numpy as np

from foresolve._base import reading
from foresolve.errors import ForesolveError

MOST_ARRAYS = 10_000
_HEADERS = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}


def read_arrays(path: Path) -> dict[str, np.ndarray]:
    """The arrays of an archive by name; at most 256 MB and a hundred times the size of the file, decompressed."""
    try:
        with reading.opened(path) as file, zipfile.ZipFile(file) as archive:
            entries = archive.infolist()
            total, most = sum(entry.file_size for entry in entries), reading.UNPACKED + reading.GROWTH * _size(file)
            if len(entries) > MOST_ARRAYS or total > most:
                what = f"{len(entries):,} arrays of {total:,} bytes"
                raise ForesolveError(f"{path} is too large: it says that it holds {what}, and {most:,} are read")
            if len({entry.filename for entry in entries}) < len(entries):
                raise ForesolveError(f"{path} is damaged: it has an array twice")
            reading.check_compression(entries)
            return {entry.filename.removesuffix(".npy"): _array(archive, entry) for entry in entries}
    except ForesolveError:
        raise
    except Exception as error:  # whatever zipfile and NumPy stumble over: both parse what the file says
        reason = reading.one_line(error).partition(". ")[0] or type(error).__name__
        raise ForesolveError(f"{path} is damaged or no archive of arrays: {reason}") from error


def _size(file: IO[bytes]) -> int:
    place = file.seek(0, 2)
    file.seek(0)
    return place


def _array(archive: zipfile.ZipFile, entry: zipfile.ZipInfo) -> np.ndarray:
    """One of them, if its header claims as many bytes as there are."""
    with archive.open(entry) as stream:
        shape, dtype = _header(stream)
        if dtype.hasobject or dtype.kind not in "fiubUSMm":
            raise ValueError(f"{entry.filename!r} holds {dtype}, not numbers, text or times")
        claimed = math.prod(shape) * dtype.itemsize
        if not reading.plausible(shape, dtype.itemsize) or stream.tell() + claimed != entry.file_size:
            raise ValueError(
                f"{entry.filename!r} says that its shape is {str(shape)[:60]}, which does not fit its size"
            )
    with archive.open(entry) as stream:
        return np.lib.format.read_array(stream, allow_pickle=False)


def _header(stream: IO[bytes]) -> tuple[tuple[int, ...], np.dtype[Any]]:
    version = np.lib.format.read_magic(stream)
    if version not in _HEADERS:
        raise ValueError(f"the format {version} is not known")
    shape, _, dtype = _HEADERS[version](stream)
    return shape, dtype
