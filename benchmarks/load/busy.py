"""A step beside other processes that never rest: `python -m benchmarks.load.busy`.

With `c` cores and `b` busy processes beside it, a process that works on one core has a share of `min(1, c / (b + 1))`
of it: a step may take that many times longer, and no more. What takes longer waits for threads of its own. Times are
means over many steps: a scheduler gives a core away for milliseconds at a time, so that single steps take the share of
one, of a half or of none.
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
from benchmarks.load.curve import THREADS

# Cases of a few sizes each: small, middling, large.
STEPS = {"matching": (20, 56, 112), "dense": (40, 112, 320), "path": (7, 20, 40), "portfolio": (40, 112, 320),
         "coverage": (28, 80, 160), "top-k": (200, 1600)}  # fmt: skip
SPIN = "while True: pass"


def steps(case: str, batch: int, cores: int, seconds: float) -> dict[int, float]:
    """Mean seconds of a step by size, with the threads that libraries take by default."""
    environment = {name: value for name, value in os.environ.items() if name not in THREADS}
    command = [
        sys.executable, "-m", "benchmarks.load.step", case, "--batch", str(batch), "--cores", str(cores), "--seconds",
        str(seconds), "--sizes", *map(str, STEPS[case]),
    ]  # fmt: skip
    run = subprocess.run(command, env=environment, capture_output=True, text=True, check=True)
    return {row["size"]: row["mean"] for row in map(json.loads, run.stdout.splitlines())}


def beside(count: int, cores: int) -> list[subprocess.Popen[bytes]]:
    """Busy processes on the same cores."""
    pinned = f"import os; os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[:{cores}])\n{SPIN}"
    return [subprocess.Popen([sys.executable, "-c", pinned]) for _ in range(count)]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--cases", nargs="+", choices=list(STEPS), default=list(STEPS))
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32])
    parser.add_argument("--cores", type=int, default=2)
    parser.add_argument("--seconds", type=float, default=1.0)
    parser.add_argument("--out", type=Path, default=results("load") / "busy.json")
    args = parser.parse_args()
    rows: list[dict[str, Any]] = []
    print("case        batch   size   alone ms   times beside 1 busy process   beside one for each core   share allows")
    for case in args.cases:
        for batch in args.batches:
            alone = steps(case, batch, args.cores, args.seconds)
            slower = []
            for count in (1, args.cores):
                others = beside(count, args.cores)
                try:
                    slower.append(steps(case, batch, args.cores, args.seconds))
                finally:
                    for other in others:
                        other.kill()
                        other.wait()
            for size, seconds in alone.items():
                first, second = (taken[size] / seconds for taken in slower)
                rows.append({"case": case, "batch": batch, "size": size, "cores": args.cores, "alone": seconds,
                             "beside 1": first, "beside each": second})  # fmt: skip
                print(f"{case:<10} {batch:6d} {size:6d} {1e3 * seconds:10.2f} {first:29.2f} {second:26.2f} "
                      f"{(args.cores + 1) / args.cores:14.2f}", flush=True)  # fmt: skip
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(rows, indent=1) + "\n")


if __name__ == "__main__":
    main()
