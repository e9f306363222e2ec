"""OSQP through its own adjoint derivative.

`osqp.nn.torch` sets its solvers up again in every call. Here they are kept, only `q` is updated (OSQP then
starts from its last solution), and the gradients of matrices nobody asked for are not fetched: faster than
the layer that OSQP ships.
"""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import osqp
import scipy.sparse as sp
import torch

from benchmarks.linear.inputs import Case


def build(case: Case, eps: float) -> Callable[[torch.Tensor], torch.Tensor]:
    A, b = case.equalities()
    G, lower, upper = case.two_sided()
    rows = sp.vstack([A, G], format="csc")
    low, high = np.concatenate([b, lower]), np.concatenate([b, upper])
    P = sp.csc_matrix(2.0 * case.gamma * sp.identity(case.n))
    solvers: list[osqp.OSQP] = []
    pool = ThreadPoolExecutor(os.cpu_count())

    def solve_one(index: int, q: np.ndarray) -> np.ndarray:
        solver = solvers[index]
        if solver is None:
            solver = solvers[index] = osqp.OSQP()
            solver.setup(P, q, rows, low, high, verbose=False, eps_abs=eps, eps_rel=eps, max_iter=200_000)
        else:
            solver.update(q=q)
        result = solver.solve()
        if result.info.status_val != osqp.SolverStatus.OSQP_SOLVED:
            raise RuntimeError(f"OSQP: {result.info.status}")
        return np.array(result.x)

    def adjoint_one(index: int, v: np.ndarray) -> np.ndarray:
        solvers[index].adjoint_derivative_compute(dx=v)
        return np.array(solvers[index].adjoint_derivative_get_vec()[0])

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, theta: torch.Tensor) -> torch.Tensor:
            q = -case.sign * theta.numpy()
            if not solvers:
                solvers.extend([None] * len(q))  # type: ignore[list-item]
            return torch.from_numpy(np.stack(list(pool.map(solve_one, range(len(q)), q))))

        @staticmethod
        def backward(ctx, grad: torch.Tensor) -> torch.Tensor:
            v = grad.numpy()
            return torch.from_numpy(-case.sign * np.stack(list(pool.map(adjoint_one, range(len(v)), v))))

    return Layer.apply
