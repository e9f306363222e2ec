"""Moreau's torch solver: the structure of the matrices is given once, their values with every call.

Matrices that all instances share are given as one row of values, which saves Moreau their set-up.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import moreau
import numpy as np
import scipy.sparse as sp
import torch
from moreau.torch import Solver

from benchmarks._harness.layers.inputs import Program

# Up to here `solver="auto"` takes the active set method.
SMALL = 500


def without_bounds(form: Program) -> tuple[Program, list[moreau.DirectConeSpec]]:
    """Bounds x >= 0 as a direct cone, which the interior point method solves faster than rows."""
    at_zero = form.lower == 0.0
    if not at_zero.any():
        return form, []
    cone = moreau.DirectConeSpec(kind="nonneg", indices=np.flatnonzero(at_zero).tolist())
    return replace(form, lower=np.where(at_zero, -np.inf, form.lower)), [cone]


def build(case: Program, **settings: object) -> Callable[..., torch.Tensor]:
    form = case.lifted()
    extra = form.n - case.n
    interior = settings.get("solver") == "ipm" or form.n > SMALL
    rowwise, direct = without_bounds(form) if interior else (form, [])
    A, b = rowwise.equalities()
    G, h = rowwise.inequalities()
    rows = sp.vstack([A, G], format="csr")
    rows.sort_indices()
    shared = form.hessian()
    P = sp.csr_matrix(np.ones((form.n, form.n)) if shared is None else shared)
    P.sort_indices()
    structure = [torch.from_numpy(part.astype(np.int64)) for part in (P.indptr, P.indices, rows.indptr, rows.indices)]
    solver = Solver(
        form.n,
        rows.shape[0],
        *structure,
        cones=moreau.Cones(num_zero_cones=len(b), num_nonneg_cones=len(h), dir_cones=direct),
        settings=moreau.Settings(device="cpu", batch_size=case.theta.shape[1], enable_grad=True, **settings),
    )
    values, sides = torch.from_numpy(rows.data), torch.from_numpy(np.concatenate([b, h]))
    common = torch.from_numpy(P.data)

    def solve(theta: torch.Tensor, Q: torch.Tensor | None = None) -> torch.Tensor:
        q = torch.nn.functional.pad(-case.sign * theta, (0, extra))
        right = sides.expand(len(theta), -1)
        if Q is None:
            solution = solver.solve(common, values, q, right)
        else:
            solution = solver.solve(Q.flatten(-2), values.expand(len(theta), -1), q, right)
        solved = (moreau.SolverStatus.Solved, moreau.SolverStatus.AlmostSolved)
        if failed := [status.name for status in solver.info.status if status not in solved]:
            raise RuntimeError(f"Moreau: {len(failed)} of {len(theta)} instances end as {failed[0]}")
        return solution.x[..., : case.n]

    return solve
