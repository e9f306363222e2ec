"""50 x 50 matching on a CUDA device in float64: `python3 -m benchmarks.linear.gpu OUT.json`.

Takes foresolve from the checkout's `src`: a machine with torch, numpy and scipy needs no installation.
Times are the median of CUDA-event times of forward plus backward, on theta already on the device.
"""

from __future__ import annotations

import argparse
from typing import Any

import torch

from benchmarks._harness import cuda

DRAWS = 4


def record_of(batch: int, args: argparse.Namespace) -> dict[str, Any]:
    import foresolve

    generator = torch.Generator().manual_seed(batch)
    n = args.size * args.size
    thetas = torch.rand(DRAWS, batch, n, dtype=torch.float64, generator=generator)
    v = torch.randn(batch, n, dtype=torch.float64, generator=generator)
    layer = foresolve.QuadraticRelaxation(gamma=args.gamma)
    here = cuda.Step(layer, foresolve.BipartiteMatching(args.size, args.size), thetas, v)
    measured = cuda.measure(here, args.repeats)
    there, gap = measured.there, measured.gradient_gap
    iterations = torch.as_tensor(layer.solve(there.thetas[0], there.problem).iterations).double().cpu()
    return {
        **measured.record,
        "size": args.size,
        "gamma": args.gamma,
        "peak_bytes_above_inputs": measured.record["peak_bytes"] - measured.resident,
        "iterations_max": float(iterations.max()),
        "iterations_mean": float(iterations.mean()),
        "gradient_difference": float(gap.max()),
        # A theta next to a kink may land on either side of it: how many instances that concerns.
        "gradient_instances_above_1e-6": int((gap > 1e-6).sum()),
    }


def main() -> None:
    parser = cuda.parser(__doc__, [1, 32, 256, 1024], repeats=30)
    parser.add_argument("--size", type=int, default=50)
    parser.add_argument("--gamma", type=float, default=0.1)
    args = parser.parse_args()
    cuda.run(args, lambda batch: record_of(batch, args))


if __name__ == "__main__":
    main()
