"""Quadratic programs on a GPU: time of forward and backward pass, and how far CPU and GPU are apart.

`python -m benchmarks.quadratic.gpu` prints one line a case.
"""

from __future__ import annotations

import time

import numpy as np
import torch

import foresolve

CASES = ("portfolio 50", "portfolio 500", "portfolio 500 factor", "dense 100 x 50", "diagonal 100 x 50")
BATCHES = (1, 32, 256)


def draw(case: str, batch: int, rng: np.random.Generator) -> tuple[foresolve.QuadraticProgram, torch.Tensor]:
    """A program and parameters."""
    words = case.split()
    if words[0] == "portfolio":
        n = int(words[1])
        loadings, specific = 0.1 * rng.normal(size=(n, max(5, n // 25))), rng.uniform(0.01, 0.05, n)
        form = {"Q": loadings @ loadings.T + np.diag(specific)}
        if "factor" in case:
            form = {"diagonal": specific, "factor": loadings}
        problem = foresolve.QuadraticProgram(A_eq=np.ones((1, n)), b_eq=[1.0], **form)
        return problem, torch.from_numpy(0.05 * rng.normal(size=(batch, n)))
    rows, inside = rng.normal(size=(50, 100)), rng.uniform(size=100)
    sides = rows @ inside + rng.uniform(size=50)
    theta = torch.from_numpy(rng.normal(size=(batch, 100)))
    if words[0] == "dense":
        root = rng.normal(size=(batch, 100, 100))
        form = root @ root.transpose(0, 2, 1) / 100 + 0.1 * np.eye(100)
        return foresolve.QuadraticProgram(form, rows, sides, bounds=(None, None)), theta
    diagonal = rng.uniform(0.5, 2.0, 100)
    return foresolve.QuadraticProgram(diagonal=diagonal, A_ub=rows, b_ub=sides, bounds=(0, 1)), theta


def measured(problem: foresolve.QuadraticProgram, theta: torch.Tensor, weights: torch.Tensor, calls: int) -> tuple:
    """The best time, decisions and gradients."""
    layer, times = foresolve.QuadraticRelaxation(0.0), []
    x, leaf = theta, theta.clone().requires_grad_()
    for _ in range(calls):
        leaf.grad = None
        start = time.perf_counter()
        x = layer(leaf, problem)
        (x * weights).sum().backward()
        if theta.is_cuda:
            torch.cuda.synchronize()
        times.append(time.perf_counter() - start)
    assert leaf.grad is not None
    return 1e3 * min(times), x.detach().cpu(), leaf.grad.cpu()


def main() -> None:
    rng = np.random.default_rng(0)
    print(torch.__version__, torch.cuda.get_device_name())
    for case in CASES:
        for batch in BATCHES:
            problem, theta = draw(case, batch, rng)
            weights = torch.from_numpy(rng.normal(size=theta.shape))
            gpu, x, grad = measured(problem.to("cuda"), theta.cuda(), weights.cuda(), 4)
            cpu, x_cpu, grad_cpu = measured(problem, theta, weights, 2)
            apart = float((x - x_cpu).abs().max()), float((grad - grad_cpu).abs().max() / grad_cpu.abs().max())
            print(f"{case:22s} {batch:5d}  gpu {gpu:.1f} ms  cpu {cpu:.1f} ms  x {apart[0]:.0e}  grad {apart[1]:.0e}")


if __name__ == "__main__":
    main()
