"""Time of a step against size and batch, with default threads and with one: `python -m benchmarks.load.curve`.

A step is the layer forward and backward, alone on the machine. A cliff shows as a step from one size to the next that
is much larger than the work grows (`growth`), or as default threads that are slower than one (`default / one`).
"""

from __future__ import annotations

import argparse
import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from benchmarks._harness.places import results
from benchmarks.load.cases import CASES

THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
BATCHES = (1, 8, 32)
LIMIT = 600


def measured(case: str, batch: int, cores: int | None, threads: int | None, seconds: float) -> list[dict[str, Any]]:
    """The records of a process of its own."""
    free = {name: value for name, value in os.environ.items() if name not in THREADS}
    environment = free if threads is None else free | dict.fromkeys(THREADS, str(threads))
    command = [sys.executable, "-m", "benchmarks.load.step", case, "--batch", str(batch), "--seconds", str(seconds)]
    command += [] if cores is None else ["--cores", str(cores)]
    run = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=LIMIT, check=False)
    if run.returncode:
        raise SystemExit(run.stderr)
    return [json.loads(line) for line in run.stdout.splitlines()]


def compared(case: str, batch: int, cores: int | None, seconds: float) -> list[dict[str, Any]]:
    """A row for each size."""
    default, one = (measured(case, batch, cores, threads, seconds) for threads in (None, 1))
    order, rows, before = CASES[case].order, [], None
    for mine, other in zip(default, one, strict=True):
        growth = None
        if before is not None:
            growth = mine["seconds"] / before["seconds"] / (mine["size"] / before["size"]) ** order
        rows.append({"case": case, "batch": batch, "cores": cores, "growth": growth, "size": mine["size"],
                     "seconds": mine["seconds"], "one": other["seconds"],
                     "ratio": mine["seconds"] / other["seconds"]})  # fmt: skip
        before = mine
    return rows


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=list(CASES), default=list(CASES))
    parser.add_argument("--batches", type=int, nargs="+", default=list(BATCHES))
    parser.add_argument("--cores", type=int, help="use this many cores of the machine")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each size")
    parser.add_argument("--out", type=Path, default=results("load") / "curve.json")
    args = parser.parse_args()
    rows = []
    print("case        batch   size        ms   one thread   default / one   growth over the work's")
    for case in args.cases:
        for batch in args.batches:
            for row in compared(case, batch, args.cores, args.seconds):
                rows.append(row)
                growth = "" if row["growth"] is None else f"{row['growth']:.2f}"
                print(
                    f"{case:<10} {batch:6d} {row['size']:6d} {1e3 * row['seconds']:9.2f} {1e3 * row['one']:12.2f} "
                    f"{row['ratio']:15.2f} {growth:>24}",
                    flush=True,
                )
    worst = max(rows, key=lambda row: row["ratio"])
    print(f"worst default / one thread: {worst['ratio']:.2f} ({worst['case']} {worst['size']}, batch {worst['batch']})")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
