"""Measure one contender on one batch, in a process of its own. Called by run.py.

Results are written after every call, so that what was measured before a timeout is kept.
"""

from __future__ import annotations

import argparse
import importlib
import importlib.metadata
import json
import os
import time
import traceback
from pathlib import Path

import numpy as np
import torch
from catalogue import CASES_DIR, DRAWS, GAMMA, PEERS, REFERENCES, TOL, K
from memory_use import PeakMemory
from peers.unrolled_ascent import residual

MAX_CALLS = 30
ENOUGH_SECONDS = 3.0


def write(path: Path, record: dict[str, object]) -> None:
    scratch = path.with_suffix(".part")
    scratch.write_text(json.dumps(record))
    os.replace(scratch, path)


def accuracy(draw: int, theta: np.ndarray, x: np.ndarray, gradient: np.ndarray, smoothed: bool) -> dict[str, float]:
    """Residual at gamma, and distances from the reference: of x, and of the gradient relative to its largest entry."""
    if not smoothed:
        return {}
    reached = residual(torch.from_numpy(x), torch.from_numpy(theta), K, GAMMA)
    found = {"residual": float(reached.max())}
    count = min(len(x), REFERENCES)
    for name, mine in (("x", x), ("gradient", gradient)):
        true = np.load(CASES_DIR / f"reference_{name}.npy", mmap_mode="r")[draw, :count]
        axes = tuple(range(1, true.ndim))
        size = np.abs(true).max(axis=axes) if name == "gradient" else 1.0
        found[f"{name}_error"] = float((np.abs(mine[:count] - true).max(axis=axes) / size).max())
    return found


def measure(args: argparse.Namespace, record: dict[str, object]) -> None:
    peer = PEERS[args.peer]
    count = min(args.batch, peer.most or args.batch)
    thetas = np.load(CASES_DIR / "theta.npy", mmap_mode="r")[:, :count]
    v = np.load(CASES_DIR / "cotangent.npy")[:count]
    forward, backward = importlib.import_module(f"peers.{peer.module}").build(K, GAMMA, TOL, **peer.options)
    record.update(threads=torch.get_num_threads(), instances=count)
    # torch imports a part of itself in the first backward: that belongs to the imports.
    torch.ones(1, requires_grad=True).backward(torch.ones(1))
    timings: list[tuple[float, float]] = []
    started = time.perf_counter()
    while len(timings) < MAX_CALLS:
        call = len(timings)
        elapsed = time.perf_counter() - started
        last = sum(timings[-1]) if timings else 0.0
        if elapsed + 1.2 * last > args.budget or (call >= DRAWS and elapsed > ENOUGH_SECONDS):
            break
        draw = call % DRAWS  # never the same theta twice in a row
        theta = thetas[draw].astype(np.float64)
        memory = PeakMemory()
        begin = time.perf_counter()
        x, kept = forward(theta)
        middle = time.perf_counter()
        gradient = backward(kept, v)
        end = time.perf_counter()
        timings.append((middle - begin, end - middle))
        record["peak_bytes"] = max(int(record.get("peak_bytes", 0)), memory.above_baseline())  # type: ignore[call-overload]
        if call < DRAWS:
            for name, value in accuracy(draw, theta, x, gradient, peer.smoothed).items():
                record[name] = max(float(record.get(name, 0.0)), value)  # type: ignore[arg-type]
            # What the contenders that follow the same recipe must agree on.
            record[f"checksum_{draw}"] = float((gradient[0] * theta[0]).sum())
        del x, kept, gradient
        record["timings"] = timings
        write(args.out, record)
    record["status"] = "ok"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, choices=list(PEERS))
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--budget", type=float, required=True, help="seconds for all calls together")
    parser.add_argument("--out", type=Path, required=True)
    args = parser.parse_args()
    versions = {name: importlib.metadata.version(name) for name in ("torch", "numpy")}
    record: dict[str, object] = {"status": "started", "versions": versions, "timings": []}
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
