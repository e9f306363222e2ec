"""Generate and save the inputs and the references, where foresolve is installed. Called by run.py.

The reference x is that of a long projected ascent (residual below 1e-12); its gradient is that of the whole ascent, by
autograd, and is checked against central differences of the reference x along one random direction for each instance.
"""

from __future__ import annotations

import json
import os

import numpy as np
import scipy.sparse as sp
import torch

from benchmarks.submodular.catalogue import (
    BATCHES,
    CASES_DIR,
    CHANNELS,
    CUSTOMERS,
    DRAWS,
    GAMMA,
    GREEDY_CASES,
    REFERENCES,
    GreedyCase,
    K,
)
from benchmarks.submodular.heavy_tailed import heavy_tailed
from benchmarks.submodular.instances import budget
from benchmarks.submodular.peers.unrolled_ascent import ascend, residual

STEPS = 150
STEP = 1e-4  # of the differences, along directions of norm 1


def layer_inputs() -> None:
    generator = torch.Generator().manual_seed(2019)
    count = DRAWS * max(BATCHES)
    theta = budget(count, CHANNELS, CUSTOMERS, generator).reshape(DRAWS, -1, CHANNELS, CUSTOMERS).numpy()
    np.save(CASES_DIR / "theta.npy", theta)  # float32 as generated; cast by who reads it
    cotangent = torch.randn(max(BATCHES), CHANNELS, generator=generator, dtype=torch.float64).numpy()
    np.save(CASES_DIR / "cotangent.npy", cotangent)
    reference(theta[:, :REFERENCES].astype(np.float64), np.broadcast_to(cotangent, (DRAWS, *cotangent.shape)))


def reference(theta: np.ndarray, cotangent: np.ndarray) -> None:
    leaf = torch.from_numpy(theta.reshape(-1, CHANNELS, CUSTOMERS)).requires_grad_()
    v = torch.from_numpy(cotangent[:, :REFERENCES].reshape(-1, CHANNELS).copy())
    x = ascend(leaf, K, GAMMA, steps=STEPS, lean=True)
    (gradient,) = torch.autograd.grad(x, leaf, v)
    reached = float(residual(x.detach(), leaf.detach(), K, GAMMA).max())
    assert reached < 1e-12, f"the reference reached {reached:.1e} only"

    generator = torch.Generator().manual_seed(1)
    # Within the support: theta stays in [0, 1], and the instances keep their shape.
    direction = torch.randn(leaf.shape, generator=generator, dtype=leaf.dtype) * (leaf.detach() > 0)
    direction /= direction.flatten(1).norm(dim=1)[:, None, None]
    with torch.no_grad():
        ends = [ascend(leaf + sign * STEP * direction, K, GAMMA, steps=STEPS) for sign in (1.0, -1.0)]
    differences = ((ends[0] - ends[1]) * v).sum(-1) / (2 * STEP)
    gap = ((gradient * direction).flatten(1).sum(1) / differences - 1.0).abs()
    shape = (DRAWS, REFERENCES)
    np.save(CASES_DIR / "reference_x.npy", x.detach().numpy().reshape(*shape, CHANNELS))
    np.save(CASES_DIR / "reference_gradient.npy", gradient.numpy().reshape(*shape, CHANNELS, CUSTOMERS))
    free = ((x > 1e-9) & (x < 1 - 1e-9)).sum(1)
    record = {
        "instances": len(x),
        "residual": reached,
        "differences_median": float(gap.median()),
        "differences_worst": float(gap.max()),
        "free_coordinates": [int(free.min()), float(free.double().mean()), int(free.max())],
    }
    (CASES_DIR / "reference.json").write_text(json.dumps(record, indent=1) + "\n")


def greedy_inputs(name: str, case: GreedyCase) -> None:
    """Every instance as a CSR matrix; budget instances, or random positions with heavy-tailed items and targets."""
    if case.nonzeros is None:
        generator = torch.Generator().manual_seed(2020)
        theta = budget(case.instances, case.items, case.targets, generator)
        stacked = sp.csr_matrix(theta.double().reshape(-1, case.targets).numpy())
    else:
        stacked = heavy_tailed(case.items, case.targets, case.nonzeros)
    if case.binary:
        stacked.data[:] = 1.0
    sp.save_npz(CASES_DIR / f"{name}.npz", stacked, compressed=False)


def main() -> None:
    CASES_DIR.mkdir(parents=True, exist_ok=True)
    layer_inputs()
    for name, case in GREEDY_CASES.items():
        greedy_inputs(name, case)
    scratch = CASES_DIR / "complete.part"
    scratch.write_text("all inputs and references are there\n")
    os.replace(scratch, CASES_DIR / "complete")


if __name__ == "__main__":
    main()
