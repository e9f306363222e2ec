"""Peak memory of one forward and backward pass, in float64 copies of theta: `python benchmarks/submodular/memory.py`.

Runs where foresolve is installed, after run.py has saved the inputs. Resident memory of a fresh process, above what
it holds with the libraries and theta loaded: the result and the gradient (one copy by itself) are counted, theta is
not. Freed memory that the allocator keeps is counted too, so the figure can only be too large.
"""

from __future__ import annotations

import argparse
import importlib
import json
from pathlib import Path

import numpy as np
import torch
from catalogue import BENCHMARKS, CASES_DIR, GAMMA, PEERS, TOL, K
from memory_use import PeakMemory


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--peer", choices=list(PEERS), default="foresolve")
    parser.add_argument("--out", type=Path, default=BENCHMARKS / "results" / "submodular" / "memory.json")
    args = parser.parse_args()
    if not (CASES_DIR / "complete").exists():
        raise SystemExit(f"no inputs in {CASES_DIR}: run benchmarks/submodular/run.py first")
    peer = PEERS[args.peer]
    forward, backward = importlib.import_module(f"peers.{peer.module}").build(K, GAMMA, TOL, **peer.options)
    # What the libraries load or start at their first use belongs to the imports.
    _, kept = forward(np.random.default_rng(0).uniform(0.0, 0.2, (2, 20, 30)))
    backward(kept, np.ones((2, 20)))
    del kept

    theta = np.load(CASES_DIR / "theta.npy", mmap_mode="r")[0, : args.batch].astype(np.float64)
    v = np.load(CASES_DIR / "cotangent.npy")[: args.batch]
    memory = PeakMemory()
    x, kept = forward(theta)
    after_forward = memory.above_baseline()
    gradient = backward(kept, v)
    peak = memory.above_baseline()
    record = {
        "peer": args.peer,
        "batch": args.batch,
        "theta_bytes": theta.nbytes,
        "peak_bytes": peak,
        "copies": peak / theta.nbytes,
        "copies_forward": after_forward / theta.nbytes,
        "threads": torch.get_num_threads(),
    }
    assert gradient.nbytes == theta.nbytes
    assert x.shape == v.shape
    print(
        f"{args.peer}, batch {args.batch}: {peak / 1e6:.0f} MB above theta ({theta.nbytes / 1e6:.1f} MB), "
        f"{record['copies']:.2f} copies of it; forward alone {record['copies_forward']:.2f}"
    )
    if args.peer == "foresolve":
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(record, indent=1) + "\n")


if __name__ == "__main__":
    main()
