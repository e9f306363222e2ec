"""Peak memory of one forward and backward pass, in float64 copies of theta: `python -m benchmarks.submodular.memory`.

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

from benchmarks._harness.memory import PeakMemory
from benchmarks._harness.places import results
from benchmarks.submodular.catalogue import CASES_DIR, GAMMA, PEERS, TOL, K


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--batch", type=int, default=32)
    parser.add_argument("--peer", choices=list(PEERS), default="foresolve")
    parser.add_argument("--out", type=Path, default=results("submodular") / "memory.json")
    args = parser.parse_args()
    if not (CASES_DIR / "complete").exists():
        raise SystemExit(f"no inputs in {CASES_DIR}: run `make bench-submodular` first")
    peer = PEERS[args.peer]
    module = importlib.import_module(f"benchmarks.submodular.peers.{peer.module}")
    forward, backward = module.build(K, GAMMA, TOL, **peer.options)
    # What the libraries load or start at their first use belongs to the imports.
    _, state = forward(np.random.default_rng(0).uniform(0.0, 0.2, (2, 20, 30)))
    backward(state, np.ones((2, 20)))
    del state

    theta = np.load(CASES_DIR / "theta.npy", mmap_mode="r")[0, : args.batch].astype(np.float64)
    v = np.load(CASES_DIR / "cotangent.npy")[: args.batch]
    memory = PeakMemory()
    x, state = forward(theta)
    after_forward = memory.above_baseline()
    gradient = backward(state, v)
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
