"""Safetensors files, read with their header checked against the file before anything is made.

The format is eight bytes with the length of a header, the header in JSON (for each name a type, a shape and from where
to where its bytes lie), and the bytes. Here they must follow each other without gaps to the end of the file, as the
format wants it, and each range must be as long as its type and shape say.
"""

from __future__ import annotations

import json
import math
import os
from pathlib import Path
from typing import IO, Any, NamedTuple

import torch
from torch import Tensor

from foresolve._base import reading
from foresolve.errors import ForesolveError

DTYPES = {
    "F64": torch.float64, "F32": torch.float32, "F16": torch.float16, "BF16": torch.bfloat16, "C64": torch.complex64,
    "I64": torch.int64, "I32": torch.int32, "I16": torch.int16, "I8": torch.int8, "U8": torch.uint8,
    "U64": torch.uint64, "U32": torch.uint32, "U16": torch.uint16, "BOOL": torch.bool,
    "F8_E4M3": torch.float8_e4m3fn, "F8_E5M2": torch.float8_e5m2,
}  # fmt: skip
METADATA = "__metadata__"


class _Damaged(Exception):
    """Why a file is no sound one."""


class _Entry(NamedTuple):
    begin: int
    end: int
    name: str
    dtype: torch.dtype
    shape: tuple[int, ...]


def read(path: Path) -> tuple[dict[str, Tensor], str | None]:
    """Tensors on the CPU, and the text "json" of the header, `None` where there is none."""
    try:
        with reading.opened(path) as file:
            header, left = _header(file)
            entries = sorted(_entry(name, value) for name, value in header.items() if name != METADATA)
            _check_layout(entries, left)
            tensors = {entry.name: _tensor(file, entry) for entry in entries}
    except (_Damaged, MemoryError, RuntimeError) as error:
        raise ForesolveError(f"{path} is damaged or no safetensors file: {error}") from error
    metadata = header.get(METADATA, {})
    text = metadata.get("json") if isinstance(metadata, dict) else None
    return tensors, text if isinstance(text, str) else None


def _header(file: IO[bytes]) -> tuple[dict[str, Any], int]:
    """The header, and how many bytes come after it."""
    size = os.fstat(file.fileno()).st_size
    length = int.from_bytes(file.read(8), "little")
    if size < 8 or length > min(size - 8, reading.MOST_DOCUMENT):
        raise _Damaged(f"its header says that it has {length:,} bytes")
    try:
        header = json.loads(file.read(length).decode())
    except (ValueError, RecursionError) as error:
        raise _Damaged(f"its header is no sound JSON ({error})") from error
    if not isinstance(header, dict):
        raise _Damaged("its header is no table of tensors")
    return header, size - 8 - length


def _entry(name: str, value: Any) -> _Entry:
    known = isinstance(value, dict) and set(value) == {"dtype", "shape", "data_offsets"}
    if not known or not isinstance(value["dtype"], str) or value["dtype"] not in DTYPES:
        raise _Damaged(f"the header does not say what {name[:60]!r} is")
    numbers = [value["shape"], value["data_offsets"]]
    if not all(isinstance(part, list) and all(type(k) is int and 0 <= k < 2**48 for k in part) for part in numbers):
        raise _Damaged(f"the header does not say how large {name[:60]!r} is")
    dtype, shape, offsets = DTYPES[value["dtype"]], tuple(value["shape"]), value["data_offsets"]
    if len(offsets) != 2 or len(shape) > 32 or not reading.plausible(shape, dtype.itemsize):
        raise _Damaged(f"the shape of {name[:60]!r} cannot be {list(shape)!s:.60}")
    if offsets[1] - offsets[0] != math.prod(shape) * dtype.itemsize:
        raise _Damaged(f"the bytes of {name[:60]!r} are not as many as its shape {list(shape)!s:.60} says")
    return _Entry(offsets[0], offsets[1], name, dtype, shape)


def _check_layout(entries: list[_Entry], size: int) -> None:
    """One after the other, to the end."""
    place = 0
    for entry in entries:
        if entry.begin != place:
            raise _Damaged(f"the bytes of {entry.name[:60]!r} do not follow those before")
        place = entry.end
    if place != size:
        raise _Damaged(f"its tensors say that they have {place:,} bytes; there are {size:,}")


def _tensor(file: IO[bytes], entry: _Entry) -> Tensor:
    """A tensor of its own memory."""
    boolean = entry.dtype == torch.bool
    tensor = torch.empty(entry.shape, dtype=torch.uint8 if boolean else entry.dtype)
    if tensor.numel():
        content = tensor.reshape(-1).view(torch.uint8)
        if file.readinto(memoryview(content.numpy())) != len(content):  # type: ignore[attr-defined]
            raise _Damaged("it breaks off")
        if boolean and int(content.max()) > 1:
            raise _Damaged(f"{entry.name[:60]!r} holds truth values that are neither true nor false")
    return tensor.bool() if boolean else tensor
