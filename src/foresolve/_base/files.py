"""Files of tensors and JSON: written whole or not at all, read without running anything."""

from __future__ import annotations

import contextlib
import hashlib
import json
import os
import stat
from collections import Counter
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import IO, Any

import numpy as np
import torch
from torch import Tensor

from foresolve._base import leftovers, reading
from foresolve._base.disk import storage_error, storage_errors
from foresolve._base.extras import need
from foresolve.errors import FileError, ForesolveError

_TENSOR, _TUPLE, _PAIRS, _COUNTER = "__tensor__", "__tuple__", "__pairs__", "__counter__"


@contextlib.contextmanager
def replacing(path: Path) -> Iterator[IO[bytes]]:
    """A file to write to that takes the place of `path`, whole, at the end; the one before stays if anything fails.

    Its permissions are those of the file that it replaces, or of any new file. Errors of the disk name `path`. A device
    or a pipe is refused: the name would be a file's from then on.
    """
    with storage_errors(path):
        reading.check_replaceable(path)
        path.parent.mkdir(parents=True, exist_ok=True)
        temporary, opened = leftovers.begin(path)
    try:
        with opened as file:
            yield file
            file.flush()
            os.fsync(file.fileno())
        if path.exists():
            temporary.chmod(stat.S_IMODE(path.stat().st_mode))
        os.replace(temporary, path)
    except BaseException as error:  # Ctrl-C too
        with contextlib.suppress(OSError):
            temporary.unlink(missing_ok=True)
        if isinstance(error, OSError) and error.filename in (None, str(temporary)) and error.errno is not None:
            raise storage_error(error, path) from error  # a full disk comes without a name
        raise


def write_bytes(path: Path, content: bytes) -> Path:
    """The file appears whole, or the one before stays."""
    with replacing(path) as file:
        file.write(content)
    return path


def write_text(path: Path, text: str) -> Path:
    """Text in UTF-8, written as by `write_bytes`; what that cannot hold (file names that are no text) is escaped."""
    return write_bytes(path, text.encode(errors="backslashreplace"))


def sha256(path: Path) -> str:
    """The checksum of a file, in hexadecimal."""
    with reading.opened(path) as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()  # pyright: ignore[reportArgumentType]


def tensor_bytes(tensors: Mapping[str, Tensor], document: Any = None) -> bytes:
    """Safetensors; the document goes into its header as JSON."""
    library = need("safetensors.torch", "saving", "learn")
    sound = {name: tensor.detach().cpu().contiguous().clone() for name, tensor in tensors.items()}
    metadata = None if document is None else {"json": json.dumps(document)}
    return library.save(sound, metadata=metadata)


def read_tensors(path: Path) -> tuple[dict[str, Tensor], Any]:
    """The tensors of a safetensors file on the CPU, and the document in its header."""
    library = need("safetensors", "loading", "learn")
    reading.check_file(path)
    try:
        with library.safe_open(path, "pt") as file:  # which maps the file into memory: hence copies
            tensors = {name: file.get_tensor(name).clone() for name in file.keys()}  # noqa: SIM118
            text = (file.metadata() or {}).get("json")
    except (library.SafetensorError, OSError, RuntimeError, ValueError, MemoryError) as error:
        raise FileError(path, f"is damaged or no safetensors file: {reading.one_line(error)}") from error
    return tensors, None if text is None else parse_json(text, path)


def read_json(path: Path) -> Any:
    """The document in a JSON file."""
    return parse_json(reading.read_text(path), path)


def parse_json(text: str, path: Path) -> Any:
    """JSON, or an error that names the file."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError) as error:
        raise FileError(path, f"is damaged: it holds no sound JSON ({error})") from error


def field(document: Any, name: str, kind: type | tuple[type, ...], path: Path) -> Any:
    """An entry of a document, of the type it must have."""
    if not isinstance(document, dict) or name not in document or not isinstance(document[name], kind):
        kinds = " or ".join(k.__name__ for k in (kind if isinstance(kind, tuple) else (kind,)))
        actual = type(document[name]).__name__ if isinstance(document, dict) and name in document else "nothing"
        raise FileError(path, f"is damaged: `{name}` must be {kinds}; got {actual}")
    return document[name]


def pack(value: Any, tensors: dict[str, Tensor], name: str) -> Any:
    """`value` as JSON; the tensors in it go to `tensors` under names that start with `name`."""
    if isinstance(value, Tensor):
        if value.layout != torch.strided:
            raise ForesolveError(f"{name} is a sparse tensor, which cannot be saved: make it dense")
        tensors[name] = value
        return {_TENSOR: name}
    if value is None or isinstance(value, bool | int | float | str):
        return value
    if isinstance(value, np.generic):
        return value.item()
    if isinstance(value, list | tuple):
        items = [pack(item, tensors, f"{name}.{i}") for i, item in enumerate(value)]
        return items if isinstance(value, list) else {_TUPLE: items}
    if isinstance(value, dict):
        pairs = [(key, pack(item, tensors, f"{name}.{key}")) for key, item in value.items()]
        plain = all(isinstance(key, str) and not key.startswith("__") for key in value)
        if plain and not isinstance(value, Counter):
            return dict(pairs)
        return {_COUNTER if isinstance(value, Counter) else _PAIRS: [[pack(k, {}, name), item] for k, item in pairs]}
    raise ForesolveError(f"{name} is a {type(value).__name__}, which cannot be saved without pickle")


def unpack(value: Any, tensors: Mapping[str, Tensor], path: Path) -> Any:
    """What `pack` was given, which names each tensor once: more names of one would make more than the file holds."""
    return _unpack(value, dict(tensors), path)


def _unpack(value: Any, tensors: dict[str, Tensor], path: Path) -> Any:
    if isinstance(value, list):
        return [_unpack(item, tensors, path) for item in value]
    if not isinstance(value, dict):
        return value
    mark = next(iter(value)) if len(value) == 1 else ""
    inner = value.get(mark)
    if mark == _TENSOR:
        if not isinstance(inner, str) or inner not in tensors:
            raise FileError(path, f"is damaged: it names a tensor {inner!r:.80} that is not there, or twice")
        return tensors.pop(inner)
    if mark in (_TUPLE, _PAIRS, _COUNTER):
        if not isinstance(inner, list) or (
            mark != _TUPLE and not all(isinstance(pair, list) and len(pair) == 2 for pair in inner)
        ):
            raise FileError(path, f"is damaged: {mark} must hold a list")
        if mark == _TUPLE:
            return tuple(_unpack(item, tensors, path) for item in inner)
        try:
            entries = {_unpack(key, tensors, path): _unpack(item, tensors, path) for key, item in inner}
        except TypeError as error:
            raise FileError(path, f"is damaged: {error}") from error
        return Counter(entries) if mark == _COUNTER else entries
    return {key: _unpack(item, tensors, path) for key, item in value.items()}
