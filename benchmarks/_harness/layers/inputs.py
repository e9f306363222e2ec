"""The constraints and draws that every peer gets, and their file format.

    x(theta) = argmax c'x - 1/2 x'Qx   s.t.  A_eq x = b_eq,  A_ub x <= b_ub,  lower <= x <= upper

with `c = theta` (`sense="max"`) or `c = -theta` (`sense="min"`); what Q is, a benchmark's own `Case` says. This module
is imported in every peer's environment, so it needs numpy and scipy only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, fields, replace
from pathlib import Path
from typing import Any, Self, TypeVar

import numpy as np
import scipy.sparse as sp

Matrix = np.ndarray | sp.csr_matrix
AnyProgram = TypeVar("AnyProgram", bound="Program")


@dataclass(frozen=True)
class Program:
    """One polytope with its draws of theta: `theta` is (draws, batch, n), `cotangent` is (batch, n)."""

    name: str
    A_ub: sp.csr_matrix
    b_ub: np.ndarray
    A_eq: sp.csr_matrix
    b_eq: np.ndarray
    independent_eq: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    sense: str
    theta: np.ndarray
    cotangent: np.ndarray

    @property
    def n(self) -> int:
        return self.lower.shape[0]

    @property
    def sign(self) -> float:
        """Factor that turns theta into the maximized coefficients."""
        return 1.0 if self.sense == "max" else -1.0

    def hessian(self) -> Matrix | None:
        """Q (n, n) where all instances share it; None where it is one of the `leaves`."""
        raise NotImplementedError

    def leaves(self, draw: int) -> tuple[np.ndarray, ...]:
        """What a layer is called with, and gradients are asked for: theta (batch, n)."""
        return (self.theta[draw],)

    def lifted(self) -> Program:
        """The same program in the form that is sparsest; its first n variables are x."""
        return self

    def with_batch(self, batch: int) -> Self:
        return replace(self, theta=self.theta[:, :batch], cotangent=self.cotangent[:batch])

    def equalities(self) -> tuple[sp.csr_matrix, np.ndarray]:
        """Linearly independent equality rows: some peers cannot cope with dependent ones."""
        return self.A_eq[self.independent_eq], self.b_eq[self.independent_eq]

    def inequalities(self) -> tuple[sp.csr_matrix, np.ndarray]:
        """`G x <= h` with the bounds as rows, for peers that know one-sided rows only."""
        eye = sp.identity(self.n, format="csr")
        below, above = np.isfinite(self.lower), np.isfinite(self.upper)
        G = sp.vstack([self.A_ub, -eye[below], eye[above]], format="csr")
        return G, np.concatenate([self.b_ub, -self.lower[below], self.upper[above]])

    def two_sided(self) -> tuple[sp.csr_matrix, np.ndarray, np.ndarray]:
        """`l <= G x <= u` with the bounds as rows, for peers that know two-sided rows."""
        bounded = np.isfinite(self.lower) | np.isfinite(self.upper)
        G = sp.vstack([self.A_ub, sp.identity(self.n, format="csr")[bounded]], format="csr")
        lower = np.concatenate([np.full(self.b_ub.shape, -np.inf), self.lower[bounded]])
        return G, lower, np.concatenate([self.b_ub, self.upper[bounded]])

    def infeasibility(self, x: np.ndarray) -> float:
        equal, upper = np.abs(self.A_eq @ x - self.b_eq), self.A_ub @ x - self.b_ub
        return float(np.concatenate([equal, upper, self.lower - x, x - self.upper, np.zeros(1)]).max())


def dense(matrix: Matrix) -> np.ndarray:
    return matrix if isinstance(matrix, np.ndarray) else matrix.toarray()


def _pack(prefix: str, matrix: sp.spmatrix) -> dict[str, np.ndarray]:
    coo = matrix.tocoo()
    shape = np.array(coo.shape)
    return {
        f"{prefix}_row": coo.row,
        f"{prefix}_col": coo.col,
        f"{prefix}_val": coo.data,
        f"{prefix}_shape": shape,
    }


def _unpack(prefix: str, data: Any) -> sp.csr_matrix:
    entries = (data[f"{prefix}_val"], (data[f"{prefix}_row"], data[f"{prefix}_col"]))
    return sp.coo_matrix(entries, shape=tuple(data[f"{prefix}_shape"])).tocsr()


def save_program(program: Program, folder: Path) -> Path:
    """Arrays and matrices by the names of their fields (A_ub as `ub`), everything else in `meta`."""
    meta: dict[str, Any] = {}
    arrays: dict[str, np.ndarray] = {}
    for key, value in ((field.name, getattr(program, field.name)) for field in fields(program)):
        if sp.issparse(value):
            arrays.update(_pack(key.removeprefix("A_"), value))
        elif isinstance(value, np.ndarray):
            arrays[key] = value
        else:
            meta[key] = value
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{program.name}.npz"
    # Random numbers do not compress.
    np.savez(path, meta=json.dumps(meta), **arrays)  # type: ignore[arg-type]
    return path


def load_program(kind: type[AnyProgram], path: Path) -> AnyProgram:
    values: dict[str, Any] = {}
    with np.load(path) as data:
        meta = json.loads(str(data["meta"]))
        for key in (field.name for field in fields(kind)):
            prefix = key.removeprefix("A_")
            if f"{prefix}_shape" in data:
                values[key] = _unpack(prefix, data)
            elif key in data:
                values[key] = data[key]
            else:
                values[key] = tuple(meta[key]) if isinstance(meta[key], list) else meta[key]
    return kind(**values)
