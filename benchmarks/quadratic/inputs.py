"""The quadratic program every peer gets, and its file: theta'x - 1/2 x'Qx over a polytope."""

from __future__ import annotations

from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np
import scipy.sparse as sp

from benchmarks._harness.layers.inputs import Matrix, Program, load_program, save_program
from benchmarks.quadratic.catalogue import CASES_DIR


@dataclass(frozen=True)
class Case(Program):
    """`Q` is (n, n), dense or sparse, or (draws, batch, n, n); or Q = diag(diagonal) + factor factor'."""

    Q: Matrix | None = None
    diagonal: np.ndarray | None = None
    factor: np.ndarray | None = None

    def hessian(self) -> Matrix | None:
        if self.diagonal is not None and self.factor is not None:
            return np.diag(self.diagonal) + self.factor @ self.factor.T
        return self.Q if self.Q is not None and self.Q.ndim == 2 else None

    def curvature(self, draw: int, instance: int) -> Matrix:
        """Q of one instance."""
        shared = self.hessian()
        return self.leaves(draw)[1][instance] if shared is None else shared

    def leaves(self, draw: int) -> tuple[np.ndarray, ...]:
        """theta (batch, n), and Q (batch, n, n) where every instance has its own."""
        if isinstance(self.Q, np.ndarray) and self.Q.ndim == 4:
            return self.theta[draw], self.Q[draw, : self.theta.shape[1]]
        return (self.theta[draw],)

    def lifted(self) -> Case:
        """With the factors as variables, y = factor'x: Q is then diagonal."""
        if self.diagonal is None or self.factor is None:
            return self
        count = self.factor.shape[1]
        free = np.full(count, np.inf)
        below = sp.hstack([sp.csr_matrix(self.factor.T), -sp.identity(count)])
        A_eq = sp.vstack([sp.hstack([self.A_eq, sp.csr_matrix((len(self.b_eq), count))]), below], format="csr")
        return replace(
            self,
            Q=sp.diags(np.concatenate([self.diagonal, np.ones(count)]), format="csr"),
            diagonal=None,
            factor=None,
            A_ub=sp.hstack([self.A_ub, sp.csr_matrix((len(self.b_ub), count))], format="csr"),
            A_eq=A_eq,
            b_eq=np.concatenate([self.b_eq, np.zeros(count)]),
            independent_eq=np.arange(A_eq.shape[0]),
            lower=np.concatenate([self.lower, -free]),
            upper=np.concatenate([self.upper, free]),
            theta=np.pad(self.theta, ((0, 0), (0, 0), (0, count))),
            cotangent=np.pad(self.cotangent, ((0, 0), (0, count))),
        )


def save(case: Case, folder: Path = CASES_DIR) -> Path:
    return save_program(case, folder)


def load(name: str, folder: Path = CASES_DIR) -> Case:
    return load_program(Case, folder / f"{name}.npz")
