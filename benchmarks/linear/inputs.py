"""The programme every peer gets, and its file format.

    x(theta) = argmax c'x - gamma |x|^2   s.t.  A_eq x = b_eq,  A_ub x <= b_ub,  lower <= x <= upper

with `c = theta` (`sense="max"`) or `c = -theta` (`sense="min"`). This module is imported in every peer's
environment, so it needs numpy and scipy only.
"""

from __future__ import annotations

import json
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import numpy as np
import scipy.sparse as sp

from benchmarks.linear.catalogue import CASES_DIR


@dataclass(frozen=True)
class Case:
    """One polytope with its draws of theta: `theta` is (draws, batch, n), `cotangent` is (batch, n)."""

    name: str
    kind: str
    size: tuple[int, ...]
    A_ub: sp.csr_matrix
    b_ub: np.ndarray
    A_eq: sp.csr_matrix
    b_eq: np.ndarray
    independent_eq: np.ndarray
    lower: np.ndarray
    upper: np.ndarray
    sense: str
    gamma: float
    theta: np.ndarray
    cotangent: np.ndarray

    @property
    def n(self) -> int:
        return self.lower.shape[0]

    @property
    def sign(self) -> float:
        """Factor that turns theta into the maximised coefficients."""
        return 1.0 if self.sense == "max" else -1.0

    def with_batch(self, batch: int) -> Case:
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
        G = sp.vstack([self.A_ub, sp.identity(self.n)], format="csr")
        lower = np.concatenate([np.full(self.b_ub.shape, -np.inf), self.lower])
        return G, lower, np.concatenate([self.b_ub, self.upper])


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


def save(case: Case, folder: Path = CASES_DIR) -> Path:
    meta = {"name": case.name, "kind": case.kind, "size": case.size, "sense": case.sense, "gamma": case.gamma}
    arrays = {
        key: getattr(case, key) for key in ("b_ub", "b_eq", "independent_eq", "lower", "upper", "theta", "cotangent")
    }
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / f"{case.name}.npz"
    np.savez_compressed(path, meta=json.dumps(meta), **arrays, **_pack("ub", case.A_ub), **_pack("eq", case.A_eq))
    return path


def load(name: str, folder: Path = CASES_DIR) -> Case:
    with np.load(folder / f"{name}.npz") as data:
        meta = json.loads(str(data["meta"]))
        return Case(
            name=meta["name"],
            kind=meta["kind"],
            size=tuple(meta["size"]),
            A_ub=_unpack("ub", data),
            b_ub=data["b_ub"],
            A_eq=_unpack("eq", data),
            b_eq=data["b_eq"],
            independent_eq=data["independent_eq"],
            lower=data["lower"],
            upper=data["upper"],
            sense=meta["sense"],
            gamma=meta["gamma"],
            theta=data["theta"],
            cotangent=data["cotangent"],
        )
