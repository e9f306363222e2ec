"""Measure one peer on one case, in the peer's environment and in a process of its own. Called by run.py.

Results are written after every call, so that what was measured before a timeout is kept.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import resource
import time
import traceback
from pathlib import Path

import numpy as np
import torch
from inputs import load
from memory_use import PeakMemory, current_bytes

MAX_CALLS = 40
ENOUGH_SECONDS = 2.0
PACKAGES = (
    "foresolve",
    "torch",
    "numpy",
    "qpth",
    "cvxpylayers",
    "cvxpy",
    "diffcp",
    "scs",
    "clarabel",
    "proxsuite",
    "osqp",
)


def versions() -> dict[str, str]:
    found = {}
    for package in PACKAGES:
        try:
            found[package] = importlib.metadata.version(package)
        except importlib.metadata.PackageNotFoundError:
            continue
    return found


def write(path: Path, record: dict[str, object]) -> None:
    scratch = path.with_suffix(".part")
    scratch.write_text(json.dumps(record))
    os.replace(scratch, path)


def limit_memory(gigabytes: float) -> None:
    """Fail with an error that can be recorded, rather than take the machine down."""
    size = current_bytes("VmSize") + int(gigabytes * 1e9)
    resource.setrlimit(resource.RLIMIT_AS, (size, size))


def measure(args: argparse.Namespace, record: dict[str, object]) -> None:
    module = importlib.import_module(f"peers.{args.module}")
    case = load(args.case).with_batch(args.batch)
    draws = len(case.theta)
    cotangent = torch.from_numpy(case.cotangent.copy())
    thetas = [torch.from_numpy(theta.copy()) for theta in case.theta]
    record["threads"] = torch.get_num_threads()
    # torch imports a part of itself (0.4 s, 37 MB) in the first backward: that belongs to the imports.
    torch.ones(1, requires_grad=True).backward(torch.ones(1))
    limit_memory(args.memory_limit)
    memory = PeakMemory()
    started = time.perf_counter()
    timings: list[tuple[float, float]] = []
    xs, gradients = [], []
    layer = None
    while len(timings) < MAX_CALLS:
        call = len(timings)
        elapsed = time.perf_counter() - started
        last = sum(timings[-1]) if timings else 0.0
        if elapsed + 1.2 * last > args.budget or (call >= draws and elapsed > ENOUGH_SECONDS):
            break
        # After a first pass the fresh draws come round again: never the same theta twice in a row.
        draw = call if call < draws else 1 + (call - 1) % (draws - 1)
        theta = thetas[draw].clone().requires_grad_()
        begin = time.perf_counter()
        if layer is None:
            layer = module.build(case, **json.loads(args.options))
        x = layer(theta)
        middle = time.perf_counter()
        x.backward(cotangent)
        end = time.perf_counter()
        timings.append((middle - begin, end - middle))
        if call < draws:
            xs.append(x.detach().numpy().copy())
            gradients.append(theta.grad.numpy().copy())  # type: ignore[union-attr]
            np.savez(args.out.with_suffix(".npz"), x=np.stack(xs), gradient=np.stack(gradients))
        record.update(timings=timings, peak_bytes=memory.above_baseline())
        write(args.out, record)
    record["status"] = "ok"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True)
    parser.add_argument("--options", default="{}")
    parser.add_argument("--case", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--budget", type=float, required=True, help="seconds for all calls together")
    parser.add_argument("--memory-limit", type=float, required=True, help="GB above the imports")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    record: dict[str, object] = {"status": "started", "versions": versions(), "timings": []}
    write(args.out, record)
    try:
        measure(args, record)
    except BaseException as error:
        record["status"] = "failed"
        record["error"] = f"{type(error).__name__}: {error}".strip()[:500]
        traceback.print_exc()
    write(args.out, record)


if __name__ == "__main__":
    main()
