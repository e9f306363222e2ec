"""Damage that keeps to the format: sound JSON, tensors and archives with wrong content, and checksums that fit it."""

from __future__ import annotations

import copy
import hashlib
import io
import json
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import torch

from foresolve._base import files
from foresolve._base.container import checksum, line_of
from foresolve.data import best
from foresolve.learning.registry import PROBLEMS, REFERENCE

WRONG: tuple[Any, ...] = (
    None, True, -1, 0, 3, 0.5, 1e308, -1e-300, float("nan"), float("inf"), 1000, 2**63, 10**30, "", "x",
    "../x", "\x00", "9" * 5000, [], {}, [[]], [0], [-1, 2], [None], {"__tensor__": "nowhere"}, {"__tuple__": 3},
    {"__pairs__": [[[], 1]]}, {"__counter__": [[1, "x"]]}, {"class": "TopK", "n": 9, "k": 1, "names": None},
    [1] * 100, "a" * 100_000,
)  # fmt: skip
NAMES = (*REFERENCE, *PROBLEMS, "os.system", "builtins.eval", "UniformMatroid", "ProbabilisticCoverage")


def edit(path: Path, rng: np.random.Generator) -> None:
    """Wrong content in a file of its format, whatever that is."""
    kind = path.suffix
    if kind == ".json":
        document = json.loads(path.read_text())
        path.write_text(json.dumps(sealed(mutated(document, rng))))
    elif kind == ".jsonl":
        _edit_lines(path, rng)
    elif kind == ".safetensors":
        _edit_tensors(path, rng)
    elif kind == ".npz":
        _edit_arrays(path, rng)
    else:
        _edit_archive(path, rng)


def sealed(document: Any, tensors: Any = None) -> Any:
    """With a checksum that fits, where there is one."""
    if isinstance(document, dict) and "sha256" in document:
        document["sha256"] = checksum(document, tensors or {})
    return document


def mutated(document: Any, rng: np.random.Generator) -> Any:
    """A document with one to three entries that are missing, doubled, renamed, swapped or of another type."""
    document = copy.deepcopy(document)
    for _ in range(int(rng.integers(1, 4))):
        places = [place for place in _places(document) if place[1] != "sha256"]
        if not places:
            return document
        holder, key = places[int(rng.integers(0, len(places)))]
        other, there = places[int(rng.integers(0, len(places)))]
        value = holder[key]
        match int(rng.integers(0, 8)):
            case 0:
                del holder[key]
            case 1:
                holder[key] = copy.deepcopy(other[there])
            case 2 if isinstance(holder, dict):
                holder[str(rng.choice(("x", "class", "n", "__tuple__", "")))] = holder.pop(key)
            case 3 if isinstance(value, str):
                holder[key] = str(rng.choice(NAMES))
            case 4 if isinstance(value, int | float) and not isinstance(value, bool):
                holder[key] = value * int(rng.choice((-1, 10))) + int(rng.integers(-1, 2))
            case 5 if isinstance(value, list):
                holder[key] = value * int(rng.choice((0, 2)))
            case 6:
                nested: Any = value
                for _ in range(int(rng.choice((1, 3, 300)))):
                    nested = [nested]
                holder[key] = nested
            case _:
                holder[key] = copy.deepcopy(WRONG[int(rng.integers(0, len(WRONG)))])
    return document


def _places(document: Any) -> list[tuple[Any, Any]]:
    """Every entry of a document as the thing that holds it and its key."""
    places, left = [], [document]
    while left:
        holder = left.pop()
        keys = (
            list(holder)
            if isinstance(holder, dict)
            else range(min(len(holder), 50))
            if isinstance(holder, list)
            else ()
        )
        for key in keys:
            places.append((holder, key))
            left.append(holder[key])
    return places


