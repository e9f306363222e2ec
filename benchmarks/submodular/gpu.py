"""Budget allocation on a CUDA device in float64: `python3 benchmarks/submodular/gpu.py OUT.json`.

Takes foresolve from the checkout's `src`: a machine with torch, numpy and scipy needs no installation. Times are
medians of CUDA-event times of forward plus backward, on theta already on the device and not just seen.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from pathlib import Path
from typing import Any

import torch

sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "src"))

from catalogue import CHANNELS, CUSTOMERS, GAMMA, TOL, K
from peers.unrolled_ascent import residual

from foresolve.data.generated.budget import budget_data
from foresolve.layers.multilinear import MultilinearRelaxation
from foresolve.problems.submodular import SubmodularProblem
from foresolve.sets.functions.coverage import ProbabilisticCoverage
from foresolve.sets.matroids.laminar import UniformMatroid

DRAWS = 3
WARM_UP = 3


def step(layer: Any, problem: Any, theta: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    leaf = theta.clone().requires_grad_()
    x = layer(leaf, problem)
    (gradient,) = torch.autograd.grad(x, leaf, v)
    return x.detach(), gradient


def timed(layer: Any, problem: Any, thetas: torch.Tensor, v: torch.Tensor, repeats: int) -> dict[str, list[float]]:
    """Milliseconds of each call: forward, backward and their sum by CUDA events, the sum by the clock."""
    found: dict[str, list[float]] = {"forward_ms": [], "backward_ms": [], "total_ms": [], "wall_ms": []}
    for call in range(repeats):
        leaf = thetas[call % len(thetas)].clone().requires_grad_()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        torch.cuda.synchronize()
        begin = time.perf_counter()
        marks[0].record()
        x = layer(leaf, problem)
        marks[1].record()
        torch.autograd.grad(x, leaf, v)
        marks[2].record()
        torch.cuda.synchronize()
        found["wall_ms"].append(1e3 * (time.perf_counter() - begin))
        for name, first, last in (("forward_ms", 0, 1), ("backward_ms", 1, 2), ("total_ms", 0, 2)):
            found[name].append(marks[first].elapsed_time(marks[last]))
    return found


def measure(batch: int, repeats: int, device: torch.device) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(batch)
    count = DRAWS * batch
    data = budget_data(count, channels=CHANNELS, customers=CUSTOMERS, features=1, seed=generator)
    thetas = data.theta.double().reshape(DRAWS, batch, CHANNELS, CUSTOMERS)
    v = torch.randn(batch, CHANNELS, dtype=torch.float64, generator=generator)
    problem = SubmodularProblem(ProbabilisticCoverage(), UniformMatroid(CHANNELS, K))
    there = problem.to(device)
    layer = MultilinearRelaxation(gamma=GAMMA, tol=TOL)
    on_device, v_device = thetas.to(device), v.to(device)
    for call in range(WARM_UP):
        step(layer, there, on_device[call % DRAWS], v_device)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats(device)
    resident = torch.cuda.memory_allocated(device)
    found = timed(layer, there, on_device, v_device, repeats)
    peak = torch.cuda.max_memory_allocated(device)

    reached = torch.zeros((), dtype=torch.float64)
    for theta in on_device:
        x, _ = step(layer, there, theta, v_device)
        reached = torch.maximum(reached, residual(x, theta, K, GAMMA).max().cpu())
    x, gradient = step(layer, there, on_device[0], v_device)
    begin = time.perf_counter()
    x_cpu, gradient_cpu = step(layer, problem, thetas[0], v)
    cpu_seconds = time.perf_counter() - begin
    size = gradient_cpu.flatten(1).abs().amax(1)
    gap = (gradient.cpu() - gradient_cpu).flatten(1).abs().amax(1) / size
    return {
        "batch": batch,
        "calls": repeats,
        **{key: statistics.median(values) for key, values in found.items()},
        "total_ms_best": min(found["total_ms"]),
        "residual": float(reached),
        "cpu_first_call_ms": 1e3 * cpu_seconds,
        "peak_bytes": peak,
        "copies_of_theta_above_inputs": (peak - resident) / thetas[0].nbytes,
        "x_difference": float((x.cpu() - x_cpu).abs().max()),
        "gradient_difference": float(gap.max()),
        # An x next to a kink may land on either side of it: how many instances that concerns.
        "gradient_instances_above_1e-4": int((gap > 1e-4).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32, 256])
    parser.add_argument("--repeats", type=int, default=20)
    args = parser.parse_args()
    if not torch.cuda.is_available():
        raise SystemExit("gpu.py needs a CUDA device; torch sees none")
    device = torch.device("cuda")
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name(device),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "records": [],
    }
    for batch in args.batches:
        report["records"].append(measure(batch, args.repeats, device))
        print(json.dumps(report["records"][-1]), flush=True)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
