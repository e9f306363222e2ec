"""The program every peer gets, and its file: theta'x - gamma |x|^2 over a polytope, so Q = 2 gamma I."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import scipy.sparse as sp

from benchmarks._harness.layers.inputs import Program, load_program, save_program
from benchmarks.linear.catalogue import CASES_DIR


@dataclass(frozen=True)
class Case(Program):
    kind: str
    size: tuple[int, ...]
    gamma: float

    def hessian(self) -> sp.csr_matrix:
        return sp.csr_matrix(2.0 * self.gamma * sp.identity(self.n))


def save(case: Case, folder: Path = CASES_DIR) -> Path:
    return save_program(case, folder)


def load(name: str, folder: Path = CASES_DIR) -> Case:
    return load_program(Case, folder / f"{name}.npz")
