"""Forward and backward on a CUDA device in float64, timed by CUDA events, beside the CPU's answer.

Takes foresolve from the checkout's `src`: a machine with torch, numpy and scipy needs no installation.
"""

from __future__ import annotations

import argparse
import json
import statistics
import sys
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from torch import Tensor

from benchmarks._harness.places import REPOSITORY

sys.path.insert(0, str(REPOSITORY / "src"))

WARM_UP = 3


@dataclass(frozen=True)
class Step:
    """A layer on one problem, `thetas` (draws, batch, ...) and a cotangent, all on one device."""

    layer: Any
    problem: Any
    thetas: Tensor
    v: Tensor

    def to(self, device: torch.device) -> Step:
        return Step(self.layer, self.problem.to(device), self.thetas.to(device), self.v.to(device))

    def __call__(self, draw: int) -> tuple[Tensor, Tensor]:
        """x and the gradient for theta."""
        leaf = self.thetas[draw % len(self.thetas)].clone().requires_grad_()
        x = self.layer(leaf, self.problem)
        (gradient,) = torch.autograd.grad(x, leaf, self.v)
        return x.detach(), gradient


def timed(step: Step, repeats: int) -> dict[str, list[float]]:
    """Milliseconds of each call: forward, backward and their sum by CUDA events, the sum by the clock."""
    times: dict[str, list[float]] = {"forward_ms": [], "backward_ms": [], "total_ms": [], "wall_ms": []}
    for call in range(repeats):
        leaf = step.thetas[call % len(step.thetas)].clone().requires_grad_()
        marks = [torch.cuda.Event(enable_timing=True) for _ in range(3)]
        torch.cuda.synchronize()
        begin = time.perf_counter()
        marks[0].record()
        x = step.layer(leaf, step.problem)
        marks[1].record()
        torch.autograd.grad(x, leaf, step.v)
        marks[2].record()
        torch.cuda.synchronize()
        times["wall_ms"].append(1e3 * (time.perf_counter() - begin))
        for name, first, last in (("forward_ms", 0, 1), ("backward_ms", 1, 2), ("total_ms", 0, 2)):
            times[name].append(marks[first].elapsed_time(marks[last]))
    return times


@dataclass(frozen=True)
class Measurement:
    """What one batch took, and the first draw's answers on both devices."""

    record: dict[str, Any]
    there: Step
    resident: int
    x_cpu: Tensor
    gradient_cpu: Tensor
    gradient_gap: Tensor


def measure(here: Step, repeats: int) -> Measurement:
    """Warm up, time, and compare with the CPU; `here` lies on the CPU."""
    device = torch.device("cuda")
    there = here.to(device)
    for call in range(WARM_UP):
        there(call)
    torch.cuda.synchronize()
    torch.cuda.reset_peak_memory_stats(device)
    resident = torch.cuda.memory_allocated(device)
    times = timed(there, repeats)
    peak = torch.cuda.max_memory_allocated(device)
    x, gradient = (part.cpu() for part in there(0))
    begin = time.perf_counter()
    x_cpu, gradient_cpu = here(0)
    cpu_seconds = time.perf_counter() - begin
    record = {
        "batch": len(here.v),
        "calls": repeats,
        **{key: statistics.median(values) for key, values in times.items()},
        "total_ms_best": min(times["total_ms"]),
        "cpu_first_call_ms": 1e3 * cpu_seconds,
        "peak_bytes": peak,
        "x_difference": float((x - x_cpu).abs().max()),
    }
    gap = (gradient - gradient_cpu).flatten(1).abs().amax(1)
    return Measurement(record, there, resident, x_cpu, gradient_cpu, gap)


def parser(description: str | None, batches: list[int], repeats: int) -> argparse.ArgumentParser:
    parser = argparse.ArgumentParser(description=description, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("out", type=Path)
    parser.add_argument("--batches", type=int, nargs="+", default=batches)
    parser.add_argument("--repeats", type=int, default=repeats)
    return parser


def run(args: argparse.Namespace, record_of: Callable[[int], dict[str, Any]]) -> None:
    """A record for each batch; the file is written after every one."""
    if not torch.cuda.is_available():
        raise SystemExit("this benchmark needs a CUDA device; torch sees none")
    report: dict[str, Any] = {
        "device": torch.cuda.get_device_name(),
        "torch": torch.__version__,
        "cuda": torch.version.cuda,
        "records": [],
    }
    for batch in args.batches:
        record = record_of(batch)
        report["records"].append(record)
        print(json.dumps(record), flush=True)
        args.out.parent.mkdir(parents=True, exist_ok=True)
        args.out.write_text(json.dumps(report, indent=1) + "\n")
