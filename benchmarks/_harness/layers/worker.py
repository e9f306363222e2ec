"""Measure one peer on one case, in the peer's environment and in a process of its own. Called by run.py."""

from __future__ import annotations

import argparse
import importlib
import json
import time

import numpy as np
import torch

from benchmarks._harness.layers.accuracy import CHECKED
from benchmarks._harness.memory import PeakMemory
from benchmarks._harness.timing import Calls
from benchmarks._harness.worker import Record, limit_memory, serve

PACKAGES = (
    "foresolve", "torch", "numpy", "qpth", "cvxpylayers", "cvxpy", "diffcp", "scs", "clarabel", "proxsuite", "osqp",
    "moreau",
)  # fmt: skip


def measure(args: argparse.Namespace, record: Record) -> None:
    peer = importlib.import_module(args.module)
    case = importlib.import_module(args.inputs).load(args.case).with_batch(args.batch)
    cotangent = torch.from_numpy(case.cotangent.copy())
    inputs = [[torch.from_numpy(part.copy()) for part in case.leaves(draw)] for draw in range(len(case.theta))]
    record.update(threads=torch.get_num_threads())
    # torch imports a part of itself (0.4 s, 37 MB) in the first backward: that belongs to the imports.
    torch.ones(1, requires_grad=True).backward(torch.ones(1))
    limit_memory(args.memory_limit)
    memory = PeakMemory()
    calls = Calls(len(inputs), budget=args.budget, most=args.most, enough=args.enough, patience=args.patience)
    xs, gradients = [], []
    layer = None
    for call, draw in calls:
        leaves = [part.clone().requires_grad_() for part in inputs[draw]]
        begin = time.perf_counter()
        if layer is None:
            layer = peer.build(case, **json.loads(args.options))
        x = layer(*leaves)
        middle = time.perf_counter()
        x.backward(cotangent)
        calls.took(middle - begin, time.perf_counter() - middle)
        if call < len(inputs):
            xs.append(x.detach().numpy().copy())
            gradients.append([leaf.grad[:CHECKED].numpy().copy() for leaf in leaves])  # type: ignore[index]
            parts = {f"gradient_{k}": np.stack(part) for k, part in enumerate(zip(*gradients, strict=True))}
            np.savez(args.out.with_suffix(".npz"), x=np.stack(xs), **parts)  # type: ignore[arg-type]
        record.update(timings=calls.timings, peak_bytes=memory.above_baseline())


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--module", required=True)
    parser.add_argument("--options", default="{}")
    parser.add_argument("--inputs", required=True, help="the module that loads a case")
    parser.add_argument("--case", required=True)
    parser.add_argument("--batch", type=int, required=True)
    parser.add_argument("--most", type=int, required=True, help="calls")
    parser.add_argument("--enough", type=float, required=True, help="seconds after which the calls suffice")
    parser.add_argument("--patience", type=float, required=True, help="seconds after which any calls suffice")
    parser.add_argument("--memory-limit", type=float, required=True, help="GB above the imports")
    serve(measure, parser, PACKAGES)


if __name__ == "__main__":
    main()
