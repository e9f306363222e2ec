"""The driver's side of a worker process: start it, limit it, read what it recorded. Standard library only.

A worker is a module run with `--budget SECONDS --out RECORD.json` after its own arguments (`worker.serve`). It writes
its record after every call, so that what was measured before a timeout is kept.
"""

from __future__ import annotations

import json
import os
import subprocess
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from benchmarks._harness.places import REPOSITORY

IMPORT_SECONDS = 30.0
THREADS = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS", "NUMBA_NUM_THREADS", "RAYON_NUM_THREADS")


@dataclass(frozen=True)
class Limits:
    """Seconds for the calls of a worker (its imports come on top), and its threads (None: its own choice)."""

    timeout: float
    threads: int | None = None


def environment(threads: int | None) -> dict[str, str]:
    return {**os.environ, **({name: str(threads) for name in THREADS} if threads else {})}


def run_module(python: Path, module: str, *arguments: object, threads: int | None = None) -> str:
    """What the module prints; errors are raised."""
    command = [str(python), "-m", module, *map(str, arguments)]
    process = subprocess.run(
        command, cwd=REPOSITORY, env=environment(threads), check=True, text=True, stdout=subprocess.PIPE
    )
    return process.stdout


def record_of(python: Path, module: str, arguments: Sequence[object], limits: Limits, folder: Path) -> dict[str, Any]:
    """The record that a worker writes, whatever becomes of the worker; other files of its stay in `folder`."""
    out = folder / "record.json"
    command = [str(python), "-m", module, *map(str, arguments), "--budget", str(limits.timeout), "--out", str(out)]
    allowed = limits.timeout + IMPORT_SECONDS
    try:
        process = subprocess.run(
            command, cwd=REPOSITORY, env=environment(limits.threads), capture_output=True, text=True, timeout=allowed
        )
        outcome = {"status": "failed", "error": f"exit status {process.returncode}: {process.stderr.strip()[-300:]}"}
    except subprocess.TimeoutExpired:
        outcome = {"status": "timeout", "error": f"stopped after {allowed:g} s, imports included"}
    record = json.loads(out.read_text()) if out.exists() else {**outcome, "timings": []}
    if record["status"] == "started":
        record.update(outcome)
    return record