def other_table(table: torch.Tensor, rng: np.random.Generator) -> torch.Tensor:
    """Of another shape, type or content."""
    match int(rng.integers(0, 8)):
        case 0:
            return table.reshape(-1)
        case 1:
            return table[None]
        case 2:
            return table[..., :-1] if table.ndim else table
        case 3:
            return table.to((torch.int64, torch.bool, torch.float16, torch.uint8)[int(rng.integers(0, 4))])
        case 4:
            return torch.zeros(0)
        case 5:
            return table * torch.tensor(1e30).to(table.dtype) if table.is_floating_point() else table.long() + 10**6
        case 6:
            return torch.full_like(table, float("nan")) if table.is_floating_point() else -table.long() - 1
        case _:
            return torch.randperm(max(table.numel(), 1)).reshape(table.shape).to(table.dtype)


def _edit_tables(tables: dict[str, Any], rng: np.random.Generator) -> None:
    name = str(rng.choice(list(tables)))
    if rng.random() < 0.2:
        table = tables.pop(name)
        if rng.random() < 0.5:
            tables["x"] = table
    else:
        tables[name] = other_table(tables[name], rng)


def _edit_tensors(path: Path, rng: np.random.Generator) -> None:
    tensors, document = files.read_tensors(path)
    if tensors and (document is None or rng.random() < 0.4):
        _edit_tables(tensors, rng)
    else:
        document = mutated(document, rng)
    path.write_bytes(files.tensor_bytes(tensors, sealed(document, tensors)))


def _edit_lines(path: Path, rng: np.random.Generator) -> None:
    lines = path.read_text().splitlines()
    at = int(rng.integers(0, len(lines)))
    entry = mutated(json.loads(lines[at]), rng)
    try:
        entry.pop("sha256", None)
        lines[at] = line_of(entry).strip()
    except (ValueError, AttributeError):  # not what JSON holds, or no table any more
        lines[at] = json.dumps(entry)
    path.write_text("\n".join(lines) + "\n" * int(rng.random() < 0.9))


def _edit_arrays(path: Path, rng: np.random.Generator) -> None:
    with np.load(path) as stored:
        arrays = dict(stored)
    tables = {name: torch.from_numpy(array) for name, array in arrays.items() if array.dtype.kind in "fiu"}
    words = [name for name in arrays if name not in tables]
    if words and rng.random() < 0.2:
        arrays[str(rng.choice(words))] = np.array(str(rng.choice(("x", "", "foresolve decisions 1"))))
    else:
        kept = set(tables)
        _edit_tables(tables, rng)
        arrays = {name: array for name, array in arrays.items() if name not in kept}
        arrays |= {name: table.numpy() for name, table in tables.items()}
    if "sha256" in arrays and {"decisions", "values"} <= set(arrays):
        arrays["sha256"] = np.array(best._checksum(arrays))
    np.savez(path, **arrays)  # pyright: ignore[reportArgumentType]


def _edit_archive(path: Path, rng: np.random.Generator) -> None:
    """One member of a zip: its JSON, or its bytes."""
    with zipfile.ZipFile(path) as archive:
        members = {entry.filename: archive.read(entry) for entry in archive.infolist()}
    name = str(rng.choice(list(members)))
    try:
        members[name] = json.dumps(mutated(json.loads(members[name]), rng)).encode()
    except ValueError:
        content = bytearray(members[name])
        content[int(rng.integers(0, max(1, len(content)))) :][:1] = rng.bytes(1)
        members[name] = bytes(content[: int(rng.integers(0, len(content) + 1))] if rng.random() < 0.5 else content)
    target = io.BytesIO()
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED) as archive:
        for member, content in members.items():
            archive.writestr(member, content)
    path.write_bytes(target.getvalue())


def repair_policy(folder: Path) -> None:
    """Let "policy.json" say of its files what they are now."""
    path = folder / "policy.json"
    try:
        document = json.loads(path.read_text())
        for entry in document["files"].values():
            source = folder / entry["name"]
            content = source.read_bytes()
            entry |= {"sha256": hashlib.sha256(content).hexdigest(), "bytes": len(content)}
        path.write_text(json.dumps(sealed(document)))
    except (KeyError, TypeError, AttributeError, ValueError, OSError):
        return
