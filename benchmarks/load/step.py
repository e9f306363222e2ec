"""Seconds of forward and backward of one case, as one line of JSON for each size: run by `curve` and `busy`."""

from __future__ import annotations

import argparse
import json
import os
import statistics
import time


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("case")
    parser.add_argument("--batch", type=int, default=1)
    parser.add_argument("--cores", type=int, help="of this machine that the process may use")
    parser.add_argument("--sizes", type=int, nargs="*")
    parser.add_argument("--seconds", type=float, default=0.5, help="for each size; at least three calls")
    args = parser.parse_args()
    if args.cores:  # before anything counts them
        os.sched_setaffinity(0, sorted(os.sched_getaffinity(0))[: args.cores])
    import torch

    from benchmarks.load.cases import CASES

    case = CASES[args.case]
    for size in args.sizes or case.sizes:
        layer, problem = case.build(size)
        generator = torch.Generator().manual_seed(size)
        times: list[float] = []
        while len(times) < 4 or sum(times) < args.seconds:
            theta = case.theta(size, args.batch, generator).requires_grad_()
            begin = time.perf_counter()
            x = layer(theta, problem)
            x.backward(torch.ones_like(x))
            times.append(time.perf_counter() - begin)
            if sum(times) > 20 * args.seconds:
                break
        times = times[1:] or times  # the first call sets up
        document = {"size": size, "calls": len(times), "seconds": statistics.median(times),
                    "mean": statistics.fmean(times), "least": min(times)}  # fmt: skip
        print(json.dumps(document), flush=True)


if __name__ == "__main__":
    main()
