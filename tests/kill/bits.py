"""What a folder holds, without what the clock has a say in."""

from __future__ import annotations

import csv
import hashlib
import io
import json
import re
from pathlib import Path
from typing import Any

from foresolve._base import files

Bits = dict[str, str]

# Keys of JSON documents that say when something was done, how long it took, or in how many sessions.
# And checksums of all of these together.
OF_THE_CLOCK = {"seconds", "solver_seconds", "finished", "date", "environment", "sha256"}
# A session for each process; a page that shows them; figures of seconds.
SKIPPED = {"sessions.json", "report.html", "cost.png", "cost.svg"}
LOGS = re.compile(r"\.log$")


def bits_of(folder: Path) -> Bits:
    """A digest for each file, by its path in the folder; files of sessions and times are there, whatever they say."""
    paths = (path for path in sorted(folder.rglob("*")) if not path.is_dir())
    return {path.relative_to(folder).as_posix(): _digest(path) for path in paths if not LOGS.search(path.name)}


def _digest(path: Path) -> str:
    if path.name in SKIPPED:
        return "not compared"
    if path.suffix == ".json":
        content = json.dumps(timeless(json.loads(path.read_text(encoding="utf-8"))), sort_keys=True).encode()
    elif path.suffix == ".jsonl":  # workers finish in any order
        lines = path.read_text(encoding="utf-8").splitlines()
        content = "\n".join(sorted(json.dumps(timeless(json.loads(line)), sort_keys=True) for line in lines)).encode()
    elif path.suffix == ".safetensors":
        tensors, document = files.read_tensors(path)
        parts = [f"{name} {tensor.dtype} {tuple(tensor.shape)} {tensor.numpy().tobytes().hex()}"
                 for name, tensor in sorted(tensors.items())]  # fmt: skip
        content = "\n".join([*parts, json.dumps(timeless(document), sort_keys=True)]).encode()
    elif path.suffix == ".csv":
        content = _without_times(path.read_text(encoding="utf-8")).encode()
    else:
        content = path.read_bytes()
    return hashlib.sha256(content).hexdigest()[:16]


def _without_times(text: str) -> str:
    """A table without the columns that the clock has a say in."""
    rows = list(csv.reader(io.StringIO(text)))
    kept = [place for place, title in enumerate(rows[0]) if title not in OF_THE_CLOCK]
    return "\n".join("\t".join(row[place] for place in kept) for row in rows)


def timeless(value: Any) -> Any:
    """A document without what depends on the clock."""
    if isinstance(value, dict):
        return {key: timeless(entry) for key, entry in value.items() if key not in OF_THE_CLOCK}
    return [timeless(entry) for entry in value] if isinstance(value, list) else value


def differences(actual: Bits, expected: Bits) -> str:
    """What a folder has too much, lacks or has otherwise, in words; empty where nothing."""
    told = []
    for what, names in (
        ("litter", sorted(set(actual) - set(expected))),
        ("missing", sorted(set(expected) - set(actual))),
        ("other bits", sorted(name for name in set(actual) & set(expected) if actual[name] != expected[name])),
    ):
        if names:
            told.append(f"{what}: {', '.join(names[:4])}{f' and {len(names) - 4} more' if len(names) > 4 else ''}")
    return "; ".join(told)
