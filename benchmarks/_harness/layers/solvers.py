"""Tight answers of two interior point solvers, for the references (reference environment only)."""

from __future__ import annotations

from dataclasses import dataclass

import clarabel
import numpy as np
import piqp
import scipy.sparse as sp

from benchmarks._harness.layers.inputs import Matrix, Program

TOLERANCE = 1e-12


@dataclass(frozen=True)
class Point:
    """x, and the multipliers and slacks of the rows of `Program.inequalities()`."""

    x: np.ndarray
    multipliers: np.ndarray
    slacks: np.ndarray


def with_clarabel(case: Program, Q: Matrix, c: np.ndarray) -> Point:
    A, b = case.equalities()
    G, h = case.inequalities()
    settings = clarabel.DefaultSettings()
    settings.verbose = False
    settings.tol_gap_abs = settings.tol_gap_rel = settings.tol_feas = TOLERANCE
    settings.max_iter = 200
    cones = [clarabel.ZeroConeT(len(b)), clarabel.NonnegativeConeT(len(h))]
    rows = sp.vstack([A, G], format="csc")
    P = sp.triu(sp.csc_matrix(Q), format="csc")
    solution = clarabel.DefaultSolver(P, -c, rows, np.concatenate([b, h]), cones, settings).solve()
    multipliers, slacks = (np.array(part)[len(b) :] for part in (solution.z, solution.s))
    return Point(np.array(solution.x), multipliers, slacks)


def with_piqp(case: Program, Q: Matrix, c: np.ndarray) -> Point:
    A, b = case.equalities()
    matrices = [Q, A, case.A_ub]
    if isinstance(Q, np.ndarray):
        solver = piqp.DenseSolver()
        matrices = [matrix if isinstance(matrix, np.ndarray) else matrix.toarray() for matrix in matrices]
    else:
        solver = piqp.SparseSolver()
        matrices = [sp.csc_matrix(matrix) for matrix in matrices]
    solver.settings.verbose = False
    solver.settings.eps_abs = solver.settings.eps_duality_gap_abs = TOLERANCE
    solver.settings.eps_rel = solver.settings.eps_duality_gap_rel = TOLERANCE
    P, rows, upper_rows = matrices
    solver.setup(P, -c, rows, b, upper_rows, None, case.b_ub, case.lower, case.upper)
    solver.solve()
    x, G, h = np.array(solver.result.x), *case.inequalities()
    below, above = np.isfinite(case.lower), np.isfinite(case.upper)
    parts = solver.result.z_u, solver.result.z_bl[below], solver.result.z_bu[above]
    return Point(x, np.concatenate([np.array(part) for part in parts]), np.maximum(h - G @ x, 0.0))
