"""Time of a step against the number of items and of targets: `python -m benchmarks.submodular.scaling`.

Runs where foresolve is installed. gamma grows with the targets, as grad F does, and k stays: so the free coordinates
remain about as many, and the time should grow with items x targets (slope 1 or less in the logarithms).
"""

from __future__ import annotations

import argparse
import json
import math
import statistics
import time
from pathlib import Path
from typing import Any

import numpy as np
import torch

from benchmarks._harness.places import results
from benchmarks.submodular.catalogue import CHANNELS, CUSTOMERS, GAMMA, TOL, K
from benchmarks.submodular.instances import budget
from benchmarks.submodular.peers.foresolve_layer import build

ITEMS = (100, 200, 400, 800, 1600)
TARGETS = (500, 1000, 2000, 4000, 8000)
CALLS = 5


def measure(items: int, targets: int, batch: int) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(items + targets)
    theta = budget(batch, items, targets, generator).double().numpy()
    v = np.random.default_rng(0).standard_normal(theta.shape[:2])
    forward, backward = build(K, GAMMA * targets / CUSTOMERS, TOL)
    timings = []
    for _ in range(CALLS + 1):
        begin = time.perf_counter()
        x, state = forward(theta)
        middle = time.perf_counter()
        backward(state, v)
        timings.append((middle - begin, time.perf_counter() - middle))
    free = ((x > 1e-9) & (x < 1 - 1e-9)).sum(1).mean()
    ahead, back = (statistics.median(times) / batch for times in zip(*timings[1:]))
    record = {"items": items, "targets": targets, "free": float(free), "forward": ahead, "backward": back}
    print(
        f"{items:5d} x {targets:5d}  forward {1e3 * ahead:8.3f} ms  backward {1e3 * back:8.3f} ms  "
        f"per million entries {(ahead + back) / (items * targets) * 1e9:6.2f} ms  free {free:.1f}",
        flush=True,
    )
    return record


def slope(records: list[dict[str, Any]], key: str) -> float:
    sizes = [math.log(record[key]) for record in records]
    times = [math.log(record["forward"] + record["backward"]) for record in records]
    return float(np.polyfit(sizes, times, 1)[0])


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--out", type=Path, default=results("submodular") / "scaling.json")
    args = parser.parse_args()
    by_items = [measure(items, CUSTOMERS, args.batch) for items in ITEMS]
    by_targets = [measure(CHANNELS, targets, args.batch) for targets in TARGETS]
    report = {
        "batch": args.batch,
        "threads": torch.get_num_threads(),
        "slope_items": slope(by_items, "items"),
        "slope_targets": slope(by_targets, "targets"),
        "records": [*by_items, *by_targets],
    }
    print(f"slopes: {report['slope_items']:.2f} in the items, {report['slope_targets']:.2f} in the targets")
    args.out.parent.mkdir(parents=True, exist_ok=True)
    args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
