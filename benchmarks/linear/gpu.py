"""50 x 50 matching on a CUDA device in float64: `python3 benchmarks/linear/gpu.py OUT.json`.

Takes foresolve from the checkout's `src`: a machine with torch, numpy and scipy needs no installation.
Times are the median of CUDA-event times of forward plus backward, on theta already on the device.
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

import foresolve

DRAWS = 4


def step(layer: Any, problem: Any, theta: torch.Tensor, v: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor]:
    leaf = theta.clone().requires_grad_()
    x = layer(leaf, problem)
    x.backward(v)
    assert leaf.grad is not None
    return x.detach(), leaf.grad


Times = dict[str, list[float]]


def timed(layer: Any, problem: Any, thetas: torch.Tensor, v: torch.Tensor, repeats: int) -> Times:
    """Milliseconds of each call: forward, backward and their sum by CUDA events, the sum by the clock."""
    found: Times = {"forward_ms": [], "backward_ms": [], "total_ms": [], "wall_ms": []}
    for call in range(repeats):
        leaf = thetas[call % len(thetas)].clone().requires_grad_()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        torch.cuda.synchronize()
        begin = time.perf_counter()
        marks[0].record()
        x = layer(leaf, problem)
        marks[1].record()
        x.backward(v)
        marks[2].record()
        torch.cuda.synchronize()
        found["wall_ms"].append(1e3 * (time.perf_counter() - begin))
        found["forward_ms"].append(marks[0].elapsed_time(marks[1]))
        found["backward_ms"].append(marks[1].elapsed_time(marks[2]))
        found["total_ms"].append(marks[0].elapsed_time(marks[2]))
    return found


def measure(batch: int, size: int, gamma: float, repeats: int, device: torch.device) -> dict[str, Any]:
    generator = torch.Generator().manual_seed(batch)
    n = size * size
    thetas = torch.rand(DRAWS, batch, n, dtype=torch.float64, generator=generator)
    v = torch.randn(batch, n, dtype=torch.float64, generator=generator)
    problem = foresolve.BipartiteMatching(size, size)
    there = problem.to(device)
    layer = foresolve.QuadraticRelaxation(gamma=gamma)
    on_device, v_device = thetas.to(device), v.to(device)
    for theta in on_device[:3]:
        step(layer, there, theta, v_device)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats(device)
    resident = torch.cuda.memory_allocated(device)
    found = timed(layer, there, on_device, v_device, repeats)
    peak = torch.cuda.max_memory_allocated(device)

    x, gradient = step(layer, there, on_device[0], v_device)
    begin = time.perf_counter()
    x_cpu, gradient_cpu = step(layer, problem, thetas[0], v)
    cpu_seconds = time.perf_counter() - begin
    iterations = torch.as_tensor(layer.solve(on_device[0], there).iterations).double().cpu()
    gradient_gap = (gradient.cpu() - gradient_cpu).abs().amax(dim=1)
    return {
        "batch": batch,
        "size": size,
        "gamma": gamma,
        "calls": repeats,
        **{key: statistics.median(values) for key, values in found.items()},
        "total_ms_best": min(found["total_ms"]),
        "cpu_first_call_ms": 1e3 * cpu_seconds,
        "peak_bytes": peak,
        "peak_bytes_above_inputs": peak - resident,
        "iterations_max": float(iterations.max()),
        "iterations_mean": float(iterations.mean()),
        "x_difference": float((x.cpu() - x_cpu).abs().max()),
        "gradient_difference": float(gradient_gap.max()),
        # A theta next to a kink may land on either side of it: how many instances that concerns.
        "gradient_instances_above_1e-6": int((gradient_gap > 1e-6).sum()),
    }


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--batches", type=int, nargs="+", default=[1, 32, 256, 1024])
    parser.add_argument("--size", type=int, default=50)
    parser.add_argument("--gamma", type=float, default=0.1)
    parser.add_argument("--repeats", type=int, default=30)
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
        record = measure(batch, args.size, args.gamma, args.repeats, device)
        report["records"].append(record)
        print(json.dumps(record), flush=True)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(report, indent=1) + "\n")


if __name__ == "__main__":
    main()
