"""Measure one peer on one case, in the peer's environment and in a process of its own. Called by run.py."""

from __future__ import annotations

import argparse
import importlib
import json
import time

import numpy as np
import torch

from benchmarks._harness.memory import PeakMemory
from benchmarks._harness.timing import Calls
from benchmarks._harness.worker import Record, limit_memory, serve
from benchmarks.linear.inputs import load

MAX_CALLS = 40
ENOUGH_SECONDS = 2.0
PACKAGES = (
    "foresolve", "torch", "numpy", "qpth", "cvxpylayers", "cvxpy", "diffcp", "scs", "clarabel", "proxsuite", "osqp",
)  # fmt: skip


def measure(args: argparse.Namespace, record: Record) -> None:
    peer = importlib.import_module(f"benchmarks.linear.peers.{args.module}")
    case = load(args.case).with_batch(args.batch)
    cotangent = torch.from_numpy(case.cotangent.copy())
    thetas = [torch.from_numpy(theta.copy()) for theta in case.theta]
    record.update(threads=torch.get_num_threads())
    # torch imports a part of itself (0.4 s, 37 MB) in the first backward: that belongs to the imports.
    torch.ones(1, requires_grad=True).backward(torch.ones(1))
    limit_memory(args.memory_limit)
    memory = PeakMemory()
    calls = Calls(len(thetas), budget=args.budget, most=MAX_CALLS, enough=ENOUGH_SECONDS)
    xs, gradients = [], []
    layer = None
    for call, draw in calls:
        theta = thetas[draw].clone().requires_grad_()
        begin = time.perf_counter()
        if layer is None:
            layer = peer.build(case, **json.loads(args.options))
        x = layer(theta)
        middle = time.perf_counter()
        x.backward(cotangent)
        calls.took(middle - begin, time.perf_counter() - middle)
        if call < len(thetas):
            xs.append(x.detach().numpy().copy())
            gradients.append(theta.grad.numpy().copy())  # type: ignore[union-attr]
            np.savez(args.out.with_suffix(".npz"), x=np.stack(xs), gradient=np.stack(gradients))
        record.update(timings=calls.timings, peak_bytes=memory.above_baseline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True)
    parser.add_argument("--options", default="{}")
    parser.add_argument("--case", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--memory-limit", type=float, required=True, help="GB above the imports")
    serve(measure, parser, PACKAGES)


if __name__ == "__main__":
    main()
