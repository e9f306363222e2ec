"""Shortest path on a 250 x 250 grid, forward and backward: seconds, and peak memory above the imports.

Runs where foresolve is installed: `python -m benchmarks.linear.memory [--size 250] [--batch 1]`.
"""

from __future__ import annotations

import argparse
import json
import time

import torch

import foresolve
from benchmarks._harness.memory import PeakMemory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawTextHelpFormatter)
    parser.add_argument("--size", type=int, default=250)
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--gamma", type=float, default=0.1)
    args = parser.parse_args()
    # torch imports a part of itself in the first backward: that belongs to the imports.
    torch.ones(1, requires_grad=True).backward(torch.ones(1))
    generator = torch.Generator().manual_seed(0)
    arcs = 2 * args.size * (args.size - 1)
    theta = torch.rand(args.batch, arcs, dtype=torch.float64, generator=generator).requires_grad_()
    cotangent = torch.randn(args.batch, arcs, dtype=torch.float64, generator=generator)

    memory = PeakMemory()
    begin = time.perf_counter()
    problem = foresolve.ShortestPath.grid(args.size, args.size)
    layer = foresolve.QuadraticRelaxation(gamma=args.gamma)
    built = time.perf_counter()
    x = layer(theta, problem)
    solved = time.perf_counter()
    after_forward = memory.above_baseline()
    x.backward(cotangent)
    done = time.perf_counter()
    peak = memory.above_baseline()

    rows = args.size**2
    free = int(((x > 1e-9) & (x < 1.0 - 1e-9)).sum())
    print(f"grid {args.size} x {args.size}, batch {args.batch}: {arcs} variables, {rows} rows, {free} free")
    print(f"set-up {built - begin:.2f} s, forward {solved - built:.2f} s, backward {done - solved:.2f} s")
    print(f"peak memory above the imports: {peak / 1e6:.0f} MB, forward alone {after_forward / 1e6:.0f} MB")
    record = {
        "size": args.size,
        "batch": args.batch,
        "setup_s": built - begin,
        "forward_s": solved - built,
        "backward_s": done - solved,
        "peak_bytes": peak,
    }
    print(json.dumps(record))


if __name__ == "__main__":
    main()
