"""A worker's side: arguments in, a record out, in a process of its own. Standard library only."""

from __future__ import annotations

import argparse
import importlib.metadata
import json
import os
import resource
import traceback
from collections.abc import Callable, Iterable
from pathlib import Path
from typing import Any

from benchmarks._harness.memory import current_bytes


class Record:
    """What a worker has measured so far; every update is written whole."""

    def __init__(self, path: Path, **fields: Any) -> None:
        self.path = path
        self.fields = fields
        self.update()

    def update(self, **fields: Any) -> None:
        self.fields.update(fields)
        scratch = self.path.with_suffix(".part")
        scratch.write_text(json.dumps(self.fields))
        os.replace(scratch, self.path)

    def raise_to(self, **fields: float) -> None:
        """Keep the largest value of each field over all calls."""
        self.update(**{name: max(value, self.fields.get(name, value)) for name, value in fields.items()})


def versions(packages: Iterable[str]) -> dict[str, str]:
    installed = {}
    for package in packages:
        try:
            installed[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return installed


def limit_memory(gigabytes: float) -> None:
    """Fail with an error that can be recorded, rather than take the machine down."""
    size = current_bytes("VmSize") + int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def serve(
    measure: Callable[[argparse.Namespace, Record], None], parser: argparse.ArgumentParser, packages: Iterable[str]
) -> None:
    """Parse, measure, and record the error where there is one."""
    parser.add_argument("--budget", type=float, required=True, help="seconds for all calls together")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    record = Record(args.out, status="started", versions=versions(packages), timings=[])
    try:
        measure(args, record)
        record.update(status="ok")
    except BaseException as error:
        record.update(status="failed", error=f"{type(error).__name__}: {error}".strip()[:500])
        traceback.print_exc()
