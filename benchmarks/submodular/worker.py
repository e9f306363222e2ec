"""Measure one contender on one batch, in a process of its own. Called by run.py."""

from __future__ import annotations

import argparse
import importlib
import time

import numpy as np
import torch

from benchmarks._harness.memory import PeakMemory
from benchmarks._harness.timing import Calls
from benchmarks._harness.worker import Record, serve
from benchmarks.submodular.catalogue import CASES_DIR, DRAWS, GAMMA, PEERS, REFERENCES, TOL, K
from benchmarks.submodular.peers.unrolled_ascent import residual

MAX_CALLS = 30
ENOUGH_SECONDS = 3.0


def accuracy(draw: int, theta: np.ndarray, x: np.ndarray, gradient: np.ndarray) -> dict[str, float]:
    """Residual at gamma, and distances from the reference: of x, and of the gradient relative to its largest entry."""
    distances = {"residual": float(residual(torch.from_numpy(x), torch.from_numpy(theta), K, GAMMA).max())}
    count = min(len(x), REFERENCES)
    for name, mine in (("x", x), ("gradient", gradient)):
        true = np.load(CASES_DIR / f"reference_{name}.npy", mmap_mode="r")[draw, :count]
        axes = tuple(range(1, true.ndim))
        size = np.abs(true).max(axis=axes) if name == "gradient" else 1.0
        distances[f"{name}_error"] = float((np.abs(mine[:count] - true).max(axis=axes) / size).max())
    return distances


def measure(args: argparse.Namespace, record: Record) -> None:
    peer = PEERS[args.peer]
    count = min(args.batch, peer.most or args.batch)
    thetas = np.load(CASES_DIR / "theta.npy", mmap_mode="r")[:, :count]
    v = np.load(CASES_DIR / "cotangent.npy")[:count]
    module = importlib.import_module(f"benchmarks.submodular.peers.{peer.module}")
    forward, backward = module.build(K, GAMMA, TOL, **peer.options)
    record.update(threads=torch.get_num_threads(), instances=count)
    # torch imports a part of itself in the first backward: that belongs to the imports.
    torch.ones(1, requires_grad=True).backward(torch.ones(1))
    calls = Calls(DRAWS, budget=args.budget, most=MAX_CALLS, enough=ENOUGH_SECONDS)
    for call, draw in calls:
        theta = thetas[draw].astype(np.float64)
        memory = PeakMemory()
        begin = time.perf_counter()
        x, state = forward(theta)
        middle = time.perf_counter()
        gradient = backward(state, v)
        calls.took(middle - begin, time.perf_counter() - middle)
        record.raise_to(peak_bytes=memory.above_baseline())
        if call < DRAWS:
            record.raise_to(**(accuracy(draw, theta, x, gradient) if peer.smoothed else {}))
            # What the contenders that follow the same recipe must agree on.
            record.update(**{f"checksum_{draw}": float((gradient[0] * theta[0]).sum())})
        del x, state, gradient
        record.update(timings=calls.timings)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--peer", required=True, choices=list(PEERS))
    parser.add_argument("--batch", type=int, required=True)
    serve(measure, parser, ("torch", "numpy"))


if __name__ == "__main__":
    main()
