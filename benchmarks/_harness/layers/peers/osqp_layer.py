"""OSQP through its own adjoint derivative.

`osqp.nn.torch` sets its solvers up again in every call. Here they are kept, only what changes is updated (OSQP then
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

from benchmarks._harness.layers.inputs import Program


class Solvers:
    """One solver for each instance of a batch, kept from call to call, and called in parallel."""

    def __init__(self, form: Program, eps: float) -> None:
        A, b = form.equalities()
        G, lower, upper = form.two_sided()
        self.rows = sp.vstack([A, G], format="csc")
        self.low, self.high = np.concatenate([b, lower]), np.concatenate([b, upper])
        shared = form.hessian()
        self.P = None if shared is None else sp.triu(sp.csc_matrix(shared), format="csc")
        # Column by column, the upper triangle: the order of OSQP's entries of P.
        self.columns, self.triangle = np.tril_indices(form.n)
        self.settings = {"verbose": False, "eps_abs": eps, "eps_rel": eps, "max_iter": 200_000}
        self.kept: dict[int, osqp.OSQP] = {}
        self.pool = ThreadPoolExecutor(os.cpu_count())

    def _entries(self, Q: np.ndarray) -> np.ndarray:
        return Q[self.triangle, self.columns]

    def _first(self, q: np.ndarray, Q: np.ndarray | None) -> osqp.OSQP:
        P = self.P
        if Q is not None:
            indices = (self._entries(Q), (self.triangle, self.columns))
            P = sp.coo_matrix(indices, shape=Q.shape).tocsc()
        solver = osqp.OSQP()
        solver.setup(P, q, self.rows, self.low, self.high, **self.settings)
        return solver

    def _solve(self, index: int, q: np.ndarray, Q: np.ndarray | None) -> np.ndarray:
        solver = self.kept.get(index)
        if solver is None:
            solver = self.kept[index] = self._first(q, Q)
        elif Q is None:
            solver.update(q=q)
        else:
            solver.update(q=q, Px=self._entries(Q))
        result = solver.solve()
        if result.info.status_val != osqp.SolverStatus.OSQP_SOLVED:
            raise RuntimeError(f"OSQP: {result.info.status}")
        return np.array(result.x)

    def solve(self, q: np.ndarray, Q: np.ndarray | None) -> np.ndarray:
        return np.stack(list(self.pool.map(self._solve, range(len(q)), q, [None] * len(q) if Q is None else Q)))

    def adjoint(self, v: np.ndarray, with_Q: bool) -> tuple[np.ndarray, np.ndarray | None]:
        """Gradients for q and, where asked for, for the full P."""

        def one(index: int) -> tuple[np.ndarray, np.ndarray | None]:
            solver = self.kept[index]
            solver.adjoint_derivative_compute(dx=v[index])
            P = np.asarray(solver.adjoint_derivative_get_mat(dP_as_triu=False)[0]) if with_Q else None
            return np.array(solver.adjoint_derivative_get_vec()[0]), P

        vectors, matrices = zip(*self.pool.map(one, range(len(v))), strict=True)
        return np.stack(vectors), np.stack(matrices) if with_Q else None


def build(case: Program, eps: float) -> Callable[..., torch.Tensor]:
    form = case.lifted()
    extra = ((0, 0), (0, form.n - case.n))
    solvers = Solvers(form, eps)

    class Layer(torch.autograd.Function):
        @staticmethod
        def forward(ctx, theta: torch.Tensor, Q: torch.Tensor | None) -> torch.Tensor:
            ctx.with_Q = Q is not None
            q = np.pad(-case.sign * theta.numpy(), extra)
            return torch.from_numpy(solvers.solve(q, None if Q is None else Q.numpy())[:, : case.n])

        @staticmethod
        def backward(ctx, grad: torch.Tensor) -> tuple[torch.Tensor, torch.Tensor | None]:  # type: ignore[override]
            dq, dP = solvers.adjoint(np.pad(grad.numpy(), extra), ctx.with_Q)
            theta = torch.from_numpy(-case.sign * dq[:, : case.n])
            return theta, None if dP is None else torch.from_numpy(dP)

    return lambda theta, Q=None: Layer.apply(theta, Q)
