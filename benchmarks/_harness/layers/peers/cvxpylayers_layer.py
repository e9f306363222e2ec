"""cvxpylayers through diffcp, which knows no quadratic objective: cvxpy makes it a second-order cone.

A Q of each instance comes in as its Cholesky factor, as the rules of cvxpy for parameters ask; torch differentiates
the factorization. LSQR, diffcp's default for the backward pass, returns a wrong gradient for such a program;
`direct_for_Q` asks for a dense factorization instead.
"""

from __future__ import annotations

from collections.abc import Callable

import cvxpy as cp
import torch
from cvxpylayers.torch import CvxpyLayer

from benchmarks._harness.layers.inputs import Program


def build(case: Program, direct_for_Q: bool = False, **solver_args: object) -> Callable[..., torch.Tensor]:
    # With the factors of a covariance as variables the cone is sparse.
    form = case.lifted()
    theta = cp.Parameter(case.n)
    x = cp.Variable(form.n)
    G, h = form.inequalities()
    constraints = [G @ x <= h]
    A, b = form.equalities()
    if len(b):
        constraints.append(A @ x == b)
    shared = form.hessian()
    root = cp.Parameter((form.n, form.n)) if shared is None else None
    quadratic = cp.sum_squares(root @ x) if root is not None else cp.quad_form(x, shared, assume_PSD=True)
    problem = cp.Problem(cp.Maximize(case.sign * (theta @ x[: case.n]) - 0.5 * quadratic), constraints)
    if root is not None and direct_for_Q:
        solver_args["mode"] = "dense"
    layer = CvxpyLayer(problem, [theta] if root is None else [theta, root], [x], solver_args=solver_args)
    if root is None:
        return lambda value: layer(value)[0][..., : case.n]
    return lambda value, Q: layer(value, torch.linalg.cholesky(Q).mT)[0]
